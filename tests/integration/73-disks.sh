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
is "output goes to log-dir" "$(find "$dir/logs" "$dir/state/logs" -name stdout -size +0 2>/dev/null)" \
    "$dir/logs/$(field_of says .id)/stdout"
# The share of logs is half of 16 MiB, and a stream may have a thirty-second of it: 256 KiB. The limit would be different if nmd used
# the size of the host's disk or the 8 MiB of the state's file system.
submit flood "${low[@]}" -- sh -c 'cat /dev/zero'
wait_until 5 in_state flood RUNNING
flood=$dir/logs/$(field_of flood .id)
turned() { [ -n "$(find "$flood" -name 'stdout.[1-9]*')" ]; }
check "a stream's limit is its share of the file system of log-dir" wait_until 20 turned
most=0
for _ in {1..40}; do
    now=$(du -sk "$flood" 2>/dev/null | cut -f1)
    most=$((now > most ? now : most))
done
at_least "no less than that" "$most" 130
at_least "no more" $((256 + 16 - most)) 0
nmctl kill --now --wait flood >/dev/null

# ---- a full log-dir ------------------------------------------------------------------------------------------------

submit runs "${low[@]}" -- sleep 1000
submit paused --opportunistic "${low[@]}" -- sleep 1000
for name in runs paused; do wait_until 5 in_state $name RUNNING; done
pid=$(field_of runs .pid)
fill logs
check "a full log-dir makes the node unhealthy" wait_until 10 healthy false
like "with the reason" "$(why)" "bytes of the file system of $dir/logs are free"
unlike "which isn't the state's" "$(why)" "$dir/state"
try nmctl pause paused
is "the journal goes on: a pause is kept" "$status $err" "0 "
try nmctl promote paused
is "a promotion, too" "$status" 0
try nmctl run --detach --name waits --opportunistic "${low[@]}" -- true
is "what comes is taken in" "$status" 0
nmd_kill
nmd_start
is "after a kill -9 all of it is there" \
    "$(field_of runs .pid) $(field_of paused '"\(.state) \(.execution_type)"') $(state_of waits)" \
    "$pid PAUSED GUARANTEED SCHEDULED"
is "and no word of damage" "$(grep -c damaged "$dir/nmd.log")" 0
rm "$dir/logs/ballast"
check "with room again the node is well" wait_until 10 healthy true
check "and what waited runs" wait_until 10 ended_as waits "0 exited"

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
    like "$1, the first that isn't kept: done, and says so" "$status $err" "^[1-9].* is $2, but this isn't saved yet.*No space left"
}
room() {
    rm "$dir/state/ballast"
    wait_until 20 healthy true
}
submit kind --opportunistic "${low[@]}" -- sleep 1000
wait_until 5 in_state kind RUNNING
first "a change of type" "(promoted|demoted)" "promote kind" "demote kind"
wanted=$([[ $err == *promoted* ]] && echo GUARANTEED || echo OPPORTUNISTIC)
is "it has the type that was asked for" "$(field_of kind .execution_type)" "$wanted"
check "with room again the node is well" room
nmd_kill
nmd_start
is "and it is kept after all" "$(field_of kind .execution_type)" "$wanted"
first "an update" updated "update kind -m 21M" "update kind -m 22M"
wanted=$(field_of kind .memory_bytes)
like "it has what was asked for" "$wanted" "^($((21 << 20))|$((22 << 20)))$"
check "with room again the node is well" room
nmd_kill
nmd_start
is "and it is kept after all" "$(field_of kind .memory_bytes)" "$wanted"
fill state
refused() {
    fill state
    api POST /v1/containers '{"command":["true"],'"$me"',"memory_bytes":20971520,"vcores":0.1}'
    [ "$api_status" = 503 ]
}
check "a full state directory: what can't be journalled is refused" wait_until 10 refused
like "the reason names that directory" "$(why)" "$dir/state"
unlike "and not the other" "$(why)" "$dir/logs"
samples 105 # disks are tidied every 10 s
is "no log is shortened for a journal that gets nothing by it" "$(nmctl logs talked | cksum)" "$before"
rm "$dir/state/ballast"
check "with room again the node is well" wait_until 20 healthy true
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
check "without inodes the node is unhealthy" wait_until 10 healthy false
like "with the reason" "$(why)" "only 0.0 % of the inodes of the file system of $dir/state are free"
try nmctl run --detach --name waits "${low[@]}" -- true
is "what comes waits" "$status $(state_of waits)" "0 SCHEDULED"
like "and is told why" "$(nmctl explain waits)" "unhealthy"
try nmctl pause paused
is "a pause is done, and kept" "$status $err" "0 "
check "as the kernel says" wait_until 5 frozen paused
try nmctl kill --now --wait goes
is "a kill, too" "$status" 0
check "it is over" wait_until 5 ended_as goes "137 killed"
nmd_kill
nmd_start
is "after a kill -9 all of it is there" \
    "$(field_of runs .pid) $(state_of paused) $(end_of goes) $(state_of waits)" "$pid PAUSED COMPLETED 137 killed SCHEDULED"
# A clean stop removes SQLite's log, which can't be created again without inodes.
nmd_stop
use_up "$dir/state"
: >"$dir/nmd.log"
up=yes
nmd_start || up=no
is "it starts though no log of the journal can be made" "$up" yes
is "and knows what was in the journal" \
    "$(field_of runs .pid) $(state_of paused) $(end_of goes) $(state_of waits)" "$pid PAUSED COMPLETED 137 killed SCHEDULED"
check "the kernel's word is the same" frozen paused
is "nothing is called damaged" "$(logged damage && echo yes; find "$dir/state" -name '*damaged*')" ""
api POST /v1/containers '{"command":["true"],'"$me"',"memory_bytes":20971520,"vcores":0.1}'
is "what can't be journalled is refused" "$api_status" 503
like "with the reason" "$api_body" "No space left on device"
like "the status tells of the journal" "$(nmctl status)" "journal: .* can't be written"
is "and isn't well" "$(healthy false && echo so)" so
try nmctl kill --now runs
like "a kill is done, and says that it isn't kept" "$status $err" "^[1-9].* is being killed, but this isn't saved yet.*No space left"
check "it is over" wait_until 5 ended_as runs "137 killed"
samples 5
is "what waits, waits" "$(state_of waits)" SCHEDULED
rm -r "$dir/state/taken"
check "with inodes again the node is well" wait_until 20 healthy true
check "what waited runs" wait_until 10 ended_as waits "0 exited"
nmd_kill
nmd_start
is "and nothing is lost" "$(end_of runs), $(state_of paused), $(end_of goes), $(end_of waits)" \
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
check "logs without inodes make the node unhealthy" wait_until 10 healthy false
like "with the reason" "$(why)" "only 0.0 % of the inodes of the file system of $dir/logs are free"
try nmctl pause paused
is "the journal goes on" "$status $err" "0 "
try nmctl run --detach --name waits "${low[@]}" -- echo later
is "what comes waits" "$status $(state_of waits)" "0 SCHEDULED"
before=$(nmctl logs runs | wc -l)
more() { [ "$(nmctl logs runs | wc -l)" -gt "$before" ]; }
check "what runs writes on" wait_until 5 more
rm -r "$dir/logs/taken"
check "with inodes again what waited runs" wait_until 20 ended_as waits "0 exited"
is "and its output is there" "$(nmctl logs waits)" later
kill_all
nmd_alive || not_ok "nmd is still there"
done_testing
