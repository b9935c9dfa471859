#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: others
#
# State and logs are on separate file systems, each of which can run out of space or of inodes. The suite checks which file system each
# limit is computed from, and which requests are refused with which message. Everything else must continue. Related suites:
# 67-durable-journal (a full disk) and 72-output (both on one file system).
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

# ---- logs elsewhere: limits by file system -------------------------------------------------------------------------

submit says "${low[@]}" -- sh -c 'echo words; head -c 400000 /dev/zero'
wait_until 5 ended_as says "0 exited"
is "output is written to log-dir" "$(find "$dir/logs" "$dir/state/logs" -name stdout -size +0 2>/dev/null)" \
    "$dir/logs/$(field_of says .id)/stdout"
# The share of logs is half of 16 MiB, and a stream may have a thirty-second of it: 256 KiB. The limit would be different if nmd used
# the size of the host's disk or the 8 MiB of the state's file system.
submit flood "${low[@]}" -- sh -c 'cat /dev/zero'
wait_until 5 in_state flood RUNNING
flood=$dir/logs/$(field_of flood .id)
turned() { [ -n "$(find "$flood" -name 'stdout.[1-9]*')" ]; }
check "the limit of a stream is its share of the file system of log-dir" wait_until 20 turned
most=0
for _ in {1..40}; do
    now=$(du -sk "$flood" 2>/dev/null | cut -f1)
    most=$((now > most ? now : most))
done
at_least "the log is not below its limit" "$most" 130
at_least "the log is not above its limit" $((256 + 16 - most)) 0
nmctl kill --now --wait flood >/dev/null

# ---- a full log-dir ------------------------------------------------------------------------------------------------

submit runs "${low[@]}" -- sleep 1000
submit paused --opportunistic "${low[@]}" -- sleep 1000
for name in runs paused; do wait_until 5 in_state $name RUNNING; done
pid=$(field_of runs .pid)
fill logs
check "a full log-dir makes the node unhealthy" wait_until 10 healthy false
like "the reason names log-dir" "$(why)" "bytes of the file system of $dir/logs are free"
unlike "the reason does not name the state directory" "$(why)" "$dir/state"
try nmctl pause paused
is "a pause is saved in the journal" "$status $err" "0 "
try nmctl promote paused
is "a promotion is saved in the journal" "$status" 0
try nmctl run --detach --name waits --opportunistic "${low[@]}" -- true
is "a new container is accepted into the queue" "$status" 0
nmd_kill
nmd_start
is "all changes are still there after kill -9" \
    "$(field_of runs .pid) $(field_of paused '"\(.state) \(.execution_type)"') $(state_of waits)" \
    "$pid PAUSED GUARANTEED SCHEDULED"
is "no damage is reported" "$(grep -c damaged "$dir/nmd.log")" 0
rm "$dir/logs/ballast"
check "the node is healthy when log-dir has space" wait_until 10 healthy true
check "the queued container runs" wait_until 10 ended_as waits "0 exited"

# ---- a full state directory, the logs elsewhere ---------------------------------------------------------------------

submit talked "${low[@]}" -- sh -c 'seq 40000'
wait_until 5 ended_as talked "0 exited"
before=$(nmctl logs talked | cksum)
# The first write without free space belongs to a request in progress. The request succeeds, and its answer reports the problem.
first() { # NAME WORDS COMMAND OTHER-COMMAND: one or the other, until there is no room for it
    local i which
    for i in {1..30}; do
        which=$((i % 2 ? 3 : 4))
        fill state
        # shellcheck disable=SC2086 # a command's words
        try nmctl ${!which}
        [ "$status" = 0 ] || break
    done
    like "$1: the first action that can't be saved is carried out, and its answer says so" \
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
is "the container has the requested type" "$(field_of kind .execution_type)" "$wanted"
check "the node is healthy when the type can be saved" room
nmd_kill
nmd_start
is "the type is saved afterwards" "$(field_of kind .execution_type)" "$wanted"
first "an update" updated "update kind -m 21M" "update kind -m 22M"
wanted=$(field_of kind .memory_bytes)
like "the container has the requested amounts" "$wanted" "^($((21 << 20))|$((22 << 20)))$"
check "the node is healthy when the amounts can be saved" room
nmd_kill
nmd_start
is "the amounts are saved afterwards" "$(field_of kind .memory_bytes)" "$wanted"
fill state
refused() {
    fill state
    api POST /v1/containers '{"command":["true"],'"$me"',"memory_bytes":20971520,"vcores":0.1}'
    [ "$api_status" = 503 ]
}
check "with a full state directory a container that can't be saved is refused" wait_until 10 refused
like "the reason names the state directory" "$(why)" "$dir/state"
unlike "the reason does not name log-dir" "$(why)" "$dir/logs"
samples 105 # disks are tidied every 10 s
is "no log is shortened if the journal gains no space" "$(nmctl logs talked | cksum)" "$before"
rm "$dir/state/ballast"
check "the node is healthy when the state directory has space" wait_until 20 healthy true
kill_all
nmd_stop

# ---- no inodes for the state -----------------------------------------------------------------------------------------

umount -l "$dir/state"
mount -t tmpfs -o size=8M,nr_inodes=60,mode=700 none "$dir/state"
use_up() { # DIRECTORY: every inode
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
check "a file system without inodes makes the node unhealthy" wait_until 10 healthy false
like "the reason names the inodes" "$(why)" "only 0.0 % of the inodes of the file system of $dir/state are free"
try nmctl run --detach --name waits "${low[@]}" -- true
is "a new container waits" "$status $(state_of waits)" "0 SCHEDULED"
like "explain gives the reason" "$(nmctl explain waits)" "unhealthy"
try nmctl pause paused
is "a pause is carried out and saved" "$status $err" "0 "
check "the kernel reports the paused container as frozen" wait_until 5 frozen paused
try nmctl kill --now --wait goes
is "a kill is carried out and saved" "$status" 0
check "the killed container ends" wait_until 5 ended_as goes "137 killed"
nmd_kill
nmd_start
is "all changes are still there after kill -9 without inodes" \
    "$(field_of runs .pid) $(state_of paused) $(end_of goes) $(state_of waits)" "$pid PAUSED COMPLETED 137 killed SCHEDULED"
# A clean stop removes SQLite's log, which can't be created again without inodes.
nmd_stop
use_up "$dir/state"
: >"$dir/nmd.log"
up=yes
nmd_start || up=no
is "nmd starts although the journal can't create its log" "$up" yes
is "nmd knows everything in the journal" \
    "$(field_of runs .pid) $(state_of paused) $(end_of goes) $(state_of waits)" "$pid PAUSED COMPLETED 137 killed SCHEDULED"
check "the kernel still reports the container as frozen" frozen paused
is "no damage is reported without inodes" "$(logged damage && echo yes; find "$dir/state" -name '*damaged*')" ""
api POST /v1/containers '{"command":["true"],'"$me"',"memory_bytes":20971520,"vcores":0.1}'
is "a container that can't be saved is refused" "$api_status" 503
like "the refusal has the reason" "$api_body" "No space left on device"
like "status reports the journal" "$(nmctl status)" "journal: .* can't be written"
is "the node is unhealthy" "$(healthy false && echo so)" so
try nmctl kill --now runs
like "a kill is carried out, and says that it is not saved" \
    "$status $err" "^[1-9].* is being killed, but this isn't saved yet.*No space left"
check "the container of that kill ends" wait_until 5 ended_as runs "137 killed"
samples 5
is "queued containers still wait" "$(state_of waits)" SCHEDULED
rm -r "$dir/state/taken"
check "the node is healthy when inodes are available" wait_until 20 healthy true
check "the queued containers run" wait_until 10 ended_as waits "0 exited"
nmd_kill
nmd_start
is "no change is lost" "$(end_of runs), $(state_of paused), $(end_of goes), $(end_of waits)" \
    "COMPLETED 137 killed, PAUSED, COMPLETED 137 killed, COMPLETED 0 exited"
kill_all
nmd_stop

# ---- no inodes for the logs ------------------------------------------------------------------------------------------

umount -l "$dir/logs"
mount -t tmpfs -o size=16M,nr_inodes=20,mode=700 none "$dir/logs"
nmd_start
submit runs "${low[@]}" -- sh -c 'while :; do echo word; sleep 0.1; done'
submit paused --opportunistic "${low[@]}" -- sleep 1000
for name in runs paused; do wait_until 5 in_state $name RUNNING; done
use_up "$dir/logs"
check "a log-dir without inodes makes the node unhealthy" wait_until 10 healthy false
like "the reason names the inodes of log-dir" "$(why)" "only 0.0 % of the inodes of the file system of $dir/logs are free"
try nmctl pause paused
is "the journal still saves changes" "$status $err" "0 "
try nmctl run --detach --name waits "${low[@]}" -- echo later
is "a new container waits for inodes" "$status $(state_of waits)" "0 SCHEDULED"
before=$(nmctl logs runs | wc -l)
more() { [ "$(nmctl logs runs | wc -l)" -gt "$before" ]; }
check "a running container keeps writing" wait_until 5 more
rm -r "$dir/logs/taken"
check "the queued container runs when inodes are available" wait_until 20 ended_as waits "0 exited"
is "the log has the output of that container" "$(nmctl logs waits)" later
kill_all
nmd_alive || not_ok "nmd still runs"
done_testing
