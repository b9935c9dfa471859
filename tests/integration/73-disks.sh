#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: others
#
# State and logs are on separate file systems, each of which can run out of space or of inodes. The suite checks from which file
# system each limit is computed, and which requests are refused with which message. All other functions must continue. Related
# suites: 67-durable-journal (a full disk) and 72-output (state and logs on one file system).
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
unlike() { # NAME TEXT REGEX
    if grep -qE -- "$3" <<<"$2"; then not_ok "$1" "in: $2"; else ok "$1"; fi
}

node_proc_start
mkdir -p "$dir/state" "$dir/logs"
at_exit 'umount -l "$dir/state" "$dir/logs"'
{ mount -t tmpfs -o size=8M,mode=700 none "$dir/state" && mount -t tmpfs -o size=16M,mode=700 none "$dir/logs"; } ||
    skip_all "no file system can be mounted here"
nmd_configure <<END
[node]
memory = 1000M
[over-allocation]
enabled = no
[containers]
output-max = 4M
[health]
period = 1s
[paths]
log-dir = $dir/logs
END
nmd_start || exit 1
low=(-m 20M -c 0.1)
healthy() { [ "$(nmctl status --json | jq -r '[.. | .healthy? | select(. != null)] | first')" = "$1" ]; }
why() { nmctl status --json | jq -r '.. | .health_reason? // empty'; }
fill() { cat /dev/zero >"$dir/$1/ballast" 2>/dev/null; }

# ---- log-dir on another file system: limits by file system ----------------------------------------------------------

submit says "${low[@]}" -- sh -c 'echo words; head -c 400000 /dev/zero'
wait_until 5 ended_as says "0 exited"
is "output is written to log-dir, and not to the state directory" \
    "$(find "$dir/logs" "$dir/state/logs" -name stdout -size +0 2>/dev/null)" \
    "$dir/logs/$(field_of says .id)/stdout"
# The logs' share is half of 16 MiB, and one stream may use a thirty-second of the share: 256 KiB. The limit would be different
# if nmd used the size of the host's disk, or the 8 MiB of the state's file system.
submit flood "${low[@]}" -- sh -c 'cat /dev/zero'
wait_until 5 in_state flood RUNNING
flood=$dir/logs/$(field_of flood .id)
turned() { [ -n "$(find "$flood" -name 'stdout.[1-9]*')" ]; }
check "the limit of a stream is computed from the file system of log-dir" wait_until 20 turned
most=0
for _ in {1..40}; do
    now=$(du -sk "$flood" 2>/dev/null | cut -f1)
    most=$((now > most ? now : most))
done
at_least "the log of a stream is not smaller than its limit" "$most" 130
at_least "the log of a stream is not larger than its limit" $((256 + 16 - most)) 0
nmctl kill --now --wait flood >/dev/null

# ---- a full log-dir ------------------------------------------------------------------------------------------------

submit runs "${low[@]}" -- sleep 1000
submit paused --opportunistic "${low[@]}" -- sleep 1000
for name in runs paused; do wait_until 5 in_state $name RUNNING; done
pid=$(field_of runs .pid)
fill logs
check "the node is unhealthy when log-dir is full" wait_until 10 healthy false
like "the health report about a full log-dir names log-dir" "$(why)" "bytes of the file system of $dir/logs are free"
unlike "the health report about a full log-dir does not name the state directory" "$(why)" "$dir/state"
try nmctl pause paused
is "a pause is saved while log-dir is full" "$status $err" "0 "
try nmctl promote paused
is "a promotion is saved while log-dir is full" "$status" 0
try nmctl run --detach --name waits --opportunistic "${low[@]}" -- true
is "a new container is queued while log-dir is full" "$status" 0
nmd_kill
nmd_start
is "changes made while log-dir was full are known after kill -9 of nmd" \
    "$(field_of runs .pid) $(field_of paused '"\(.state) \(.execution_type)"') $(state_of waits)" \
    "$pid PAUSED GUARANTEED SCHEDULED"
is "nmd reports no damaged journal after log-dir was full" "$(grep -c damaged "$dir/nmd.log")" 0
rm "$dir/logs/ballast"
check "the node is healthy when log-dir has space again" wait_until 10 healthy true
check "the queued container runs when log-dir has space again" wait_until 10 ended_as waits "0 exited"

# ---- a full state directory with log-dir on another file system -----------------------------------------------------

submit talked "${low[@]}" -- sh -c 'seq 40000'
wait_until 5 ended_as talked "0 exited"
before=$(nmctl logs talked | cksum)
# The first write without free space belongs to a request in progress. The request succeeds, and the response reports the
# problem.
first() { # NAME WORDS COMMAND OTHER-COMMAND: runs the two commands alternately, until one can't be saved
    local i which
    for i in {1..30}; do
        which=$((i % 2 ? 3 : 4))
        fill state
        # shellcheck disable=SC2086 # a command's words
        try nmctl ${!which}
        [ "$status" = 0 ] || break
    done
    like "$1: the first action that can't be saved is carried out, and the response says that it is not saved" \
        "$status $err" "^[1-9].* is $2, but this isn't saved yet.*No space left"
}
room() {
    rm "$dir/state/ballast"
    wait_until 20 healthy true
}
submit kind --opportunistic "${low[@]}" -- sleep 1000
wait_until 5 in_state kind RUNNING
first "a change of type" "(promoted|demoted)" "promote kind" "demote kind"
wanted=$([[ $err == *promoted* ]] && echo GUARANTEED || echo OPPORTUNISTIC)
is "the container has the type of the action that could not be saved" "$(field_of kind .execution_type)" "$wanted"
check "the node is healthy when the change of type can be saved" room
nmd_kill
nmd_start
is "after a restart, the container has the type that was saved late" "$(field_of kind .execution_type)" "$wanted"
first "an update" updated "update kind -m 21M" "update kind -m 22M"
wanted=$(field_of kind .memory_bytes)
like "the container has the amounts of the action that could not be saved" "$wanted" "^($((21 << 20))|$((22 << 20)))$"
check "the node is healthy when the new amounts can be saved" room
nmd_kill
nmd_start
is "after a restart, the container has the amounts that were saved late" "$(field_of kind .memory_bytes)" "$wanted"
fill state
refused() {
    fill state
    api POST /v1/containers '{"command":["true"],'"$me"',"memory_bytes":20971520,"vcores":0.1}'
    [ "$api_status" = 503 ]
}
check "a new container is refused while the state directory is full" wait_until 10 refused
like "the health report about a full state directory names the state directory" "$(why)" "$dir/state"
unlike "the health report about a full state directory does not name log-dir" "$(why)" "$dir/logs"
samples 105 # nmd checks the disks every 10 s
is "no log is cut if this would give the journal no space" "$(nmctl logs talked | cksum)" "$before"
rm "$dir/state/ballast"
check "the node is healthy when the state directory has space again" wait_until 20 healthy true
kill_all
nmd_stop

# ---- no inodes in the file system of the state directory ------------------------------------------------------------

umount -l "$dir/state"
mount -t tmpfs -o size=8M,nr_inodes=60,mode=700 none "$dir/state"
use_up() { # DIRECTORY: creates files until no inode is free
    local i=0
    mkdir -p "$1/taken"
    while : 2>/dev/null >"$1/taken/$i"; do i=$((i + 1)); done 2>/dev/null
}
nmd_start
submit runs "${low[@]}" -- sleep 1000
submit paused --opportunistic "${low[@]}" -- sleep 1000
submit goes "${low[@]}" -- sleep 1000
for name in runs paused goes; do wait_until 5 in_state $name RUNNING; done
pid=$(field_of runs .pid)
use_up "$dir/state"
check "the node is unhealthy when the state's file system has no free inodes" wait_until 10 healthy false
like "the health report names the missing inodes of the state's file system" \
    "$(why)" "only 0.0 % of the inodes of the file system of $dir/state are free"
try nmctl run --detach --name waits "${low[@]}" -- true
is "a new container waits in the queue while no inode is free" "$status $(state_of waits)" "0 SCHEDULED"
like "explain says that a container waits because no inode is free" "$(nmctl explain waits)" "unhealthy"
try nmctl pause paused
is "a pause is carried out and saved while no inode is free" "$status $err" "0 "
check "the paused container's cgroup is frozen while no inode is free" wait_until 5 frozen paused
try nmctl kill --now --wait goes
is "a kill is carried out and saved while no inode is free" "$status" 0
check "the killed container ends while no inode is free" wait_until 5 ended_as goes "137 killed"
nmd_kill
nmd_start
is "changes made while no inode was free are known after kill -9 of nmd" \
    "$(field_of runs .pid) $(state_of paused) $(end_of goes) $(state_of waits)" "$pid PAUSED COMPLETED 137 killed SCHEDULED"
# A clean stop removes SQLite's write-ahead log. SQLite can't create it again while no inode is free.
nmd_stop
use_up "$dir/state"
: >"$dir/nmd.log"
up=yes
nmd_start || up=no
is "nmd starts although the journal can't create its write-ahead log" "$up" yes
is "nmd reads all containers although the journal can't create its write-ahead log" \
    "$(field_of runs .pid) $(state_of paused) $(end_of goes) $(state_of waits)" "$pid PAUSED COMPLETED 137 killed SCHEDULED"
check "the paused container's cgroup is still frozen after the restart without inodes" frozen paused
is "nmd reports no damaged journal when no inode is free" "$(logged damage && echo yes; find "$dir/state" -name '*damaged*')" ""
api POST /v1/containers '{"command":["true"],'"$me"',"memory_bytes":20971520,"vcores":0.1}'
is "a new container is refused when the journal can't be written" "$api_status" 503
like "the refusal says why the journal can't be written" "$api_body" "No space left on device"
like "status says that the journal can't be written" "$(nmctl status)" "journal: .* can't be written"
is "the node is unhealthy when the journal can't be written" "$(healthy false && echo so)" so
try nmctl kill --now runs
like "a kill is carried out, and its response says that it is not saved" \
    "$status $err" "^[1-9].* is being killed, but this isn't saved yet.*No space left"
check "the container whose kill is not saved ends" wait_until 5 ended_as runs "137 killed"
samples 5
is "queued containers still wait while no inode is free" "$(state_of waits)" SCHEDULED
rm -r "$dir/state/taken"
check "the node is healthy when inodes are free again" wait_until 20 healthy true
check "queued containers run when inodes are free again" wait_until 10 ended_as waits "0 exited"
nmd_kill
nmd_start
is "all containers have their right state after inodes were missing" "$(end_of runs), $(state_of paused), $(end_of goes), $(end_of waits)" \
    "COMPLETED 137 killed, PAUSED, COMPLETED 137 killed, COMPLETED 0 exited"
kill_all
nmd_stop

# ---- no inodes in the file system of log-dir -------------------------------------------------------------------------

umount -l "$dir/logs"
mount -t tmpfs -o size=16M,nr_inodes=20,mode=700 none "$dir/logs"
nmd_start
submit runs "${low[@]}" -- sh -c 'while :; do echo word; sleep 0.1; done'
submit paused --opportunistic "${low[@]}" -- sleep 1000
for name in runs paused; do wait_until 5 in_state $name RUNNING; done
use_up "$dir/logs"
check "the node is unhealthy when the file system of log-dir has no free inodes" wait_until 10 healthy false
like "the health report names the missing inodes of log-dir" "$(why)" "only 0.0 % of the inodes of the file system of $dir/logs are free"
try nmctl pause paused
is "changes are saved while log-dir has no free inodes" "$status $err" "0 "
try nmctl run --detach --name waits "${low[@]}" -- echo later
is "a new container waits in the queue while log-dir has no free inodes" "$status $(state_of waits)" "0 SCHEDULED"
before=$(nmctl logs runs | wc -l)
more() { [ "$(nmctl logs runs | wc -l)" -gt "$before" ]; }
check "a running container continues to write output while log-dir has no free inodes" wait_until 5 more
rm -r "$dir/logs/taken"
check "the queued container runs when log-dir has free inodes again" wait_until 20 ended_as waits "0 exited"
is "the log has the output of the container that waited for inodes" "$(nmctl logs waits)" later
kill_all
nmd_alive || not_ok "nmd still runs"
done_testing
