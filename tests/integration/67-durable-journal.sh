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
is "nmd starts with a journal of invalid data" "$up" yes
check "the log reports the damaged journal" logged "was damaged and is set aside"
check "status reports the damaged journal" noted "damaged and is set aside"
is "the damaged file is kept" "$(find "$dir/state" -name 'nmd.db.damaged-*' | grep -c .)" 1
is "running containers are adopted" "$(state_of run) $(pid_of run)" "RUNNING $run"
is "paused containers stay paused" "$(state_of paused) $(pid_of paused)" "PAUSED $paused"
# by wall-clock time, which is computed each time, so that small differences are possible
is "paused containers keep their deadline" "$((($(field_of paused .pause_deadline_usec) - deadline) / 50000))" 0
is "the type, request and application of a container are known" \
    "$(field_of paused '"\(.execution_type) \(.memory_bytes) \(.vcores) \(.app)"')" "GUARANTEED $((30 << 20)) 0.2 grid"
check "a container that ended meanwhile has its exit status" wait_until 5 ended_as "$soon_id" "5 exited"
is "queued containers wait in their order" "$(field_of low1 .queue_position) $(field_of low2 .queue_position)" "1 2"
is "queued containers have their newest request" "$(field_of low2 .memory_bytes)" $((970 << 20))
is "a container that was killed in the queue does not return" "$(field_of none .state)" null
nmctl kill low1 low2 >/dev/null
noting after "${low[@]}" -- 'exit 3'
check "new containers run" wait_until 5 ended_as after "3 exited"
is "no id is used twice" "$(nmctl list --all --json | jq '([.[].id] | unique | length) == length')" true
nmctl resume paused >/dev/null
check "the paused container can be resumed" wait_until 5 in_state paused RUNNING
nmd_kill
nmd_start
is "the next restart reads everything from the new journal" "$(pid_of run) $(pid_of paused)" "$run $paused"
is "the next restart reports no damage" "$(notes | grep -c damaged)" 0

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
is "the root page of an index is overwritten" "$(/usr/bin/python3 - "$db" <<'END_PY'
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
check "the log reports how many rows were saved" logged "[0-9] containers and [0-9]* decisions could be read from it;"
is "queued containers wait in their order after the damaged index" \
    "$(field_of waits1 .queue_position) $(field_of waits2 .queue_position)" "1 2"
is "running containers are adopted after the damaged index" \
    "$(state_of run) $(pid_of run) $(state_of paused) $(pid_of paused)" "RUNNING $run PAUSED $paused"
is "paused containers keep their deadline after the damaged index" "$((($(field_of paused .pause_deadline_usec) - deadline) / 50000))" 0
is "ended containers keep their exit status" "$(end_of after) $(end_of "$soon_id")" "COMPLETED 3 exited COMPLETED 5 exited"
is "no decision is lost or changed" "$(jq -cn --argjson a "$known" --argjson b "$(decisions)" '$a - $b')" "[]"
noting later "${low[@]}" -- true
wait_until 5 ended_as later "0 exited"
is "no id is used twice after the damaged index" "$(nmctl list --all --json | jq '([.[].id] | unique | length) == length')" true
is "no number of a decision is used twice" "$(decisions | jq '([.[][0]] | unique | length) == length')" true
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
check "a flipped byte in the log of the journal is noticed" logged "pages in its log, 0 are intact"
check "status reports the flipped byte" noted "damaged and is set aside"
is "a user's pause still holds" "$(state_of pausing)" PAUSED
check "the kernel reports the paused container as frozen" frozen pausing
is "queued containers still wait" "$(field_of first .queue_position) $(runs_of first)" "1 0"
check "a container that ended since has its exit status" ended_as lately "4 exited"
is "a container that ended since has its output" "$(nmctl logs lately)" output
is "a container that was killed in the queue does not return after the flipped byte" "$(runs_of gone)" 0
is "a container does not return whose only row says that it waits" "$(end_of earlier) $(runs_of earlier)" "COMPLETED null lost 0"
like "explain says why nothing newer is known" "$(field_of earlier .message)" "the journal was damaged and its end is unknown"
is "no container ran twice" "$(runs_of lately) $(runs_of pausing)" "1 1"
nmctl kill --now pausing first >/dev/null

# ---- a journal that is removed while nmd runs ----
noting big -m 900M -c 0.1 -- 'exec sleep 1000'
noting moved --opportunistic -m 100M -c 0.1 -- 'exec sleep 1000'
samples 2
is "one container waits" "$(state_of moved)" SCHEDULED
nmctl kill --now big >/dev/null
wait_until 5 in_state moved RUNNING
moved=$(pid_of moved)
noting waits1 --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
noting waits2 --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
known=$(decisions)
rm -f "$db" "$db-wal"
check "a removed journal is noticed and created again" wait_until 20 test -s "$db"
check "status reports the removed journal" noted "had been removed"
nmd_kill
nmd_start
is "the new journal has all containers" \
    "$(state_of run) $(pid_of run) $(state_of soon) $(field_of waits1 .queue_position) $(field_of waits2 .queue_position)" \
    "RUNNING $run COMPLETED 1 2"
is "the new journal has all decisions" "$(jq -cn --argjson a "$known" --argjson b "$(decisions)" '$a - $b')" "[]"
nmd_stop
rm -f "$db" "$db-wal"
nmd_start
is "containers are adopted from their copies if the journal was removed while nmd was stopped" \
    "$(state_of run) $(pid_of run) $(pid_of paused)" \
    "RUNNING $run $paused"
is "a container that waited and then ran is not started again" "$(state_of moved) $(pid_of moved) $(runs_of moved)" \
    "RUNNING $moved 1"
nmctl kill --now --wait moved >/dev/null
is "queued containers are known from their copies" "$(field_of waits1 .queue_position) $(field_of waits2 .queue_position)" "1 2"
nmctl kill --now waits1 waits2 >/dev/null
is "no container ran twice after the removals" "$(runs_of run) $(runs_of paused) $(runs_of soon) $(runs_of after)" "1 1 1 1"
is "containers that only waited never ran" "$(find "$runs" -name 'low[12]' -o -name none -o -name 'waits[12]')" ""

mv "$dir/state" "$dir/elsewhere"
check "a removed state directory is reported" wait_until 5 logged "state directory .* was moved"
mv "$dir/elsewhere" "$dir/state"

# ---- orphans ----
nmd_kill
rm -f "$db" "$db-wal" "$dir/state/containers/"*/container.json
echo 1 >"$(find "$(slice_dir)" -name "*.scope" | head -n 1)/cgroup.freeze"
nmd_start
check "without journal and copies processes keep running" kill -0 "$run"
is "without journal and copies these processes are not containers" "$(nmctl list --json | jq length)" 0
check "these processes are reported" noted ", not in the journal"
is "the frozen cgroup is thawed" "$(cat "$(slice_dir)"/*.scope/cgroup.freeze | sort -u)" 0
kill -KILL "$run" "$paused"
check "the cgroups are removed after their processes have ended" \
    wait_until 25 bash -c "[ -z \"\$(find $(slice_dir) -mindepth 1 -type d)\" ]"
is "the report is removed" "$(notes | grep -c ', not in the journal')" 0

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
is "with an older journal an unknown container keeps its output" "$(cat "$dir/state/logs/$since/stdout")" "more words"
check "with an older journal an unknown container keeps its files" test -s "$dir/state/containers/$since/record"
is "with an older journal running containers are adopted" "$(state_of "$lives") $(pid_of "$lives")" "RUNNING $pid"
is "with an older journal known values are unchanged" "$(end_of known) $(nmctl logs known)" "COMPLETED 2 exited words"
noting next "${low[@]}" -- true
wait_until 5 ended_as next "0 exited"
is "with an older journal no id is used twice" "$(field_of next .id | grep -cxF -e "$since" -e "$lives")" 0
is "the output of the unknown container is unchanged" "$(cat "$dir/state/logs/$since/stdout")" "more words"
nmctl kill --now --wait lives >/dev/null
nmd_stop
rm -f "$db" "$db"-*
nmd_start
is "the output of the unknown container is unchanged without a journal" "$(cat "$dir/state/logs/$since/stdout")" "more words"

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
is "after a reboot running containers are lost" "$(field_of ran '"\(.state) \(.exit_code) \(.exit_reason) \(.message)"')" \
    "COMPLETED null lost the host was rebooted while it ran"
is "after a reboot queued containers are lost" "$(field_of queued '"\(.exit_reason) \(.message)"')" \
    "lost the host was rebooted while it waited in the queue"
is "after a reboot ended containers have their exit status" "$(end_of over)" "COMPLETED 6 exited"
is "after a reboot each decision has its outcome" \
    "$(nmctl explain --json ran | jq '[.[] | select(.outcome == "pending")] | length')" 0
nmd_stop
nmd_start
is "a second start after the reboot changes nothing" "$(end_of over) $(end_of ran)" "COMPLETED 6 exited COMPLETED null lost"
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
is "a clean stop closes the journal" "$(sql "SELECT count(*) FROM key_values WHERE key = 'store.closed'")" 1
nmd_start
is "after a clean reboot running containers are lost" "$(end_of ran2)" "COMPLETED null lost"
check "after a clean reboot queued containers start" wait_until 10 ended_as queued1 "7 exited"
check "after a clean reboot a container whose start was pending starts" wait_until 10 ended_as queued2 "8 exited"
check "the containers start one after the other" wait_until 10 ended_as queued3 "9 exited"
is "the containers start in their order" "$(nmctl list --all --json | jq -r '[.[] | select(.name | startswith("queued")) |
    select(.exit_reason == "exited")] | sort_by(.started_usec) | map(.name) | join(" ")')" "queued1 queued2 queued3"
is "each container starts once" "$(runs_of queued1) $(runs_of queued2) $(runs_of queued3)" "1 1 1"
nmd_kill
is "a killed nmd does not close the journal" "$(sql "SELECT count(*) FROM key_values WHERE key = 'store.closed'")" 0
try "$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --state-dir "$dir/state" --runtime-dir "$dir/run" --slice "$slice" \
    --backend direct --node-proc "$dir/none"
like "a failed start with an open journal does not close the journal" \
    "$status $(sql "SELECT count(*) FROM key_values WHERE key = 'store.closed'") $err" "^1 0 .*$dir/none"
nmd_start

# ---- changes by other programs ----
noting a "${low[@]}" -- 'exec sleep 1000'
noting b --opportunistic "${low[@]}" -- 'exec sleep 1000'
noting c "${low[@]}" -- 'exec sleep 1000'
noting d "${low[@]}" -- 'exec sleep 1000'
for name in a b c d; do wait_until 5 in_state $name RUNNING; done
echo 1 >"$(cgroup_of a)/cgroup.freeze"
check "a freeze by another program is undone" \
    wait_until 5 bash -c "grep -qx 'frozen 0' $(cgroup_of a)/cgroup.events && grep -q 'frozen by another process' $dir/nmd.log"
nmctl pause b >/dev/null
wait_until 5 in_state b PAUSED
echo 0 >"$(cgroup_of b)/cgroup.freeze"
check "a thaw by another program is undone" wait_until 5 frozen b
is "the state is PAUSED all the time" "$(state_of b)" PAUSED
kill -KILL "$(shim c)"
check "the end of a shim ends its container" wait_until 5 ended_as c "137 signaled"
rm -rf "$dir/state/containers/$(field_of d .id)"
kill -TERM "$(pid_of d)"
check "nmd notices the end although the directory was removed" wait_until 5 ended_as d "143 signaled"

noting thawed --opportunistic "${low[@]}" -- 'exec sleep 1000'
wait_until 5 in_state thawed RUNNING
echo 1 >"$(slice_dir)/cgroup.freeze"
check "the whole slice is frozen" wait_until 5 frozen thawed
nmd_kill
nmd_start
is "an nmd that starts in a frozen slice shows no running container as paused" "$(state_of thawed) $(state_of b)" "RUNNING PAUSED"
echo 0 >"$(slice_dir)/cgroup.freeze"
check "a thawed slice runs" wait_until 5 bash -c "grep -qx 'frozen 0' $(cgroup_of thawed)/cgroup.events"
samples 2
is "nmd does not freeze the slice" "$(cat "$(cgroup_of thawed)/cgroup.freeze") $(state_of thawed)" "0 RUNNING"
is "paused containers stay paused" "$(frozen b && state_of b)" PAUSED

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
check "a container whose shim was killed while nmd was stopped has ended" wait_until 5 ended_as e "137 signaled"
check "a container whose scope was killed while nmd was stopped has ended" wait_until 5 ended_as f "137 signaled"
is "a container without its directory keeps running" "$(state_of g) $(pid_of g)" "RUNNING $g"
check "the processes of the first container have ended" over "$e"
check "the processes of the second container have ended" over "$f"
kill -TERM "$g"
check "the end of a container without its directory is unknown, and is reported so" wait_until 5 ended_as g "null lost"
kill_all
noting h "${low[@]}" -- 'exec sleep 1000'
noting behind --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
wait_until 5 in_state h RUNNING
h=$(pid_of h)
rm -rf "$dir/state"
check "a removed state directory is created again" wait_until 20 test -s "$db"
is "only nmd can read the new state directory" "$(stat -c %a "$dir/state")" 700
check "the node is healthy" wait_until 10 status_is .node.healthy true
nmd_kill
nmd_start
is "the new journal has everything that nmd knew" "$(state_of h) $(pid_of h) $(field_of behind .queue_position)" "RUNNING $h 1"
kill_all

# ---- a limit on the size of files ----
# The limit is nmd's own, as set by ulimit -f or LimitFSIZE=. A write beyond it fails. By default SIGXFSZ would also kill nmd, which
# therefore ignores the signal. Commands have the signal's default action.
noting limited "${low[@]}" -- 'ulimit -f 1; exec head -c 4096 /dev/zero >'"$runs/large"
check "a command that writes a file beyond its limit ends by its own signal" wait_until 5 ended_as limited "153 signaled"
noting goes_on "${low[@]}" -- 'exec sleep 1000'
wait_until 5 in_state goes_on RUNNING
prlimit --pid "$nmd_pid" --fsize=1:unlimited
: >"$dir/nmd.log"
try nmctl pause goes_on
check "nmd keeps running with a file size limit below its journal" nmd_alive
like "an action that can't be saved gives the reason" "$status $err" "^[1-9].* is paused, but this isn't saved yet.*File too large"
try nmctl promote goes_on
like "the error suggests what to do" "$status $err" "Nothing was changed.*File too large.*limit on the size of files"
is "the error names no full disk" "$(grep -c space <<<"$err")" 0
prlimit --pid "$nmd_pid" --fsize=unlimited
nmctl resume goes_on >/dev/null 2>&1 # which may be told that it is not kept as yet
check "everything is written after the limit is lifted" wait_until 10 logged "the journal can be written again"
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
like "the refusal names the full disk" "$api_body" 'No space left'
check "status reports the full disk" noted "can't be written"
is "the node is unhealthy with a full disk" "$(nmctl status --json | jq -r '[.. | .healthy? | select(. != null)] | first')" false
try nmctl pause full1
like "a pause that can't be saved is refused" "$status $err" "^[1-9].* is paused, but this isn't saved yet.*No space left"
check "a running container is paused with a full disk" wait_until 5 in_state full1 PAUSED
check "the kernel reports the container as frozen" frozen full1
pauses_durable() { nmctl explain --json full1 | jq -r '[.[] | select(.kind == "pause") | .durable] | last'; }
is "a decision that is not saved is marked" "$(pauses_durable)" false
like "explain says that the decision is not saved" "$(nmctl explain full1)" "not on disk yet"
touch "$runs/go"
check "the exit status of a container that ends is known" wait_until 5 ended_as full2 "4 exited"
noting_refused=$(nmctl run --detach "${low[@]}" -- true 2>&1)
like "a container that can't be saved is not accepted" "$noting_refused" "can't be written"
try nmctl kill --now full4
like "a kill that can't be saved is reported so" "$status $err" "^[1-9].* is being killed, but this isn't saved yet.*No space left"
try nmctl promote full3
like "an action that is not urgent is refused" "$status $err" "^[1-9].*Nothing was changed.*No space left"
is "the refused action changes nothing" "$(field_of full3 .execution_type)" OPPORTUNISTIC
check "kills are carried out" wait_until 5 ended_as full4 "137 killed"
samples 5
is "no queued container is admitted that can't be saved" \
    "$(state_of full5) $(field_of full5 .hold) $(runs_of full5)" "SCHEDULED unhealthy 0"
nmd_kill
up=yes
nmd_start || up=no
is "nmd starts with a full disk" "$up" yes
is "the started nmd finds running containers" "$(pid_of full1)" "$full"
check "the started nmd knows the end of the other container" wait_until 5 ended_as full2 "4 exited"
is "queued containers still wait" "$(state_of full3) $(runs_of full5)" "SCHEDULED 0"
nmd_stop
fill # what closing the journal has freed
nmd_start
is "after a clean stop nmd finds the same containers" \
    "$(pid_of full1) $(end_of full2) $(state_of full3) $(state_of full5)" \
    "$full COMPLETED 4 exited SCHEDULED SCHEDULED"
rm "$dir/state/ballast"
accepted() { nmctl run --detach --name again "${low[@]}" -- true; }
check "new containers are accepted when space is available" wait_until 20 accepted
check "the node becomes healthy without help" wait_until 20 status_is \
    '[.. | .healthy? | select(. != null)] | first' true
is "all shown decisions are on disk" "$(nmctl explain --json --last 1000 | jq -c '[.[] | select(.durable | not)]')" "[]"
is "all shown events are on disk" "$(nmctl events --json | jq -c 'select(.number and (.durable | not))')" ""
nmctl kill --now full1 >/dev/null
check "queued containers start" wait_until 10 ended_as full3 "9 exited"
nmd_kill
nmd_start
is "no container is lost" "$(end_of full1), $(end_of full2), $(end_of full3), $(end_of full5)" \
    "COMPLETED 137 killed, COMPLETED 4 exited, COMPLETED 9 exited, COMPLETED 8 exited"
# nmd may have been unable to record its own kill. In this case it does not name a cause.
like "the end of the killed container is known, and the reason if it could be written" \
    "$(end_of full4): $(field_of full4 .message)" "137 killed: |137 signaled: .*the journal doesn't show that nmd"
is "no container ran twice with the full disk" \
    "$(runs_of full1) $(runs_of full2) $(runs_of full3) $(runs_of full4) $(runs_of full5)" "1 1 1 1 1"
nmd_stop
done_testing
