#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
#
# Swap: swapped memory of a frozen container comes back when the container runs, and the container is resumed only when there is room for
# this memory. 49-running-swap tests running containers.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

poll_seconds=0.5 # an emulated guest that is asked all the time has no CPU left for containers
quick_nmd "[node]" "memory = 512M" "[preemption]" "cpu-samples = 2" "cpu-threshold = 0.97" "squeeze = no" \
    "pause-deadline = 1h" "[over-allocation]" "cpu-threshold = 0.95"
big=$(start big 25 -m 450M -c 0.5)
# Accesses all of its memory repeatedly, and leaves some CPU time to the guest itself.
o=$(nmctl run -D --opportunistic -m 200M -c 0.1 -- python3 -c '
import time
held = [b"x" * 1048576 for _ in range(145)]
while True:
    for block in held: block.count(b"y")
    time.sleep(0.4)')
check "an opportunistic container uses its memory" wait_until 90 uses "$o" 140
spin='while :; do :; done'
g=$(nmctl run -D -m 16M -c 1.5 -- bash -c "$spin & $spin")
check "a guaranteed container takes the CPUs, and the opportunistic one is paused" wait_until 60 in_state "$o" PAUSED
grow big 336
check "another container needs the memory, and the paused one is reclaimed to swap" wait_until 60 swapped "$o" 48
check "the decision names the reclaim" wait_until 180 decided_is "$o" reclaim frozen-memory "done"
nmctl kill --now --wait "$g" >/dev/null
samples() { status_of .counters.samples; }
before=$(samples)
enough() { [ "$(samples)" -ge $((before + 12)) ] && status_is '.node.utilization.cpu < 0.5' true; }
check "CPU is available again" wait_until 30 enough
is "the container is not resumed without memory for what it has in swap" "$(state_of "$o")" PAUSED
grow big 215
check "the container is resumed when memory is available" wait_until 60 in_state "$o" RUNNING
like "the decision names the memory" "$(nmctl explain "$o")" 'comes back from swap'
check "the container gets its memory back from swap" wait_until 90 uses "$o" 140
is "no container was killed for swap" "$(status_of .preemptions.killed) $(field $cg/nm.slice/memory.events oom_kill)" "0 0"
nmctl kill --now --wait "$big" "$o" >/dev/null
done_testing
