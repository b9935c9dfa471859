#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
# beside: others
#
# Jobs while the ResourceManager replaces its keys, is away for several expiry intervals, or hangs, and while the clock of the
# nodes is stepped. All intervals are seconds, so that a job sees what otherwise takes minutes or days.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
# shellcheck source=tests/yarn/faults.sh
. "$(dirname "$0")/faults.sh"

jobs_fs=local job_deadline=300
expiry_ms=4000
# A new key is announced 1.5 expiry intervals before it is used. The ResourceManager refuses intervals below three of them.
need 'a cluster can be configured' jobs_configure "${rm_remembers[@]}" \
    "yarn.nm.liveness-monitor.expiry-interval-ms=$expiry_ms" yarn.am.liveness-monitor.expiry-interval-ms=600000 \
    yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs=13 \
    yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs=13 \
    yarn.resourcemanager.connect.max-wait.ms=120000 yarn.resourcemanager.connect.retry-interval.ms=200
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
clock_simulate
join() { nmd_node_start "$1" yarn.nodemanager.recovery.supervised=true && wait_until 30 node_is "$1" RUNNING; } # N
need 'two nodes join' eval 'join 1 && join 2'
upstream_of() { use_node "$1"; status_of ".upstream.$2"; }             # N FIELD
upstream_is() { [ "$(upstream_of "$1" state)" = "$2" ]; }              # N STATE

# ---- keys ---------------------------------------------------------------------------------------------

two_at_a_time=(-Dmapreduce.job.running.map.limit=2 -Dmapreduce.job.am.strict-locality=node01)
n_rolls() { grep -c "Rolling master-key for $1" "$rm_log"; } # KIND
# A key that is rolled is used by the ResourceManager after 1.5 expiry intervals.
rolled() { [ "$(n_rolls container-tokens)" -ge "$1" ] && [ "$(n_rolls nm-tokens)" -ge "$1" ]; } # N
need 'a job with eight maps is submitted, of which two may run at a time' held_begin keys 8 "${two_at_a_time[@]}"
need 'its first two maps run' wait_until 60 held_runs keys 2 1 2
saw keys 'its master and two maps run'
before=$(n_rolls container-tokens)
for i in 1 2 3; do
    check "the ResourceManager rolls its keys ($i)" wait_until 40 rolled $((before + i))
    fault "the ResourceManager rolls its keys ($i)"
    held_go keys 2
    # a map that has been let go still runs for a moment
    held_launched() { [ "$(held_ended keys 1 2)" = $((2 * i)) ] && held_runs keys 2 1 2; }
    check "two further maps run, with tokens of the new keys ($i)" wait_until 30 held_launched
    saw keys 'two further maps run'
done

# ---- the ResourceManager is away ------------------------------------------------------------------------

fault_rm KILL
away_since=$SECONDS
away_for() { [ $((SECONDS - away_since)) -ge "$1" ]; } # SECONDS
check 'both nodes report that the ResourceManager is unreachable' \
    wait_until 20 eval 'upstream_is 1 unreachable && upstream_is 2 unreachable'
held_go keys 1
check 'a map ends while the ResourceManager is away' wait_until 20 held_runs keys 1 1 2
fault_nmd 2 KILL
need 'nmd starts again while the ResourceManager is away' fault_nmd_back 2 yarn.nodemanager.recovery.supervised=true
check 'the last map is still running' held_runs keys 1 1 2
check "the ResourceManager is away for four expiry intervals" wait_until 60 away_for $((4 * expiry_ms / 1000))
saw keys 'one map has ended, one runs on'
need 'the ResourceManager starts again' fault_rm_back
check 'both nodes register again' wait_until 30 eval 'node_is 1 RUNNING && node_is 2 RUNNING'
is 'the last map has run through all this' "$(held_running keys 1 2)" 1
held_all keys
ends_right keys 8
is 'no map has failed, and none was killed or repeated' \
    "$(maps_of keys Launched) $(maps_of keys Failed) $(maps_of keys Killed)" '8 0 0'
is 'the job had one master' "$(attempts_of keys)" 1

# ---- the ResourceManager hangs --------------------------------------------------------------------------

need 'a second job is submitted' held_begin hang 8 "${two_at_a_time[@]}"
need 'its first two maps run' wait_until 60 held_runs hang 2 1 2
fault_rm STOP
away_since=$SECONDS
held_go hang 1
check 'a map ends while the ResourceManager hangs' wait_until 20 held_runs hang 1 1 2
took=$({ time -p nmctl status >/dev/null; } 2>&1 | awk '/^real/ { print int($2 * 1000) }')
at_least 'nmd responds within 2 s while the ResourceManager hangs (ms)' 2000 "$took"
check 'the ResourceManager hangs for longer than the expiry interval' wait_until 20 away_for $((2 * expiry_ms / 1000))
fault_rm CONT
# The ResourceManager may find the nodes expired before it reads their heartbeats. Then it loses them, and takes them back.
check 'both nodes are RUNNING' wait_until 30 eval 'node_is 1 RUNNING && node_is 2 RUNNING'
check 'two maps run again' wait_until 60 held_runs hang 2 1 2
lost=$(grep -c 'Deactivating Node node0.*LOST' "$rm_log")
saw hang "two maps run; the ResourceManager had lost $lost nodes"

# ---- clock steps ------------------------------------------------------------------------------------------

further() { # N: for wait_until: N maps have ended, and two run
    [ "$(find "$shared/work/hang/gone" -type f | wc -l)" -ge "$1" ] && held_runs hang 2 1 2
}
for step in 300 -7200; do
    clock_step "$step"
    ended=$(find "$shared/work/hang/gone" -type f | wc -l)
    held_go hang 2
    check "two further maps run after a step of the clock to $step s" wait_until 30 further $((ended + 2))
    saw hang 'two further maps run'
done
# Tokens are valid for ten minutes, so no container can start on a node whose clock is an hour ahead, as with Hadoop.
clock_step 0
held_all hang
ends_right hang 8
is 'no map of the job has failed' "$(maps_of hang Failed)" 0
faults_table
done_testing
