#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
#
# Shadow mode: nmd decides and records the actions of over-allocation, but the node runs without over-allocation and without
# preemption.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[over-allocation]
shadow = yes
END
nmd_start
shadow_of() { # NAME KIND: the reason of what would have been done
    nmctl explain --json "$1" | jq -r --arg kind "$2" \
        '[.[] | select(.kind == $kind and .outcome == "shadow") | .reason] | last'
}
shadowed() { [ "$(shadow_of "$1" "$2")" = "$3" ]; }

is "status says so" "$(status_of .node.state)" shadow
hog g1 -m 800M -c 0.2 -- 40
hog o1 --opportunistic -m 200M -c 0.3 -- 40 --spin
check "what fits by allocation runs" wait_until 10 in_state o1 RUNNING
wait_until 20 burns o1 100
submit o2 --opportunistic -m 200M -c 0.1 -- sleep 300
check "what doesn't waits" wait_until 10 hold_is o2 allocation-full
check "that it would have been admitted is recorded" wait_until 10 shadowed o2 admit over-allocation
like "in words" "$(nmctl explain o2)" 'Would have admitted .*\(o2\)'
like "and that nothing was done" "$(nmctl explain o2)" 'shadow mode: this decision was recorded, but not carried out'
is "it waits on" "$(state_of o2)" SCHEDULED

node_memory 980
check "memory over beta: the kill is recorded" wait_until 20 shadowed o1 kill memory-over-beta
samples 10
is "and not done" "$(state_of o1)" RUNNING
node_memory 0
node_cpu 1950
check "CPU over beta: the pause is recorded" wait_until 20 shadowed o1 pause cpu-over-beta
samples 10
is "and not done, too" "$(state_of o1)" RUNNING
is "not frozen" "$(frozen o1 || echo no)" no
is "nothing is counted as done" "$(status_of '.preemptions | "\(.paused) \(.killed)"')" "0 0"
node_cpu 0

reconfigure over-allocation shadow no
is "switched off: running" "$(status_of .node.state)" running
check "and what would have been done is done" wait_until 10 in_state o2 RUNNING
nmd_alive || not_ok "nmd is still there"
done_testing
