#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
#
# nmd's main function with real memory and CPU: opportunistic containers use resources that guaranteed containers do not use,
# and nmd takes these resources back when the guaranteed containers need them.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

# ---- memory: admission by measured use, preemption of the latest-started container --------------

quick_nmd "[node]" "memory = 1G" "[preemption]" "cpu-samples = 100" "squeeze = no" "breaker = 2s" \
    "reclaim-running = 0s"
is "the node has the configured capacity" "$(status_of .node.capacity.memory_bytes)" $((1 << 30))
big=$(start big 50 -m 800M -c 0.5)
check "a guaranteed container that requests much and uses little is running" wait_until 60 in_state "$big" RUNNING
a=$(start a 200 --opportunistic -m 250M -c 0.1)
b=$(start b 200 --opportunistic -m 250M -c 0.1)
both_run() { in_state "$a" RUNNING && in_state "$b" RUNNING; }
check "two opportunistic containers start, although the sum of all requests exceeds the capacity" \
    wait_until 90 both_run
check "both opportunistic containers use the memory that they requested" wait_until 60 uses "$b" 190
# The containers are admitted in order of arrival, perhaps both in one round. Their commands may start in a different order.
first=$a last=$b
full=$(nmctl run -D --opportunistic -m 600M -c 0.1 sleep 1000)
sleep 3
is "a request that would raise memory use above the threshold waits" "$(state_of "$full")" SCHEDULED
like "explain says that this request waits for memory" "$(nmctl explain "$full")" 'memory'
grow big 650
check "when the guaranteed container grows, the latest-started opportunistic container is killed" \
    wait_until 60 in_state "$last" COMPLETED
is "the killed container has the exit reason preempted" "$(field_of "$last" .exit_reason)" preempted
check "the guaranteed container gets its memory after the kill" wait_until 60 uses "$big" 600
is "the opportunistic container that started earlier is not killed" "$(state_of "$first")" RUNNING
like "explain prints the amounts for the kill" "$(nmctl explain "$last")" 'MiB|GiB|%'
at_least "status counts the kill" "$(status_of .preemptions.killed)" 1
is "the kernel's OOM killer has killed no process" "$(field $cg/nm.slice/memory.events oom_kill)" 0
nmctl kill --now --wait "$big" "$first" "$full" >/dev/null

# ---- memory of paused containers is reclaimed before a kill -------------------------------------

sleep 3
# Memory is reclaimed until use is below the over-allocation threshold. The threshold is high here, so that little memory is
# swapped: an emulated machine is slow.
quick_nmd "[node]" "memory = 1G" "[preemption]" "cpu-samples = 100" "squeeze = no" "breaker = 2s" \
    "reclaim-running = 0s" "[over-allocation]" "memory-threshold = 0.9"
big=$(start big 50 -m 900M -c 0.5)
check "a second guaranteed container that requests much and uses little is running" \
    wait_until 60 in_state "$big" RUNNING
idle=$(start idle 300 --opportunistic -m 400M -c 0.1)
check "an opportunistic container is running beside it" wait_until 90 in_state "$idle" RUNNING
check "the opportunistic container allocates its memory" wait_until 60 uses "$idle" 290
check "a user pauses the opportunistic container" nmctl pause "$idle"
check "the cgroup of the paused container is frozen" \
    wait_until 20 grep -qx 'frozen 1' "$cg/nm.slice/nm-$idle.scope/cgroup.events"
# Use is just over the threshold, so that a reclaim of idle memory of the frozen container is sufficient.
grow big 690
swapped() { [ "$(cat "$cg/nm.slice/nm-$idle.scope/memory.swap.current")" -gt $((10 << 20)) ]; }
check "memory of the paused container is moved to swap when the guaranteed container needs memory" wait_until 90 swapped
check "the guaranteed container gets its memory by this reclaim" wait_until 60 uses "$big" 680
is "the paused container is not killed" "$(state_of "$idle")" PAUSED
# nmd counts the reclaimed memory when the worker has ended.
counted() { [ "$(status_of .preemptions.reclaimed_bytes)" -ge $((10 << 20)) ]; }
check "status counts the reclaimed memory" wait_until 180 counted
nmctl kill --now --wait "$big" "$idle" >/dev/null

# ---- CPU: containers are paused, the latest-started first, and resumed --------------------------

quick_nmd "[preemption]" "cpu-samples = 4" "cpu-threshold = 0.9" \
    "[over-allocation]" "cpu-threshold = 0.75" "warmup = 2s"
spin='while :; do :; done'
a=$(nmctl run -D --opportunistic -m 16M -c 0.1 -- bash -c "$spin")
check "an opportunistic container that uses all CPU time is running" wait_until 60 in_state "$a" RUNNING
g=$(nmctl run -D -m 16M -c 2 -- bash -c "$spin & $spin")
check "a guaranteed container starts to use both CPUs" wait_until 60 in_state "$g" RUNNING
check "the opportunistic container is paused" wait_until 60 in_state "$a" PAUSED
is "the cgroup of the paused opportunistic container is frozen" "$(field "$cg/nm.slice/nm-$a.scope/cgroup.events" frozen)" 1
check "the paused container has a deadline" test "$(field_of "$a" .pause_deadline_usec)" -gt 0
nmctl kill --now --wait "$g" >/dev/null
check "the paused container is resumed when CPU is available" wait_until 60 in_state "$a" RUNNING
thawed() { [ "$(field "$cg/nm.slice/nm-$a.scope/cgroup.events" frozen)" = 0 ]; }
check "the cgroup of the resumed container is not frozen" wait_until 30 thawed
nmctl kill --now --wait "$a" >/dev/null
done_testing
