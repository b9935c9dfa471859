#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
# beside: others
#
# Jobs whose nodes leave the cluster and come back: the ResourceManager loses a node whose nmd is stopped for longer than the expiry
# interval, and the node of the application's master, and an administrator decommissions a node, gracefully and at once.
# The first node is small, so that most maps run on the second one.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
# shellcheck source=tests/yarn/faults.sh
. "$(dirname "$0")/faults.sh"

jobs_fs=local job_deadline=300
heartbeat_ms=500 # as slow as in small clusters, so that a container may arrive before the answer to the second heartbeat
need 'a cluster can be configured' jobs_configure "${rm_remembers[@]}" yarn.nm.liveness-monitor.expiry-interval-ms=5000 \
    yarn.am.liveness-monitor.expiry-interval-ms=600000 yarn.resourcemanager.connect.max-wait.ms=120000 \
    yarn.resourcemanager.connect.retry-interval.ms=200
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
supervised=yarn.nodemanager.recovery.supervised=true
declare -A mb_of=([1]=768 [2]=2304)
with=() # properties of a node
properties_of() { with=("$supervised" "yarn.nodemanager.resource.memory-mb=${mb_of[$1]}"); } # N
join() { properties_of "$1" && nmd_node_start "$1" "${with[@]}" && wait_until 30 node_is "$1" RUNNING; } # N
need 'two nodes join' eval 'join 1 && join 2'
on_first=(-Dmapreduce.job.am.strict-locality=node01)
all_run() { held_runs "$1" "$2" 1 2 && held_runs_some "$1" 3 2; } # NAME MAPS: at least three of them on the second node
begin() { # NAME MAPS
    need "job $1 is submitted, with $2 maps and its master on the first node" held_begin "$1" "$2" "${on_first[@]}"
    need "all maps of job $1 run" wait_until 60 all_run "$1" "$2"
    on_second=$(held_running "$1" 2)
    saw "$1" "$on_second maps run on node02, $(held_running "$1" 1) on node01"
}
processes_of() { # NAME N: prints the processes of the job's maps on a node
    local id
    for id in $(NMD_SOCKET=$dir/nmd$2/nmd.sock nmctl list --json | jq -r --arg id "$(job_id "$1")" \
        '.[] | select((.id | contains($id)) and .name != "master") | .pid'); do
        echo "$id"
    done
}
none_left() { local pid; for pid; do over "$pid" || return; done; } # PID...

# ---- a node is lost -------------------------------------------------------------------------------------

begin lost 5
mapfile -t pids < <(processes_of lost 2)
fault_nmd 2 STOP
check 'the ResourceManager loses the node whose nmd is paused' wait_until 30 node_is 2 LOST
check 'the containers on the lost node run on, because nmd is paused' kill -0 "${pids[@]}"
fault_nmd 2 CONT
check 'the node is RUNNING again' wait_until 30 node_is 2 RUNNING
check 'nmd ends the containers that the ResourceManager has given up' wait_until 20 none_left "${pids[@]}"
check 'all maps run again' wait_until 60 all_run lost 5
saw lost "$on_second maps were lost and run again"
use_node 2
is 'nmctl shows why the containers on the lost node have ended' "$(nmctl list --all --json | jq -r --arg id "$(job_id lost)" \
    '[.[] | select((.id | contains($id)) and .state == "COMPLETED") | .exit_reason] | unique | join(" ")')" killed

# ---- the master's node is lost ---------------------------------------------------------------------------

mapfile -t pids < <(processes_of lost 1)
is 'the job has one master so far' "$(attempts_of lost)" 1
fault_nmd 1 KILL
check "the ResourceManager loses the master's node" wait_until 30 node_is 1 LOST
check 'the job has a second master' wait_until 60 has_attempts lost 2
saw lost 'a second master is started'
properties_of 1
need 'nmd starts again' fault_nmd_back 1 "${with[@]}"
check "the master's node is RUNNING again" wait_until 30 node_is 1 RUNNING
check 'the containers of the first master have ended' wait_until 20 none_left "${pids[@]}"
check 'all maps run again under the second master' wait_until 60 held_runs lost 5 1 2
held_all lost
ends_right lost 5
is 'no map has failed' "$(maps_of lost Failed)" 0
# The ResourceManager places the second master on its node again before nmd has ended the first one.
is 'the second master has not failed' "$(attempts_of lost)" 2

# ---- graceful decommission -----------------------------------------------------------------------------

exclude() { printf '%s\n' "$@" >"$dir/exclude"; } # HOST...
recommission() { # N: the administrator takes the node back
    fault "node0$1 is taken out of the list of excluded hosts, and nmd is restarted"
    exclude
    rm_admin -refreshNodes || return
    end_process "${nmd_nodes[$1]}"
    join "$1"
}
has_removed() { [ -z "$(find "$shared/node$1/local" -path '*appcache/*' -print -quit)" ]; } # N
upstream_is() { use_node "$1"; status_is .upstream.state "$2"; } # N STATE
begin graceful 5
exclude node02
fault 'node02 is decommissioned gracefully, within 60 s'
rm_admin -refreshNodes -g 60 -client >"$dir/admin.log" 2>&1 &
admin=$!
check 'the node is DECOMMISSIONING' wait_until 30 node_is 2 DECOMMISSIONING
is 'all maps on the node run on' "$(held_running graceful 2)" "$on_second"
saw graceful "$on_second maps run on"
held_go graceful 1
check 'a map ends on its own while its node is leaving' wait_until 20 held_runs graceful 4 1 2
is 'the node is not decommissioned while containers run on it' "$(rm_nodes DECOMMISSIONING)" node02
held_all graceful
ends_right graceful 5
is 'no map has failed, and none was killed' "$(maps_of graceful Failed) $(maps_of graceful Killed)" '0 0'
wait "$admin"
is "the administrator's command succeeds" "$?" 0 || diag "$(tail -n 5 "$dir/admin.log")"
check 'the node is DECOMMISSIONED after the job' wait_until 30 node_is 2 DECOMMISSIONED
check 'nmd has stopped its connection' wait_until 20 upstream_is 2 stopped
check 'the node has removed the local files of the job' wait_until 30 has_removed 2
need 'the node joins again' recommission 2

# ---- plain decommission --------------------------------------------------------------------------------

begin plain 5
mapfile -t pids < <(processes_of plain 2)
exclude node02
fault 'node02 is decommissioned at once'
need 'an administrator decommissions the second node at once' rm_admin -refreshNodes
check 'the node is DECOMMISSIONED' wait_until 30 node_is 2 DECOMMISSIONED
check 'nmd stops its connection' wait_until 20 upstream_is 2 stopped
check 'nmd ends the containers of the cluster' wait_until 20 none_left "${pids[@]}"
check 'nmd removes the local files of the job, which runs on elsewhere' wait_until 30 has_removed 2
check 'as many maps as have room run on the first node' wait_until 60 held_runs plain 2 1
saw plain "$on_second maps were killed; the first node runs as many as it can"
need 'the node joins again' recommission 2
check 'all maps run again' wait_until 60 all_run plain 5
held_all plain
ends_right plain 5
is 'the maps of the decommissioned node were killed, and none has failed' \
    "$(maps_of plain Killed) $(maps_of plain Failed)" "$on_second 0"
faults_table
done_testing
