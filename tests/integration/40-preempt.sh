#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# Preemption and resumption: real processes hold memory and use CPU time, and nmd measures them. The suite sets the node's other use.
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

# ---- memory over beta: the latest-started is killed, and no more than needed ----
hog g1 -m 700M -c 0.1 -- 100 600
wait_until 20 uses g1 100
for i in 1 2 3; do
    hog "o$i" --opportunistic -m 200M -c 0.1 -- 150
    wait_until 20 uses "o$i" 150
done
is "three opportunistic containers run beside a guaranteed one that uses little" "$(states o1 o2 o3)" \
    "RUNNING RUNNING RUNNING "
grow g1
check "memory over beta kills the latest-started container" wait_until 20 in_state o3 COMPLETED
is "the killed container ended as preempted" "$(field_of o3 '"\(.exit_reason) \(.exit_code)"')" "preempted 137"
is "the killed container names the reason and the decision" "$(field_of o3 '"\(.exit_cause) \(.exit_decision_number)"')" \
    "$(decision_of o3 kill .reason) $(decision_of o3 kill .number)"
check "the guaranteed container keeps growing" wait_until 20 uses g1 600
samples 20
is "only one container is killed" "$(states g1 o1 o2)" "RUNNING RUNNING RUNNING "
is "the record has the reason" "$(decision_of o3 kill '"\(.reason) \(.resource) \(.outcome)"')" \
    "memory-over-beta memory done"
is "the kill is counted" "$(status_of .preemptions.killed)" 1
at_least "the record has the regained memory" "$(decision_of o3 kill .regained.memory_bytes)" $((150 << 20))
kill_all

# ---- guaranteed ones are never victims ----
hog g1 -m 500M -c 0.1 -- 485
hog g2 -m 500M -c 0.1 -- 485
check "two guaranteed containers use memory over beta" wait_until 20 status_is '.node.utilization.memory > 0.95' true
samples 20
is "guaranteed containers are not killed" "$(states g1 g2)" "RUNNING RUNNING "
kill_all

# ---- room for a guaranteed container ----
hog o1 --opportunistic -m 350M -c 0.1 -- 300
hog o2 --opportunistic -m 350M -c 0.1 -- 300
wait_until 20 uses o2 300
wait_until 10 settled o1 o2
submit g1 -m 500M -c 0.1 -- sleep 300
check "a guaranteed container that did not fit starts" wait_until 20 in_state g1 RUNNING
check "the latest-started container was killed for it" wait_until 5 in_state o2 COMPLETED
is "only one container was killed for it" "$(state_of o1)" RUNNING
is "the record names the guaranteed container" "$(decision_of o2 kill '"\(.reason) \(.on_behalf_of_id)"')" "room-for-guaranteed $id"
# The victim's cgroup was empty before the start. Its end is recorded in the next turn of the event loop, up to 50 ms later.
is "the kill was before the start" "$(jq -n "$(field_of g1 .started_usec) >= $(field_of o2 .finished_usec) - 50000")" true
kill_all

# ---- CPU over beta: paused, resumed in order of arrival ----
for i in 1 2 3; do
    hog "o$i" --opportunistic -m 50M -c 0.3 -- 5 --spin
    wait_until 20 burns "o$i" 100
done
wait_until 10 settled o1 o2 o3
node_cpu 1950
check "CPU over beta pauses the latest-started container" wait_until 20 in_state o3 PAUSED
is "the kernel reports the container as frozen" "$(frozen o3 && echo yes)" yes
at_least "the pause came after several samples in a row" "$(decision_of o3 pause .consecutive_samples)" 4
is "the record of the pause has the reason" "$(decision_of o3 pause '"\(.reason) \(.resource)"')" "cpu-over-beta cpu"
like "the pause has a deadline" "$(field_of o3 .pause_deadline_usec)" '^[0-9]+$'
before=$(field_of o3 .cpu_time_usec)
samples 4
is "the paused container uses no CPU" "$(field_of o3 '"\(.cpu_time_usec) \(.cpu_used_millicores)"')" "$before 0"
check "the paused container keeps its memory" uses o3 5
check "CPU that is still over beta pauses the next container after it has settled" wait_until 20 paused o2
node_cpu 0
check "a container is resumed when CPU is available" wait_until 20 in_state o3 RUNNING
is "all containers are resumed" "$(states o1 o2 o3)" "RUNNING RUNNING RUNNING "
is "all containers are thawed" "$(frozen o3 || echo thawed)" thawed
is "the containers are resumed in order of arrival" "$(jq -n "$(decision_of o2 resume .number) < $(decision_of o3 resume .number)")" true
is "no container was killed for CPU" "$(decision_of o3 kill)$(decision_of o2 kill)" nullnull
at_least "the pauses are counted" "$(status_of .preemptions.paused)" 2
at_least "the resumes are counted" "$(status_of .preemptions.resumed)" 2

# Only a user can resume a container that a user has paused.
nmctl pause o1 >/dev/null
check "a container is paused by a user" wait_until 5 paused o1
samples 10
is "the policy doesn't resume a container that a user paused" "$(state_of o1)" PAUSED
nmctl resume o1 >/dev/null
check "a container is resumed by a user" wait_until 5 in_state o1 RUNNING

# ---- exempt containers and minimum run times ----
hog master --opportunistic --exempt -m 50M -c 0.3 -- 5 --spin
hog spared --opportunistic --min-runtime 1h -m 50M -c 0.3 -- 5 --spin
wait_until 20 burns spared 100
wait_until 10 settled master spared
node_cpu 1950
check "other containers are paused before one in its minimum run time" wait_until 20 in_state o3 PAUSED
node_cpu 0
is "the container in its minimum run time and the application master keep running" "$(states master spared)" "RUNNING RUNNING "
is "the record names the containers that were passed over" "$(decision_of o3 pause '[.candidates[] |
    select(.name == "master" or .name == "spared") | .passed_over] | sort | join(" ")')" "exempt min-runtime"
nmctl kill --now --wait o1 o2 o3 >/dev/null
# Only these two containers are left, and later only the master.
node_cpu 1950
check "a container beside only the master is paused in its minimum run time" wait_until 20 in_state spared PAUSED
samples 20
is "the application master is never a victim" "$(state_of master)" RUNNING
node_cpu 0
check "the paused container is resumed" wait_until 20 in_state spared RUNNING
kill_all

# ---- the pause's deadline ----
reconfigure preemption pause-deadline 1s
hog o1 --opportunistic -m 50M -c 0.3 -- 5 --spin
wait_until 20 burns o1 100
node_cpu 1950
check "a container that is paused for too long is killed" wait_until 20 in_state o1 COMPLETED
is "the record of the kill names the deadline of the pause" \
    "$(field_of o1 .exit_reason) $(decision_of o1 kill .reason)" "pause-deadline pause-deadline"
node_cpu 0

# ---- without pausing ----
reconfigure preemption pause no
hog o1 --opportunistic -m 50M -c 0.3 -- 5 --spin
hog o2 --opportunistic -m 50M -c 0.3 -- 5 --spin
wait_until 20 burns o2 100
wait_until 10 settled o1 o2
node_cpu 1950
check "the latest-started container is killed if pausing is disabled" wait_until 20 in_state o2 COMPLETED
node_cpu 0
is "the victim is chosen by the same rule" "$(decision_of o2 kill '"\(.reason) \(.consecutive_samples >= 4)"')" "cpu-over-beta true"
is "only the victim is killed" "$(state_of o1)" RUNNING
kill_all

# ---- no actions without a sample ----
reconfigure preemption pause yes
submit g1 -m 900M -c 0.1 -- sleep 300
hog o1 --opportunistic -m 50M -c 0.1 -- 40
wait_until 20 uses o1 40
node_memory_gone
check "the node has no sample" wait_until 10 grep -q "can't be read" "$dir/nmd.log"
submit g2 -m 50M -c 0.1 -- sleep 300
submit o2 --opportunistic -m 50M -c 0.1 -- sleep 300
check "no opportunistic container is admitted without a sample" wait_until 10 hold_is o2 no-sample
check "no guaranteed container is admitted without a sample" wait_until 10 hold_is g2 no-sample
samples 10
is "no container is killed without a sample" "$(states g1 o1 g2 o2)" "RUNNING RUNNING SCHEDULED SCHEDULED "
node_memory 0
check "the queued container starts when samples return" wait_until 10 in_state o2 RUNNING
is "the guaranteed container starts when samples return" "$(state_of g2)" RUNNING
# ---- a surge between two samples is noticed at once -----------------
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
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # see hog.py
while not os.path.exists('$dir/go'):
    time.sleep(0.01)
while True:
    pass"
check "the period is a minute" wait_until 20 in_state o1 RUNNING
touch "$dir/go"
check "a container that has just started and takes the CPUs is paused" wait_until 10 in_state o1 PAUSED
kill_all

is "no rule of the policy was broken" "$(grep -c 'a rule of the policy was violated' "$dir/nmd.log")" 0
nmd_alive || not_ok "nmd still runs"
done_testing
