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
check "the capacity is the node's memory less the reserve" wait_until 5 capacity_is "3800 4"

node_memory 100 1000
check "memory in pools of huge pages is not in the capacity" wait_until 5 capacity_is "2800 4"
is "memory in pools of huge pages does not count as used" "$(status_of '.node.utilization.memory < 0.05')" true
is "status reports the memory in pools of huge pages" "$(status_of .node.machine.hugetlb_bytes)" $((1000 << 20))
node_memory 100
check "the capacity grows when the pools are released" wait_until 5 capacity_is "3800 4"

node_kib=$((2000 * 1024))
node_memory 100
check "a balloon reduces the capacity" wait_until 5 capacity_is "1800 4"
submit big -m 2G -- sleep 300 2>/dev/null
is "requests are compared with the reduced capacity" "$(state_of big)" null
node_kib=$((2001 * 1024))
node_memory 100
check "a small change is followed a little later" wait_until 15 capacity_is "1801 4"

node_cpus 2
check "some CPUs go offline" wait_until 5 capacity_is "1801 2"
check "an event reports the CPUs" wait_until 5 told "2 CPUs now: capacity is 1.8 GiB and 2 vcores"
submit cpus3 -m 50M -c 3 -- sleep 300 2>/dev/null
is "a request for more CPUs than are online is refused" "$(state_of cpus3)" null
submit o1 --opportunistic -m 50M -c 1 -- sleep 300
check "opportunistic containers are still admitted" wait_until 10 in_state o1 RUNNING
node_cpus 4
check "the CPUs come online again" wait_until 5 capacity_is "1801 4"
submit cpus3 -m 50M -c 3 -- sleep 300
check "the request then starts" wait_until 5 in_state cpus3 RUNNING
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
check "the capacity is configured" wait_until 5 capacity_is "3072 8"
submit v4 -m 50M -c 4 -- sleep 300
wait_until 5 in_state v4 RUNNING
node_kib=$((2000 * 1024))
node_memory 100
check "the configured capacity shrinks with the node" wait_until 5 capacity_is "1744 8"
node_cpus 2
check "the number of vcores is unchanged, as they are shares of the CPUs" wait_until 5 status_is .node.machine.cpus 2
is "the requests in vcores are unchanged" "$(field_of v4 .vcores)" 4
node_kib=$((4000 * 1024))
node_memory 100
node_cpus 4
check "the whole capacity is available again" wait_until 5 capacity_is "3072 8"
is "the request has its former amounts" "$(field_of v4 .vcores)" 4
kill_all
nmd_stop

# ---- the host sleeps ----
# nmd is stopped for a while, and sees different clocks of the host in two cases. In the first one the host slept, so no container could
# be resumed. In the second one only nmd was stopped. In both cases the deadline of the pause has long passed when nmd continues.
if ! grep -qs 'define NM_FAULT_INJECTION' "$NMD_TEST_BUILD/config.h"; then
    skip "the suspend of a host" "this build's clocks can't be moved: configure --enable-fault-injection"
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
check "a container that was paused before a suspend is resumed after the suspend" wait_until 10 in_state slept RUNNING
is "the container was never killed" "$(decision_of slept kill)" null
kill_all
away missed 8000000
check "without a suspend the deadline of a pause is kept" wait_until 10 in_state missed COMPLETED
is "the record names the deadline" "$(field_of missed .exit_reason)" pause-deadline
kill_all
nmd_stop
done_testing
