#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
# beside: others
#
# Tests nmd with a journal that is damaged, missing, full or from another boot. Tests also changes that other programs make to
# its containers, while nmd is running and while nmd is not running.
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
is "nmd starts although the journal file has invalid data" "$up" yes
check "nmd's log reports the damaged journal" logged "was damaged and is set aside"
check "status reports the damaged journal" noted "damaged and is set aside"
is "nmd keeps the damaged file under another name" "$(find "$dir/state" -name 'nmd.db.damaged-*' | grep -c .)" 1
is "without a readable journal, running containers are adopted" "$(state_of run) $(pid_of run)" "RUNNING $run"
is "without a readable journal, paused containers stay paused" "$(state_of paused) $(pid_of paused)" "PAUSED $paused"
# the deadline is computed from the wall-clock time at each request, so that small differences are possible
is "without a readable journal, paused containers keep their deadline" "$((($(field_of paused .pause_deadline_usec) - deadline) / 50000))" 0
is "without a readable journal, a container's type, request and application are known" \
    "$(field_of paused '"\(.execution_type) \(.memory_bytes) \(.vcores) \(.app)"')" "GUARANTEED $((30 << 20)) 0.2 grid"
check "without a readable journal, a container that ended while nmd was stopped has its exit status" \
    wait_until 5 ended_as "$soon_id" "5 exited"
is "without a readable journal, queued containers keep their order" \
    "$(field_of low1 .queue_position) $(field_of low2 .queue_position)" "1 2"
is "without a readable journal, queued containers have their latest request" "$(field_of low2 .memory_bytes)" $((970 << 20))
is "without a readable journal, a container that was killed in the queue does not return" "$(field_of none .state)" null
nmctl kill low1 low2 >/dev/null
noting after "${low[@]}" -- 'exit 3'
check "new containers run after the journal was replaced" wait_until 5 ended_as after "3 exited"
is "no container id is used twice after the journal was replaced" \
    "$(nmctl list --all --json | jq '([.[].id] | unique | length) == length')" true
nmctl resume paused >/dev/null
check "a paused container can be resumed after the journal was replaced" wait_until 5 in_state paused RUNNING
nmd_kill
nmd_start
is "after another restart, running and paused containers are read from the new journal" "$(pid_of run) $(pid_of paused)" "$run $paused"
is "after another restart, status does not report damage" "$(notes | grep -c damaged)" 0

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
is "the test overwrites the root page of an index of the journal" "$(/usr/bin/python3 - "$db" <<'END_PY'
import sqlite3, sys
con = sqlite3.connect(sys.argv[1])
page, = con.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'decisions_of_container'").fetchone()
con.close() # the database has the contents of the log then
with open(sys.argv[1], "r+b") as file:
    file.seek((page - 1) * 4096)
    file.write(b"\xa5" * 4096)
print("done")
END_PY
)" "done"
: >"$dir/nmd.log"
nmd_start
check "nmd's log reports how many rows could be read from the damaged journal" \
    logged "[0-9] containers and [0-9]* decisions could be read from it;"
is "queued containers keep their order after the index was damaged" \
    "$(field_of waits1 .queue_position) $(field_of waits2 .queue_position)" "1 2"
is "running containers are adopted after the index was damaged" \
    "$(state_of run) $(pid_of run) $(state_of paused) $(pid_of paused)" "RUNNING $run PAUSED $paused"
is "paused containers keep their deadline after the index was damaged" "$((($(field_of paused .pause_deadline_usec) - deadline) / 50000))" 0
is "ended containers keep their exit status after the index was damaged" \
    "$(end_of after) $(end_of "$soon_id")" "COMPLETED 3 exited COMPLETED 5 exited"
is "no decision record is missing or changed after the index was damaged" \
    "$(jq -cn --argjson a "$known" --argjson b "$(decisions)" '$a - $b')" "[]"
noting later "${low[@]}" -- true
wait_until 5 ended_as later "0 exited"
is "no container id is used twice after the index was damaged" \
    "$(nmctl list --all --json | jq '([.[].id] | unique | length) == length')" true
is "no decision number is used twice after the index was damaged" "$(decisions | jq '([.[][0]] | unique | length) == length')" true
nmctl kill --now waits1 waits2 >/dev/null

# ---- a flipped byte in the journal's write-ahead log ------------
noting pausing --opportunistic -m 20M -c 0.1 -- 'exec sleep 1000'
wait_until 5 in_state pausing RUNNING
noting earlier --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
nmd_stop
nmd_start # everything up to this start is in the journal's database; later changes are only in its write-ahead log
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
check "nmd notices a flipped byte in the journal's write-ahead log" logged "pages in its log, 0 are intact"
check "status reports the damaged journal after the flipped byte" noted "damaged and is set aside"
is "a container that a user paused stays paused after the flipped byte" "$(state_of pausing)" PAUSED
check "the paused container's cgroup is still frozen after the flipped byte" frozen pausing
is "queued containers still wait after the flipped byte" "$(field_of first .queue_position) $(runs_of first)" "1 0"
check "a container that ended in the damaged part has its exit status" ended_as lately "4 exited"
is "a container that ended in the damaged part has its output" "$(nmctl logs lately)" output
is "a container that was killed in the queue does not return after the flipped byte" "$(runs_of gone)" 0
is "a container that is only known as queued is lost instead of started again after the flipped byte" \
    "$(end_of earlier) $(runs_of earlier)" "COMPLETED null lost 0"
like "explain says why no newer data of the lost container are known" \
    "$(field_of earlier .message)" "the journal was damaged, and the container's end is unknown"
is "no container runs twice after the flipped byte" "$(runs_of lately) $(runs_of pausing)" "1 1"
nmctl kill --now pausing first >/dev/null

# ---- a journal that is removed while nmd runs ----
noting big -m 900M -c 0.1 -- 'exec sleep 1000'
noting moved --opportunistic -m 100M -c 0.1 -- 'exec sleep 1000'
samples 2
is "a container waits in the queue before the journal is removed" "$(state_of moved)" SCHEDULED
nmctl kill --now big >/dev/null
wait_until 5 in_state moved RUNNING
moved=$(pid_of moved)
noting waits1 --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
noting waits2 --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
known=$(decisions)
rm -f "$db" "$db-wal"
check "nmd notices that the journal was removed, and creates it again" wait_until 20 test -s "$db"
check "status reports that the journal was removed" noted "had been removed"
nmd_kill
nmd_start
is "the journal that was created again has all containers" \
    "$(state_of run) $(pid_of run) $(state_of soon) $(field_of waits1 .queue_position) $(field_of waits2 .queue_position)" \
    "RUNNING $run COMPLETED 1 2"
is "the journal that was created again has all decision records" "$(jq -cn --argjson a "$known" --argjson b "$(decisions)" '$a - $b')" "[]"
nmd_stop
rm -f "$db" "$db-wal"
nmd_start
is "if the journal is removed while nmd is stopped, containers are adopted from their snapshots" \
    "$(state_of run) $(pid_of run) $(pid_of paused)" \
    "RUNNING $run $paused"
is "a container that waited and then ran is not started again after the journal was removed" \
    "$(state_of moved) $(pid_of moved) $(runs_of moved)" \
    "RUNNING $moved 1"
nmctl kill --now --wait moved >/dev/null
is "queued containers are known from their snapshots after the journal was removed" \
    "$(field_of waits1 .queue_position) $(field_of waits2 .queue_position)" "1 2"
nmctl kill --now waits1 waits2 >/dev/null
is "no container runs twice after the journal was removed" "$(runs_of run) $(runs_of paused) $(runs_of soon) $(runs_of after)" "1 1 1 1"
is "containers that were only queued have never run after the journal was removed" \
    "$(find "$runs" -name 'low[12]' -o -name none -o -name 'waits[12]')" ""

mv "$dir/state" "$dir/elsewhere"
check "nmd reports that its state directory was moved away" wait_until 5 logged "state directory .* was moved"
mv "$dir/elsewhere" "$dir/state"

# ---- orphans ----
nmd_kill
rm -f "$db" "$db-wal" "$dir/state/containers/"*/container.json
echo 1 >"$(find "$(slice_dir)" -name "*.scope" | head -n 1)/cgroup.freeze"
nmd_start
check "without journal and snapshots, processes of containers keep running" kill -0 "$run"
is "without journal and snapshots, these processes are not listed as containers" "$(nmctl list --json | jq length)" 0
check "without journal and snapshots, status reports these processes as not in the journal" noted ", not in the journal"
is "the frozen cgroup of such processes is thawed" "$(cat "$(slice_dir)"/*.scope/cgroup.freeze | sort -u)" 0
kill -KILL "$run" "$paused"
check "the cgroups of such processes are removed after the processes have ended" \
    wait_until 25 bash -c "[ -z \"\$(find $(slice_dir) -mindepth 1 -type d)\" ]"
is "status no longer reports such processes after they have ended" "$(notes | grep -c ', not in the journal')" 0

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
is "with an older journal, a container that is not in the journal keeps its output" "$(cat "$dir/state/logs/$since/stdout")" "more words"
check "with an older journal, a container that is not in the journal keeps its files" test -s "$dir/state/containers/$since/record"
is "with an older journal running containers are adopted" "$(state_of "$lives") $(pid_of "$lives")" "RUNNING $pid"
is "with an older journal, the data of known containers are unchanged" "$(end_of known) $(nmctl logs known)" "COMPLETED 2 exited words"
noting next "${low[@]}" -- true
wait_until 5 ended_as next "0 exited"
is "with an older journal, no container id is used twice" "$(field_of next .id | grep -cxF -e "$since" -e "$lives")" 0
is "the output of the container that is not in the journal is unchanged after a new container" \
    "$(cat "$dir/state/logs/$since/stdout")" "more words"
nmctl kill --now --wait lives >/dev/null
nmd_stop
rm -f "$db" "$db"-*
nmd_start
is "the output of the container that is not in the journal is unchanged without a journal" \
    "$(cat "$dir/state/logs/$since/stdout")" "more words"

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
is "after a reboot, running containers are lost" "$(field_of ran '"\(.state) \(.exit_code) \(.exit_reason) \(.message)"')" \
    "COMPLETED null lost the host was rebooted while it ran"
is "after a reboot, queued containers are lost" "$(field_of queued '"\(.exit_reason) \(.message)"')" \
    "lost the host was rebooted while it waited in the queue"
is "after a reboot, ended containers have their exit status" "$(end_of over)" "COMPLETED 6 exited"
is "after a reboot, each decision record has an outcome" \
    "$(nmctl explain --json ran | jq '[.[] | select(.outcome == "pending")] | length')" 0
nmd_stop
nmd_start
is "a second start after the reboot changes no container" "$(end_of over) $(end_of ran)" "COMPLETED 6 exited COMPLETED null lost"
# nmd is stopped cleanly. The next nmd then knows that no container was started without an entry in the journal.
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
# Creates the state of a container whose start was interrupted by a shutdown: admitted, with a shim, but without a cgroup.
sql "UPDATE containers SET admitted = 1, started_usec = 1, shim_pid = 4711, shim_start_ticks = 1 WHERE name = 'queued2'"
is "a clean stop marks the journal as closed" "$(sql "SELECT count(*) FROM key_values WHERE key = 'store.closed'")" 1
nmd_start
is "after a clean stop and a reboot, running containers are lost" "$(end_of ran2)" "COMPLETED null lost"
check "after a clean stop and a reboot, queued containers start" wait_until 10 ended_as queued1 "7 exited"
check "after a clean stop and a reboot, a container whose start was interrupted starts" wait_until 10 ended_as queued2 "8 exited"
check "after a clean stop and a reboot, all queued containers start one after the other" wait_until 10 ended_as queued3 "9 exited"
is "after a clean stop and a reboot, queued containers start in their order" \
    "$(nmctl list --all --json | jq -r '[.[] | select(.name | startswith("queued")) |
    select(.exit_reason == "exited")] | sort_by(.started_usec) | map(.name) | join(" ")')" "queued1 queued2 queued3"
is "after a clean stop and a reboot, each queued container runs once" "$(runs_of queued1) $(runs_of queued2) $(runs_of queued3)" "1 1 1"
nmd_kill
is "a killed nmd does not mark the journal as closed" "$(sql "SELECT count(*) FROM key_values WHERE key = 'store.closed'")" 0
try "$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --state-dir "$dir/state" --runtime-dir "$dir/run" --slice "$slice" \
    --backend direct --node-proc "$dir/none"
like "an nmd that fails to start does not mark the journal as closed" \
    "$status $(sql "SELECT count(*) FROM key_values WHERE key = 'store.closed'") $err" "^1 0 .*$dir/none"
nmd_start

# ---- changes by other programs ----
noting a "${low[@]}" -- 'exec sleep 1000'
noting b --opportunistic "${low[@]}" -- 'exec sleep 1000'
noting c "${low[@]}" -- 'exec sleep 1000'
noting d "${low[@]}" -- 'exec sleep 1000'
for name in a b c d; do wait_until 5 in_state $name RUNNING; done
echo 1 >"$(cgroup_of a)/cgroup.freeze"
check "nmd thaws a running container that another program froze" \
    wait_until 5 bash -c "grep -qx 'frozen 0' $(cgroup_of a)/cgroup.events && grep -q 'frozen by another process' $dir/nmd.log"
nmctl pause b >/dev/null
wait_until 5 in_state b PAUSED
echo 0 >"$(cgroup_of b)/cgroup.freeze"
check "nmd freezes a paused container again that another program thawed" wait_until 5 frozen b
is "the paused container is in the state PAUSED all the time" "$(state_of b)" PAUSED
kill -KILL "$(shim c)"
check "a container ends when another program kills its shim" wait_until 5 ended_as c "137 signaled"
rm -rf "$dir/state/containers/$(field_of d .id)"
kill -TERM "$(pid_of d)"
check "nmd notices the end of a container whose directory was removed" wait_until 5 ended_as d "143 signaled"

noting thawed --opportunistic "${low[@]}" -- 'exec sleep 1000'
wait_until 5 in_state thawed RUNNING
echo 1 >"$(slice_dir)/cgroup.freeze"
check "another program freezes the whole slice" wait_until 5 frozen thawed
nmd_kill
nmd_start
is "an nmd that starts in a frozen slice does not report running containers as paused" "$(state_of thawed) $(state_of b)" "RUNNING PAUSED"
echo 0 >"$(slice_dir)/cgroup.freeze"
check "running containers continue when the slice is thawed" wait_until 5 bash -c "grep -qx 'frozen 0' $(cgroup_of thawed)/cgroup.events"
samples 2
is "nmd does not freeze containers itself because the slice was frozen" \
    "$(cat "$(cgroup_of thawed)/cgroup.freeze") $(state_of thawed)" "0 RUNNING"
is "paused containers stay paused when the slice is thawed" "$(frozen b && state_of b)" PAUSED

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
check "a container whose shim was killed while nmd was stopped is ended after the start" wait_until 5 ended_as e "137 signaled"
check "a container whose scope was killed while nmd was stopped is ended after the start" wait_until 5 ended_as f "137 signaled"
is "a container whose directory was removed keeps running" "$(state_of g) $(pid_of g)" "RUNNING $g"
check "the processes of the container with the killed shim have ended" over "$e"
check "the processes of the container with the killed scope have ended" over "$f"
kill -TERM "$g"
check "a container whose directory was removed ends as lost, because its exit status is unknown" wait_until 5 ended_as g "null lost"
kill_all
noting h "${low[@]}" -- 'exec sleep 1000'
noting behind --opportunistic -m 990M -c 0.1 -- 'exec sleep 1000'
wait_until 5 in_state h RUNNING
h=$(pid_of h)
rm -rf "$dir/state"
check "nmd creates a removed state directory again" wait_until 20 test -s "$db"
is "only nmd's user can read the new state directory" "$(stat -c %a "$dir/state")" 700
check "the node is healthy with the new state directory" wait_until 10 status_is .node.healthy true
nmd_kill
nmd_start
is "the journal in the new state directory has all live containers" \
    "$(state_of h) $(pid_of h) $(field_of behind .queue_position)" "RUNNING $h 1"
kill_all

# ---- a limit on the size of files ----
# The limit is on nmd itself, as ulimit -f or LimitFSIZE= sets it. A write beyond the limit fails. The kernel also sends
# SIGXFSZ, whose default action would kill nmd, so nmd ignores the signal. Commands of containers have the signal's default
# action.
noting limited "${low[@]}" -- 'ulimit -f 1; exec head -c 4096 /dev/zero >'"$runs/large"
check "a command that writes a file beyond its size limit is ended by SIGXFSZ" wait_until 5 ended_as limited "153 signaled"
noting goes_on "${low[@]}" -- 'exec sleep 1000'
wait_until 5 in_state goes_on RUNNING
prlimit --pid "$nmd_pid" --fsize=1:unlimited
: >"$dir/nmd.log"
try nmctl pause goes_on
check "nmd keeps running when its journal exceeds its limit on file sizes" nmd_alive
like "the response to a pause that can't be saved says so, with the reason" \
    "$status $err" "^[1-9].* is paused, but this isn't saved yet.*File too large"
try nmctl promote goes_on
like "the error of an update that can't be saved names the limit on file sizes" \
    "$status $err" "Nothing was changed.*File too large.*limit on the size of files"
is "the error of this update does not mention a full disk" "$(grep -c space <<<"$err")" 0
prlimit --pid "$nmd_pid" --fsize=unlimited
nmctl resume goes_on >/dev/null 2>&1 # this command may report that its result is not saved yet
check "nmd writes all unsaved changes when the limit is raised" wait_until 10 logged "the journal can be written again"
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
refused # a second request, whose response is checked
is "with a full disk, new containers are refused" "$api_status" 503
like "the refusal with a full disk gives the reason" "$api_body" 'No space left'
check "with a full disk, status reports that the journal can't be written" noted "can't be written"
is "with a full disk, the node is unhealthy" "$(nmctl status --json | jq -r '[.. | .healthy? | select(. != null)] | first')" false
try nmctl pause full1
like "with a full disk, the response to a pause says that the pause is not saved" \
    "$status $err" "^[1-9].* is paused, but this isn't saved yet.*No space left"
check "with a full disk, the pause of a running container is carried out" wait_until 5 in_state full1 PAUSED
check "with a full disk, the paused container's cgroup is frozen" frozen full1
pauses_durable() { nmctl explain --json full1 | jq -r '[.[] | select(.kind == "pause") | .durable] | last'; }
is "with a full disk, the decision record of the pause is marked as not durable" "$(pauses_durable)" false
like "with a full disk, explain says that the decision is not saved" "$(nmctl explain full1)" "not on disk yet"
touch "$runs/go"
check "with a full disk, the exit status of a container that ends is known" wait_until 5 ended_as full2 "4 exited"
noting_refused=$(nmctl run --detach "${low[@]}" -- true 2>&1)
like "with a full disk, a container that can't be saved is not accepted" "$noting_refused" "can't be written"
try nmctl kill --now full4
like "with a full disk, the response to a kill says that the kill is not saved" \
    "$status $err" "^[1-9].* is being killed, but this isn't saved yet.*No space left"
try nmctl promote full3
like "with a full disk, a promotion is refused because it can wait" "$status $err" "^[1-9].*Nothing was changed.*No space left"
is "with a full disk, the refused promotion does not change the container" "$(field_of full3 .execution_type)" OPPORTUNISTIC
check "with a full disk, the kill is carried out" wait_until 5 ended_as full4 "137 killed"
samples 5
is "with a full disk, no queued container is admitted" \
    "$(state_of full5) $(field_of full5 .hold) $(runs_of full5)" "SCHEDULED unhealthy 0"
nmd_kill
up=yes
nmd_start || up=no
is "nmd starts with a full disk" "$up" yes
is "an nmd that starts with a full disk adopts running containers" "$(pid_of full1)" "$full"
check "an nmd that starts with a full disk knows the exit status of an ended container" wait_until 5 ended_as full2 "4 exited"
is "an nmd that starts with a full disk keeps queued containers in the queue" "$(state_of full3) $(runs_of full5)" "SCHEDULED 0"
nmd_stop
fill # fills the space that the closing of the journal has freed
nmd_start
is "an nmd that starts with a full disk after a clean stop has the same containers" \
    "$(pid_of full1) $(end_of full2) $(state_of full3) $(state_of full5)" \
    "$full COMPLETED 4 exited SCHEDULED SCHEDULED"
rm "$dir/state/ballast"
accepted() { nmctl run --detach --name again "${low[@]}" -- true; }
check "new containers are accepted when the disk has space again" wait_until 20 accepted
check "the node becomes healthy when the disk has space again" wait_until 20 status_is \
    '[.. | .healthy? | select(. != null)] | first' true
is "all decision records that were shown with a full disk are saved later" \
    "$(nmctl explain --json --last 1000 | jq -c '[.[] | select(.durable | not)]')" "[]"
is "all events that were shown with a full disk are saved later" "$(nmctl events --json | jq -c 'select(.number and (.durable | not))')" ""
nmctl kill --now full1 >/dev/null
check "queued containers start when the disk has space again" wait_until 10 ended_as full3 "9 exited"
nmd_kill
nmd_start
is "no container is lost after the disk was full" "$(end_of full1), $(end_of full2), $(end_of full3), $(end_of full5)" \
    "COMPLETED 137 killed, COMPLETED 4 exited, COMPLETED 9 exited, COMPLETED 8 exited"
# nmd may have been unable to record that it killed the container. In this case nmd reports no cause.
like "the end of the container that was killed with a full disk is known, and its reason if it could be saved" \
    "$(end_of full4): $(field_of full4 .message)" "137 killed: |137 signaled: .*the journal doesn't show that nmd"
is "no container ran twice after the disk was full" \
    "$(runs_of full1) $(runs_of full2) $(runs_of full3) $(runs_of full4) $(runs_of full5)" "1 1 1 1 1"
nmd_stop
done_testing
