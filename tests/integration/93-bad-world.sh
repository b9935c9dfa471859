#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
#
# Failures in nmd's environment: paths that are in use, a full cgroup tree, a thousand clients at once, bytes that are not text. nmd
# reports each one clearly and continues, and no container is lost or left behind. Related suites: 61-interface (stalling clients),
# 67-durable-journal (a full disk), 80-reload (bad configurations), 90-bad-input (bad requests).
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
refused() { # NAME WORDS OPTION...: it ends at once, with one line of these words
    local name=$1 words=$2
    shift 2
    try timeout 20 "$NMD" "${options[@]}" --state-dir "$dir/state2" "$@"
    is "$name is refused" "$status" 1
    like "$name: the error has the reason" "$err" "$words"
    at_least "$name: the error has one or two lines" "$((3 - $(wc -l <<<"$err")))" 1
}
refused "a socket in use" "another nmd \(pid $nmd_pid\) uses the socket $NMD_SOCKET; stop that nmd, or give this one its own" \
    --socket "$NMD_SOCKET"
check "the running nmd still answers" nmctl status
echo precious >"$dir/file"
refused "a file in the socket's place" "$dir/file exists and is not a socket; remove it or choose another" \
    --socket "$dir/file"
is "the file is unchanged" "$(cat "$dir/file")" precious
mkdir "$dir/directory"
refused "a directory in its place" "$dir/directory exists and is not a socket" --socket "$dir/directory"
ln -s "$dir/nowhere" "$dir/link"
refused "a link in its place" "$dir/link exists and is not a socket" --socket "$dir/link"
refused "no such directory" "socket path $dir/none/nmd.sock: No such file or directory" --socket "$dir/none/nmd.sock"
long=$dir/$(printf 'x%.0s' {1..120})
refused "a path too long for a socket" "has [0-9]* bytes; at most 107 are allowed" --socket "$long"
refused "a state directory in use" "another nmd \(pid $nmd_pid\) uses the state directory $dir/state; stop that nmd, or" \
    --socket "$dir/second.sock" --state-dir "$dir/state"
refused "a state directory that is a file" "$dir/file" --socket "$dir/second.sock" --state-dir "$dir/file"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$dir/stale.sock"
"$NMD" "${options[@]}" --state-dir "$dir/state2" --socket "$dir/stale.sock" >>"$dir/nmd2.log" 2>&1 &
second=$!
check "a stale socket is replaced" wait_until 20 nmctl --socket "$dir/stale.sock" status
kill "$second"
wait "$second"
check "the socket is removed when its nmd ends" test ! -e "$dir/stale.sock"

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
like "a container is refused if no descriptors are available" "$(cat "$dir/few.err")" 'almost none of its 72 file descriptors left'
at_least "some containers were accepted before" "$n" 1
check "the accepted containers can be killed" nmctl --socket "$few" kill --now --wait d0
running() { nmctl --socket "$few" list --json | jq '[.[] | select(.state == "RUNNING")] | length'; }
is "each remaining scope belongs to a container" "$(find "$(slice_dir | sed "s,$slice,$other,")" -mindepth 1 -type d | wc -l)" "$(running)"
mapfile -t still < <(nmctl --socket "$few" list --json | jq -r '.[].id')
[ "${#still[@]}" -eq 0 ] || nmctl --socket "$few" kill --now --wait "${still[@]}" >/dev/null
kill "$fourth"
wait "$fourth"

# ---- a full cgroup tree ----------------------------------------------------------------------------------------

tree=$(slice_dir)
full() { # NAME FILE NUMBER
    echo "$3" >"$tree/$2"
    try nmctl run -m 10M -c 0.1 -- true
    is "$1: the container does not run" "$status" 125
    like "$1: the error names the full cgroup tree" "$err" "cgroup tree is full.*$2"
    like "$1: the record names the full cgroup tree" "$(nmctl list --all --json |
        jq -r '[.[] | select(.state == "COMPLETED")] | last | .exit_reason + " " + .message')" \
        "launch-failed .*cgroup tree is full"
    is "$1: no cgroup is left" "$(find "$tree" -mindepth 1 -type d | wc -l)" 1
    echo max >"$tree/$2"
    check "$1: a container runs after the limit is lifted" nmctl run -m 10M -c 0.1 -- true
}
full "a limit of descendants" cgroup.max.descendants 1
full "a limit of depth" cgroup.max.depth 0
is "the running container still runs" "$(state_of there) $(field_of there .pid)" "RUNNING $pid"

# ---- a thousand clients at once ---------------------------------------------------------------------------------

fds() { find "/proc/$nmd_pid/fd" -mindepth 1 | wc -l; }
before=$(fds)
answers=$(/usr/bin/python3 "$here/../vm/data/thousand.py" "$NMD_SOCKET" 200 2>&1)
diag "$answers"
is "each of a thousand clients gets an answer" "$(jq '[.[]] | add' <<<"$answers")" 1000
is "each list is correct" "$(jq '."GET 200"' <<<"$answers")" 800
at_least "jobs are accepted up to the limit" "$(jq '."POST 201"' <<<"$answers")" 100
is "jobs beyond the limit are refused" "$(jq '(."POST 201" // 0) + (."POST 429" // 0)' <<<"$answers")" 200
thousand() { nmctl list --all --json | jq '[.[] | select(.app == "thousand")'"$1"; }
all_done() { [ "$(thousand ' | select(.state != "COMPLETED")] | length')" = 0 ]; }
check "all accepted jobs end" wait_until 40 all_done
is "all accepted jobs succeed" "$(thousand ' | select(.exit_reason == "exited" and .exit_code == 0)] | length')" \
    "$(jq '."POST 201"' <<<"$answers")"
few() { [ "$(fds)" -le "$before" ]; }
check "nmd has no more descriptors than before" wait_until 20 few
is "no cgroup of the jobs is left" "$(find "$tree" -mindepth 1 -type d | wc -l)" 1

# ---- bytes that are not text, and invalid numbers -----------------------------------------------------------

bad() { # NAME STATUS THING WORDS METHOD PATH [BODY]
    local name=$1 wanted=$2 thing=$3 words=$4
    shift 4
    api "$@"
    is "$name is refused" "$api_status $(jq -r '.error.thing' <<<"$api_body" 2>/dev/null)" "$wanted $thing"
    like "$name: the error is a sentence" "$(jq -r '.error.message' <<<"$api_body" 2>/dev/null)" "$words"
    check "$name: the answer is text" iconv -f UTF-8 -t UTF-8 "$dir/api.body" -o /dev/null
}
c=/v1/containers
job() { printf '{"command":["true"],%b}' "$1"; }
bad "a name with a slash" 400 name 'letters, digits' POST $c "$(job '"name":"a/b"')"
bad "a name with a control character" 400 name 'letters, digits' POST $c "$(job '"name":"a\\u001bb"')"
bad "a name with a NUL" 400 body 'NUL character' POST $c "$(job '"name":"a\\u0000b"')"
bad "a name that is not UTF-8" 400 body 'UTF-8|not valid JSON' POST $c "$(job '"name":"\xff\xfe"')"
bad "a name in another script" 400 name 'letters, digits' POST $c "$(job '"name":"\xd0\x9f\xd1\x80"')"
bad "half a surrogate" 400 body 'not valid JSON' POST $c "$(job '"name":"\\ud800"')"
bad "an id that is not UTF-8" 400 id 'characters' GET "$c/%ff%fe"
bad "an id with a slash" 400 id 'characters' GET "$c/a%2fb"
bad "an id with a parent directory" 400 id 'characters' GET "$c/..%2f..%2fstate/logs"
bad "an invalid escape" 400 path '%' GET "$c/%zz"
bad "a NUL in the path" 400 path '%00|NUL|character' GET "$c/a%00b"
for n in 9223372036854775808 18446744073709551617 1e400 -9223372036854775809; do
    bad "memory of $n bytes" 400 memory_bytes "from 1 to 9223372036854775807, not $n" POST $c "$(job "\"memory_bytes\":$n")"
done
bad "memory of 1e30 bytes" 400 memory_bytes 'whole number|at most|from' POST $c "$(job '"memory_bytes":1e30')"
bad "a number of 1e300 vcores" 400 vcores 'vcores' POST $c "$(job '"vcores":1e300')"
bad "a number of 0 vcores" 400 vcores 'not 0' POST $c "$(job '"vcores":0')"
bad "a tail that overflows" 400 tail 'from 0 to' GET "$c/there/logs?tail=99999999999999999999"
bad "a limit of zero" 400 limit 'from 1 to' GET "/v1/decisions?limit=0"
bad "a drain without an end" 400 deadline_usec 'from 0 to .*not 1e999' POST /v1/drain '{"deadline_usec":1e999}'
printf '%0.s[' {1..100000} >"$dir/deep"
bad "a body of opening brackets" 400 body 'not valid JSON|levels deep' POST $c "@$dir/deep"

is "after all requests the container and the node still run" \
    "$(nmctl list --json | jq -c '[.[] | [.name, .state, .pid]]') $(status_of .node.state)" "[[\"there\",\"RUNNING\",$pid]] running"
nmd_alive || not_ok "nmd is still there"
done_testing
