#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# Changes of the node while nmd runs: CPUs go offline and come back, a balloon takes memory, and a pool of huge pages is
# created. nmd adjusts the capacity and the kernel's limits. The suite also tests a suspend of the host.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

capacity() { status_of '"\(.node.capacity.memory_bytes / 1048576 | floor) \(.node.capacity.vcores)"'; }
capacity_is() { [ "$(capacity)" = "$1" ]; }
has_event() { nmctl events --json | grep -q "$1"; }

node_proc_start 4000 4
nmd_configure <<END
[node]
system-reserved-memory = 200M
END
nmd_start
check "the capacity is the node's memory minus the reserve" wait_until 5 capacity_is "3800 4"

node_memory 100 1000
check "memory in pools of huge pages is subtracted from the capacity" wait_until 5 capacity_is "2800 4"
is "memory in pools of huge pages is not counted as used" "$(status_of '.node.utilization.memory < 0.05')" true
is "status reports the memory in pools of huge pages" "$(status_of .node.machine.hugetlb_bytes)" $((1000 << 20))
node_memory 100
check "the capacity grows when the pools of huge pages are released" wait_until 5 capacity_is "3800 4"

node_kib=$((2000 * 1024))
node_memory 100
check "memory that a balloon takes is subtracted from the capacity" wait_until 5 capacity_is "1800 4"
submit big -m 2G -- sleep 300 2>/dev/null
is "a request that does not fit into the reduced capacity is refused" "$(state_of big)" null
node_kib=$((2001 * 1024))
node_memory 100
check "nmd adjusts the capacity to a small change after a delay" wait_until 15 capacity_is "1801 4"

node_cpus 2
check "the capacity shrinks when CPUs go offline" wait_until 5 capacity_is "1801 2"
check "an event reports the number of online CPUs" wait_until 5 has_event "2 CPUs now: capacity is 1.8 GiB and 2 vcores"
submit cpus3 -m 50M -c 3 -- sleep 300 2>/dev/null
is "a request for more CPUs than the node has online is refused" "$(state_of cpus3)" null
submit o1 --opportunistic -m 50M -c 1 -- sleep 300
check "opportunistic containers are admitted with the remaining CPUs" wait_until 10 in_state o1 RUNNING
node_cpus 4
check "the capacity grows when the CPUs are online again" wait_until 5 capacity_is "1801 4"
submit cpus3 -m 50M -c 3 -- sleep 300
check "a request for these CPUs starts when they are online again" wait_until 5 in_state cpus3 RUNNING
kill_all
nmd_stop

# The capacity is configured. A vcore is a share of a CPU, not a whole CPU.
node_kib=$((4000 * 1024))
node_memory 100
nmd_configure <<END
[node]
memory = 3G
vcores = 8
END
nmd_start
check "the node offers the configured capacity" wait_until 5 capacity_is "3072 8"
submit v4 -m 50M -c 4 -- sleep 300
wait_until 5 in_state v4 RUNNING
node_kib=$((2000 * 1024))
node_memory 100
check "the configured memory is limited to the memory that the node has left" wait_until 5 capacity_is "1744 8"
node_cpus 2
check "the number of configured vcores does not change with the number of CPUs" wait_until 5 status_is .node.machine.cpus 2
is "the requests in vcores do not change with the number of CPUs" "$(field_of v4 .vcores)" 4
node_kib=$((4000 * 1024))
node_memory 100
node_cpus 4
check "the node offers the configured capacity again when memory and CPUs are back" wait_until 5 capacity_is "3072 8"
is "the container's request is unchanged afterwards" "$(field_of v4 .vcores)" 4
kill_all
nmd_stop

# ---- the host is suspended ----
# nmd is stopped for a while. Two cases differ in the clocks that nmd reads afterwards. In the first case the host was
# suspended, so that no container could be resumed. In the second case only nmd was stopped. In both cases the deadline of the
# pause has long passed when nmd continues.
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
    check "container $1 is paused while the node uses much CPU" wait_until 20 in_state "$1" PAUSED
    deadline=$(field_of "$1" .pause_deadline_usec)
    samples 12 # the decision has settled, so its measured gain is known
    kill -STOP "$nmd_pid"
    node_cpu 0
    wait_until 30 over_by 500000
    echo "$2" >"$dir/asleep"
    kill -CONT "$nmd_pid"
}
over_by() { [ $(($(date +%s%6N) - deadline)) -gt "$1" ]; }
away slept 8000000
check "a container is resumed if its pause deadline passed while the host was suspended" wait_until 10 in_state slept RUNNING
is "the container that was paused during the suspend is not killed" "$(decision_of slept kill)" null
kill_all
away missed 8000000
check "a container is killed if its pause deadline passed while only nmd was stopped" wait_until 10 in_state missed COMPLETED
is "the record of the killed container names the pause deadline" "$(field_of missed .exit_reason)" pause-deadline
kill_all
nmd_stop
done_testing
