#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 330
#
# The job pi on a node of nmd: for each share of opportunistic maps, the job succeeds with the same counters as on Hadoop's own
# NodeManager. The ResourceManager shows the same figures about opportunistic containers as nmctl status at the same time.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"

# Prints the number of a job's containers of each execution type, such as "guaranteed 4".
types() { nmctl list --all --json | jq -r --arg job "$(job_id "$1")" '[.[] | select(.id | contains($job)) | select(.name != "master")
    | .execution_type | ascii_downcase] | group_by(.) | map("\(.[0]) \(length)") | join(" ")'; } # NAME

need 'a cluster can be configured' jobs_configure
need 'a stock ResourceManager answers' rm_again
java_node_start 4
need 'a Java NodeManager registers' wait_until 60 node_is 4 RUNNING
need 'pi runs on the Java NodeManager' pi java 0 6
like 'pi on the Java NodeManager prints its result' "$(counters java)" '^Estimated value of Pi is 3\.'
java_node_stop 4
need 'the Java NodeManager unregisters' wait_until 30 node_is 4 SHUTDOWN

need "the host's memory can be simulated" node_proc_start 3000 2
need 'nmd starts' nmd_node_start 1
need 'nmd registers' wait_until 30 node_is 1 RUNNING

# ---- a part of the maps is opportunistic, and one of them is paused ----

# For a share of N %, MapReduce makes the first N of each hundred maps opportunistic. So 3 % of six maps are three maps, and 40
# % would be all maps.
pi_begin mixed 3 6
running_map() { nmctl list --json | jq -r '[.[] | select(.execution_type == "OPPORTUNISTIC" and .state == "RUNNING")][0].id // empty'; }
a_map_runs() { [ -n "$(running_map)" ]; }
need 'an opportunistic map is running' wait_until 60 a_map_runs
map=$(running_map)
check 'a user pauses the map' nmctl pause "$map"
check 'the map is in the state PAUSED' wait_until 10 in_state "$map" PAUSED
runs_as() { ps -o user= -p "$(field_of "$1" .pid)"; }
is 'the map runs as the user of jobs' "$(runs_as "$map")" "$job_user"
others_done() { [ "$(nmctl list --all --json | jq --arg job "$(job_id mixed)" \
    '[.[] | select(.id | contains($job)) | select(.state == "COMPLETED")] | length')" = 5 ]; }
check 'the five other maps end while this map is paused' wait_until 60 others_done
is 'the paused map does not end' "$(state_of "$map")" PAUSED
process=$(field_of "$map" .pid)
end_process "${nmd_nodes[1]}" KILL # the reducer still has to fetch the output of these five maps
need 'nmd is killed, and starts again' nmd_node_start 1
check 'nmd is connected to the ResourceManager after the kill' wait_until 30 status_is .upstream.state running
is 'the paused map keeps its process through the restart of nmd' "$(field_of "$map" '"\(.pid) \(.state)"')" "$process PAUSED"
check 'a user resumes the map' nmctl resume "$map"
job_ends
is 'the job with a paused map succeeds' "$?" 0 || job_trouble mixed
is 'the job has the same counters as on the Java NodeManager' "$(counters mixed)" "$(counters java)"
is 'three of the maps were opportunistic' "$(types mixed)" 'guaranteed 4 opportunistic 3'

# ---- all maps are opportunistic, and at first the node has no unused memory ----

# Prints the columns of the ResourceManager: Running, Mem in GB, VCores (O), Queued. ours prints the same from nmctl status.
theirs() { rm_get nodes | jq -r '.nodes.node[] | select(.nodeHostName == "node01") |
    "\(.numRunningOpportContainers) \(.usedMemoryOpportGB) \(.usedVirtualCoresOpport) \(.numQueuedContainers)"'; }
ours() { nmctl status --json | jq -r '"\(.containers.opportunistic_running) \(.node.allocated.opportunistic |
    "\(.memory_bytes / 1073741824 | ceil) \(.vcores | ceil)") \(.queue.length)"'; }
# RUNNING QUEUED: compares only if nmd's figures are the same before and after the comparison, so that all figures are of the
# same time.
agree() {
    local before shown
    before=$(ours)
    [[ $before =~ ^$1\ .*\ $2$ ]] || return
    shown=$(theirs)
    [ "$(ours)" = "$before" ] && [ "$shown" = "$before" ] && echo "$before" >"$dir/agreed"
}
node_memory 2950
pi_begin opportunistic 100 6
check 'nmd and the ResourceManager show six queued maps' wait_until 60 agree 0 6 || diag "ours: $(ours), theirs: $(theirs)"
node_memory 0
check 'nmd and the ResourceManager show the running maps when memory is available' \
    wait_until 60 agree '[1-6]' 0 || diag "ours: $(ours), theirs: $(theirs)"
job_ends
is 'the job with only opportunistic maps succeeds' "$?" 0 || job_trouble opportunistic
is 'this job has the same counters as on the Java NodeManager' "$(counters opportunistic)" "$(counters java)"
is 'all maps of this job were opportunistic' "$(types opportunistic)" 'guaranteed 1 opportunistic 6'
check 'nmd and the ResourceManager show no opportunistic containers at the end' wait_until 30 agree 0 0

# ---- the figures of the shuffle and of the node, since nmd was killed ----

bean() { curl -sS "http://node01:7103/jmx?qry=Hadoop:service=NodeManager,name=$1" | jq -c ".beans[0] | $2"; } # NAME JQ-EXPRESSION
outputs_are() { [ "$(bean ShuffleMetrics .ShuffleOutputsOK)" = "$1" ]; } # N
check 'nmd counts the map outputs that it has sent' wait_until 30 outputs_are 12 || diag "$(bean ShuffleMetrics .)"
at_least 'nmd counts their bytes' "$(bean ShuffleMetrics .ShuffleOutputBytes)" 300
is 'no map output has failed' "$(bean ShuffleMetrics .ShuffleOutputsFailed)" 0
counts() { bean NodeManagerMetrics '[.ContainersLaunched, .ContainersCompleted + .ContainersKilled, .ContainersFailed]'; }
counts_are() { [ "$(counts)" = "$1" ]; } # JSON
# the paused map, the reducer and the master of one job, and all of the other job
check 'nmd counts the containers of the jobs' wait_until 30 counts_are '[11,11,0]' || diag "$(counts)"
at_least 'nmd counts the resources of the containers' "$(bean NodeManagerMetrics '.LocalizedCacheHitFiles + .LocalizedCacheMissFiles')" 8

# ---- after the jobs ----

own=$shared/node1
nothing_left() { [ -z "$(find "$own/local" -path '*appcache/*' -print -quit)" ]; }
check 'nmd removes the local files of the jobs' wait_until 30 nothing_left
like "nmd does not remove the logs of the jobs" "$(find "$own/logs" -name syslog | head -n 1)" 'container_.*/syslog'
is 'no heartbeat has failed' "$(status_of .upstream.failures)" 0
at_least "nmd's resident memory is below 12 MiB" "$((12 << 20))" "$(status_of .node.own.rss_bytes)"
done_testing
