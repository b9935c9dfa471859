# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # variables of the library of suites
#
# A node of nmd that lends, the ResourceManager and the application masters of lending.py, for suites that source this file.
# books_run runs tests of lending.py, by default all but those of steps.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'only root can start containers as other users'
make_shared_dir
chmod 755 "$dir"
proxy_port=$(free_port)
web_port=$(free_port)
rule() { # RULE
    rm_configure --stock "${node_site[@]}" "yarn.nodemanager.local-dirs=$shared/local" "yarn.nodemanager.log-dirs=$shared/logs" \
        yarn.nodemanager.amrmproxy.enabled=true "yarn.nodemanager.amrmproxy.address=127.0.0.1:$proxy_port" \
        yarn.nodemanager.recovery.enabled=true yarn.nodemanager.recovery.supervised=false \
        "yarn.nodemanager.webapp.address=127.0.0.1:$web_port" yarn.nodemanager.hostname=127.0.0.1 \
        yarn.nodemanager.resource.memory-mb=4000 yarn.nodemanager.resource.cpu-vcores=32 \
        yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=100 \
        "nmd.lending=$1" nmd.lending.central=true
}
# Kills nmd, and starts it with another rule. With STEP, it then dies at this step.
again() { # RULE [STEP]
    nmd_kill
    rule "$1"
    NMD_FAULT=${2:-} node_start
}
rule allowed
need "the host's memory can be simulated" node_proc_start 8000 16
node_configure
need 'nmd starts' node_start
books_here=$(dirname "${BASH_SOURCE[0]}")
books_run() { # [NAME...]: names of tests
    local name got wanted words to_books
    coproc books { exec python3 -B "$books_here/lending.py" "${rm_ports[2]}" 127.0.0.1 "$node_port" "${rm_ports[1]}" "${rm_ports[0]}" \
        "$proxy_port" "$shared/local" "$NMCTL" "$@" 2>"$dir/books.err"; }
    to_books=${books[1]}
    at_exit "end_process $!"
    while IFS=$'\t' read -r name got wanted; do
        case $name in
            !*)
                read -r -a words <<<"${name#!}"
                again "${words[@]}" >&2 || not_ok "nmd starts again: ${name#!}"
                echo 'done' >&"$to_books"
                ;;
            *) is "$name" "$got" "$wanted" ;;
        esac
    done <&"${books[0]}"
    is 'the application masters have sent all their requests' "$(cat "$dir/books.err")" ''
}
