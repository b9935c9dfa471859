#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
#
# One unprivileged user attacks nmd from many connections at once (hostile.py): with commands of the largest size, JSON that would need
# much memory, bodies that never end, clients that never read, and hundreds of containers. Meanwhile root and another user send small
# requests. 99 % of these must be answered within 100 ms, and nmd's memory must stay small. NMD_HOSTILE_SECONDS (20) is the duration.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "only root can ask as others"
seconds=${NMD_HOSTILE_SECONDS:-20}
open_place
export NMD_SOCKET=$place/nmd.sock
node_proc_start 4000 4
nmd_configure <<END
[interface]
socket-mode = 0666
[over-allocation]
enabled = no
[queue]
max-length = 400
[preemption]
kill-grace = 500ms
END
nmd_start || exit 1

# ---- limits of one user --------------------------------------------------------------------------

as() { # UID BODY: the status of a submission, and what is wrong with it
    setpriv --reuid "$1" --regid "$1" --clear-groups curl -sS --max-time 20 --unix-socket "$NMD_SOCKET" \
        -w '%{http_code}' -H 'Content-Type: application/json' --data-binary "$2" http://nmd/v1/containers |
        jq -rs '"\(.[1]) \(.[0].error.thing? // .[0].state)"'
}
words() { # N PIECE: a command of `true` and N times the piece
    python3 -c 'import sys; n, piece = int(sys.argv[1]), sys.argv[2]
print("{\"memory_bytes\":1048576,\"vcores\":0.001,\"command\":[\"true\"" + ("," + piece) * n + "]}")' "$1" "$2" >"$place/body"
    chmod 644 "$place/body"
}
words 345000 '""'
is "a body with too many values is refused" "$(as 54321 "@$place/body")" "400 body"
words 17000 '""'
is "a command with too many words is refused" "$(as 54321 "@$place/body")" "400 command"
words 12000 '"012345678901234567890123456789012345"'
is "strings and pointers above 512 KiB are refused" "$(as 54321 "@$place/body")" "400 command"
words 4 "\"$(head -c 110000 /dev/zero | tr '\0' x)\""
is "strings and pointers of 512 KiB are accepted" "$(as 54321 "@$place/body")" "201 SCHEDULED"
words 1 "\"$(head -c 131072 /dev/zero | tr '\0' x)\""
is "a string that is too long for execve() is refused" "$(as 54321 "@$place/body")" "400 command"
words 0 ''
sed -i 's/"true"/&,[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]/' "$place/body"
is "a body that is nested too deeply is refused" "$(as 54321 "@$place/body")" "400 body"

# The containers live long enough to be counted, because none of them can start while root's container has the whole node.
nmctl run --detach --name all -m "$(status_of .node.capacity.memory_bytes)" -c "$(status_of .node.capacity.vcores)" \
    -- sleep 1000 >/dev/null
wait_until 10 in_state all RUNNING
large='{"execution_type":"OPPORTUNISTIC","memory_bytes":1048576,"vcores":0.001,"command":["true","'$(
    head -c 120000 /dev/zero | tr '\0' x)'"]}'
echo "$large" >"$place/large"
chmod 644 "$place/large"
taken=0
for ((i = 0; i < 40; i++)); do
    answer=$(as 54321 "@$place/large")
    [ "$answer" = "201 SCHEDULED" ] || break
    taken=$((taken + 1))
done
is "the commands of one user are limited to 4 MiB" "$taken $answer" "34 503 command"
is "another user has a limit of its own" "$(as 54322 "@$place/large")" "201 SCHEDULED"
small='{"execution_type":"OPPORTUNISTIC","memory_bytes":1048576,"vcores":0.001,"command":["true"]}'
queue=$(seq 400 | while read -r _; do printf "url = http://nmd/v1/containers\noutput = /dev/null\n"; done)
setpriv --reuid 54323 --regid 54323 --clear-groups curl -sS --unix-socket "$NMD_SOCKET" -H 'Content-Type: application/json' \
    --data-binary "$small" -K - <<<"$queue"
is "one user can fill three quarters of the queue" \
    "$(nmctl list --json | jq '[.[] | select(.submitter_uid == 54323)] | length')" 300
is "the refusal names the user's share" "$(as 54323 "$small")" "429 queue"
is "another user gets a place in the queue" "$(as 54322 "$small")" "201 SCHEDULED"
is "nmctl joins the parts of a long list" "$(nmctl list --json | jq -c '[length, ([.[].id] | unique | length)]')" \
    "[337,337]"
is "completion uses the whole list" "$(nmctl __complete show container_ | wc -l)" "$(nmctl list --all --json | jq length)"
at_least "completion keeps the order" "$(nmctl list --json | jq '[.[].id] == ([.[].id] | sort)' | grep -c true)" 1
kill_all
wait_until 30 status_is .containers.queued 0
reconfigure over-allocation enabled yes

# ---- all at once -----------------------------------------------------------------------------------

limit=100 rate=20
! sanitized || limit=400 rate=5 # everything takes several times as long
hostile() { # SECONDS [stalls]: $status
    "$here/hostile.py" "$NMD_SOCKET" "$nmd_pid" "$1" 54321 54322 "${@:2}" >"$dir/hostile.out" 2>"$dir/hostile.err"
    status=$?
    # shellcheck disable=SC2001 # every line
    sed 's/^/# /' "$dir/hostile.out" "$dir/hostile.err"
}
figure() { sed -n "s/^$1: //p" "$dir/hostile.out"; }
# Subtracts the latency of the machine, which is high if it is busy with other work. hostile.py measures it.
late() { # ROOT-OR-OTHER: p99 of what nmd had to do with, in ms
    local ms=$(($(figure "$1-own-p99") - $(figure "$1-echo-p99")))
    echo $((ms > 0 ? ms : 0))
}
hostile 4 stalls
is "the measurement covers an nmd that stands still" "$status" 0
at_least "an nmd that stands still is found to be late" "$(late root)" 101
hostile "$seconds"
is "the attack and the measurement run to their end" "$status" 0
check "nmd still runs" nmd_alive
at_least "nmd answers many requests of the attack" "$(figure attacks)" $((seconds * rate))
at_least "root makes enough requests" "$(figure root-n)" $((seconds * 5))
is "all requests of root succeed" "$(figure root-bad)" 0
is "all requests of another user succeed" "$(figure other-bad)" 0
for who in root other; do
    at_least "$who: 99 of 100 within $limit ms; they took $(late "$who")" "$limit" "$(late "$who")"
done
if sanitized; then
    diag "nmd had $(figure rss) MiB; what it may have isn't looked at with a sanitizer, which keeps what was freed"
else
    at_least "nmd never uses more than 64 MiB: $(figure rss)" 64 "$(figure rss)"
fi
kill_all 2>/dev/null # some end meanwhile
check "the containers of the attack can be killed" \
    wait_until 60 status_is '.containers | .queued + .guaranteed_running + .opportunistic_running' 0
check "nmd still runs containers" nmctl run -- true
done_testing
