#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
#
# Additional commands in running containers (nmctl exec): cgroup, user and environment of the command, its input, output and
# exit status, and the events that end it.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[over-allocation]
enabled = no
[preemption]
kill-grace = 1s
END
nmd_start || exit 1

user=$(id -un)
[ "$(id -u)" -ne 0 ] || user=nobody
# The command's own script sets a part of the environment, as YARN's launch scripts do.
submit web -m 64M -c 0.1 -u "$user" -d /tmp -e GREETING=hello -- sh -c 'export LATER=set; exec sleep 1000'
check "the container runs" wait_until 10 in_state web RUNNING
pid=$(field_of web .pid)

# ---- cgroup and user ------------------------------------------------------------------------------------------
try nmctl exec web -- sh -c 'echo out; echo err >&2; exit 3'
is "exec returns the command's exit status" "$status" 3
is "exec prints the command's stdout on its own stdout" "$out" out
is "exec prints the command's stderr on its own stderr" "$err" err
# shellcheck disable=SC2016
try nmctl exec -e MORE=1 -e GREETING=bye web -- sh -c 'id -un; pwd; echo "$GREETING $LATER $MORE"; grep ^0:: /proc/self/cgroup'
is "the command of exec has the container's user, directory, environment and cgroup, and the given variables" "$out" \
    "$user
/tmp
bye set 1
$(grep ^0:: "/proc/$pid/cgroup")"
try nmctl exec web -- readlink /proc/self/ns/user /proc/self/ns/mnt /proc/self/ns/ipc
is "the command of exec runs in the container's namespaces" "$out" \
    "$(for kind in user mnt ipc; do readlink "/proc/$pid/ns/$kind"; done)"
try nmctl exec web -- sh -c "readlink /proc/$pid/root"
is "the command of exec sees the container's processes" "$status $out" "0 /"
same=$(nmctl exec web -- grep -E '^(Cap|NoNewPrivs)' /proc/self/status)
is "the command of exec has no privilege that the container's command lacks" "$same" "$(grep -E '^(Cap|NoNewPrivs)' "/proc/$pid/status")"
try nmctl exec web -- sh -c 'ls /proc/self/fd'
is "the command of exec has no file descriptor of other processes" "$(wc -l <<<"$out")" 4 # and the directory's
is "the command of exec has no file descriptor of nmd's socket" "$(nmctl exec web -- sh -c 'ls -l /proc/self/fd | grep -c socket')" 0

# ---- exit status ----------------------------------------------------------------------------------------------
# shellcheck disable=SC2016
try nmctl exec web -- sh -c 'kill -SEGV $$'
is "exec returns 128 plus the signal number if a signal ends the command" "$status" 139
try nmctl exec web no-such-program
is "exec returns 127 if the command does not exist" "$status" 127
like "the error of exec names the missing command" "$err" 'command not found: no-such-program'
try nmctl exec web /etc/passwd
is "exec returns 126 if the command can't be executed" "$status" 126
try nmctl exec nobody-is-called-this true
is "exec returns 125 if the container does not exist" "$status" 125
like "the error of exec names the missing container" "$err" "no container 'nobody-is-called-this'"
try nmctl exec web
is "exec without a command is a usage error" "$status" 2
try nmctl exec web --
is "exec without a command after -- is a usage error" "$status" 2
# Processes that the command of exec leaves in the background belong to the container.
scope=$(nmd_cgroup_root)$(sed -n 's/^0:://p' "/proc/$pid/cgroup")
n_processes() { wc -l <"$scope/cgroup.procs"; }
is "the commands of exec leave no process behind" "$(n_processes)" 2
try timeout 20 "$NMCTL" exec web -- sh -c 'sleep 1000 & echo done'
is "exec does not wait for a background process of its command" "$status $out" "0 done"
is "the background process of exec's command keeps running in the container" "$(n_processes)" 3

# ---- input ----------------------------------------------------------------------------------------------------
is "exec -i passes its input and the end of input to the command" "$(head -c 3000000 /dev/zero | nmctl exec -i web -- wc -c)" 3000000
is "exec without -i passes no input to the command, and does not read from the terminal" \
    "$(printf 'one\ntwo\n' | { nmctl exec web -- cat; cat; })" "$(printf 'one\ntwo')"
is "exec -i does not wait for a command that does not read its input" "$(head -c 3000000 /dev/zero | nmctl exec -i web -- true; echo $?)" 0
{ timeout 20 "$NMCTL" exec web -- yes; echo $? >"$dir/gone"; } | head -n 1 >"$dir/yes"
is "the command of exec ends when its stdout is closed" "$(cat "$dir/yes" "$dir/gone" | paste -sd' ')" "y 141"

# ---- events that end a session --------------------------------------------------------------------------------
begin() { # NAME COMMAND...: starts exec in the background as $exec_pid, and waits until its command runs
    rm -f "$dir/begun"
    "$NMCTL" exec "$1" -- "${@:2}" >"$dir/begun" 2>"$dir/begun.err" </dev/null &
    exec_pid=$!
    wait_until 10 test -s "$dir/begun"
}
ended() { # waits for the end of exec, and sets $status
    status=0
    wait "$exec_pid" || status=$?
}
begin web sh -c 'trap "echo told; exit 9" TERM; echo here; while :; do sleep 0.1; done'
kill -TERM "$exec_pid"
ended
is "exec passes a signal that nmctl gets to the command" "$status $(tail -n 1 "$dir/begun")" "9 told"

begin web sh -c 'trap "exit 0" HUP; echo here; while :; do sleep 0.1; done'
more=$(n_processes)
kill -KILL "$exec_pid"
ended
fewer() { [ "$(n_processes)" -lt $((more - 1)) ]; }
check "the command of exec gets SIGHUP when nmctl is killed" wait_until 4 fewer # it would be killed after 5 s

begin web sh -c 'echo here; sleep 2; echo survived'
nmd_stop
nmd_start
ended
is "the command of exec keeps running while nmd restarts" "$status $(tail -n 1 "$dir/begun")" "0 survived"
is "a restarted nmd can start further commands in the container" "$(nmctl exec web echo again)" again

nmctl pause web >/dev/null
wait_until 10 in_state web PAUSED
try timeout 10 "$NMCTL" exec web true
is "exec in a paused container is refused" "$status" 125
like "the refusal of exec says that the container is paused" "$err" 'PAUSED.*nmctl resume'
nmctl resume web >/dev/null
wait_until 10 in_state web RUNNING

# A container has at most sixteen sessions (commands of exec).
many=()
for _ in $(seq 16); do
    "$NMCTL" exec web -- sh -c 'echo; exec sleep 1000' >>"$dir/many" </dev/null &
    many+=($!)
done
sixteen() { [ "$(wc -l <"$dir/many")" -eq 16 ]; }
wait_until 20 sixteen
try timeout 10 "$NMCTL" exec web true
is "exec runs at most sixteen commands in a container at the same time" "$status" 125
like "the refusal of the seventeenth command names the limit" "$err" '16 commands.*this container'
kill "${many[@]}"
check "exec succeeds again when earlier commands have ended" wait_until 10 timeout 5 "$NMCTL" exec web true

begin web sh -c 'echo here; exec sleep 1000'
nmctl kill --now --wait web >/dev/null
ended
is "the command of exec is killed together with its container" "$status" 137
like "exec reports that its container has ended" "$(cat "$dir/begun.err")" 'and the command with it'
check "the end of the container leaves no process of exec's command behind" test ! -e "$scope"
try nmctl exec web true
is "exec in an ended container is refused" "$status" 125

# ---- a terminal -----------------------------------------------------------------------------------------------
submit term -m 64M -c 0.1 -u "$user" -d /tmp -- sleep 1000
wait_until 10 in_state term RUNNING
try python3 "$here/terminal.py" "$NMCTL" exec -it term -- sh
is "a shell of exec -it has the terminal's size, gets Ctrl-C and size changes, returns its exit status, and leaves the terminal unchanged" \
    "$out" \
    'size 33 77
interrupted
size 44 88
status 7
as before' || diag "$err"
try nmctl exec -it term -- true
is "exec -t is refused if stdin is not a terminal" "$status" 2
is "exec -t with a terminal as stdin gives the command a terminal for output" \
    "$(nmctl exec -t term -- sh -c '[ -t 1 ] && stty size </dev/tty')" $'24 80\r'

# ---- the standard input of a container's own command ----------------------------------------------------------
run=(run -i -m 32M -c 0.1)
is "run -i passes its input and the end of input to the command" "$(head -c 3000000 /dev/zero | nmctl "${run[@]}" -- wc -c)" 3000000
is "run -i does not wait for a command that does not read its input" "$(head -c 3000000 /dev/zero | nmctl "${run[@]}" -- true; echo $?)" 0
is "run without -i passes no input to the command" "$(echo typed | nmctl run -m 32M -c 0.1 -- cat)" ""
mkfifo "$dir/pipe"
"$NMCTL" "${run[@]}" --name reads -- sh -c 'cat; echo end' <"$dir/pipe" >"$dir/read" 2>/dev/null &
reader=$!
exec {pipe}>"$dir/pipe"
wait_until 10 in_state reads RUNNING
nmd_stop
nmd_start {pipe}>&- # otherwise nmd would hold the pipe open
echo late >&"$pipe"
exec {pipe}>&-
wait "$reader"
is "run -i passes input to the command after a restart of nmd" "$(paste -sd' ' "$dir/read")" "late end"
"$NMCTL" "${run[@]}" --name left -- sh -c 'cat; exit 4' <"$dir/pipe" >/dev/null 2>&1 &
reader=$!
exec {pipe}>"$dir/pipe"
wait_until 10 in_state left RUNNING
kill -KILL "$reader"
check "the command's input ends when nmctl is killed" wait_until 10 in_state left COMPLETED
is "the container ends when its command ends" "$(field_of left .exit_code)" 4
exec {pipe}>&-
try nmctl run -i -D -- true
is "the command of a detached container gets no input" "$status" 2
try nmctl run -i -m 900G -- true
is "a refused run -i returns the exit status of a refusal" "$status" 125

# ---- a terminal for a container's own command -----------------------------------------------------------------
run=(run -m 32M -c 0.1)
used='size 33 77
interrupted
size 44 88'
# shellcheck disable=SC2016
TERM=vt42 try python3 "$here/terminal.py" "$NMCTL" "${run[@]}" -it --name shell -- sh -c 'echo "is $TERM"; exec sh'
is "run -it starts a shell with a terminal in the container" "$out" "$used
status 7
as before" || diag "$err"
is "the container has the exit status of the shell" "$(field_of shell .exit_code)" 7
like "the container's log has all output of the terminal" \
    "$(nmctl logs shell | tr -d '\r' | paste -sd' ')" 'is vt42.*33 77.*begun.*\^C.*44 88.*exit 7'

python3 "$here/terminal.py" --pause "$dir/go-on" "$NMCTL" "${run[@]}" -it --name stays -- sh >"$dir/stays" 2>&1 &
person=$!
wait_until 10 grep -q interrupted "$dir/stays"
nmd_stop
nmd_start
touch "$dir/go-on"
wait "$person"
is "the container's terminal works after a restart of nmd" "$(cat "$dir/stays")" "$used
status 7
as before"

try python3 "$here/terminal.py" --end TERM "$NMCTL" "${run[@]}" -it --name told -- sh
like "a signal ends nmctl run -it, and the terminal is left unchanged" "$out" 'size 44 88
status (129|143)
as before' || diag "$err"
check "a signal to nmctl run -it ends the container" wait_until 10 in_state told COMPLETED
try python3 "$here/terminal.py" --end KILL "$NMCTL" "${run[@]}" -it --name hung -- sh
check "the container's terminal hangs up when nmctl is killed" wait_until 10 in_state hung COMPLETED
is "the hangup ends the shell with SIGHUP" "$(field_of hung .exit_signal)" 1

terminal() { # COMMAND...: runs the command with a terminal of unknown size as its standard descriptors
    python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@" </dev/null
}
try terminal "$NMCTL" "${run[@]}" -t -- sh -c 'stty size; echo err >&2; exit 5'
is "run -t gives the command 80 columns if the size of the terminal is unknown" "$status $(tr -d '\r' <<<"$out")" $'5 24 80\nerr'
try terminal "$NMCTL" "${run[@]}" -t --name much -- seq 100000
is "run -t prints the complete output" "$(tr -d '\r' <<<"$out" | md5sum)" "$(seq 100000 | md5sum)"
is "the container's log has the complete output of run -t" "$(nmctl logs much | tr -d '\r' | md5sum)" "$(seq 100000 | md5sum)"
try terminal "$NMCTL" "${run[@]}" -t -- sh -c 'exec <&- >&- 2>&-; sleep 0.3; exit 6'
is "a command that closes its terminal runs to its own end" "$status" 6
try terminal "$NMCTL" "${run[@]}" -t -- sh -c 'trap "" HUP; sleep 1000 & echo done'
is "run -t does not wait for a background process of its command" "$status $(tr -d '\r' <<<"$out")" "0 done"
try terminal "$NMCTL" "${run[@]}" -t -- no-such-program
is "run -t returns 127 if the command does not exist" "$status" 127
nmctl run -D -m 900M -c 0.1 --name full -- sleep 1000 >/dev/null
terminal "$NMCTL" run -it --opportunistic -m 90M -c 0.1 --name waits -- sh -c 'tty; exit 4' >"$dir/waits" &
person=$!
wait_until 10 in_state waits SCHEDULED
nmd_stop
nmd_start
wait_until 10 grep -q 'nmd is back' "$dir/waits"
nmctl kill --now full >/dev/null
wait "$person" && status=0 || status=$?
# Checks the text after the last sequence that erases the message about the wait. The sequence must not erase the output.
is "run -t in a queue: the command has no terminal if nmd restarts before the container starts" \
    "$status $(sed -n '$s/^.*\x1b\[J//; $p' "$dir/waits" | tr -d '\r')" "4 not a tty"
try nmctl run -t -- true </dev/null
is "run -t is refused if stdin is not a terminal" "$status" 2
like "the refusal says that stdin is not a terminal" "$err" 'needs a terminal as standard input'

# ---- sessions of an opportunistic container -------------------------------------------------------------------
# Without a cpu controller, the commands of an opportunistic container get only the CPU time that other processes leave. Their
# scheduling class and the nice value of their session cause this. These commands are not in nmd's session.
nice_of_session() { sed 's/.* //' "/proc/$1/autogroup"; } # PID
class_of() { ps -o cls= -p "$1" | tr -d ' '; }            # PID
if [ -e /proc/self/autogroup ] && [ "$(id -u)" -eq 0 ]; then
    before="$(nice_of_session "$nmd_pid") $(nice_of_session $$)"
    submit idler --opportunistic -m 32M -c 0.1 -- sleep 1000
    check "an opportunistic container is running" wait_until 20 in_state idler RUNNING
    idler=$(field_of idler .pid)
    check "the command of an opportunistic container has the idle scheduling class" wait_until 5 eval '[ "$(class_of "$idler")" = IDL ]'
    wanted="IDL $(nice_of_session "$idler")"
    bad=''
    for ((i = 0; i < 20; i++)); do
        # shellcheck disable=SC2016 # the other shell's
        got=$(nmctl exec idler -- sh -c 'echo "$(ps -o cls= -p $$ | tr -d " ") $(sed "s/.* //" /proc/self/autogroup)"')
        [ "$got" = "$wanted" ] || bad+="$got, "
    done
    is "a command of exec has the container's scheduling class ($wanted)" "$bad" ''
    is "the sessions of nmd and of the caller keep their scheduling priority" \
        "$(nice_of_session "$nmd_pid") $(nice_of_session $$)" "$before"
    nmctl kill --wait idler >/dev/null
fi

# ---- rm -------------------------------------------------------------------------------------------------------
nmctl run --name gone -m 16M -c 0.1 -- echo said >/dev/null
id=$(field_of gone .id)
check "an ended container has a log" test -e "$dir/state/logs/$id"
is "rm removes an ended container" "$(nmctl rm gone)" "$id (gone): removed"
check "rm removes the container's log and record" test ! -e "$dir/state/logs/$id" -a ! -e "$dir/state/containers/$id"
try nmctl show gone
is "a second rm of the same container fails" "$status" 1
try nmctl rm term
is "rm of a running container is refused" "$status" 1
like "the refusal of rm says that the container is running" "$err" "RUNNING, and only ended containers can be removed.*rm --force"
is "rm --force kills a running container and removes it" "$(nmctl rm -f term | sed 's/.* //')" removed
submit term -m 64M -c 0.1 -u "$user" -d /tmp -- sleep 1000
wait_until 10 in_state term RUNNING

# ---- other users ----------------------------------------------------------------------------------------------
if [ "$(id -u)" -eq 0 ]; then
    try nmctl run -u daemon -m 16M -c 0.1 -D --name other -- sleep 1000
    chmod 755 "$dir" "$dir/run"
    chmod 666 "$NMD_SOCKET"
    for who in "$(id -u "$user")" 54322; do
        code=$(setpriv --reuid "$who" --regid "$who" --clear-groups curl -sS --max-time 5 --unix-socket "$NMD_SOCKET" \
            -o /dev/null -w '%{http_code}' -H 'Connection: Upgrade' -H 'Upgrade: nm-session' -H 'Content-Type: application/json' \
            --data-binary '{"command":["id"]}' http://nmd/v1/containers/term/exec)
        is "user $who can neither use exec in root's containers nor see these containers" "$code" 404
    done
fi
done_testing
