#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
#
# Swap: swapped memory of a frozen container comes back when the container runs. nmd resumes the container only when enough
# memory is available for this. 49-running-swap tests running containers.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

poll_seconds=0.5 # faster polling would leave no CPU time for containers in an emulated guest
quick_nmd "[node]" "memory = 512M" "[preemption]" "cpu-samples = 2" "cpu-threshold = 0.97" "squeeze = no" \
    "pause-deadline = 1h" "[over-allocation]" "cpu-threshold = 0.95"
big=$(start big 25 -m 450M -c 0.5)
# The command accesses all of its memory repeatedly, and leaves some CPU time to the guest itself.
o=$(nmctl run -D --opportunistic -m 200M -c 0.1 -- python3 -c '
import time
held = [b"x" * 1048576 for _ in range(145)]
while True:
    for block in held: block.count(b"y")
    time.sleep(0.4)')
check "an opportunistic container uses its memory" wait_until 90 uses "$o" 140
spin='while :; do :; done'
g=$(nmctl run -D -m 16M -c 1.5 -- bash -c "$spin & $spin")
check "the opportunistic container is paused when a guaranteed container uses the CPUs" wait_until 60 in_state "$o" PAUSED
grow big 336
check "memory of the paused container is moved to swap when another container needs memory" wait_until 60 swapped "$o" 48
check "the decision record names the reclaim of frozen memory" wait_until 180 decided_is "$o" reclaim frozen-memory "done"
nmctl kill --now --wait "$g" >/dev/null
samples() { status_of .counters.samples; }
before=$(samples)
enough() { [ "$(samples)" -ge $((before + 12)) ] && status_is '.node.utilization.cpu < 0.5' true; }
check "enough CPU is available to resume the container" wait_until 30 enough
is "the container is not resumed while memory for its swapped data is missing" "$(state_of "$o")" PAUSED
grow big 215
check "the container is resumed when enough memory is available" wait_until 60 in_state "$o" RUNNING
like "explain says that memory comes back from swap" "$(nmctl explain "$o")" 'comes back from swap'
check "the memory of the resumed container comes back from swap" wait_until 90 uses "$o" 140
is "neither nmd nor the kernel has killed a container" "$(status_of .preemptions.killed) $(field $cg/nm.slice/memory.events oom_kill)" "0 0"
nmctl kill --now --wait "$big" "$o" >/dev/null
done_testing
