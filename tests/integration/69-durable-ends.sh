#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: others
#
# Ends and deadlines of containers when nmd or shims are killed. Deadlines continue while nmd is not running. If another program
# kills a shim or a whole scope, nmd reports this at any time, and reports only known facts.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END_CONF
[node]
memory = 1000M
[preemption]
kill-grace = 1s
pause-deadline = 2s
END_CONF
low=(-m 20M -c 0.1)
msec() { date +%s%3N; }
past() { [ "$(msec)" -ge "$1" ]; } # MILLISECONDS: for wait_until
nmd_start

# ---- deadlines ----------------------------------------------------------------------------------

# These containers record each SIGTERM and keep running.
ignores_term() { # NAME
    noting "$1" "${low[@]}" -- "trap 'echo term >>$runs/$1.terms' TERM; while :; do sleep 0.1; done"
    wait_until 5 in_state "$1" RUNNING
    wait_until 5 test -s "$runs/$1"
}
ignores_term late
ignores_term early
noting paused-late --opportunistic "${low[@]}" -- 'exec sleep 1000'
noting paused-early --opportunistic "${low[@]}" -- 'exec sleep 1000'
for name in late early paused-late paused-early; do wait_until 5 in_state $name RUNNING; done
stays=$(pid_of paused-late) killed=$(pid_of late)
nmctl pause paused-early >/dev/null
reconfigure preemption pause-deadline 300s
nmctl pause paused-late >/dev/null
wait_until 5 in_state paused-late PAUSED
wait_until 5 in_state paused-early PAUSED
deadline=$(field_of paused-late .pause_deadline_usec)
early_deadline=$(field_of paused-early .pause_deadline_usec)
nmctl kill early >/dev/null
reconfigure preemption kill-grace 6s
begun=$(msec)
nmctl kill late >/dev/null
wait_until 5 test -s "$runs/early.terms"
wait_until 5 test -s "$runs/late.terms"
nmd_kill
wait_until 10 past $((begun + 3000))
is "paused containers stay frozen while nmd is stopped" \
    "$(find "$(slice_dir)" -name cgroup.events -exec grep -lx 'frozen 1' {} + | wc -l)" 2
node_memory 123
nmd_start
is "a container in its grace period is not killed before the deadline when nmd restarts" "$(state_of late)" KILLING
check "the processes of a container in its grace period are running after the restart" kill -0 "$killed"
check "a container whose grace period ended while nmd was stopped is killed after the restart" wait_until 5 ended_as early "137 killed"
check "a container whose pause deadline passed while nmd was stopped is killed with this reason" \
    wait_until 5 ended_as paused-early "137 pause-deadline"
at_least "the container with the passed pause deadline is killed after the deadline" \
    "$(field_of paused-early .finished_usec)" "$early_deadline"
at_least "the container with the passed pause deadline is killed only after a sample of the node" \
    "$(decision_of paused-early kill '.used_or_reserved.memory_bytes')" $((123 << 20))
is "a container with a later pause deadline stays paused" "$(state_of paused-late) $(pid_of paused-late)" "PAUSED $stays"
is "a later pause deadline is unchanged after the restart" "$((($(field_of paused-late .pause_deadline_usec) - deadline) / 50000))" 0
check "the container in its grace period is killed when the period ends" wait_until 10 ended_as late "137 killed"
took=$(($(field_of late .finished_usec) / 1000 - begun))
at_least "the container in its grace period is not killed before the end of the period" "$took" 5900
at_least "a restart of nmd does not start the grace period again" 8500 "$took"
is "a restart of nmd sends no second SIGTERM" "$(grep -c . "$runs/late.terms") $(grep -c . "$runs/early.terms")" "1 1"
is "each decision record about these containers has an outcome" "$(for name in late early paused-early; do
    nmctl explain --json "$name"; done | jq -s '[.[][] | select(.outcome == "pending")] | length')" 0
node_memory 0
nmctl kill --now paused-late >/dev/null

# ---- a reload does not change a kill in progress, and a second kill request changes it ----
ignores_term late2
nmctl kill late2 >/dev/null
nmd_stop
nmd_start
nmctl kill --now late2 >/dev/null
check "after a restart, a container in its grace period can be killed immediately" \
    wait_until 3 ended_as late2 "137 killed"

# ---- a kill with a grace period continues without the journal ----
ignores_term late3
nmctl kill late3 >/dev/null
wait_until 5 test -s "$runs/late3.terms"
nmd_stop
rm -f "$dir/state/nmd.db" "$dir/state/nmd.db-wal"
nmd_start
is "a container in its grace period stays in the state KILLING if the journal is lost" "$(state_of late3)" KILLING
check "a container in its grace period is killed in time if the journal is lost" wait_until 10 ended_as late3 "137 killed"

# ---- shims that die at each of their steps ------------------------------------------------------

# nmd is running. STEP MESSAGE END: what nmd reports about a container whose shim dies at this step.
nmd_stop
moment() {
    NMD_FAULT=$1 nmd_start
    noting "$1" "${low[@]}" -- 'exit 4'
    check "a container ends with $3 if its shim dies at $1 while nmd is running" wait_until 5 ended_as "$1" "$3"
    like "$1: the container's record says that the shim died" "$(field_of "$1" .message)" "$2"
    is "$1: the command has not run twice" "$(($(runs_of "$1") <= 1))" 1
    is "$1: each decision record has an outcome" \
        "$(nmctl explain --json "$1" | jq '[.[] | select(.outcome == "pending")] | length')" 0
    nmd_stop
    nmd_start
    is "$1: a restart of nmd does not change the result" "$(end_of "$1")" "COMPLETED $3"
    nmd_stop
}
# nmd is not running. The command exits while nmd is stopped.
moment_alone() { # STEP END
    local name=alone-$1 pid
    NMD_FAULT=$1 nmd_start
    noting "$name" "${low[@]}" -- "until [ -e $runs/go-$1 ]; do sleep 0.05; done; exit 5"
    wait_until 5 in_state "$name" RUNNING
    pid=$(shim "$name")
    nmd_kill
    touch "$runs/go-$1"
    wait_until 5 over "$pid"
    nmd_start
    check "a container ends with $2 if its shim dies at $1 while nmd is stopped" wait_until 5 ended_as "$name" "$2"
    is "$1: the command has run once" "$(runs_of "$name")" 1
    nmd_stop
}
if grep -qs 'define NM_FAULT_INJECTION' "$NMD_TEST_BUILD/config.h"; then
    moment shim-at-gate 'before it started the command' "125 launch-failed"
    moment shim-let-in 'before it started the command' "125 launch-failed"
    moment shim-past-gate 'while it started the command' "137 signaled"
    moment shim-command-ended "before it recorded the command's end" "137 signaled"
    moment shim-end-recorded '' "4 exited"
    moment_alone shim-command-ended "137 signaled"
    moment_alone shim-end-recorded "5 exited"
    is "a container whose command never ran has no output" \
        "$(runs_of shim-at-gate) $(runs_of shim-let-in) $(runs_of shim-past-gate)" "0 0 0"
else
    skip "shims that die at a step" "this build has no fault steps: configure --enable-fault-injection"
fi
nmd_start

# ---- whole scopes -------------------------------------------------------------------------------

noting family "${low[@]}" -- 'setsid sleep 1000 & trap "" TERM; wait'
noting scope "${low[@]}" -- 'sleep 1000 & wait'
noting frozen --opportunistic "${low[@]}" -- 'exec sleep 1000'
noting frozen-alone --opportunistic "${low[@]}" -- 'exec sleep 1000'
noting dying-alone "${low[@]}" -- 'trap "" TERM; while :; do sleep 0.1; done'
for name in family scope frozen frozen-alone dying-alone; do wait_until 5 in_state $name RUNNING; done
nmctl pause frozen frozen-alone >/dev/null
wait_until 5 in_state frozen PAUSED
wait_until 5 in_state frozen-alone PAUSED
family=$(cgroup_of family)
kill -KILL "$(shim family)"
check "a container ends completely when its shim is killed" wait_until 5 ended_as family "137 signaled"
check "no process of the container with the killed shim is running" test ! -e "$family"
echo 1 >"$(cgroup_of scope)/cgroup.kill"
check "a container ends when its scope is killed" wait_until 5 ended_as scope "137 signaled"
like "the record of the killed scope says that another program killed it" "$(field_of scope .message)" 'from outside nmd'
echo 1 >"$(cgroup_of frozen)/cgroup.kill"
check "a paused container ends when its shim is killed" wait_until 5 ended_as frozen "137 signaled"
frozen=$(cgroup_of frozen-alone) dying=$(cgroup_of dying-alone) pid=$(pid_of dying-alone)
nmctl kill dying-alone >/dev/null
nmd_kill
echo 1 >"$frozen/cgroup.kill"
echo 1 >"$dying/cgroup.kill"
wait_until 5 over "$pid"
nmd_start
check "a paused container ends when its shim is killed while nmd is stopped" wait_until 5 ended_as frozen-alone "137 signaled"
check "a container in its grace period has the exit reason killed if its shim dies" wait_until 5 ended_as dying-alone "137 killed"
# ---- the program of the shim --------------------------------------------------------------------

nmd_stop
cp "$NMD_TEST_BUILD/nm-shim" "$dir/nm-shim"
nmd_start --shim "$dir/nm-shim"
printf '#!/bin/sh\nexit 1\n' >"$dir/another"
chmod +x "$dir/another"
mv "$dir/another" "$dir/nm-shim" # as dpkg does, some time before it restarts nmd
noting upgraded "${low[@]}" -- 'sleep 0.3; exit 6'
wait_until 5 test -s "$runs/upgraded"
is "while a new version is installed, the running nmd starts the shim of its own version" \
    "$(cat "/proc/$(shim upgraded)/comm")" nm-shim
check "the shim of nmd's own version runs the command" wait_until 5 ended_as upgraded "6 exited"
nmd_stop
rm "$dir/nm-shim"
nmd_start --shim "$dir/nm-shim"
like "nmd's log reports a missing shim immediately" "$(tail -n 20 "$dir/nmd.log")" \
    "shim $dir/nm-shim can't be opened: No such file or directory"
noting shimless "${low[@]}" -- 'exit 6'
check "each start of a container fails while the shim is missing" wait_until 5 ended_as shimless "125 launch-failed"
like "the container's record says why its shim could not be started" "$(field_of shimless .message)" "No such file or directory"
cp "$NMD_TEST_BUILD/nm-shim" "$dir/nm-shim"
noting again "${low[@]}" -- 'exit 6'
check "containers start again when the shim exists again" wait_until 5 ended_as again "6 exited"
is "no container has run twice" "$(grep -c . "$runs"/* | grep -v '\.terms:\|/go-' | grep -v ':1$')" ""
check "no cgroup is left in the slice" \
    wait_until 5 bash -c "[ -z \"\$(find $(slice_dir) -mindepth 1 -type d)\" ]"
nmd_stop
done_testing
