#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
#
# Tests how nmd starts commands and how commands end: the environment of a command, the files that it writes, and the exit
# reason that nmd reports for each kind of end and of failed start.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[preemption]
kill-grace = 1s
END
nmd_start

# ---- exit statuses ----
try nmctl run -m 32M -c 0.1 -- /bin/sh -c 'echo out; echo err >&2; exit 3'
is "nmctl run returns the command's exit status" "$status" 3
is "nmctl run prints the command's stdout on its own stdout" "$out" out
like "nmctl run prints the command's stderr on its own stderr" "$err" '^err$'

ends() { # NAME STATUS REASON CODE SIGNAL -- COMMAND...
    local name=$1 status_wanted=$2 reason=$3 code=$4 signal=$5
    shift 6
    try nmctl run --name "$name" -m 32M -c 0.1 "$@"
    is "$name: nmctl run returns $status_wanted" "$status" "$status_wanted"
    is "$name: nmd records the exit reason, exit code and signal of the container" \
        "$(field_of "$name" '"\(.state) \(.exit_reason) \(.exit_code) \(.exit_signal)"')" \
        "COMPLETED $reason $code $signal"
}
ends true 0 exited 0 null -- true
ends false 1 exited 1 null -- false
# shellcheck disable=SC2016
ends signal 143 signaled 143 15 -- sh -c 'kill -TERM $$'
# shellcheck disable=SC2016
ends crash 139 signaled 139 11 -- sh -c 'kill -SEGV $$'
ends not-found 127 command-not-found 127 null -- no-such-program-anywhere
like "not-found: the error message names the missing command" "$err" "command not found: no-such-program-anywhere"
ends not-found-path 127 command-not-found 127 null -- /no/such/program
printf 'plain text' >"$dir/plain"
ends denied 126 permission-denied 126 null -- "$dir/plain"
like "denied: the error message names the command that may not be executed" "$err" "$dir/plain"
ends directory 126 permission-denied 126 null -- /tmp
ends bad-workdir 125 bad-workdir 125 null -- -d /no/such/dir -- true
like "bad-workdir: the error message names the working directory" "$err" "/no/such/dir"
try nmctl run -m 32M -c 0.1 -u no-such-user -- true
is "a container for an unknown user is refused" "$status" 125
like "the refusal names the unknown user" "$err" "no-such-user"

# ---- the environment of a command ----
export NM_TEST_FROM_HERE='two words' NM_TEST_NOT_GIVEN=secret
try nmctl run -m 32M -c 0.1 -e A=1 -e 'B=x=y z' -e NM_TEST_FROM_HERE -- env
like "the command has the variables that nmctl run --env sets" "$out" '^A=1$'
like "a variable's value may contain an equals sign and spaces" "$out" '^B=x=y z$'
like "a variable given by name only gets the value that it has in nmctl's environment" "$out" '^NM_TEST_FROM_HERE=two words$'
is "no other environment variable of nmctl or nmd is passed to the command" \
    "$(grep -c -e NM_TEST_NOT_GIVEN -e NMD_ -e ASAN_ <<<"$out")" 0
like "the command has a PATH" "$out" '^PATH=.*/usr/bin'
try nmctl run -m 32M -c 0.1 -d /usr/share -- pwd
is "the command runs in the working directory that was given" "$out" /usr/share
mkdir "$dir/here"
# shellcheck disable=SC2016
try sh -c 'cd "$1"; "$2" run -m 32M -c 0.1 -d . -- pwd' sh "$dir/here" "$NMCTL"
is "a relative working directory is resolved against nmctl's working directory" "$out" "$dir/here"
try nmctl run -m 32M -c 0.1 -u nobody -- id -un
is "the command runs as the user that was given" "$out" nobody
try nmctl run -m 32M -c 0.1 -u nobody -- id -Gn
is "the command of an ordinary user is in none of root's groups" "$out" nogroup
# shellcheck disable=SC2016
try nmctl run -m 32M -c 0.1 -- sh -c 'ls /proc/$$/fd; ls -l /proc/$$/fd | grep -c " 0 -> /dev/null"'
is "the command inherits no file descriptor, and its stdin is /dev/null" "$(tr '\n' ' ' <<<"$out")" "0 1 2 1 "
try nmctl run -m 32M -c 0.1 -- grep -E 'NoNewPrivs|SigIgn|SigBlk' /proc/self/status
is "the command has no_new_privs, and no signal is blocked or ignored" "$(tr -s '\t\n' ' ' <<<"$out")" \
    "SigBlk: 0000000000000000 SigIgn: 0000000000000000 NoNewPrivs: 1 "
try nmctl run -m 32M -c 0.1 -- printf '%s|' a 'b c' '' '--wait' "it's" $'tab\there'
is "the command gets its arguments unchanged" "$out" "a|b c||--wait|it's|"$'tab\there|'

# ---- the output of a command ----
try nmctl run --name long -m 32M -c 0.1 -- seq 200000
is "nmctl run prints long output completely" "$(cksum <<<"$out")" "$(seq 200000 | cksum)"
is "the container's log has the complete long output" "$(nmctl logs --stdout long | cksum)" "$(seq 200000 | cksum)"
is "logs --tail prints the last lines" "$(nmctl logs --stdout --tail 2 long | tr '\n' ' ')" "199999 200000 "
nmctl run --name binary -m 32M -c 0.1 -- head -c 100000 /usr/bin/bash >"$dir/binary"
is "nmctl run prints output that is not text unchanged" "$(cksum <"$dir/binary")" \
    "$(head -c 100000 /usr/bin/bash | cksum)"
is "the log has output that is not text unchanged" "$("$NMCTL" logs --stdout binary | cksum)" \
    "$(head -c 100000 /usr/bin/bash | cksum)"
submit both -m 32M -c 0.1 -- sh -c 'echo one; echo two >&2'
wait_until 10 in_state both COMPLETED
is "nmctl logs can print stdout only" "$(nmctl logs --stdout both)" one
is "nmctl logs can print stderr only" "$(nmctl logs --stderr both 2>&1)" two
submit follow -m 32M -c 0.1 -- sh -c "until [ -e $dir/go ]; do sleep 0.05; done; echo late"
nmctl logs -f follow >"$dir/followed" &
follower=$!
touch "$dir/go"
wait "$follower"
is "nmctl logs -f prints new output until the container ends" "$(cat "$dir/followed")" late

# ---- the ways in which nmctl run ends ----
id=$(nmctl run --detach -m 32M -c 0.1 -- sleep 300)
like "nmctl run --detach prints only the container id" "$id" '^container_[0-9]+_[0-9]+$'
check "the detached container runs" wait_until 10 in_state "$id" RUNNING
nmctl kill --now --wait "$id" >/dev/null
is "nmctl kill --now ends the container with SIGKILL" "$(field_of "$id" '"\(.exit_reason) \(.exit_signal)"')" "killed 9"

env --default-signal=INT "$NMCTL" run --name interrupted -m 32M -c 0.1 -- sleep 300 &
ctl=$!
wait_until 10 in_state interrupted RUNNING
kill -INT "$ctl"
status=0
wait "$ctl" 2>/dev/null || status=$?
is "Ctrl-C on nmctl run ends the container" "$(state_of interrupted)" COMPLETED
is "after Ctrl-C, the container's record names the signal" "$(field_of interrupted .exit_reason)" killed
at_least "after Ctrl-C, nmctl run's exit status reports the signal" "$status" 128

# shellcheck disable=SC2016
env --default-signal=INT "$NMCTL" run --name ignores-term -m 32M -c 0.1 -- \
    sh -c 'trap "" TERM INT; echo ready; while :; do sleep 0.1; done' >"$dir/ignores-term" &
ctl=$!
wait_until 10 grep -q ready "$dir/ignores-term"
kill -INT "$ctl"
wait "$ctl" 2>/dev/null
is "a command that ignores SIGTERM is killed after the grace period" \
    "$(field_of ignores-term '"\(.state) \(.exit_reason) \(.exit_signal)"')" "COMPLETED killed 9"

# A container keeps running when only its client (nmctl run) ends.
"$NMCTL" run --name left -m 32M -c 0.1 -- sleep 300 >/dev/null &
ctl=$!
wait_until 10 in_state left RUNNING
kill -KILL "$ctl"
wait "$ctl" 2>/dev/null
is "the container keeps running when its client ends" "$(state_of left)" RUNNING
pid=$(field_of left .pid)
nmctl kill --now --wait left >/dev/null
check "a killed container leaves no process behind" wait_until 5 gone "$pid"

# nmd kills processes that a command has started and that are still running when the command ends.
submit parent -m 32M -c 0.1 -- sh -c 'sleep 300 & sleep 300 & echo $! >'"$dir/child"'; exit 0'
check "a container completes although its command leaves child processes behind" wait_until 10 in_state parent COMPLETED
check "the child processes of the ended command are killed" wait_until 5 gone "$(cat "$dir/child")"
check "the ended container leaves no cgroup behind" wait_until 10 bash -c "[ -z \"\$(ls -d $(slice_dir)/*/ 2>/dev/null)\" ]"

nmd_alive || not_ok "nmd still runs"
# sd-event closes an inotify descriptor with its last watch, and the kernel then blocks nmd for up to 19 ms.
if [ "$(id -u)" -eq 0 ]; then
    idle=$(find "/proc/$nmd_pid/fd" -lname '*inotify*' | wc -l)
    is "following the log of a container opens no inotify descriptor" \
        "$("$NMCTL" run -m 16M -c 0.1 -- sh -c "sleep 0.3; find /proc/$nmd_pid/fd -lname '*inotify*'" | wc -l)" "$idle"
fi
done_testing
