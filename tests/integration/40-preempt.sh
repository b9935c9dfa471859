#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# Preemption and resumption: real processes hold memory and use CPU time, and nmd measures them. The suite sets the use of the
# node by other processes.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[preemption]
breaker = 0
settle-samples = 8
pause-deadline = 10min
pause = yes
[queue]
max-length = 10
END
nmd_start
states() { # NAME...
    local name
    for name in "$@"; do printf '%s ' "$(state_of "$name")"; done
}
paused() { in_state "$1" PAUSED && frozen "$1"; }

# ---- memory use over beta: only as many latest-started containers as necessary are killed ----
hog g1 -m 700M -c 0.1 -- 100 600
wait_until 20 uses g1 100
for i in 1 2 3; do
    hog "o$i" --opportunistic -m 200M -c 0.1 -- 150
    wait_until 20 uses "o$i" 150
done
is "three opportunistic containers run beside a guaranteed container that uses little" "$(states o1 o2 o3)" \
    "RUNNING RUNNING RUNNING "
grow g1
check "memory use over beta kills the latest-started opportunistic container" wait_until 20 in_state o3 COMPLETED
is "the killed container has the exit reason preempted" "$(field_of o3 '"\(.exit_reason) \(.exit_code)"')" "preempted 137"
is "the killed container's record names the reason and the number of the decision" \
    "$(field_of o3 '"\(.exit_cause) \(.exit_decision_number)"')" \
    "$(decision_of o3 kill .reason) $(decision_of o3 kill .number)"
check "the guaranteed container continues to allocate memory" wait_until 20 uses g1 600
samples 20
is "only one container is killed" "$(states g1 o1 o2)" "RUNNING RUNNING RUNNING "
is "the decision record of the kill has the reason" "$(decision_of o3 kill '"\(.reason) \(.resource) \(.outcome)"')" \
    "memory-over-beta memory done"
is "the kill is counted in the status" "$(status_of .preemptions.killed)" 1
at_least "the decision record has the amount of memory that the kill freed" "$(decision_of o3 kill .regained.memory_bytes)" $((150 << 20))
kill_all

# ---- guaranteed containers are never victims ----
hog g1 -m 500M -c 0.1 -- 485
hog g2 -m 500M -c 0.1 -- 485
check "two guaranteed containers raise memory use above beta" wait_until 20 status_is '.node.utilization.memory > 0.95' true
samples 20
is "no guaranteed container is killed" "$(states g1 g2)" "RUNNING RUNNING "
kill_all

# ---- an opportunistic container is killed to start a guaranteed one ----
# With the memory of both, there is no room for the start of the guaranteed container.
hog o1 --opportunistic -m 450M -c 0.1 -- 420
hog o2 --opportunistic -m 450M -c 0.1 -- 420
wait_until 20 uses o1 420
wait_until 20 uses o2 420
wait_until 10 settled o1 o2
submit g1 -m 500M -c 0.1 -- sleep 300
check "a guaranteed container starts although it did not fit at first" wait_until 20 in_state g1 RUNNING
check "the latest-started opportunistic container was killed for the guaranteed one" wait_until 5 in_state o2 COMPLETED
is "only one container was killed for the guaranteed one" "$(state_of o1)" RUNNING
is "the decision record of the kill names the guaranteed container" \
    "$(decision_of o2 kill '"\(.reason) \(.on_behalf_of_id)"')" "room-for-guaranteed $id"
is "the guaranteed container has waited for the memory of the victim" "$(decision_of g1 queue .reason)" waiting-for-victims
kill_all

# ---- where there is room for the start, the guaranteed container doesn't wait until the victim has ended ----
hog o1 --opportunistic -m 350M -c 0.1 -- 300
hog o2 --opportunistic -m 350M -c 0.1 -- 300
wait_until 20 uses o1 300
wait_until 20 uses o2 300
wait_until 10 settled o1 o2
submit g1 -m 500M -c 0.1 -- sleep 300
check "the guaranteed container starts" wait_until 20 in_state g1 RUNNING
check "the latest-started opportunistic container is killed" wait_until 20 in_state o2 COMPLETED
is "the container that is not needed runs" "$(state_of o1)" RUNNING
is "the guaranteed container is admitted in the round of the kill, and has not waited" \
    "$(decision_of g1 admit .number)" $(($(decision_of o2 kill .number) + 1))
kill_all

# ---- CPU use over beta: containers are paused, and resumed in order of arrival ----
for i in 1 2 3; do
    hog "o$i" --opportunistic -m 50M -c 0.3 -- 5 --spin
    wait_until 20 burns "o$i" 100
done
wait_until 10 settled o1 o2 o3
node_cpu 1950
check "CPU use over beta pauses the latest-started opportunistic container" wait_until 20 in_state o3 PAUSED
is "the kernel reports the paused container's cgroup as frozen" "$(frozen o3 && echo yes)" yes
at_least "the pause comes after several samples in a row over beta" "$(decision_of o3 pause .consecutive_samples)" 4
is "the decision record of the pause has the reason" "$(decision_of o3 pause '"\(.reason) \(.resource)"')" "cpu-over-beta cpu"
like "the decision record of the pause has a deadline" "$(field_of o3 .pause_deadline_usec)" '^[0-9]+$'
samples 2 # the newest sample may be older than the freeze
before=$(field_of o3 .cpu_time_usec)
samples 4
is "the paused container uses no CPU" "$(field_of o3 '"\(.cpu_time_usec) \(.cpu_used_millicores)"')" "$before 0"
check "the paused container keeps its memory" uses o3 5
check "if CPU use is over beta again after the settle time, the next container is paused" wait_until 20 paused o2
node_cpu 0
check "a paused container is resumed when CPU is available" wait_until 20 in_state o3 RUNNING
is "all paused containers are resumed" "$(states o1 o2 o3)" "RUNNING RUNNING RUNNING "
is "all resumed containers are thawed" "$(frozen o3 || echo thawed)" thawed
is "paused containers are resumed in order of arrival" "$(jq -n "$(decision_of o2 resume .number) < $(decision_of o3 resume .number)")" true
is "no container is killed because of CPU use" "$(decision_of o3 kill)$(decision_of o2 kill)" nullnull
at_least "the pauses are counted in the status" "$(status_of .preemptions.paused)" 2
at_least "the resumes are counted in the status" "$(status_of .preemptions.resumed)" 2

# Only a user can resume a container that a user has paused.
nmctl pause o1 >/dev/null
check "a user pauses a container" wait_until 5 paused o1
samples 10
is "nmd does not resume a container that a user has paused" "$(state_of o1)" PAUSED
nmctl resume o1 >/dev/null
check "a user resumes a container" wait_until 5 in_state o1 RUNNING

# ---- exempt containers and minimum run times ----
hog master --opportunistic --exempt -m 50M -c 0.3 -- 5 --spin
hog spared --opportunistic --min-runtime 1h -m 50M -c 0.3 -- 5 --spin
wait_until 20 burns spared 100
wait_until 10 settled master spared
node_cpu 1950
check "other containers are paused before a container in its minimum run time" wait_until 20 in_state o3 PAUSED
node_cpu 0
is "neither the container in its minimum run time nor the application master is paused" "$(states master spared)" "RUNNING RUNNING "
is "the decision record names the containers that were not chosen" "$(decision_of o3 pause '[.candidates[] |
    select(.name == "master" or .name == "spared") | .passed_over] | sort | join(" ")')" "exempt min-runtime"
nmctl kill --now --wait o1 o2 o3 >/dev/null
# Only these two containers are running. Later only the application master is running.
node_cpu 1950
check "a container in its minimum run time is paused if the application master is the only other one" wait_until 20 in_state spared PAUSED
samples 20
is "the application master is never paused" "$(state_of master)" RUNNING
node_cpu 0
check "the container that was paused in its minimum run time is resumed" wait_until 20 in_state spared RUNNING
kill_all

# ---- the deadline of a pause ----
reconfigure preemption pause-deadline 1s
hog o1 --opportunistic -m 50M -c 0.3 -- 5 --spin
wait_until 20 burns o1 100
node_cpu 1950
check "a container is killed when it was paused for too long" wait_until 20 in_state o1 COMPLETED
is "the decision record of this kill names the deadline of the pause" \
    "$(field_of o1 .exit_reason) $(decision_of o1 kill .reason)" "pause-deadline pause-deadline"
node_cpu 0

# ---- pausing is disabled ----
reconfigure preemption pause no
hog o1 --opportunistic -m 50M -c 0.3 -- 5 --spin
hog o2 --opportunistic -m 50M -c 0.3 -- 5 --spin
wait_until 20 burns o2 100
wait_until 10 settled o1 o2
node_cpu 1950
check "with pausing disabled, the latest-started container is killed" wait_until 20 in_state o2 COMPLETED
node_cpu 0
is "with pausing disabled, the victim is chosen by the same order" \
    "$(decision_of o2 kill '"\(.reason) \(.consecutive_samples >= 4)"')" "cpu-over-beta true"
is "with pausing disabled, only one container is killed" "$(state_of o1)" RUNNING
kill_all

# ---- no admissions and kills without a sample ----
reconfigure preemption pause yes
submit g1 -m 900M -c 0.1 -- sleep 300
hog o1 --opportunistic -m 50M -c 0.1 -- 40
wait_until 20 uses o1 40
node_memory_gone
check "the node has no current sample" wait_until 10 grep -q "can't be read" "$dir/nmd.log"
submit g2 -m 50M -c 0.1 -- sleep 300
submit o2 --opportunistic -m 50M -c 0.1 -- sleep 300
check "without a sample, no opportunistic container is admitted" wait_until 10 queue_reason_is o2 no-sample
check "without a sample, no guaranteed container is admitted" wait_until 10 queue_reason_is g2 no-sample
samples 10
is "without a sample, no container is killed" "$(states g1 o1 g2 o2)" "RUNNING RUNNING SCHEDULED SCHEDULED "
node_memory 0
check "the queued opportunistic container starts when samples are available again" wait_until 10 in_state o2 RUNNING
check "the guaranteed container starts when samples are available again" wait_until 10 in_state g2 RUNNING
# ---- nmd reacts immediately to a surge between two samples -----------------
kill_all
nmd_stop
nmd_configure <<END
[node]
memory = 1000M
[sampling]
period = 60s
[over-allocation]
cpu-threshold = 0.3
[preemption]
cpu-threshold = 0.4
cpu-samples = 1
END
nmd_start
submit o1 --opportunistic -m 50M -c 0.1 -- /usr/bin/python3 -c "
import os, sys, time
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # hog.py gives the reason
while not os.path.exists('$dir/go'):
    time.sleep(0.01)
while True:
    pass"
check "the sampling period is a minute" wait_until 20 in_state o1 RUNNING
touch "$dir/go"
check "an opportunistic container that uses all CPUs right after its start is paused before the next sample" \
    wait_until 10 in_state o1 PAUSED
kill_all

is "no invariant of the policy was violated" "$(grep -c 'a rule of the policy was violated' "$dir/nmd.log")" 0
nmd_alive || not_ok "nmd still runs"
done_testing
