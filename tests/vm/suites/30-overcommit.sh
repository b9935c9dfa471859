#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
#
# nmd's main function: opportunistic containers use resources that guaranteed containers leave unused, and nmd takes the resources back
# when the guaranteed ones need them. With real memory and CPU.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

# ---- memory: admission by measured use, preemption of the latest --------------------------------

quick_nmd "[node]" "memory = 1G" "[preemption]" "cpu-samples = 100" "squeeze = no" "breaker = 2s" \
    "reclaim-running = 0s"
is "the capacity is the configured one" "$(status_of .node.capacity.memory_bytes)" $((1 << 30))
big=$(start big 50 -m 800M -c 0.5)
check "a guaranteed container requests much and uses little" wait_until 60 in_state "$big" RUNNING
a=$(start a 200 --opportunistic -m 250M -c 0.1)
b=$(start b 200 --opportunistic -m 250M -c 0.1)
both_run() { in_state "$a" RUNNING && in_state "$b" RUNNING; }
check "two opportunistic containers start, although all requests exceed the node" \
    wait_until 90 both_run
check "the opportunistic containers use what they requested" wait_until 60 uses "$b" 190
# The containers are admitted in order of arrival, perhaps both in one round. Their commands may start in the other order.
first=$a last=$b
full=$(nmctl run -D --opportunistic -m 600M -c 0.1 sleep 1000)
sleep 3
is "a request that would exceed the threshold waits" "$(state_of "$full")" SCHEDULED
like "explain gives the reason" "$(nmctl explain "$full")" 'memory'
grow big 650
check "the guaranteed container grows, and the latest opportunistic one is killed" \
    wait_until 60 in_state "$last" COMPLETED
is "the killed container was preempted" "$(field_of "$last" .exit_reason)" preempted
check "the guaranteed container gets its memory" wait_until 60 uses "$big" 600
is "the earlier opportunistic container stays" "$(state_of "$first")" RUNNING
like "explain has the amounts" "$(nmctl explain "$last")" 'MiB|GiB|%'
at_least "the kill is counted" "$(status_of .preemptions.killed)" 1
is "the kernel has killed no process" "$(field $cg/nm.slice/memory.events oom_kill)" 0
nmctl kill --now --wait "$big" "$first" "$full" >/dev/null

# ---- memory of paused containers is reclaimed before a kill -------------------------------------

sleep 3
# Memory is reclaimed down to the over-allocation threshold. It is high here, because an emulated machine swaps only 3 MiB per second.
quick_nmd "[node]" "memory = 1G" "[preemption]" "cpu-samples = 100" "squeeze = no" "breaker = 2s" \
    "reclaim-running = 0s" "[over-allocation]" "memory-threshold = 0.9"
big=$(start big 50 -m 900M -c 0.5)
check "a second guaranteed container requests much and uses little" \
    wait_until 60 in_state "$big" RUNNING
idle=$(start idle 300 --opportunistic -m 400M -c 0.1)
check "an opportunistic container starts" wait_until 90 in_state "$idle" RUNNING
check "the opportunistic container fills its memory" wait_until 60 uses "$idle" 290
check "the opportunistic container is paused by a user" nmctl pause "$idle"
check "the kernel reports the container as frozen" \
    wait_until 20 grep -qx 'frozen 1' "$cg/nm.slice/nm-$idle.scope/cgroup.events"
# Use is just over the threshold, and it suffices to reclaim idle memory of the frozen container.
grow big 690
swapped() { [ "$(cat "$cg/nm.slice/nm-$idle.scope/memory.swap.current")" -gt $((10 << 20)) ]; }
check "the memory of the paused container is reclaimed to swap when another container needs it" wait_until 90 swapped
check "the guaranteed container gets its memory from the reclaim" wait_until 60 uses "$big" 680
is "no container was killed for the reclaim" "$(state_of "$idle")" PAUSED
# The reclaimed memory is counted at the end of the worker.
counted() { [ "$(status_of .preemptions.reclaimed_bytes)" -ge $((10 << 20)) ]; }
check "the reclaimed memory is counted" wait_until 180 counted
nmctl kill --now --wait "$big" "$idle" >/dev/null

# ---- CPU: paused, latest first, and resumed -----------------------------------------------------

quick_nmd "[preemption]" "cpu-samples = 4" "cpu-threshold = 0.9" \
    "[over-allocation]" "cpu-threshold = 0.75" "warmup = 2s"
spin='while :; do :; done'
a=$(nmctl run -D --opportunistic -m 16M -c 0.1 -- bash -c "$spin")
check "an opportunistic spinner starts" wait_until 60 in_state "$a" RUNNING
g=$(nmctl run -D -m 16M -c 2 -- bash -c "$spin & $spin")
check "a guaranteed container takes both CPUs" wait_until 60 in_state "$g" RUNNING
check "the opportunistic container is paused" wait_until 60 in_state "$a" PAUSED
is "the kernel reports the paused container as frozen" "$(field "$cg/nm.slice/nm-$a.scope/cgroup.events" frozen)" 1
check "the pause has a deadline" test "$(field_of "$a" .pause_deadline_usec)" -gt 0
nmctl kill --now --wait "$g" >/dev/null
check "the container is resumed when CPU is available" wait_until 60 in_state "$a" RUNNING
thawed() { [ "$(field "$cg/nm.slice/nm-$a.scope/cgroup.events" frozen)" = 0 ]; }
check "the kernel reports the container as not frozen" wait_until 30 thawed
nmctl kill --now --wait "$a" >/dev/null
done_testing
