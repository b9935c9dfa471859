#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 600
# beside: others
#
# nmd is killed with SIGKILL at every step between a journal write and the announced action. Each test is a sequence ("story")
# of containers that run, pause, end, wait and are killed. The next nmd must finish the story as if the kill had not happened:
# no container runs twice, disappears, or changes its position in the queue.
#
#   NMD_STEPS="gate-open:2 after-kill" runs only one story, with these deaths
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

grep -qs 'define NM_FAULT_INJECTION' "$NMD_TEST_BUILD/config.h" ||
    skip_all "this build has no fault steps: configure --enable-fault-injection"

node_proc_start
nmd_configure <<END_CONF
[node]
memory = 1000M
[over-allocation]
enabled = no
[queue]
max-length = 20
[preemption]
pause-deadline = 300s
[containers]
keep-ended = 1h
END_CONF
runs=$dir/runs
mkdir -p "$runs"

# The deaths of each story, in order. The nmd that is started after one death dies at the next step of the list. STEP:N means
# that nmd dies when it passes this step for the Nth time. Steps of reclaim need a memory controller and swap, so they are in
# tests/vm/suites/45-reclaim-steps.sh. Steps of shims are in 69-durable-ends.sh. Steps of operations for owners are in
# tests/unit/test-rerun.c and test-owner-steps.c.
stories=(
    "submit-journalled:1 round-before-commit:1 round-after-commit:1 cgroup-prepared:1 shim-started:1 shim-journalled:1
     cgroup-created:1 cgroup-journalled:1 gate-open:1 snapshot-written:1 running-journalled:1
     before-freeze:1 after-freeze:1 type-journalled:1 update-journalled:1 before-term:1 after-term:1
     term-journalled:1 before-kill:1 after-kill:1 before-thaw:1 after-thaw:1 end-heard:1 end-before-commit:1
     end-journalled:1 cgroup-removed:1"
    "drain-journalled:1"
    "waiting-snapshot-written:1 waiting-snapshot-written:2 waiting-forgotten:1 waiting-forgotten:1"
    "gate-open:2 running-journalled:2 end-heard:1 type-journalled:2 cgroup-journalled:1 end-journalled:2"
    # the next nmd also dies, while it finishes the work of the first nmd
    "cgroup-prepared:2 shim-journalled:3 recovery-before-commit:1 queued-again:1 cgroup-created:2 queued-again:1
     gate-open:1 recovery-after-commit:1 before-freeze:1 recovery-before-commit:1 before-freeze:1
     recovery-after-commit:1 end-before-commit:1 end-before-commit:1"
    # these stories fill the queue first, because the number of earlier rounds depends on the machine
    "submit-journalled:8 round-after-commit:9 snapshot-written:2 cgroup-removed:1 before-kill:1
     recovery-after-commit:1 round-before-commit:5 end-heard:1 end-heard:1"
)
[ -z "${NMD_STEPS:-}" ] || stories=("$NMD_STEPS")

# ---- the story ----------------------------------------------------------------------------------
# The story starts again from its beginning after each death. A step is skipped if the last snapshot, or a new snapshot, shows
# that the step has already happened. Every line fails while nmd is not running.

snapshot() { nmctl list --all --json >"$dir/list.new" && mv "$dir/list.new" "$dir/list"; }
seen() { # NAME JQ-EXPRESSION: evaluates the expression for the container in the last snapshot
    jq -r --arg name "$t$1" '[.[] | select(.name == $name)] | last | '"$2" "$dir/list"
}
reach() { # NAME STATE: waits for this state or COMPLETED while nmd is running
    local end=$((SECONDS + 15))
    until [[ " $2 COMPLETED " == *" $(seen "$1" .state) "* ]]; do
        [ "$SECONDS" -lt "$end" ] || { echo "$1 is never $2"; give_up=1; return 1; }
        snapshot || return
    done
}
# Waits until the command of a running container has written its line. A container of the idle class may run late.
begun() { # NAME
    wait_until 15 test -s "$runs/$t$1" || { echo "$1 has not begun"; give_up=1; return 1; }
}
is_so() { # NAME JQ-CONDITION
    [ "$(seen "$1" "$2")" = true ] || { snapshot && [ "$(seen "$1" "$2")" = true ]; }
}
once() { # NAME RUN-OPTION... -- SHELL-COMMANDS
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    is_so "$name" '.id != null' && return 0
    nmd_alive || return
    nmctl run --detach --name "$t$name" "${options[@]}" -- \
        sh -c "echo \$\$ >>$runs/$t$name; $2" >/dev/null
}
unless() { # NAME JQ-CONDITION NMCTL-ARGUMENT...: runs nmctl with these arguments, unless the condition already holds
    local name=$1 condition=$2
    shift 2
    is_so "$name" "$condition" && return 0
    nmd_alive && nmctl "$@" >/dev/null
}
ended='.state == "COMPLETED"'
kill_off() { # NAME [--now]
    unless "$1" "$ended or .state == \"KILLING\"" kill ${2:+"$2"} "$t$1" && reach "$1" COMPLETED
}
once_ever() { # TAG COMMAND...: runs the command once; for actions that no snapshot shows
    local tag=$1
    shift
    [ -e "$runs/$t$tag.done" ] || { "$@" >/dev/null && touch "$runs/$t$tag.done"; }
}

story() {
    snapshot || return
    local low=(-m 20M -c 0.1) half=(--opportunistic -m 500M -c 0.1)
    once g "${low[@]}" -- 'exec sleep 1000' &&
        once p --opportunistic "${low[@]}" -- 'exec sleep 1000' &&
        once s --opportunistic "${low[@]}" -- 'sleep 0.3; exit 7' &&
        once term "${low[@]}" -- 'trap "exit 3" TERM; sleep 1000 & wait' &&
        once now --opportunistic "${low[@]}" -- 'exec sleep 1000' &&
        once big "${half[@]}" -- 'exec sleep 1000' &&
        once q1 "${half[@]}" -- 'exec sleep 1000' &&
        once q2 "${half[@]}" -- 'exec sleep 1000' &&
        once q3 "${half[@]}" -- 'exec sleep 1000' &&
        reach p "RUNNING PAUSED" && reach now RUNNING && reach term "RUNNING KILLING" &&
        reach big RUNNING && reach g RUNNING && begun p && begun now && begun big && begun g && begun term &&
        { [ -e "$runs/${t}resume.done" ] || {
            unless p '.state == "PAUSED" or .state == "PAUSING"' pause "${t}p" && reach p PAUSED; }; } &&
        reach s COMPLETED &&
        unless now "$ended"' or .execution_type == "GUARANTEED"' promote "${t}now" &&
        unless g "$ended"' or .execution_type == "OPPORTUNISTIC"' demote "${t}g" &&
        unless g "$ended or .memory_bytes == $((30 << 20))" update "${t}g" -m 30M &&
        kill_off term && kill_off now --now &&
        { [ -e "$runs/${t}resume.done" ] || {
            unless p '.state == "RUNNING" or .state == "RESUMING"' resume "${t}p" && reach p RUNNING &&
                touch "$runs/${t}resume.done"; }; } &&
        kill_off big --now && reach q1 RUNNING && begun q1 && kill_off q1 --now && reach q2 RUNNING && begun q2 &&
        once q4 "${half[@]}" -- 'exec sleep 1000' &&
        once_ever drain nmctl drain && reach q3 COMPLETED && reach q4 COMPLETED &&
        once_ever undrain nmctl undrain &&
        kill_off q2 && kill_off p --now && kill_off g --now
}

# ---- what must not change across a death --------------------------------------------------------

problem() { problems+=("$*"); }

start_to_die() { # STEP
    NMD_FAULT=$1 "$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --state-dir "$dir/state" \
        --runtime-dir "$dir/run" --slice "$slice" --backend direct --node-proc "$node_proc" \
        >>"$dir/nmd.log" 2>&1 &
    nmd_pid=$!
    dead_or_up() { ! nmd_alive || nmctl status; }
    wait_until 20 dead_or_up
}

compare() { # compares the snapshot from before the death (FILE) with the current state
    local name before after
    for name in g p now term big; do
        before=$(jq -c --arg n "$t$name" '.[] | select(.name == $n and .state != "COMPLETED" and .pid != null)
            | [.id, .pid, .submitted_usec]' "$1")
        [ -n "$before" ] || continue
        [ "$(seen "$name" .state)" != COMPLETED ] || continue
        after=$(seen "$name" '[.id, .pid, .submitted_usec]' | jq -c .)
        [ "$before" = "$after" ] || problem "$name was $before and is $after"
    done
    # Allows a small difference, because two clocks are read one after the other when nmd converts a deadline to wall-clock
    # time.
    before=$(jq --arg n "${t}p" '.[] | select(.name == $n and .state == "PAUSED") | .pause_deadline_usec' "$1")
    after=$(seen p 'if .state == "PAUSED" then .pause_deadline_usec else null end')
    if [ -n "$before" ] && [ "$after" != null ]; then
        [ $((before > after ? before - after : after - before)) -lt 50000 ] ||
            problem "the pause deadline moved from $before to $after"
    fi
    # Containers that are still queued must have the same order as before the death. New containers may follow them.
    before=$(jq -r --arg t "$t" '[.[] | select(.name | startswith($t + "q")) | select(.state == "SCHEDULED")]
        | sort_by(.queue_position) | .[].name' "$1")
    after=$(jq -r --arg t "$t" '[.[] | select(.name | startswith($t + "q")) | select(.state == "SCHEDULED")]
        | sort_by(.queue_position) | .[].name' "$dir/list" | grep -Fx "$before")
    before=$(grep -Fx "$after" <<<"$before")
    [ "$before" = "$after" ] || problem "the queue was ${before//$'\n'/, } and is ${after//$'\n'/, }"
}

# The expected end of each container: NAME RUNS EXIT-CODE EXIT-REASON
endings='g 1 137 killed
p 1 137 killed
s 1 7 exited
term 1 3 killed
now 1 137 killed
big 1 137 killed
q1 1 137 killed
q2 1 143 killed
q3 0 null drained
q4 0 null drained'

check_ends() {
    local name times code reason got id leftovers
    while read -r name times code reason; do
        got=$([ ! -e "$runs/$t$name" ] || grep -c . "$runs/$t$name")
        got=${got:-0}
        [ "$got" = "$times" ] || problem "$name ran $got times, not $times"
        got=$(seen "$name" '"\(.exit_code) \(.exit_reason)"')
        [ "$got" = "$code $reason" ] || problem "$name ended as $got, not $code $reason"
        got=$(jq --arg n "$t$name" '[.[] | select(.name == $n)] | length' "$dir/list")
        [ "$got" = 1 ] || problem "$name exists $got times"
        id=$(seen "$name" .id)
        got=$(nmctl explain --json "$id" | jq -r --argjson ran "$times" '
            ([.[] | select(.outcome == "pending") | "\(.kind) is left open"] +
             [if ([.[] | select(.kind == "admit" and .outcome == "done")] | length) != $ran
              then "admitted \([.[] | select(.kind == "admit") | .outcome])" else empty end] +
             [if ([.[] | .number] | (unique | length) == length) then empty else "numbers come twice" end])
            | join(", ")')
        [ -z "$got" ] || problem "decisions about $name: $got"
    done <<<"$endings"
    got=$(seen q2 .started_usec)
    [ "$(seen q1 .started_usec)" -lt "$got" ] || problem "q2 started before q1"
    leftovers=$(find "$(slice_dir)" -mindepth 1 -type d)
    [ -z "$leftovers" ] || problem "left in the slice: $leftovers"
}

# ---- one story and its deaths -------------------------------------------------------------------

dead() { ! nmd_alive; }
result() { # NAME
    if [ "${#problems[@]}" -eq 0 ]; then
        ok "$1"
    else
        not_ok "$1" "${problems[@]}" "$(tail -n 60 "$dir/nmd.log")"
    fi
    problems=()
}

next_nmd() { # starts an nmd that dies at the next step of the list, if the list has a next step
    if [ "${#left[@]}" -gt 0 ]; then
        start_to_die "${left[0]}"
    else
        nmd_start
    fi
}

run_story() { # STEP...
    local end=$((SECONDS + 200))
    left=("$@") problems=() give_up=
    t="t$((++n_stories))-"
    : >"$dir/nmd.log"
    next_nmd
    until story >"$dir/story.log" 2>&1 && nmd_alive; do
        if nmd_alive; then
            # a refused request is sent again, because nmd may have died while it processed the request
            if [ -n "$give_up" ] || [ "$SECONDS" -gt "$end" ]; then
                problem "the story does not continue: $(tail -n 3 "$dir/story.log" | tr '\n' ' ')"
                break
            fi
            sleep 0.05
            continue
        fi
        wait "$nmd_pid" 2>/dev/null
        nmd_pid=
        cp "$dir/list" "$dir/list.before"
        name=${left[0]:-nothing that it should die of}
        left=("${left[@]:1}")
        next_nmd
        # If this nmd has already died at its own step, there is no snapshot. The next nmd is then compared with the same list.
        snapshot && compare "$dir/list.before"
        result "story $n_stories: the next nmd has the same containers after a death at $name"
    done 2>/dev/null
    [ "${#left[@]}" -eq 0 ] || problem "nmd did not reach ${left[*]}"
    nmd_alive && snapshot && check_ends
    result "story $n_stories: all containers end as without a death"
    # a failure of this story must not affect the next story
    nmd_stop
    nmd_start && nmctl undrain 2>/dev/null
    kill_all
    nmd_stop
}

# ---- every step has a story ---------------------------------------------------------------------

known=$(grep -rho --include='*.c' 'NM_FAULT([^;]*);' "$here/../../agent" | grep -o '"[a-z-]*"' |
    tr -d '"' | sort -u)
at_least "the sources have at least 30 fault steps" "$(wc -l <<<"$known")" 30
is "each fault step of the sources is tested" "$(while read -r step; do
    grep -qE "(^|[ \"=])$step(:[0-9]|\b)" "$here"/6[69]-durable-*.sh "$here"/../vm/suites/45-*.sh \
        "$here"/../unit/test-{rerun,owner-steps}.c || echo "$step"
done <<<"$known")" ""
is "docs/TESTING.md lists each fault step" "$(while read -r step; do
    grep -qE "(^|[ ])$step( |$)" "$here/../../docs/TESTING.md" || echo "$step"
done <<<"$known")" ""

n_stories=0
echo '[]' >"$dir/list"
for story in "${stories[@]}"; do
    read -ra steps <<<"$(tr '\n' ' ' <<<"$story")"
    run_story "${steps[@]}"
done

# ---- removal of ended containers ----------------------------------------------------------------

# nmd removes ended containers in two steps: first the row of the journal, then the directory.
if [ -z "${NMD_STEPS:-}" ]; then
    nmd_start
    reconfigure containers keep-ended 0s
    nmd_stop
    start_to_die row-deleted:1
    before=$(nmctl list --all --json | jq length)
    check "nmd dies after it has deleted a row of the journal" wait_until 30 dead
    wait "$nmd_pid" 2>/dev/null
    nmd_start
    listed=$(nmctl list --all --json | jq -r '.[].id' | sort)
    is "the next nmd does not list the container of the deleted row" "$(wc -l <<<"$listed")" $((before - 1))
    is "the next nmd removes the files of the container of the deleted row" \
        "$(find "$dir/state/containers" "$dir/state/logs" -mindepth 1 -maxdepth 1 -printf '%f\n' |
        grep -Fvx "$listed")" ""
    nmd_stop
fi
# ---- children of a dead nmd ---------------------------------------------------------------------

# Only shims keep running when nmd dies. A child that was forked immediately before nmd died still has nmd's command line.
left_of_nmd() {
    local file pid
    grep -lsz -- "$dir/state" /proc/[0-9]*/cmdline | while read -r file; do
        pid=${file#/proc/}
        over "${pid%/*}" || echo "$pid"
    done
}
nothing_left() { [ -z "$(left_of_nmd)" ]; }
if [ -z "${NMD_STEPS:-}" ]; then
    at_start=confinement-tried
    [ "$(id -u)" -eq 0 ] || at_start=round-before-commit # no admission is tried
    stay=0
    for i in {1..12}; do
        if [ $((i % 2)) = 0 ]; then
            start_to_die "$at_start"
        else
            start_to_die shim-forked
            nmctl run --detach -m 10M -c 0.1 -- true >/dev/null 2>&1
        fi
        wait_until 10 dead || break
        wait "$nmd_pid" 2>/dev/null
        nmd_pid=
        wait_until 5 nothing_left || stay=$((stay + 1))
    done
    is "nmd has died six times while starting and six times during a launch" "$i" 12
    is "when nmd has died, none of its children except shims keeps running" "$stay" 0
    nmd_start
    kill_all
    nmd_stop
fi
done_testing
