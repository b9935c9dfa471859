#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# nmctl with the real nmd: streamed output, exit statuses, the effects of Ctrl-C, and the effect of every verb. Refusals and unusual
# replies are tested in tests/unit/test-nmctl.c.
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
nmd_start || exit 1 # not through check, whose subshell would keep its pid
out=$dir/out err=$dir/err

# run WORD...: runs nmctl run, with its output in $out and $err, and its exit status in $status
run() {
    status=0
    nmctl run "$@" >"$out" 2>"$err" || status=$?
}
said() { grep -q -- "$1" "$err"; }
id_of() { nmctl list --all --json | jq -r --arg name "$1" '[.[] | select(.name == $name)][-1].id'; }
named_in_state() { in_state "$(id_of "$1")" "${@:2}"; }
nothing_lives() { [ "$(nmctl list --json | jq length)" -eq 0 ]; }

# ---- run: output and status

run -- sh -c 'echo to stdout; echo to stderr >&2; exit 7'
is "stdout comes out on stdout" "$(cat "$out")" "to stdout"
is "stderr on stderr, and nothing else" "$(cat "$err")" "to stderr"
is "the exit status is the command's" "$status" 7
run -- sh -c 'kill -KILL $$'
is "a signal is 128 + its number" "$status" 137
like "and is told" "$(cat "$err")" 'was ended by signal 9'
run -- /nonexistent/command
is "no such command is 127" "$status" 127
run -- /etc/passwd
is "what isn't executable is 126" "$status" 126
run -m 2T -- true
is "what nmd refuses is 125" "$status" 125
like "with the numbers" "$(cat "$err")" '2.0 TiB.*1.0 GiB'
run -e A=b=c -e HOME=/x -d /usr -- sh -c 'echo "$A $HOME $PWD"; cat'
is "environment, working directory, and an empty stdin" "$(cat "$out")" "b=c /x /usr"
PASSED=on run -e PASSED -- sh -c 'echo "$PASSED"'
is "a variable is passed on" "$(cat "$out")" "on"
run echo --json -m
is "the first word that is no option begins the command" "$(cat "$out")" "--json -m"
run -- sh -c 'head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2'
is "megabytes come through whole" "$(stat -c %s "$out") $(stat -c %s "$err")" "3000000 2000000"

status=0
nmctl run -- yes 2>"$err" | head -n 1 >"$out" || status=$?
check "a reader that goes away ends the container" wait_until 10 nothing_lives
is "having read what it wanted" "$(cat "$out")" "y"

id=$(nmctl run --detach --name later -- sh -c 'sleep 0.3; echo late; echo last')
like "--detach prints the id" "$id" '^container_[0-9]+_[0-9]+$'
is "logs -f follows to the end" "$(nmctl logs -f later)" "late"$'\n'"last"
is "logs --tail" "$(nmctl logs --tail 1 later)" "last"
is "logs --stderr" "$(nmctl logs --stderr "$id")" ""

# ---- run: Ctrl-C

# interrupted NAME SIGNAL COMMAND...: starts the command, and sends the signal to nmctl when the command has printed "up"
interrupted() {
    local name=$1 signal=$2
    shift 2
    : >"$out" # the one before has said "up" as well
    # Starts nmctl by Python instead of &, because a background job ignores SIGINT, and nmctl then keeps ignoring it.
    python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
os.execvp(sys.argv[1], sys.argv[1:])' "$NMCTL" run --name "$name" -- "$@" >"$out" 2>"$err" &
    pid=$!
    wait_until 10 grep -q up "$out"
    kill -"$signal" "$pid"
}
interrupted polite INT sh -c 'trap "echo bye; exit 3" TERM; echo up; while :; do sleep 0.05; done'
status=0; wait "$pid" || status=$?
is "Ctrl-C: the command's own end is returned" "$status" 3
check "nmctl says so" said "Ctrl-C: killing container_.* (repeat to kill at once)"
check "and waits for the last words" grep -q bye "$out"
check "nothing is left" nothing_lives
interrupted deaf TERM sh -c 'trap "" TERM; echo up; while :; do sleep 0.05; done'
status=0; wait "$pid" || status=$?
is "SIGTERM: after the grace, SIGKILL" "$status" 137
interrupted twice INT sh -c 'trap "" TERM; echo up; while :; do sleep 0.05; done'
wait_until 5 said "repeat to kill at once"
kill -INT "$pid"
status=0; wait "$pid" || status=$?
check "a second Ctrl-C kills at once" said "killing container_.* at once"
is "with SIGKILL" "$status" 137
check "nothing is left of these either" nothing_lives

# ---- run: nmd ends and is started again

nmctl run --name survivor -- sh -c 'echo before; while [ ! -e '"$dir"'/go ]; do sleep 0.05; done; echo after; exit 5' \
    >"$out" 2>"$err" &
pid=$!
wait_until 10 grep -q before "$out"
nmd_stop
check "nmctl tells that nmd is lost" wait_until 10 said "lost the connection to nmd"
touch "$dir/go"
nmd_start
status=0; wait "$pid" || status=$?
is "nmctl follows through a restart of nmd" "$status" 5
is "and repeats nothing" "$(cat "$out")" "before"$'\n'"after"

nmctl run --name crash -- sh -c 'echo before; while [ ! -e '"$dir"'/go2 ]; do sleep 0.05; done; echo after; exit 6' \
    >"$out" 2>"$err" &
pid=$!
wait_until 10 grep -q before "$out"
nmd_kill
check "nmctl notices a crash" wait_until 10 said "lost the connection to nmd"
nmd_start
touch "$dir/go2"
status=0; wait "$pid" || status=$?
is "nmctl follows through a crash of nmd" "$status" 6
is "and repeats nothing then" "$(cat "$out")" "before"$'\n'"after"

# The reader does not read the container's output, and ends while nmd is not running.
mkfifo "$dir/pipe"
nmctl run --name unread -- yes >"$dir/pipe" 2>"$err" &
pid=$!
exec 7<"$dir/pipe"
read -r out <&7
is "a reader that is slow gets what there is" "$out" y
# Checks whether the kernel considers the pipe full. A page that a write has filled only in part counts as a whole page.
pipe_is_full() {
    python3 -c 'import os, select, sys
pipe = os.open(sys.argv[1], os.O_WRONLY | os.O_NONBLOCK)
sys.exit(bool(select.select([], [pipe], [], 0)[1]))' "$dir/pipe"
}
check "and holds up what comes after it" wait_until 10 pipe_is_full
nmd_stop
check "nmd goes" wait_until 10 said "lost the connection to nmd"
exec 7<&-
check "then the reader" wait_until 10 said "stdout is closed: killing"
nmd_start
check "the container is ended when nmd is back" wait_until 10 nothing_lives
nothing_lives || nmctl kill --now unread >/dev/null
status=0; wait "$pid" || status=$?
is "by SIGTERM, which is returned" "$status" 143
out=$dir/out

# ---- the other verbs

web=$(nmctl run --detach --name web --app shop -m 64M -c 0.5 -- sleep 1000)
check "it runs" wait_until 10 in_state "$web" RUNNING
like "list" "$(nmctl list)" "$web  web +guaranteed +RUNNING .* 64.0 MiB .* 0.5 .* sleep 1000"
like "show" "$(nmctl show web)" "^app +shop$"
like "top" "$(nmctl top)" "$web  web"
like "status" "$(nmctl status)" "containers +1 guaranteed, 0 opportunistic"
like "status --json is the contract" \
    "$(nmctl status --json | jq -c '[.node.backend, .containers.guaranteed_running, .queue.max_length, .upstream]')" \
    '^\["direct",1,3,null\]$'
check "demote" nmctl demote web
is "it is opportunistic" "$(field_of "$web" .execution_type)" OPPORTUNISTIC
check "promote" nmctl promote "$web"
is "it is guaranteed" "$(field_of "$web" .execution_type)" GUARANTEED
check "update" nmctl update -m 96M -c 1.5 web
is "it has what was asked for" "$(field_of "$web" '"\(.memory_bytes) \(.vcores)"')" "100663296 1.5"
check "pause" nmctl pause web
check "it is paused" wait_until 10 in_state "$web" PAUSED
like "a guaranteed one is resumed at its deadline" "$(nmctl show "$web")" "resume at +20"
nmctl wait --timeout 2s "$web" >/dev/null 2>"$err" || :
check "which wait says, too" said "which is paused; will be resumed if still paused in"
check "resume" nmctl resume web
check "it runs again" wait_until 10 in_state "$web" RUNNING
like "explain" "$(nmctl explain web)" "decision [0-9]+, "
like "explain --last" "$(nmctl explain --last 1)" "decision"
like "events" "$(nmctl events web)" "PAUSING -> PAUSED"
is "events --json are the container's alone" \
    "$(nmctl events --json web | jq -r .container_id | sort -u)" "$web"
like "config" "$(nmctl config max-length)" "^queue.max-length +3 +500"
like "config --changed" "$(nmctl config --changed)" "node.vcores +4"
check "config --reload" nmctl config --reload
is "inspect is show --json" "$(nmctl inspect web | jq -r .id)" "$web"
is "a container goes by its number" "$(nmctl inspect "$((10#${web##*_}))" | jq -r .id)" "$web"
is "ps -q has ids alone" "$(nmctl ps -q)" "$web"
is "of an application" "$(nmctl list -q --app shop) $(nmctl list -q --app other)" "$web "
is "in a state" "$(nmctl list -q --state running) $(nmctl list -q --state paused)" "$web "
is "ended ones, too, where they are asked for" \
    "$(nmctl list --state ended --json | jq -r '[.[].state] | unique | join(" ")')" COMPLETED
all=$(nmctl events --json | jq -s length)
is "events --last" "$(nmctl events --json --last 3 | jq -r .number)" "$(nmctl events --json | jq -r .number | tail -n 3)"
is "of a container alone" "$(nmctl events --json --last 2 web | jq -r .container_id)" "$web"$'\n'"$web"
is "and all of them, if there are fewer" "$(nmctl events --json --last 10000 | jq -s length)" "$all"
is "events --since" "$(nmctl events --since 1us) $(nmctl events --json --since 1h | jq -s length)" " $all"
"$NMCTL" events --follow --json --last 1 >"$out" &
events=$!
check "followed, the newest comes first" wait_until 10 test -s "$out"
like "version" "$(nmctl version)" "^nmd [0-9]"
like "completion knows containers" "$(nmctl __complete -- kill w)" "^web"
like "and the configuration's keys" "$(nmctl __complete -- config queue.max-l)" "^queue.max-length"$'\t'"[A-Za-z]"
is "kill --wait" "$(nmctl kill --now --wait web)" "$web (web): Killed (on request)"
is "and it was" "$(field_of "$web" .exit_reason)" killed
is "wait tells it, and returns what run would" "$(nmctl wait web; echo $?)" "$web (web) was killed"$'\n'137
check "and those who follow events hear of it" wait_until 10 grep -q '"to": *"COMPLETED"' "$out"
kill "$events"
wait "$events" 2>/dev/null
is "of which none is told twice" "$(jq -r .number "$out" | sort | uniq -d)" ''
like "stop is kill" "$(nmctl run --detach --name s -- sleep 1000; nmctl stop --wait s)" 's\): Killed \(on request\)$'
status=0
nmctl run --detach --name five -- sh -c 'sleep 0.2; exit 5' >/dev/null
nmctl run --detach --name none -- true >/dev/null
nmctl wait none five >"$out" || status=$?
is "wait returns the first failure" "$status" 5
is "and has told each" "$(sed 's/.*(/(/' "$out")" "(none) exited with status 0"$'\n'"(five) exited with status 5"

# ---- waiting in the queue

nmctl run --detach --name fill -m 64M -- sleep 1000 >/dev/null
wait_until 10 named_in_state fill RUNNING
nmctl run --opportunistic --name patient -m 1000M -- true >"$out" 2>"$err" &
pid=$!
check "a queued run says where and why" wait_until 10 said "queued at position 1: "
like "list shows the position" "$(nmctl list)" "patient +opportunistic +QUEUED #1"
like "show says why" "$(nmctl show patient)" "^queued +."
status=0
nmctl wait --timeout 1s patient fill >"$out" 2>"$err.wait" || status=$?
is "wait gives up in time, with a status of its own" "$status $(cat "$out")" "124 "
like "having said what it waits for, and why" "$(cat "$err.wait")" \
    'waiting for container_[0-9_]+ \(patient\), which is queued at position 1: [a-z]'
like "and in the end that of each" "$(cat "$err.wait")" '\(fill\) has not ended in time: it is RUNNING, and continues'
status=0
nmctl pause patient 2>"$err.pause" || status=$?
like "what can't be done to what waits is told in the same word, with what can" "$status $(cat "$err.pause")" \
    "^1 .* is QUEUED and can't be paused: .*'nmctl explain' shows why, and 'nmctl kill'"
nmctl kill patient >/dev/null
status=0; wait "$pid" || status=$?
is "killed in the queue: it was never run" "$status" 125

# ---- drain

nmctl run --detach --name brief -- sleep 0.5 >/dev/null
check "drain --deadline --wait returns when the node is empty" nmctl drain --deadline 1s --wait
like "it is drained" "$(nmctl status)" "draining and empty"
run -- true
is "nothing is admitted" "$status" 125
is "drain --wait --json prints the empty node" "$(nmctl drain --wait --json | jq -c '[.node.state, .node.drained]')" \
    '["draining",true]'
check "undrain" nmctl undrain
nmctl drain >/dev/null
is "undrain --json prints the one that admits again" "$(nmctl undrain --json | jq -r .node.state)" running
is "config --reload --json, too" "$(nmctl config --reload --json | jq -r .node.state)" running
run -- true
is "and then again" "$status" 0

nmd_stop
status=0
nmctl list >"$out" 2>"$err" || status=$?
is "without nmd: 3" "$status" 3
[ -d /run/systemd/system ] && how='systemctl start nmd' || how='nmd &'
check "and how to get it" said "nmd is not running at $NMD_SOCKET; start it with '$how'"

# ---- the first command after a start

begun=$(date +%s%3N)
status=0
nmctl --retry 700ms list >"$out" 2>"$err" || status=$?
is "--retry ends if nmd does not come" "$status" 3
at_least "after its time" $(($(date +%s%3N) - begun)) 700
check "with the same message" said "nmd is not running at $NMD_SOCKET"
nmctl --retry 3s list >"$out" 2>"$err" || :
check "it says for what it waits, and how long" said "waiting for nmd at $NMD_SOCKET, for up to 3s"
(sleep 0.5 && exec "$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --state-dir "$dir/state" --runtime-dir "$dir/run" \
    --slice "$slice" --backend direct ${node_proc:+--node-proc "$node_proc"} >>"$dir/nmd.log" 2>&1) &
nmd_pid=$!
status=0
nmctl list >"$out" 2>"$err" || status=$?
is "an nmd that is still starting isn't there without --retry" "$status" 3
check "and is with it" nmctl list --retry 20s
nmd_stop
done_testing
