#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
# beside: others
#
# Shadow mode: nmd decides on over-allocation and preemption, and records these decisions. The node runs without over-allocation
# and without preemption.
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
shadow_of() { # NAME KIND: prints the reason of a recorded decision that was not carried out
    nmctl explain --json "$1" | jq -r --arg kind "$2" \
        '[.[] | select(.kind == $kind and .outcome == "shadow") | .reason] | last'
}
shadowed() { [ "$(shadow_of "$1" "$2")" = "$3" ]; }

is "status says that the node is in shadow mode" "$(status_of .node.state)" shadow
hog g1 -m 800M -c 0.2 -- 40
hog o1 --opportunistic -m 200M -c 0.3 -- 40 --spin
check "in shadow mode, a request that fits by allocation starts" wait_until 10 in_state o1 RUNNING
wait_until 20 burns o1 100
submit o2 --opportunistic -m 200M -c 0.1 -- sleep 300
check "in shadow mode, a request beyond the allocation waits" wait_until 10 queue_reason_is o2 allocation-full
check "in shadow mode, the decision to admit this request is recorded" wait_until 10 shadowed o2 admit over-allocation
like "explain describes the recorded admission" "$(nmctl explain o2)" 'Would have admitted .*\(o2\)'
like "explain says that the admission was not carried out" \
    "$(nmctl explain o2)" 'shadow mode: this decision was recorded, but not carried out'
is "in shadow mode, the recorded admission does not start the container" "$(state_of o2)" SCHEDULED

node_memory 980
check "in shadow mode, memory use over beta records a kill" wait_until 20 shadowed o1 kill memory-over-beta
samples 10
is "in shadow mode, the recorded kill does not end the container" "$(state_of o1)" RUNNING
node_memory 0
node_cpu 1950
check "in shadow mode, CPU use over beta records a pause" wait_until 20 shadowed o1 pause cpu-over-beta
samples 10
is "in shadow mode, the recorded pause does not change the container's state" "$(state_of o1)" RUNNING
is "in shadow mode, the recorded pause does not freeze the cgroup" "$(frozen o1 || echo no)" no
is "status does not count recorded decisions as carried out" "$(status_of '.preemptions | "\(.paused) \(.killed)"')" "0 0"
node_cpu 0

reconfigure over-allocation shadow no
is "a reload switches shadow mode off" "$(status_of .node.state)" running
check "when shadow mode is off, a waiting container starts by over-allocation" wait_until 10 in_state o2 RUNNING
nmd_alive || not_ok "nmd still runs"
done_testing
