#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
#
# Swap: what was pushed out of a frozen container comes back when it runs, and it is not resumed
# before there is room for that. Before a running one is killed for memory, a part of its memory goes
# to swap, where there is any.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

swapped() { # ID MIB: at least
    [ "$(cat "$cg/nm.slice/nm-$1.scope/memory.swap.current")" -ge $(($2 << 20)) ]
}
decided() { # ID KIND REASON: outcomes, in order
    nmctl explain --json "$1" |
        jq -r --arg k "$2" --arg r "$3" '[.[] | select(.kind == $k and .reason == $r) | .outcome] | join(" ")'
}
decided_is() { [ "$(decided "$1" "$2" "$3")" = "$4" ]; }

# ---- frozen, reclaimed, resumed -----------------------------------------------------------------

poll_seconds=0.5 # an emulated guest that is asked all the time has no CPU left for containers
quick_nmd "[node]" "memory = 512M" "[preemption]" "cpu-samples = 2" "cpu-threshold = 0.97" "squeeze = no" \
    "pause-deadline = 1h" "[over-allocation]" "cpu-threshold = 0.95"
big=$(start big 25 -m 450M -c 0.5)
# Uses all of what it holds, again and again, and leaves some CPU to the guest itself.
o=$(nmctl run -D --opportunistic -m 200M -c 0.1 -- python3 -c '
import time
held = [b"x" * 1048576 for _ in range(145)]
while True:
    for block in held: block.count(b"y")
    time.sleep(0.4)')
check "an opportunistic container works on its memory" wait_until 90 uses "$o" 140
spin='while :; do :; done'
g=$(nmctl run -D -m 16M -c 1.5 -- bash -c "$spin & $spin")
check "a guaranteed one takes the CPUs, and it is paused" wait_until 60 in_state "$o" PAUSED
grow big 336
check "another one takes the memory, and it is pushed out" wait_until 60 swapped "$o" 20
check "as it was decided" wait_until 90 decided_is "$o" reclaim frozen-memory "done"
nmctl kill --now --wait "$g" >/dev/null
samples() { status_of .counters.samples; }
before=$(samples)
enough() { [ "$(samples)" -ge $((before + 12)) ] && status_is '.node.utilization.cpu < 0.5' true; }
check "CPU is free again" wait_until 30 enough
is "but there is no room for what it has in swap: it is not resumed" "$(state_of "$o")" PAUSED
grow big 215
check "when there is, it is" wait_until 60 in_state "$o" RUNNING
like "for this reason" "$(nmctl explain "$o")" 'comes back from swap'
check "and gets it back" wait_until 90 uses "$o" 140
is "nobody was killed for all that" "$(status_of .preemptions.killed) $(field $cg/nm.slice/memory.events oom_kill)" "0 0"
nmctl kill --now --wait "$big" "$o" >/dev/null

# ---- before a kill ------------------------------------------------------------------------------

roomy_nmd
kills=$(status_of .preemptions.killed)
crowd o "an opportunistic container holds memory that it hardly looks at" 680
check "memory is over the threshold, and a part of its memory goes to swap" wait_until 90 swapped "$o" 5
check "as it was decided" wait_until 30 decided_is "$o" reclaim running-memory "done"
like "which can be explained" "$(nmctl explain "$o")" 'can go to swap in time, which slows it down but spares it a kill'
is "it lives" "$(state_of "$o")" RUNNING
is "nobody was killed" "$(($(status_of .preemptions.killed) - kills))" 0
at_least "and it is counted" "$(status_of .preemptions.running_reclaims)" 1
check "the guaranteed one gets what it wants" wait_until 30 uses "$big" 670
nmctl kill --now --wait "$big" "$o" >/dev/null

swapoff -a
at_exit 'swapon -a'
roomy_nmd
crowd o "the same without swap" 680
check "it is killed" wait_until 30 in_state "$o" COMPLETED
is "preempted" "$(field_of "$o" .exit_reason)" preempted
nmctl kill --now --wait "$big" >/dev/null
done_testing
