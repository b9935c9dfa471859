# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Library for the suites that run inside the VM: . "$NMD_VM_LIB". tests/tap.sh defines ok, check, is, wait_until and more.
# shellcheck source=tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
# shellcheck source=tests/query.sh
. "$(dirname "${BASH_SOURCE[0]}")/query.sh"

# shellcheck disable=SC2034  # for the suites
cg=/sys/fs/cgroup

# Reboots, and runs this suite again with NMD_VM_PHASE one higher. The reboot is clean, or with "hard" like a power cut. The
# suite stores data for its next phase in a file in $NMD_VM_STATE.
vm_reboot() {
    [ "${1:-}" != hard ] || touch "$NMD_VM_STATE/crash"
    tap_done=1
    exit 88
}

# Waits until the suite that runs beside this one has ended (tests/vm/guest-run).
wait_for_beside() { wait_until 300 test ! -e "$NMD_VM_STATE/beside"; }

# Prints the value of a key in a file of `key value` lines, such as memory.events or cgroup.events.
field() { # FILE KEY
    awk -v key="$2" '$1 == key { print $2 }' "$1"
}

unit_prop() { # UNIT PROPERTY
    systemctl show --value -p "$2" "$1"
}

none_runs() { # TEXT: no process has TEXT on its command line
    ! pgrep -f -- "$1" >/dev/null
}

# ---- nmd as a service ---------------------------------------------------------------------------

# Writes a drop-in with the configuration lines, or removes it if there are no lines. nmd reads it at its next start or reload.
conf() {
    mkdir -p /etc/nmd/nmd.conf.d
    rm -f /etc/nmd/nmd.conf.d/90-suite.conf
    [ $# -eq 0 ] || printf '%s\n' "$@" >/etc/nmd/nmd.conf.d/90-suite.conf
}

# Restarts nmd with short periods and with the given configuration lines. Ends the suite if nmd does not answer.
quick_nmd() {
    conf "$@"
    printf '%s\n' "[sampling]" "period = 500ms" "[over-allocation]" "warmup = 2s" \
        >/etc/nmd/nmd.conf.d/80-quick.conf
    systemctl reset-failed nmd.service 2>/dev/null
    systemctl restart nmd.service
    wait_until 30 nmctl status && return
    not_ok "nmd is running with the suite's settings" "$(systemctl status --no-pager nmd.service)"
    done_testing
}

# ---- containers whose memory use the test sets ----------------------------------------------------

start() { # NAME MIB NMCTL-OPTION...: starts a container that uses MIB, and prints its id
    local name=$1
    grow "$name" "$2"
    shift 2
    nmctl run -D --name "$name" "$@" -- python3 "$NMD_VM_DATA/hog.py" "/tmp/hog-$name"
}
grow() { echo "$2" >"/tmp/hog-$1"; } # NAME MIB: changes its memory use to MIB
slowly() { # NAME FROM TO: MiB
    local i
    for ((i = $2; i <= $3; i += 3)); do
        grow "$1" "$i"
        sleep 0.5
    done
}

# ---- a node that has too little memory ------------------------------------------------------------

swapped() { # ID MIB: the container has at least so much memory in swap
    [ "$(cat "$cg/nm.slice/nm-$1.scope/memory.swap.current")" -ge $(($2 << 20)) ]
}
decided() { # ID KIND REASON: prints the outcomes of the decisions, in order
    nmctl explain --json "$1" |
        jq -r --arg k "$2" --arg r "$3" '[.[] | select(.kind == $k and .reason == $r) | .outcome] | join(" ")'
}
decided_is() { [ "$(decided "$1" "$2" "$3")" = "$4" ]; }

# Starts nmd with 1 GiB for containers, and with reclaim to swap before kills. $big is guaranteed and first uses little memory.
roomy_nmd() {
    quick_nmd "[node]" "memory = 1G" "[preemption]" "cpu-samples = 100" "breaker = 0s" "reclaim-running = 10s"
    big=$(start big 50 -m 900M -c 0.5)
}
# NAME CHECK TO: starts the opportunistic container $o, which rarely accesses its memory. Then $big grows to TO MiB, slowly at
# the end.
crowd() {
    o=$(start "$1" 290 --opportunistic -m 400M -c 0.1)
    check "$2" wait_until 90 uses "$o" 285
    grow big 610
    wait_until 60 uses "$big" 605
    slowly big 611 "$3"
}
