#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
# beside: others
#
# Failures in nmd's environment: paths that are in use, a full cgroup tree, a thousand clients at once, and bytes that are not
# text. nmd reports each failure clearly and continues. No container is lost or left behind. Related suites: 61-interface
# (stalling clients), 67-durable-journal (a full disk), 80-reload (bad configurations), 90-bad-input (bad requests).
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[queue]
max-length = 100
END
nmd_start || exit 1
submit there -m 100M -c 0.1 -- sleep 1000
wait_until 10 in_state there RUNNING
pid=$(field_of there .pid)

# ---- the socket's path, and the state, in use --------------------------------------------------------------

other=other$slice
at_exit 'nmd_clean_slice "$other"'
options=(--config "$nmd_conf" --backend direct --slice "$other" --runtime-dir "$dir/run2" --log-level warning)
refused() { # NAME WORDS OPTION...: nmd ends immediately with one line that has these words
    local name=$1 words=$2
    shift 2
    try timeout 20 "$NMD" "${options[@]}" --state-dir "$dir/state2" "$@"
    is "nmd refuses to start with $name" "$status" 1
    like "nmd refuses to start with $name: the error gives the reason" "$err" "$words"
    at_least "nmd refuses to start with $name: the error has at most two lines" "$((3 - $(wc -l <<<"$err")))" 1
}
refused "a socket in use" "another nmd \(pid $nmd_pid\) uses the socket $NMD_SOCKET; stop that nmd, or give this one its own" \
    --socket "$NMD_SOCKET"
check "the running nmd still responds" nmctl status
echo precious >"$dir/file"
refused "a file at the path of the socket" "$dir/file exists and is not a socket; remove it or choose another" \
    --socket "$dir/file"
is "the file at the path of the socket is unchanged" "$(cat "$dir/file")" precious
mkdir "$dir/directory"
refused "a directory at the path of the socket" "$dir/directory exists and is not a socket" --socket "$dir/directory"
ln -s "$dir/nowhere" "$dir/link"
refused "a symbolic link at the path of the socket" "$dir/link exists and is not a socket" --socket "$dir/link"
refused "a directory of the socket that does not exist" \
    "socket path $dir/none/nmd.sock: No such file or directory" --socket "$dir/none/nmd.sock"
long=$dir/$(printf 'x%.0s' {1..120})
refused "a path that is too long for a socket" "has [0-9]* bytes; at most 107 are allowed" --socket "$long"
refused "a state directory in use" "another nmd \(pid $nmd_pid\) uses the state directory $dir/state; stop that nmd, or" \
    --socket "$dir/second.sock" --state-dir "$dir/state"
refused "a state directory that is a file" "$dir/file" --socket "$dir/second.sock" --state-dir "$dir/file"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$dir/stale.sock"
"$NMD" "${options[@]}" --state-dir "$dir/state2" --socket "$dir/stale.sock" >>"$dir/nmd2.log" 2>&1 &
second=$!
check "nmd replaces a socket that a dead nmd has left" wait_until 20 nmctl --socket "$dir/stale.sock" status
kill "$second"
wait "$second"
check "nmd removes its socket when it ends" test ! -e "$dir/stale.sock"

# ---- a lock that is released soon -----------------------------------------------------------------------------

mkdir -p "$dir/state3"
flock "$dir/state3/lock" sleep 0.7 &
"$NMD" "${options[@]}" --state-dir "$dir/state3" --socket "$dir/third.sock" >>"$dir/nmd3.log" 2>&1 &
third=$!
check "an nmd that starts waits for another nmd that is ending" wait_until 20 nmctl --socket "$dir/third.sock" status
kill "$third"
wait "$third"

# ---- very few descriptors ---------------------------------------------------------------------------------------

few=$dir/few.sock
(ulimit -n 72; exec "$NMD" "${options[@]}" --state-dir "$dir/state4" --runtime-dir "$dir/run4" --socket "$few") >>"$dir/nmd4.log" 2>&1 &
fourth=$!
wait_until 20 nmctl --socket "$few" status
n=0
while [ "$n" -lt 20 ] && nmctl --socket "$few" run --detach --name "d$n" -m 10M -c 0.01 -- sleep 1000 >/dev/null 2>"$dir/few.err"; do
    n=$((n + 1))
done
like "a container is refused if nmd has too few free file descriptors" "$(cat "$dir/few.err")" 'almost none of its 72 file descriptors left'
at_least "containers are accepted while nmd has enough free file descriptors" "$n" 1
check "the accepted containers can be killed with few free file descriptors" nmctl --socket "$few" kill --now --wait d0
running() { nmctl --socket "$few" list --json | jq '[.[] | select(.state == "RUNNING")] | length'; }
is "each remaining scope belongs to a running container" \
    "$(find "$(slice_dir | sed "s,$slice,$other,")" -mindepth 1 -type d | wc -l)" "$(running)"
mapfile -t still < <(nmctl --socket "$few" list --json | jq -r '.[].id')
[ "${#still[@]}" -eq 0 ] || nmctl --socket "$few" kill --now --wait "${still[@]}" >/dev/null
kill "$fourth"
wait "$fourth"

# ---- a full cgroup tree ----------------------------------------------------------------------------------------

tree=$(slice_dir)
full() { # NAME FILE NUMBER
    echo "$3" >"$tree/$2"
    try nmctl run -m 10M -c 0.1 -- true
    is "$1: the container is not started" "$status" 125
    like "$1: the error says that the cgroup tree is full" "$err" "cgroup tree is full.*$2"
    like "$1: the container's record says that the cgroup tree is full" "$(nmctl list --all --json |
        jq -r '[.[] | select(.state == "COMPLETED")] | last | .exit_reason + " " + .message')" \
        "launch-failed .*cgroup tree is full"
    is "$1: the failed start leaves no cgroup" "$(find "$tree" -mindepth 1 -type d | wc -l)" 1
    echo max >"$tree/$2"
    check "$1: a container starts after the limit was raised" nmctl run -m 10M -c 0.1 -- true
}
full "a limit on the number of cgroups" cgroup.max.descendants 1
full "a limit on the depth of the cgroup tree" cgroup.max.depth 0
is "the container that was running before is still running" "$(state_of there) $(field_of there .pid)" "RUNNING $pid"

# ---- a thousand clients at once ---------------------------------------------------------------------------------

fds() { find "/proc/$nmd_pid/fd" -mindepth 1 | wc -l; }
before=$(fds)
answers=$(/usr/bin/python3 "$here/../vm/data/thousand.py" "$NMD_SOCKET" 200 2>&1)
diag "$answers"
is "each of a thousand simultaneous clients gets a response" "$(jq '[.[]] | add' <<<"$answers")" 1000
is "each of 800 simultaneous list requests succeeds" "$(jq '."GET 200"' <<<"$answers")" 800
at_least "containers are accepted up to the limit of the queue" "$(jq '."POST 201"' <<<"$answers")" 100
is "containers beyond the limit of the queue are refused" "$(jq '(."POST 201" // 0) + (."POST 429" // 0)' <<<"$answers")" 200
thousand() { nmctl list --all --json | jq '[.[] | select(.app == "thousand")'"$1"; }
all_done() { [ "$(thousand ' | select(.state != "COMPLETED")] | length')" = 0 ]; }
check "all accepted containers end" wait_until 40 all_done
is "all accepted containers succeed" "$(thousand ' | select(.exit_reason == "exited" and .exit_code == 0)] | length')" \
    "$(jq '."POST 201"' <<<"$answers")"
few() { [ "$(fds)" -le "$before" ]; }
check "nmd has no more open file descriptors than before" wait_until 20 few
is "no cgroup of these containers is left" "$(find "$tree" -mindepth 1 -type d | wc -l)" 1

# ---- bytes that are not text, and invalid numbers -----------------------------------------------------------

bad() { # NAME STATUS THING WORDS METHOD PATH [BODY]
    local name=$1 wanted=$2 thing=$3 words=$4
    shift 4
    api "$@"
    is "HTTP: $name is refused" "$api_status $(jq -r '.error.thing' <<<"$api_body" 2>/dev/null)" "$wanted $thing"
    like "HTTP: $name: the error message is a sentence" "$(jq -r '.error.message' <<<"$api_body" 2>/dev/null)" "$words"
    check "HTTP: $name: the response is valid UTF-8" iconv -f UTF-8 -t UTF-8 "$dir/api.body" -o /dev/null
}
c=/v1/containers
job() { printf '{"command":["true"],%b}' "$1"; }
bad "a name with a slash" 400 name 'letters, digits' POST $c "$(job '"name":"a/b"')"
bad "a name with a control character" 400 name 'letters, digits' POST $c "$(job '"name":"a\\u001bb"')"
bad "a name with a NUL" 400 body 'NUL character' POST $c "$(job '"name":"a\\u0000b"')"
bad "a name that is not UTF-8" 400 body 'UTF-8|not valid JSON' POST $c "$(job '"name":"\xff\xfe"')"
bad "a name with letters outside ASCII" 400 name 'letters, digits' POST $c "$(job '"name":"\xd0\x9f\xd1\x80"')"
bad "a name with an unpaired surrogate" 400 body 'not valid JSON' POST $c "$(job '"name":"\\ud800"')"
bad "an id that is not UTF-8" 400 id 'characters' GET "$c/%ff%fe"
bad "an id with a slash" 400 id 'characters' GET "$c/a%2fb"
bad "an id with a parent directory" 400 id 'characters' GET "$c/..%2f..%2fstate/logs"
bad "an invalid percent-encoding in the path" 400 path '%' GET "$c/%zz"
bad "a NUL in the path" 400 path '%00|NUL|character' GET "$c/a%00b"
for n in 9223372036854775808 18446744073709551617 1e400 -9223372036854775809; do
    bad "memory of $n bytes" 400 memory_bytes "from 1 to 9223372036854775807, not $n" POST $c "$(job "\"memory_bytes\":$n")"
done
bad "memory of 1e30 bytes" 400 memory_bytes 'whole number|at most|from' POST $c "$(job '"memory_bytes":1e30')"
bad "a number of 1e300 vcores" 400 vcores 'vcores' POST $c "$(job '"vcores":1e300')"
bad "a number of 0 vcores" 400 vcores 'not 0' POST $c "$(job '"vcores":0')"
bad "a number of lines (tail) that overflows" 400 tail 'from 0 to' GET "$c/there/logs?tail=99999999999999999999"
bad "a limit of zero" 400 limit 'from 1 to' GET "/v1/decisions?limit=0"
bad "a drain with an infinite deadline" 400 deadline_usec 'from 0 to .*not 1e999' POST /v1/drain '{"deadline_usec":1e999}'
printf '%0.s[' {1..100000} >"$dir/deep"
bad "a body that has only opening brackets" 400 body 'not valid JSON|levels deep' POST $c "@$dir/deep"

is "after all invalid requests, the container and the node are unchanged" \
    "$(nmctl list --json | jq -c '[.[] | [.name, .state, .pid]]') $(status_of .node.state)" "[[\"there\",\"RUNNING\",$pid]] running"
nmd_alive || not_ok "nmd is still there"
done_testing
