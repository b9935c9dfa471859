#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
# beside: others
#
# nmctl with a real nmd: streamed output, exit statuses, the effects of Ctrl-C, and the effect of every verb.
# tests/unit/test-nmctl.c tests refusals and unusual replies.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

nmd_configure <<END
[node]
memory = 1G
vcores = 4
[queue]
max-length = 3
[preemption]
kill-grace = 1s
END
nmd_start || exit 1 # not through check, because check runs it in a subshell and nmd's PID would be lost
out=$dir/out err=$dir/err

# run WORD...: runs nmctl run, with its output in $out and $err, and its exit status in $status
run() {
    status=0
    nmctl run "$@" >"$out" 2>"$err" || status=$?
}
err_has() { grep -q -- "$1" "$err"; }
id_of() { nmctl list --all --json | jq -r --arg name "$1" '[.[] | select(.name == $name)][-1].id'; }
named_in_state() { in_state "$(id_of "$1")" "${@:2}"; }
nothing_lives() { [ "$(nmctl list --json | jq length)" -eq 0 ]; }

# ---- run: output and status

run -- sh -c 'echo to stdout; echo to stderr >&2; exit 7'
is "run prints the command's stdout on its own stdout" "$(cat "$out")" "to stdout"
is "run prints only the command's stderr on its own stderr" "$(cat "$err")" "to stderr"
is "run returns the command's exit status" "$status" 7
run -- sh -c 'kill -KILL $$'
is "run returns 128 plus the signal number if a signal ends the command" "$status" 137
like "run names the signal that ended the command" "$(cat "$err")" 'was ended by signal 9'
run -- /nonexistent/command
is "run returns 127 if the command does not exist" "$status" 127
run -- /etc/passwd
is "run returns 126 if the command is not executable" "$status" 126
run -m 2T -- true
is "run returns 125 if nmd refuses the request" "$status" 125
like "the refusal names the requested and the available amounts" "$(cat "$err")" '2.0 TiB.*1.0 GiB'
run -e A=b=c -e HOME=/x -d /usr -- sh -c 'echo "$A $HOME $PWD"; cat'
is "the command has the given environment and working directory, and an empty stdin" "$(cat "$out")" "b=c /x /usr"
PASSED=on run -e PASSED -- sh -c 'echo "$PASSED"'
is "run passes on a variable that is given by name only" "$(cat "$out")" "on"
run echo --json -m
is "the first word that is not an option starts the command" "$(cat "$out")" "--json -m"
run -- sh -c 'head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2'
is "run prints megabytes of output completely" "$(stat -c %s "$out") $(stat -c %s "$err")" "3000000 2000000"

status=0
nmctl run -- yes 2>"$err" | head -n 1 >"$out" || status=$?
check "the container ends when the reader of run's output closes the pipe" wait_until 10 nothing_lives
is "the reader got its lines before it closed the pipe" "$(cat "$out")" "y"

id=$(nmctl run --detach --name later -- sh -c 'sleep 0.3; echo late; echo last')
like "run --detach prints the container id" "$id" '^container_[0-9]+_[0-9]+$'
is "logs -f prints output until the container ends" "$(nmctl logs -f later)" "late"$'\n'"last"
is "logs --tail prints the last lines" "$(nmctl logs --tail 1 later)" "last"
is "logs --stderr prints only stderr" "$(nmctl logs --stderr "$id")" ""

# ---- run: Ctrl-C

# interrupted NAME SIGNAL COMMAND...: starts the command, and sends the signal to nmctl when the command has printed "up"
interrupted() {
    local name=$1 signal=$2
    shift 2
    : >"$out" # empties the file, because the previous command has printed "up" too
    # Starts nmctl from Python instead of with &, because a shell's background job ignores SIGINT, and nmctl keeps a signal
    # ignored.
    python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
os.execvp(sys.argv[1], sys.argv[1:])' "$NMCTL" run --name "$name" -- "$@" >"$out" 2>"$err" &
    pid=$!
    wait_until 10 grep -q up "$out"
    kill -"$signal" "$pid"
}
interrupted polite INT sh -c 'trap "echo bye; exit 3" TERM; echo up; while :; do sleep 0.05; done'
status=0; wait "$pid" || status=$?
is "after Ctrl-C, run returns the command's exit status" "$status" 3
check "after Ctrl-C, run announces that it ends the container" err_has "Ctrl-C: killing container_.* (repeat to kill at once)"
check "after Ctrl-C, run prints the command's last output" grep -q bye "$out"
check "after Ctrl-C, no process of the container is left" nothing_lives
interrupted deaf TERM sh -c 'trap "" TERM; echo up; while :; do sleep 0.05; done'
status=0; wait "$pid" || status=$?
is "a command that ignores SIGTERM gets SIGKILL after the grace period" "$status" 137
interrupted twice INT sh -c 'trap "" TERM; echo up; while :; do sleep 0.05; done'
wait_until 5 err_has "repeat to kill at once"
kill -INT "$pid"
status=0; wait "$pid" || status=$?
check "a second Ctrl-C kills the container immediately" err_has "killing container_.* at once"
is "a second Ctrl-C sends SIGKILL" "$status" 137
check "after the second Ctrl-C, no process of the container is left" nothing_lives

# ---- run: nmd exits and is started again

nmctl run --name survivor -- sh -c 'echo before; while [ ! -e '"$dir"'/go ]; do sleep 0.05; done; echo after; exit 5' \
    >"$out" 2>"$err" &
pid=$!
wait_until 10 grep -q before "$out"
nmd_stop
check "run reports that it has lost the connection to nmd" wait_until 10 err_has "lost the connection to nmd"
touch "$dir/go"
nmd_start
status=0; wait "$pid" || status=$?
is "run continues to follow the container after a restart of nmd" "$status" 5
is "run prints no output twice after a restart of nmd" "$(cat "$out")" "before"$'\n'"after"

nmctl run --name crash -- sh -c 'echo before; while [ ! -e '"$dir"'/go2 ]; do sleep 0.05; done; echo after; exit 6' \
    >"$out" 2>"$err" &
pid=$!
wait_until 10 grep -q before "$out"
nmd_kill
check "run reports that nmd has crashed" wait_until 10 err_has "lost the connection to nmd"
nmd_start
touch "$dir/go2"
status=0; wait "$pid" || status=$?
is "run continues to follow the container after a crash of nmd" "$status" 6
is "run prints no output twice after a crash of nmd" "$(cat "$out")" "before"$'\n'"after"

# The reader does not read the container's output, and exits while nmd is not running.
mkfifo "$dir/pipe"
nmctl run --name unread -- yes >"$dir/pipe" 2>"$err" &
pid=$!
exec 7<"$dir/pipe"
read -r out <&7
is "the reader gets the first line of the container's output" "$out" y
# Checks whether the kernel considers the pipe full. A page that is only partly written counts as a whole page.
pipe_is_full() {
    python3 -c 'import os, select, sys
pipe = os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK)
sys.exit(bool(select.select([], [pipe], [], 0)[1]))' "$dir/pipe"
}
check "a full pipe delays further output" wait_until 10 pipe_is_full
nmd_stop
check "nmd stops" wait_until 10 err_has "lost the connection to nmd"
exec 7<&-
check "the reader closes its pipe" wait_until 10 err_has "stdout is closed: killing"
nmd_start
check "the container ends when nmd is running again and finds the pipe closed" wait_until 10 nothing_lives
nothing_lives || nmctl kill --now unread >/dev/null
status=0; wait "$pid" || status=$?
is "run returns the exit status for SIGTERM" "$status" 143
out=$dir/out

# ---- the other verbs

web=$(nmctl run --detach --name web --app shop -m 64M -c 0.5 -- sleep 1000)
check "a container runs" wait_until 10 in_state "$web" RUNNING
like "list prints the running container" "$(nmctl list)" "$web  web +guaranteed +RUNNING .* 64.0 MiB .* 0.5 .* sleep 1000"
like "show prints the running container" "$(nmctl show web)" "^app +shop$"
like "top prints the running container" "$(nmctl top)" "$web  web"
like "status prints the node" "$(nmctl status)" "containers +1 guaranteed, 0 opportunistic"
like "status --json has all documented members" \
    "$(nmctl status --json | jq -c '[.node.backend, .containers.guaranteed_running, .queue.max_length, .upstream]')" \
    '^\["direct",1,3,null\]$'
check "demote succeeds" nmctl demote web
is "the demoted container is opportunistic" "$(field_of "$web" .execution_type)" OPPORTUNISTIC
check "promote succeeds" nmctl promote "$web"
is "the promoted container is guaranteed" "$(field_of "$web" .execution_type)" GUARANTEED
check "update succeeds" nmctl update -m 96M -c 1.5 web
is "the updated container has the new amounts" "$(field_of "$web" '"\(.memory_bytes) \(.vcores)"')" "100663296 1.5"
check "pause succeeds" nmctl pause web
check "the container is paused" wait_until 10 in_state "$web" PAUSED
like "show says that a paused guaranteed container is resumed at its deadline" "$(nmctl show "$web")" "resume at +20"
nmctl wait --timeout 2s "$web" >/dev/null 2>"$err" || :
check "wait names the pause" err_has "which is paused; will be resumed if still paused in"
check "resume succeeds" nmctl resume web
check "the container runs again" wait_until 10 in_state "$web" RUNNING
like "explain prints the latest decision about the container" "$(nmctl explain web)" "decision [0-9]+, "
like "explain --last prints several decisions about the container" "$(nmctl explain --last 1)" "decision"
like "events NAME prints the events of the container NAME" "$(nmctl events web)" "PAUSING -> PAUSED"
is "events --json NAME prints only the events of the container NAME" \
    "$(nmctl events --json web | jq -r .container_id | sort -u)" "$web"
like "config prints the configuration keys" "$(nmctl config max-length)" "^queue.max-length +3 +500"
like "config --changed prints the keys whose values were changed" "$(nmctl config --changed)" "node.vcores +4"
check "config --reload succeeds" nmctl config --reload
is "inspect prints the same as show --json" "$(nmctl inspect web | jq -r .id)" "$web"
is "verbs accept the short number of a container" "$(nmctl inspect "$((10#${web##*_}))" | jq -r .id)" "$web"
is "ps -q prints only ids" "$(nmctl ps -q)" "$web"
is "ps -q --app prints the containers of this application" "$(nmctl list -q --app shop) $(nmctl list -q --app other)" "$web "
is "ps -q --state prints the containers in this state" "$(nmctl list -q --state running) $(nmctl list -q --state paused)" "$web "
is "ps -q --all prints ended containers too" \
    "$(nmctl list --state ended --json | jq -r '[.[].state] | unique | join(" ")')" COMPLETED
all=$(nmctl events --json | jq -s length)
is "events --last N prints the last N events" \
    "$(nmctl events --json --last 3 | jq -r .number)" "$(nmctl events --json | jq -r .number | tail -n 3)"
is "events --last NAME prints the last events of the container NAME" \
    "$(nmctl events --json --last 2 web | jq -r .container_id)" "$web"$'\n'"$web"
is "events --last N prints all events if there are fewer than N" "$(nmctl events --json --last 10000 | jq -s length)" "$all"
is "events --since prints the events after the given time" \
    "$(nmctl events --since 1us) $(nmctl events --json --since 1h | jq -s length)" " $all"
"$NMCTL" events --follow --json --last 1 >"$out" &
events=$!
check "events -f prints the latest events before it waits for new ones" wait_until 10 test -s "$out"
like "version prints the version" "$(nmctl version)" "^nmd [0-9]"
like "shell completion offers the containers" "$(nmctl __complete -- kill w)" "^web"
like "shell completion offers the configuration keys" "$(nmctl __complete -- config queue.max-l)" "^queue.max-length"$'\t'"[A-Za-z]"
is "kill --wait waits for the end of the container" "$(nmctl kill --now --wait web)" "$web (web): Killed (on request)"
is "the killed container has ended" "$(field_of "$web" .exit_reason)" killed
is "wait reports the end of a container, and returns the exit status that run would return" \
    "$(nmctl wait web; echo $?)" "$web (web) was killed"$'\n'137
check "events -f prints the end of the container" wait_until 10 grep -q '"to": *"COMPLETED"' "$out"
kill "$events"
wait "$events" 2>/dev/null
is "events -f prints no event twice" "$(jq -r .number "$out" | sort | uniq -d)" ''
like "stop is an alias of kill" "$(nmctl run --detach --name s -- sleep 1000; nmctl stop --wait s)" 's\): Killed \(on request\)$'
status=0
nmctl run --detach --name five -- sh -c 'sleep 0.2; exit 5' >/dev/null
nmctl run --detach --name none -- true >/dev/null
nmctl wait none five >"$out" || status=$?
is "wait for several containers returns the first exit status that is not 0" "$status" 5
is "wait for several containers reports each end" "$(sed 's/.*(/(/' "$out")" "(none) exited with status 0"$'\n'"(five) exited with status 5"

# ---- waiting in the queue

nmctl run --detach --name fill -m 64M -- sleep 1000 >/dev/null
wait_until 10 named_in_state fill RUNNING
nmctl run --opportunistic --name patient -m 1000M -- true >"$out" 2>"$err" &
pid=$!
check "run prints the position in the queue and the queue reason" wait_until 10 err_has "queued at position 1: "
like "list prints the position in the queue" "$(nmctl list)" "patient +opportunistic +QUEUED #1"
like "show prints the queue reason" "$(nmctl show patient)" "^queued +."
status=0
nmctl wait --timeout 1s patient fill >"$out" 2>"$err.wait" || status=$?
is "wait --timeout ends with its own exit status" "$status $(cat "$out")" "124 "
like "wait has printed the queue reason" "$(cat "$err.wait")" \
    'waiting for container_[0-9_]+ \(patient\), which is queued at position 1: [a-z]'
like "wait --timeout prints the state of each container at its end" \
    "$(cat "$err.wait")" '\(fill\) has not ended in time: it is RUNNING, and continues'
status=0
nmctl pause patient 2>"$err.pause" || status=$?
like "the refusal of an action names the container's state as list prints it, and the possible actions" "$status $(cat "$err.pause")" \
    "^1 .* is QUEUED and can't be paused: .*'nmctl explain' shows why, and 'nmctl kill'"
nmctl kill patient >/dev/null
status=0; wait "$pid" || status=$?
is "a container that is killed in the queue has never run" "$status" 125

# ---- drain

nmctl run --detach --name brief -- sleep 0.5 >/dev/null
check "drain --deadline --wait returns when the node is empty" nmctl drain --deadline 1s --wait
like "status says that the node is drained" "$(nmctl status)" "draining and empty"
run -- true
is "no container is admitted while the node is draining" "$status" 125
is "drain --wait --json prints that the node is empty" "$(nmctl drain --wait --json | jq -c '[.node.state, .node.drained]')" \
    '["draining",true]'
check "undrain succeeds" nmctl undrain
nmctl drain >/dev/null
is "undrain --json prints that the node admits containers again" "$(nmctl undrain --json | jq -r .node.state)" running
is "config --reload --json prints the result of the reload" "$(nmctl config --reload --json | jq -r .node.state)" running
run -- true
is "run succeeds after undrain" "$status" 0

nmd_stop
status=0
nmctl list >"$out" 2>"$err" || status=$?
is "nmctl returns 3 if nmd is not running" "$status" 3
[ -d /run/systemd/system ] && how='systemctl start nmd' || how='nmd &'
check "the error message without nmd says how to start nmd" err_has "nmd is not running at $NMD_SOCKET; start it with '$how'"

# ---- the first command after a start of nmd

begun=$(date +%s%3N)
status=0
nmctl --retry 700ms list >"$out" 2>"$err" || status=$?
is "--retry ends with an error if nmd does not start in the given time" "$status" 3
at_least "--retry waits for the given time" $(($(date +%s%3N) - begun)) 700
check "--retry ends with the error message of a command without --retry" err_has "nmd is not running at $NMD_SOCKET"
nmctl --retry 3s list >"$out" 2>"$err" || :
check "--retry prints what it waits for, and how long" err_has "waiting for nmd at $NMD_SOCKET, for up to 3s"
(sleep 0.5 && exec "$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --state-dir "$dir/state" --runtime-dir "$dir/run" \
    --slice "$slice" --backend direct ${node_proc:+--node-proc "$node_proc"} >>"$dir/nmd.log" 2>&1) &
nmd_pid=$!
status=0
nmctl list >"$out" 2>"$err" || status=$?
is "without --retry, nmctl fails while nmd is still starting" "$status" 3
check "with --retry, nmctl waits for an nmd that is still starting" nmctl list --retry 20s
nmd_stop
done_testing
