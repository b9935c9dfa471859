#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# Changes of the node while nmd runs: CPUs go offline and come back, a balloon takes memory, a pool of huge pages is created. nmd adjusts
# the capacity and the kernel's limits. In addition the host sleeps.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

capacity() { status_of '"\(.node.capacity.memory_bytes / 1048576 | floor) \(.node.capacity.vcores)"'; }
capacity_is() { [ "$(capacity)" = "$1" ]; }
told() { nmctl events --json | grep -q "$1"; }

node_proc_start 4000 4
nmd_configure <<END
[node]
system-reserved-memory = 200M
END
nmd_start
check "capacity is the node less the reserve" wait_until 5 capacity_is "3800 4"

node_memory 100 1000
check "what is in pools of huge pages is no capacity" wait_until 5 capacity_is "2800 4"
is "nor does it count as used" "$(status_of '.node.utilization.memory < 0.05')" true
is "and status says how much that is" "$(status_of .node.machine.hugetlb_bytes)" $((1000 << 20))
node_memory 100
check "and is again when they are given back" wait_until 5 capacity_is "3800 4"

node_kib=$((2000 * 1024))
node_memory 100
check "a balloon takes its part of the capacity" wait_until 5 capacity_is "1800 4"
submit big -m 2G -- sleep 300 2>/dev/null
is "which is what requests are held against" "$(state_of big)" null
node_kib=$((2001 * 1024))
node_memory 100
check "a small step is followed, too, a little later" wait_until 15 capacity_is "1801 4"

node_cpus 2
check "CPUs go offline" wait_until 5 capacity_is "1801 2"
check "and it is told" wait_until 5 told "2 CPUs now: capacity is 1.8 GiB and 2 vcores"
submit cpus3 -m 50M -c 3 -- sleep 300 2>/dev/null
is "what asks for more than are left is refused" "$(state_of cpus3)" null
submit o1 --opportunistic -m 50M -c 1 -- sleep 300
check "opportunistic work goes on to be admitted" wait_until 10 in_state o1 RUNNING
node_cpus 4
check "and come back" wait_until 5 capacity_is "1801 4"
submit cpus3 -m 50M -c 3 -- sleep 300
check "then it starts" wait_until 5 in_state cpus3 RUNNING
kill_all
nmd_stop

# The capacity is configured, and vcores are shares of a CPU.
node_kib=$((4000 * 1024))
node_memory 100
nmd_configure <<END
[node]
memory = 3G
vcores = 8
END
nmd_start
check "a capacity that was chosen" wait_until 5 capacity_is "3072 8"
submit v4 -m 50M -c 4 -- sleep 300
wait_until 5 in_state v4 RUNNING
node_kib=$((2000 * 1024))
node_memory 100
check "shrinks with the node" wait_until 5 capacity_is "1744 8"
node_cpus 2
check "vcores are shares of it, and stay as many" wait_until 5 status_is .node.machine.cpus 2
is "what was asked for in them stays, too" "$(field_of v4 .vcores)" 4
node_kib=$((4000 * 1024))
node_memory 100
node_cpus 4
check "all of it is there again" wait_until 5 capacity_is "3072 8"
is "and the request is what it was" "$(field_of v4 .vcores)" 4
kill_all
nmd_stop

# ---- the host sleeps ----
# nmd is stopped for a while, and sees different clocks of the host in two cases. In the first one the host slept, so no container could
# be resumed. In the second one only nmd was stopped. In both cases the deadline of the pause has long passed when nmd continues.
if ! grep -qs 'define NM_FAULT_INJECTION' "$NMD_TEST_BUILD/config.h"; then
    skip "a host that slept" "this build's clocks can't be moved: configure --enable-fault-injection"
    done_testing
fi
nmd_configure <<END
[preemption]
breaker = 0
settle-samples = 8
pause-deadline = 8s
pause = yes
END
echo 0 >"$dir/asleep"
NMD_ASLEEP=$dir/asleep nmd_start
away() { # NAME SLEPT-USEC
    submit "$1" --opportunistic -m 50M -c 1 -- sh -c 'while :; do :; done'
    wait_until 20 burns "$1" 100
    node_cpu 3950
    check "$1 is paused while the node is busy" wait_until 20 in_state "$1" PAUSED
    deadline=$(field_of "$1" .pause_deadline_usec)
    samples 12 # long enough to have settled: what it regained is known
    kill -STOP "$nmd_pid"
    node_cpu 0
    wait_until 30 over_by 500000
    echo "$2" >"$dir/asleep"
    kill -CONT "$nmd_pid"
}
over_by() { [ $(($(date +%s%6N) - deadline)) -gt "$1" ]; }
away slept 8000000
check "what was paused when the host fell asleep is resumed after it" wait_until 10 in_state slept RUNNING
is "and was never killed" "$(decision_of slept kill)" null
kill_all
away missed 8000000
check "where the host didn't sleep, the deadline is one" wait_until 10 in_state missed COMPLETED
is "and says so" "$(field_of missed .exit_reason)" pause-deadline
kill_all
nmd_stop
done_testing
