#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# Verbs of nmctl: two live containers can't have the same name, drain reports the containers that it discards, and events can be
# read after restarts.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start 4000 4
nmd_configure <<END
[node]
memory = 4000M
[preemption]
kill-grace = 200ms
END
nmd_start || exit 1
low=(-m 10M -c 0.1)

# ---- a request exceeds the node by less than the precision of printed amounts -------------------------------------------

try nmctl run -m $(((4000 << 20) + 1)) -c 0.1 -- true
like "--json prints the requested and the available amount exactly" "$err" \
    "The request \(4194304001 bytes and 0.100 vcores\) is larger than the node, which offers 4194304000 bytes and [0-9.]+ vcores"

# ---- live containers have unique names -------------------------------------------------------------------------------

submit web "${low[@]}" -- sleep 300
first=$id
try nmctl run --name web "${low[@]}" -- true
is "a container with the name of a live container is refused" "$status" 125
like "the refusal names the container that already has the name, and the possible actions" "$err" "$first has the name 'web'.*--replace"
api POST /v1/containers "{\"command\":[\"true\"],\"name\":\"web\",$me}"
is "the HTTP status of a refused name is 409" "$api_status $(jq -r .error.code <<<"$api_body")" "409 conflict"
try nmctl run --replace -- true
is "--replace without a name is a usage error" "$status" 2
try nmctl run --replace --name web "${low[@]}" -m 100T -- true
is "a refused replacement does not end the existing container" "$status $(state_of "$first")" "125 RUNNING"
second=$(nmctl run --replace --detach --name web "${low[@]}" -- sh -c 'trap "sleep 1.5; exit 3" TERM; while :; do sleep 0.1; done')
is "run --replace ends the container that has the name" "$(state_of "$first")" COMPLETED
wait_until 5 in_state "$second" RUNNING
is "the replacement has the name" "$(field_of web .id)" "$second"
like "the replaced container has ended as killed by a user" "$(nmctl explain "$first")" "Why: $(id -un) asked for it"
try nmctl run --replace --name free-name "${low[@]}" -- true
is "run --replace with an unused name starts the container" "$status" 0
nmctl run --replace --detach --json --name web "${low[@]}" -- sleep 300 >"$dir/third"
at_least "the replacement starts after the replaced container has ended" \
    "$(jq --argjson ended "$(nmctl show --json "$second" | jq .finished_usec)" '.submitted_usec - $ended' "$dir/third")" 0
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
    chmod 755 "$dir" "$dir/run" && chmod 666 "$NMD_SOCKET"
    try setpriv --reuid=nobody --regid=nogroup --clear-groups "$NMCTL" run --name web "${low[@]}" -- true
    is "a container of another user can't be replaced" "$status $(state_of "$(jq -r .id "$dir/third")")" "0 RUNNING"
fi

# A client that passes its input and waits for the name gets the message too. If this client exits, the container is not
# started.
reconfigure preemption kill-grace 60s
submit slow "${low[@]}" -- sh -c "trap 'sleep 1.5; exit 3' TERM; : >$dir/slow; while :; do sleep 0.1; done"
wait_until 10 test -e "$dir/slow"
is "run --interactive keeps its input until the replacement starts" \
    "$(echo hello | nmctl run -i --replace --name slow "${low[@]}" -- cat 2>"$dir/err")" hello
like "run reports that it waits for the end of the replaced container" \
    "$(cat "$dir/err")" 'waiting for the end of the container with the name slow'
submit traps-term "${low[@]}" -- sh -c "trap : TERM; : >$dir/traps-term; while :; do sleep 0.1; done"
traps_term=$id
wait_until 10 test -e "$dir/traps-term"
"$NMCTL" run -i --replace --name traps-term "${low[@]}" -- touch "$dir/came" </dev/null 2>"$dir/err" &
waiting=$!
wait_until 10 grep -q 'waiting for the end' "$dir/err"
kill -TERM "$waiting"
kill -INT "$waiting"
wait "$waiting"
like "two signals end an nmctl that waits for the name" "$?" '^(130|143)$'
like "the ended nmctl says that it does not know the result" "$(cat "$dir/err")" 'interrupted before nmd answered'
nmctl kill --now traps-term >/dev/null
wait_until 10 in_state "$traps_term" COMPLETED
nmctl run "${low[@]}" -- true
is "a replacement is not started if its client has exited" "$(nmctl list --all --json | jq -c 'map(select(.name == "traps-term") | .id)')" \
    "[\"$traps_term\"]"
reconfigure preemption kill-grace 200ms

# ---- events across restarts ------------------------------------------------------------------------------------------

nmctl events --json >"$dir/before"
nmctl events --follow --json >"$dir/followed" 2>"$dir/followed.err" &
follower=$!
wait_until 5 eval '[ "$(wc -l <"$dir/followed")" -ge "$(wc -l <"$dir/before")" ]'
nmd_stop
nmd_start
nmctl events --json >"$dir/after"
check "events from before a restart can be read after the restart" \
    cmp "$dir/before" <(head -n "$(wc -l <"$dir/before")" "$dir/after")
nmd_kill
nmd_start
wait_until 10 eval '[ "$(grep -c "nmd is back" "$dir/followed.err")" = 2 ]'
submit later "${low[@]}" -- true
wait_until 10 grep -q '"container_name": *"later".*"to": *"COMPLETED"' "$dir/followed"
nmctl events --json >"$dir/after"
is "the numbers of events continue after a crash of nmd" "$(jq -s 'map(.number) == [range(1; length + 1)]' "$dir/after")" true
is "events -f prints each event once across restarts of nmd" "$(jq -s 'map(.number) == [range(1; length + 1)]' "$dir/followed")" true
kill "$follower"
wait "$follower"
dd if=/dev/urandom of="$dir/state/events" bs=700 seek=1 count=1 conv=notrunc 2>/dev/null
nmd_stop
nmd_start
at_least "a damaged events file loses only its own events" "$(nmctl events --json --last 10000 | wc -l)" "$(($(wc -l <"$dir/after") - 3))"

# ---- logs with times -------------------------------------------------------------------------------------------------

submit timed "${low[@]}" -- sh -c "printf 'on'; echo e; echo early >&2; echo error >&2; while ! [ -e $dir/go ]; do sleep 0.05; done
    printf 'tw'; sleep 0.3; printf 'o\nthree'; exec sleep 300"
wait_until 10 eval '[ "$(nmctl logs --stdout timed)" = one ]'
nmctl logs --follow --timestamps --stdout timed >"$dir/stamped" 2>/dev/null &
follower=$!
nmctl logs --follow --tail 1 timed >"$dir/tailed" 2>&1 &
tail_follower=$!
nmctl logs --follow --since 1h timed >"$dir/recent" 2>&1 &
recent_follower=$!
wait_until 10 grep -q one "$dir/stamped"
wait_until 10 grep -q error "$dir/tailed"
wait_until 10 grep -q error "$dir/recent"
pause=$(date +%s%6N)
nmd_stop
nmd_start
touch "$dir/go"
wait_until 10 grep -q three "$dir/stamped"
is "logs --timestamps prints a time before each line" \
    "$(sed -E 's/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z /T /' "$dir/stamped")" \
    $'T one\nT two\nT three'
stamp() { date -d "$(grep " $1\$" "$dir/stamped" | cut -d' ' -f1)" +%s%6N; } # WORD
check "the time of the first line is the time of the start" \
    eval '(($(stamp one) <= pause && $(stamp two) >= pause && $(stamp three) - $(stamp two) >= 250000))'
kill "$follower"
wait "$follower"
is "logs -f across a restart of nmd prints the same as a later logs" "$(nmctl logs -t --stdout timed)" "$(cat "$dir/stamped")"
wait_until 10 grep -q three "$dir/tailed"
wait_until 10 grep -q three "$dir/recent"
kill "$tail_follower" "$recent_follower"
wait "$tail_follower" "$recent_follower"
is "logs -f --tail 1 prints the last line and all later lines of both streams" \
    "$(grep -v ^nmctl: "$dir/tailed" | sort)" $'error\none\nthree\ntwo'
is "logs -f --since prints the lines from the given time on and all later lines" \
    "$(grep -v ^nmctl: "$dir/recent" | sort)" $'early\nerror\none\nthree\ntwo'
is "logs --since prints only lines that were written after the given time" \
    "$(nmctl logs --since "$(($(date +%s%6N) - pause))us" timed 2>&1)" $'two\nthree'
is "logs --since --tail prints the last of the lines after the given time" "$(nmctl logs --since 1h --tail 1 timed 2>"$dir/err")" three
is "logs --since works for stdout and stderr separately" "$(cat "$dir/err")" error
is "logs --since prints nothing if no line was written after the given time" "$(nmctl logs --since 0s timed 2>&1)" ''
try nmctl logs --since yesterday timed
like "logs --since accepts the documented forms of time" "$status $err" "^2 .*since 'yesterday' is not valid; allowed is a time"
api GET "/v1/containers/timed/logs?since_usec=1&from=4"
is "with an offset and a time, the log starts at the later of the two positions" "$api_status $api_body" $'200 two\nthree'
rm "$dir/state/logs/$(field_of timed .id)/stdout.times"
is "lines without a recorded time are printed without a time" "$(nmctl logs -t --stdout -n 1 timed)" "-                        three"
try nmctl logs --since 1h --stdout timed
is "logs --since does not select lines without a recorded time" "$status" 1
like "a message says that no times were recorded" "$err" "are not known"
nmctl kill --now timed >/dev/null

# ---- drain reports the containers that it discards -------------------------------------------------------------------

node_cpu_seen 3900
submit waits1 --opportunistic "${low[@]}" -- sleep 300
submit waits2 --opportunistic "${low[@]}" -- sleep 300
nameless=$(nmctl run --opportunistic --detach "${low[@]}" -- sleep 300)
wait_until 5 status_is .queue.length 3
try nmctl drain --dry-run
like "drain --dry-run lists the containers that drain would discard" \
    "$err" "^nmctl: drain: would discard 3 containers that wait: waits1, waits2, $nameless$"
is "drain --dry-run discards no container" "$status $(state_of waits1) $(status_of .node.state)" "0 SCHEDULED running"
is "drain --dry-run --json lists the containers that drain would discard" \
    "$(nmctl drain --dry-run --json | jq -c 'map(.name)')" '["waits1","waits2",null]'
try nmctl drain
like "drain announces the containers that it discards" "$err" "discards 3 containers that wait: waits1, waits2, $nameless"
is "drain lists the discarded containers at its end" "$status $out" "0 draining; 3 waiting containers were discarded"
like "an event has the number of discarded containers" "$(nmctl events -n 20)" \
    'draining: no more containers are admitted; running containers may finish; discarding 3 waiting containers'
nmctl undrain >/dev/null
submit waits3 --opportunistic "${low[@]}" -- sleep 300
wait_until 5 status_is .queue.length 1
api POST /v1/drain '{}'
is "the HTTP response to drain lists the discarded containers" \
    "$(jq -c '.discarded | [.count, .containers[].name]' <<<"$api_body")" '[1,"waits3"]'
try nmctl drain
is "drain reports no discarded containers if the queue is empty" "$err$out" "draining"
nmctl undrain >/dev/null

# ---- the examples of nmctl(1) ----------------------------------------------------------------------------------------

node_cpu_seen 0
kill_all
nmctl run --name 'short.1' "${low[@]}" --detach -- sleep 300 >/dev/null
number=$(field_of short.1 .number)
like "tables print the short number of a container" "$(nmctl list)" "^ *$number  container_[0-9_]+  short\.1 "
like "the short number can be used instead of the id" "$(nmctl kill "$number")" 'short\.1'
like "events accepts the short number of a container" "$(nmctl events "$number")" 'short\.1\)  NEW|short\.1\)  QUEUED'
wait_until 5 in_state short.1 COMPLETED

# Runs the examples of the manual one after the other, exactly as printed. A directory of the suite replaces /data.
examples=$dir/examples
mkdir -p "$examples/data"
man_text() { sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/{/^\.EX/,/^\.EE/{/^\.E/d;s/\\-/-/g;p}}' "$(dirname "$0")/../../packaging/nmctl.1"; }
at_least "nmctl(1) has examples" "$(man_text | grep -c nmctl)" 6
for i in {1..24}; do seq "$i" 20000 >"$examples/data/$i.log"; done
printf 'check:\n\t@echo all is well\n' >"$examples/Makefile"
mkdir -p "$dir/bin"
ln -sf "$NMCTL" "$dir/bin/nmctl"
printf '#!/bin/sh\necho the host would go down\n' >"$dir/bin/reboot"
chmod 755 "$dir/bin/reboot"
run_example() { # SED-ADDRESS
    (cd "$examples" && PATH=$dir/bin:$PATH timeout 60 bash -ec "$(man_text | sed -n "$1p" | sed "s|/data/|$examples/data/|")")
}
try run_example '/^nmctl run -m/'
is "the example of a build prints the output of make" "$status $out" "0 all is well"
node_cpu_seen 3900
try run_example '/^for f in/,/^done/'
is "the example of a batch submits all containers" "$status $(wc -l <<<"$out") $err" "0 24 "
at_least "most containers of the batch wait in the queue" "$(status_of .queue.length)" 16
paused=$(nmctl run --detach "${low[@]}" -- sleep 300)
wait_until 5 in_state "$paused" RUNNING
nmctl pause "$paused" >/dev/null
wait_until 5 in_state "$paused" PAUSED
like "ps -q prints the ids of all paused containers" "$(run_example '/^nmctl list --json/')" "^$paused\$" # nmd may have paused others too
nmctl kill --now "$paused" >/dev/null
node_cpu 0
check "all containers of the batch end" wait_until 40 eval '[ -z "$(nmctl ps -q --app compress)" ]'
is "each container of the batch has written its result" "$(find "$examples/data" -name '*.log.xz' | wc -l)" 24
is "all containers of the batch succeed" "$(nmctl list --all --app compress --json | jq -c 'map(.exit_code) | unique')" '[0]'
try run_example '/^nmctl drain/'
is "the example of maintenance in nmctl(1) works" "$status $(tail -n 1 <<<"$out")" "0 the host would go down"
nmd_alive || not_ok "nmd still runs"
done_testing
