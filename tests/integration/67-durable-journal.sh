#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
# beside: others
#
# nmd's behaviour with a journal that is damaged, missing, full or of another boot, and with changes to its containers by other
# programs, while nmd runs and while it does not.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END_CONF
[node]
memory = 1000M
[over-allocation]
enabled = no
[queue]
max-length = 20
[health]
period = 1s
END_CONF
low=(-m 20M -c 0.1)
db=$dir/state/nmd.db
nmd_start

notes() { nmctl status --json | jq -r '.. | .notes? // empty | .[]'; }
noted() { notes | grep -q "$1"; }
sql() { /usr/bin/python3 - "$db" "$1" <<'END_PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for row in db.execute(sys.argv[2]):
    print(*row)
db.commit()
END_PY
}

# ---- a damaged journal ----
noting run "${low[@]}" -- 'exec sleep 1000'
noting paused --opportunistic -m 30M -c 0.2 --app grid -- 'exec sleep 1000'
noting soon "${low[@]}" -- 'sleep 1; exit 5'
for name in run paused soon; do wait_until 5 in_state $name RUNNING; done
run=$(pid_of run) paused=$(pid_of paused) soon_id=$(field_of soon .id)
noting low1 --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
noting low2 --opportunistic -m 980M -c 0.1 -- 'exec sleep 1000'
noting none --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
nmctl update low2 -m 970M >/dev/null
nmctl kill --wait none >/dev/null
nmctl pause paused >/dev/null
nmctl promote paused >/dev/null
nmctl pause paused >/dev/null
wait_until 5 frozen paused
wait_until 5 in_state paused PAUSED
deadline=$(field_of paused .pause_deadline_usec)
nmd_kill
rm -f "$db-wal"
dd if=/dev/urandom of="$db" bs=1k count=64 conv=notrunc status=none
wait_until 5 over "$(tail -n 1 "$runs/soon")"
up=yes
nmd_start || up=no
is "nmd starts on a journal of rubbish" "$up" yes
check "and says so in its log" logged "was damaged and is set aside"
check "and in its status" noted "damaged and is set aside"
is "the damaged file is kept" "$(find "$dir/state" -name 'nmd.db.damaged-*' | grep -c .)" 1
is "what ran is adopted" "$(state_of run) $(pid_of run)" "RUNNING $run"
is "what was paused stays so" "$(state_of paused) $(pid_of paused)" "PAUSED $paused"
# by wall-clock time, which is computed each time, so that small differences are possible
is "until when it was" "$((($(field_of paused .pause_deadline_usec) - deadline) / 50000))" 0
is "type, request, application are known" \
    "$(field_of paused '"\(.execution_type) \(.memory_bytes) \(.vcores) \(.app)"')" "GUARANTEED $((30 << 20)) 0.2 grid"
check "what ended meanwhile has its exit status" wait_until 5 ended_as "$soon_id" "5 exited"
is "what waited waits in its order" "$(field_of low1 .queue_position) $(field_of low2 .queue_position)" "1 2"
is "with its newest request" "$(field_of low2 .memory_bytes)" $((970 << 20))
is "what was killed while it waited stays away" "$(field_of none .state)" null
nmctl kill low1 low2 >/dev/null
noting after "${low[@]}" -- 'exit 3'
check "new containers run" wait_until 5 ended_as after "3 exited"
is "no id comes twice" "$(nmctl list --all --json | jq '([.[].id] | unique | length) == length')" true
nmctl resume paused >/dev/null
check "the rebuilt one can be resumed" wait_until 5 in_state paused RUNNING
nmd_kill
nmd_start
is "the next restart finds all in the new journal" "$(pid_of run) $(pid_of paused)" "$run $paused"
is "and has nothing to say about it" "$(notes | grep -c damaged)" 0

# ---- a journal that is damaged in one place ----
noting waits1 --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
noting waits2 --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
decisions() { nmctl explain --json --last 1000 | jq -c '[.[] | [.number, .kind, .outcome]] | sort'; }
wait_until 5 in_state paused RUNNING
nmctl pause paused >/dev/null
wait_until 5 in_state paused PAUSED
deadline=$(field_of paused .pause_deadline_usec)
nmctl status >/dev/null
known=$(decisions)
nmd_kill
is "the root of an index is overwritten" "$(/usr/bin/python3 - "$db" <<'END_PY'
import sqlite3, sys
con = sqlite3.connect(sys.argv[1])
page, = con.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'decisions_of_container'").fetchone()
con.close() # with the log taken in
with open(sys.argv[1], "r+b") as file:
    file.seek((page - 1) * 4096)
    file.write(b"\xa5" * 4096)
print("done")
END_PY
)" "done"
: >"$dir/nmd.log"
nmd_start
check "the log says how much could be saved" logged "[0-9] containers and [0-9]* decisions could be read from it;"
is "what waited waits in its order" "$(field_of waits1 .queue_position) $(field_of waits2 .queue_position)" "1 2"
is "what ran is adopted" "$(state_of run) $(pid_of run) $(state_of paused) $(pid_of paused)" "RUNNING $run PAUSED $paused"
is "until when it was" "$((($(field_of paused .pause_deadline_usec) - deadline) / 50000))" 0
is "what had ended keeps its exit status" "$(end_of after) $(end_of "$soon_id")" "COMPLETED 3 exited COMPLETED 5 exited"
is "no decision is lost or changed" "$(jq -cn --argjson a "$known" --argjson b "$(decisions)" '$a - $b')" "[]"
noting later "${low[@]}" -- true
wait_until 5 ended_as later "0 exited"
is "no id comes twice" "$(nmctl list --all --json | jq '([.[].id] | unique | length) == length')" true
is "nor does a decision's number" "$(decisions | jq '([.[][0]] | unique | length) == length')" true
nmctl kill --now waits1 waits2 >/dev/null

# ---- a flipped byte in the log ------------
noting pausing --opportunistic -m 20M -c 0.1 -- 'exec sleep 1000'
wait_until 5 in_state pausing RUNNING
noting earlier --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
nmd_stop
nmd_start # what is in the journal by now is in its database, and what follows in its log alone
wait_until 5 in_state pausing RUNNING
nmctl pause pausing >/dev/null
wait_until 5 in_state pausing PAUSED
nmctl kill --wait earlier >/dev/null
noting lately "${low[@]}" -- 'echo output; exit 4'
wait_until 5 ended_as lately "4 exited"
noting first --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
noting gone --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
samples 3
nmctl kill --wait gone >/dev/null
nmd_kill
/usr/bin/python3 - "$db-wal" <<'END_PY'
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(32 + 24 + 1000)
    byte = file.read(1)
    file.seek(-1, 1)
    file.write(bytes([byte[0] ^ 4]))
END_PY
: >"$dir/nmd.log"
nmd_start
check "a flipped byte in the log is noticed" logged "pages in its log, 0 are intact"
check "and told of in the status" noted "damaged and is set aside"
is "a person's pause still holds" "$(state_of pausing)" PAUSED
check "and the kernel's word is the same" frozen pausing
is "what was queued waits" "$(field_of first .queue_position) $(runs_of first)" "1 0"
check "what ended since has its exit status" ended_as lately "4 exited"
is "and its output" "$(nmctl logs lately)" output
is "what was killed while it waited stays away" "$(runs_of gone)" 0
is "so does one whose row says that it waits" "$(end_of earlier) $(runs_of earlier)" "COMPLETED null lost 0"
like "and why nothing better is known" "$(field_of earlier .message)" "the journal was damaged and its end is unknown"
is "nobody ran twice" "$(runs_of lately) $(runs_of pausing)" "1 1"
nmctl kill --now pausing first >/dev/null

# ---- a journal that is removed while nmd runs ----
noting big -m 900M -c 0.1 -- 'exec sleep 1000'
noting moved --opportunistic -m 100M -c 0.1 -- 'exec sleep 1000'
samples 2
is "one waits" "$(state_of moved)" SCHEDULED
nmctl kill --now big >/dev/null
wait_until 5 in_state moved RUNNING
moved=$(pid_of moved)
noting waits1 --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
noting waits2 --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
known=$(decisions)
rm -f "$db" "$db-wal"
check "a removed journal is noticed and made anew" wait_until 20 test -s "$db"
check "and told of" noted "had been removed"
nmd_kill
nmd_start
is "it has everything in it" \
    "$(state_of run) $(pid_of run) $(state_of soon) $(field_of waits1 .queue_position) $(field_of waits2 .queue_position)" \
    "RUNNING $run COMPLETED 1 2"
is "decisions, too" "$(jq -cn --argjson a "$known" --argjson b "$(decisions)" '$a - $b')" "[]"
nmd_stop
rm -f "$db" "$db-wal"
nmd_start
is "removed while nmd is stopped: adopted from the copies" "$(state_of run) $(pid_of run) $(pid_of paused)" \
    "RUNNING $run $paused"
is "one that waited once runs, and is not started again" "$(state_of moved) $(pid_of moved) $(runs_of moved)" \
    "RUNNING $moved 1"
nmctl kill --now --wait moved >/dev/null
is "those that wait, too" "$(field_of waits1 .queue_position) $(field_of waits2 .queue_position)" "1 2"
nmctl kill --now waits1 waits2 >/dev/null
is "nobody ran twice" "$(runs_of run) $(runs_of paused) $(runs_of soon) $(runs_of after)" "1 1 1 1"
is "nor did those run at all that only waited" "$(find "$runs" -name 'low[12]' -o -name none -o -name 'waits[12]')" ""

mv "$dir/state" "$dir/elsewhere"
check "a state directory that is taken away is told of" wait_until 5 logged "state directory .* was moved"
mv "$dir/elsewhere" "$dir/state"

# ---- orphans ----
nmd_kill
rm -f "$db" "$db-wal" "$dir/state/containers/"*/container.json
echo 1 >"$(find "$(slice_dir)" -name "*.scope" | head -n 1)/cgroup.freeze"
nmd_start
check "without journal and copies they are left alone" kill -0 "$run"
is "and are no containers" "$(nmctl list --json | jq length)" 0
check "but told of" noted ", not in the journal"
is "the frozen one is thawed" "$(cat "$(slice_dir)"/*.scope/cgroup.freeze | sort -u)" 0
kill -KILL "$run" "$paused"
check "when they have gone, their cgroups go" \
    wait_until 25 bash -c "[ -z \"\$(find $(slice_dir) -mindepth 1 -type d)\" ]"
is "and the note" "$(notes | grep -c ', not in the journal')" 0

# ---- an older journal, restored by hand or from a backup --------
noting known "${low[@]}" -- 'echo words; exit 2'
wait_until 5 ended_as known "2 exited"
nmd_stop
cp "$db" "$dir/before.db"
nmd_start
noting since "${low[@]}" -- 'echo more words; exit 3'
noting lives "${low[@]}" -- 'echo alive; exec sleep 1000'
wait_until 5 ended_as since "3 exited"
wait_until 5 in_state lives RUNNING
since=$(field_of since .id) lives=$(field_of lives .id) pid=$(pid_of lives)
nmd_stop
cp "$dir/before.db" "$db"
nmd_start
is "what it doesn't know of yet keeps its output" "$(cat "$dir/state/logs/$since/stdout")" "more words"
check "and its files" test -s "$dir/state/containers/$since/record"
is "what lives is adopted" "$(state_of "$lives") $(pid_of "$lives")" "RUNNING $pid"
is "what it knows is as it was" "$(end_of known) $(nmctl logs known)" "COMPLETED 2 exited words"
noting next "${low[@]}" -- true
wait_until 5 ended_as next "0 exited"
is "no id comes twice" "$(field_of next .id | grep -cxF -e "$since" -e "$lives")" 0
is "nor is the older one's output touched by it" "$(cat "$dir/state/logs/$since/stdout")" "more words"
nmctl kill --now --wait lives >/dev/null
nmd_stop
rm -f "$db" "$db"-*
nmd_start
is "nor by no journal at all" "$(cat "$dir/state/logs/$since/stdout")" "more words"

# ---- another boot ----
noting ran "${low[@]}" -- 'exec sleep 1000'
noting over "${low[@]}" -- 'sleep 0.5; exit 6'
noting queued --opportunistic -m 1000M -c 0.1 -- 'exec sleep 1000'
wait_until 5 in_state ran RUNNING
ran=$(pid_of ran)
wait_until 5 in_state over RUNNING
nmd_kill
wait_until 5 over "$(tail -n 1 "$runs/over")"
echo 1 >"$(slice_dir)/cgroup.kill"
wait_until 5 over "$ran"
sql "UPDATE key_values SET value = 'another' WHERE key = 'store.boot_id'"
nmd_start
is "after a reboot, what ran is lost" "$(field_of ran '"\(.state) \(.exit_code) \(.exit_reason) \(.message)"')" \
    "COMPLETED null lost the host was rebooted while it ran"
is "what waited is lost" "$(field_of queued '"\(.exit_reason) \(.message)"')" \
    "lost the host was rebooted while it waited in the queue"
is "what had ended has its exit status" "$(end_of over)" "COMPLETED 6 exited"
is "no decision is left open" \
    "$(nmctl explain --json ran | jq '[.[] | select(.outcome == "pending")] | length')" 0
nmd_stop
nmd_start
is "and so it stays" "$(end_of over) $(end_of ran)" "COMPLETED 6 exited COMPLETED null lost"
# nmd is stopped cleanly, and its successor then knows that no container was started without an entry in the journal.
noting ran2 "${low[@]}" -- 'exec sleep 1000'
noting queued1 --opportunistic -m 990M -c 0.1 -- 'exit 7'
noting queued2 --opportunistic -m 990M -c 0.1 -- 'exit 8'
noting queued3 --opportunistic -m 990M -c 0.1 -- 'exit 9'
wait_until 5 in_state ran2 RUNNING
ran=$(pid_of ran2)
nmd_stop
echo 1 >"$(slice_dir)/cgroup.kill"
wait_until 5 over "$ran"
sql "UPDATE key_values SET value = 'yet another' WHERE key = 'store.boot_id'"
# Makes the state of a container whose start was interrupted by a shutdown: admitted, with a shim, but without a cgroup.
sql "UPDATE containers SET admitted = 1, started_usec = 1, shim_pid = 4711, shim_start_ticks = 1 WHERE name = 'queued2'"
is "the journal is closed" "$(sql "SELECT count(*) FROM key_values WHERE key = 'store.closed'")" 1
nmd_start
is "after a reboot in good order, too, what ran is lost" "$(end_of ran2)" "COMPLETED null lost"
check "what waited has its turn" wait_until 10 ended_as queued1 "7 exited"
check "one that was just being started has its turn, too" wait_until 10 ended_as queued2 "8 exited"
check "one after the other" wait_until 10 ended_as queued3 "9 exited"
is "in their order" "$(nmctl list --all --json | jq -r '[.[] | select(.name | startswith("queued")) |
    select(.exit_reason == "exited")] | sort_by(.started_usec) | map(.name) | join(" ")')" "queued1 queued2 queued3"
is "each once" "$(runs_of queued1) $(runs_of queued2) $(runs_of queued3)" "1 1 1"
nmd_kill
is "an nmd that died has not closed it" "$(sql "SELECT count(*) FROM key_values WHERE key = 'store.closed'")" 0
try "$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --state-dir "$dir/state" --runtime-dir "$dir/run" --slice "$slice" \
    --backend direct --node-proc "$dir/none"
like "nor has one whose start failed, with the journal open" \
    "$status $(sql "SELECT count(*) FROM key_values WHERE key = 'store.closed'") $err" "^1 0 .*$dir/none"
nmd_start

# ---- changes by other programs ----
noting a "${low[@]}" -- 'exec sleep 1000'
noting b --opportunistic "${low[@]}" -- 'exec sleep 1000'
noting c "${low[@]}" -- 'exec sleep 1000'
noting d "${low[@]}" -- 'exec sleep 1000'
for name in a b c d; do wait_until 5 in_state $name RUNNING; done
echo 1 >"$(cgroup_of a)/cgroup.freeze"
check "a freeze by another hand is put back" \
    wait_until 5 bash -c "grep -qx 'frozen 0' $(cgroup_of a)/cgroup.events && grep -q 'frozen by another process' $dir/nmd.log"
nmctl pause b >/dev/null
wait_until 5 in_state b PAUSED
echo 0 >"$(cgroup_of b)/cgroup.freeze"
check "and so is a thaw" wait_until 5 frozen b
is "it is paused all the time" "$(state_of b)" PAUSED
kill -KILL "$(shim c)"
check "the end of a shim is its container's" wait_until 5 ended_as c "137 signaled"
rm -rf "$dir/state/containers/$(field_of d .id)"
kill -TERM "$(pid_of d)"
check "a removed directory: nmd has heard the end all the same" wait_until 5 ended_as d "143 signaled"

noting thawed --opportunistic "${low[@]}" -- 'exec sleep 1000'
wait_until 5 in_state thawed RUNNING
echo 1 >"$(slice_dir)/cgroup.freeze"
check "the whole slice is frozen" wait_until 5 frozen thawed
nmd_kill
nmd_start
is "to an nmd that starts then, nobody is paused who wasn't" "$(state_of thawed) $(state_of b)" "RUNNING PAUSED"
echo 0 >"$(slice_dir)/cgroup.freeze"
check "thawed, it goes on" wait_until 5 bash -c "grep -qx 'frozen 0' $(cgroup_of thawed)/cgroup.events"
samples 2
is "and isn't frozen by nmd" "$(cat "$(cgroup_of thawed)/cgroup.freeze") $(state_of thawed)" "0 RUNNING"
is "who was paused still is" "$(frozen b && state_of b)" PAUSED

noting e "${low[@]}" -- 'exec sleep 1000'
noting f "${low[@]}" -- 'exec sleep 1000'
noting g "${low[@]}" -- 'exec sleep 1000'
for name in e f g; do wait_until 5 in_state $name RUNNING; done
e=$(pid_of e) f=$(pid_of f) g=$(pid_of g) g_id=$(field_of g .id) e_shim=$(shim e)
f_cgroup=$(cgroup_of f)
nmd_kill
kill -KILL "$e_shim"
echo 1 >"$f_cgroup/cgroup.kill"
rm -rf "$dir/state/containers/$g_id"
nmd_start
check "a shim that was killed while nmd was away" wait_until 5 ended_as e "137 signaled"
check "a whole scope that was" wait_until 5 ended_as f "137 signaled"
is "without its directory a container lives on" "$(state_of g) $(pid_of g)" "RUNNING $g"
check "its processes are gone" over "$e"
check "its processes are gone, too" over "$f"
kill -TERM "$g"
check "its end can't be known any more, and is not guessed" wait_until 5 ended_as g "null lost"
kill_all
noting h "${low[@]}" -- 'exec sleep 1000'
noting behind --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
wait_until 5 in_state h RUNNING
h=$(pid_of h)
rm -rf "$dir/state"
check "the whole state directory is made anew" wait_until 20 test -s "$db"
is "and is nmd's alone" "$(stat -c %a "$dir/state")" 700
check "the node is well" wait_until 10 status_is .node.healthy true
nmd_kill
nmd_start
is "with all that nmd knew" "$(state_of h) $(pid_of h) $(field_of behind .queue_position)" "RUNNING $h 1"
kill_all

# ---- a limit on the size of files ----
# The limit is nmd's own, as set by ulimit -f or LimitFSIZE=. A write beyond it fails. By default SIGXFSZ would also kill nmd, which
# therefore ignores the signal. Commands have the signal's default action.
noting limited "${low[@]}" -- 'ulimit -f 1; exec head -c 4096 /dev/zero >'"$runs/large"
check "a command that writes too long a file has its own end" wait_until 5 ended_as limited "153 signaled"
noting goes_on "${low[@]}" -- 'exec sleep 1000'
wait_until 5 in_state goes_on RUNNING
prlimit --pid "$nmd_pid" --fsize=1:unlimited
: >"$dir/nmd.log"
try nmctl pause goes_on
check "nmd lives on with a limit that its journal is beyond" nmd_alive
like "what can't be kept says why" "$status $err" "^[1-9].* is paused, but this isn't saved yet.*File too large"
try nmctl promote goes_on
like "and what to do" "$status $err" "Nothing was changed.*File too large.*limit on the size of files"
is "which is no full disk" "$(grep -c space <<<"$err")" 0
prlimit --pid "$nmd_pid" --fsize=unlimited
nmctl resume goes_on >/dev/null 2>&1 # which may be told that it is not kept as yet
check "without the limit all is written" wait_until 10 logged "the journal can be written again"
kill_all

# ---- a full disk ----
nmd_stop
mount -t tmpfs -o size=4M,mode=700 none "$dir/state" ||
    { skip "a full disk" "no file system can be mounted here"; done_testing; }
at_exit 'umount -l "$dir/state"'
nmd_start
noting full1 "${low[@]}" -- 'exec sleep 1000'
noting full2 "${low[@]}" -- "until [ -e $runs/go ]; do sleep 0.1; done; exit 4"
wait_until 5 in_state full1 RUNNING
wait_until 5 in_state full2 RUNNING
noting full4 -m 20M -c 1.8 -- 'exec sleep 1000'
wait_until 5 in_state full4 RUNNING
noting full5 --opportunistic "${low[@]}" -- 'exit 8'
noting full3 --opportunistic -m 990M -c 0.1 -- 'exit 9'
full=$(pid_of full1)
fill() { cat /dev/zero >"$dir/state/ballast" 2>/dev/null; }
fill
refused() {
    fill
    api POST /v1/containers '{"command":["true"],'"$me"',"memory_bytes":20971520,"vcores":0.1}'
    [ "$api_status" = 503 ]
}
wait_until 10 refused
refused # once more, for its answer
is "with a full disk new containers are refused" "$api_status" 503
like "with the reason" "$api_body" 'No space left'
check "the status says so" noted "can't be written"
is "and the node is unhealthy" "$(nmctl status --json | jq -r '[.. | .healthy? | select(. != null)] | first')" false
try nmctl pause full1
like "a pause that can't be kept is answered so" "$status $err" "^[1-9].* is paused, but this isn't saved yet.*No space left"
check "containers go on: one is paused" wait_until 5 in_state full1 PAUSED
check "which the kernel confirms" frozen full1
pauses_durable() { nmctl explain --json full1 | jq -r '[.[] | select(.kind == "pause") | .durable] | last'; }
is "the decision is shown, with a mark" "$(pauses_durable)" false
like "which is told in words, too" "$(nmctl explain full1)" "not on disk yet"
touch "$runs/go"
check "one ends, and its exit status is heard" wait_until 5 ended_as full2 "4 exited"
noting_refused=$(nmctl run --detach "${low[@]}" -- true 2>&1)
like "a container that can't be journalled is not taken in" "$noting_refused" "can't be written"
try nmctl kill --now full4
like "a kill likewise" "$status $err" "^[1-9].* is being killed, but this isn't saved yet.*No space left"
try nmctl promote full3
like "what isn't urgent isn't done" "$status $err" "^[1-9].*Nothing was changed.*No space left"
is "so it is as before" "$(field_of full3 .execution_type)" OPPORTUNISTIC
check "kills are carried out" wait_until 5 ended_as full4 "137 killed"
samples 5
is "what would fit now waits all the same: nothing is admitted that can't be journalled" \
    "$(state_of full5) $(field_of full5 .hold) $(runs_of full5)" "SCHEDULED unhealthy 0"
nmd_kill
up=yes
nmd_start || up=no
is "nmd starts with a full disk, too" "$up" yes
is "and finds what lives" "$(pid_of full1)" "$full"
check "and how the other one ended" wait_until 5 ended_as full2 "4 exited"
is "what waits, waits" "$(state_of full3) $(runs_of full5)" "SCHEDULED 0"
nmd_stop
fill # what closing the journal has freed
nmd_start
is "stopped in good order, it finds as much" \
    "$(pid_of full1) $(end_of full2) $(state_of full3) $(state_of full5)" \
    "$full COMPLETED 4 exited SCHEDULED SCHEDULED"
rm "$dir/state/ballast"
accepted() { nmctl run --detach --name again "${low[@]}" -- true; }
check "with room again, it takes new ones" wait_until 20 accepted
check "by itself it is healthy again" wait_until 20 status_is \
    '[.. | .healthy? | select(. != null)] | first' true
is "what is shown is on disk" "$(nmctl explain --json --last 1000 | jq -c '[.[] | select(.durable | not)]')" "[]"
is "events, too" "$(nmctl events --json | jq -c 'select(.number and (.durable | not))')" ""
nmctl kill --now full1 >/dev/null
check "and what waited starts" wait_until 10 ended_as full3 "9 exited"
nmd_kill
nmd_start
is "nothing is lost" "$(end_of full1), $(end_of full2), $(end_of full3), $(end_of full5)" \
    "COMPLETED 137 killed, COMPLETED 4 exited, COMPLETED 9 exited, COMPLETED 8 exited"
# nmd may have been unable to record its own kill. In this case it does not name a cause.
like "how the killed one ended is known; why, if that could be written" \
    "$(end_of full4): $(field_of full4 .message)" "137 killed: |137 signaled: .*the journal doesn't show that nmd"
is "nobody ran twice" "$(runs_of full1) $(runs_of full2) $(runs_of full3) $(runs_of full4) $(runs_of full5)" "1 1 1 1 1"
nmd_stop
done_testing
