#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: others
#
# The books of lending at the real proxy, with a ResourceManager and application masters that are parts of the test. Repeated
# answers, grants that cross asks, rounded sizes, the application's own opportunistic asks, changes of the mode, promotion, and
# nmd's death at each step: the master sees guaranteed containers only, and never more than it asked for. In the end a browser shows
# the table of what is lent. With NMD_TEST_KEEP=DIR the suite stores its picture in DIR.
# The cluster is the one of lib.sh, with only the local file system.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"

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
read -r -a only <<<"${NMD_TEST_BOOKS:-}" # names of tests, for a part of them
coproc books { exec python3 -B "$(dirname "$0")/lending.py" "${rm_ports[2]}" 127.0.0.1 "$node_port" "${rm_ports[1]}" "${rm_ports[0]}" \
    "$proxy_port" "$shared/local" "$NMCTL" "${only[@]}" 2>"$dir/books.err"; }
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
check 'nmd responds after all tests' nmctl status
curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics >"$dir/metrics"
check 'the queries of lending in the dashboard use existing metrics' \
    "$here/../integration/dashboard.py" "$here/../../packaging/nmd-dashboard.json" "$dir/metrics" nm_lending_
if chromium=$(command -v chromium); then
    [ -z "${NMD_TEST_KEEP:-}" ] || mkdir -p "$NMD_TEST_KEEP"
    page=$(timeout 60 /usr/bin/python3 -B "$(dirname "$0")/lending-page.py" "$chromium" "$dir" "http://127.0.0.1:$web_port/" "$NMCTL" \
        ${NMD_TEST_KEEP:+"$NMD_TEST_KEEP/lending.png"} 2>"$dir/page.err")
    is 'the browser runs to its end' "$? $(tail -n 5 "$dir/page.err")" '0 '
    while IFS=$'\t' read -r name got wanted; do is "$name" "$got" "$wanted"; done <<<"$page"
fi
nmd_stop
is 'nmd ends with exit status 0' "$?" 0
kill_all 2>/dev/null
done_testing
