#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 480
#
# Spark's shuffle service on two nodes of nmd, with dynamic allocation. Executors end after the maps of their job, in four ways:
# they are preempted by a surge of memory, killed, released when they are idle, and those of a decommissioned node. In between,
# nmd, the service and the ResourceManager are killed. No map runs again. With push-based shuffle, pushes are refused, and the job
# fetches the original blocks. NMD_TEST_SPARK=VERSION is the version of PySpark.
jobs_of=(spark)
# shellcheck source=tests/yarn/lent.sh
. "$(dirname "$0")/lent.sh"
# shellcheck source=tests/yarn/lent-spark.sh
. "$(dirname "$0")/lent-spark.sh"
# shellcheck source=tests/yarn/spark/service.sh
. "$(dirname "$0")/spark/service.sh"

# Lent executors run in the idle class, and wait for all other processes of the machine.
# shellcheck disable=SC2034 # the libraries use them
ready_seconds=240 spark_deadline=300
node_options=() # of both nodes
lent_join() { # N [NAME=VALUE...]
    nmd_node_start "$1" "$proxy.address=node0$1:8049" "$(service_port "$1")" "${node_options[@]}" "${@:2}" &&
        wait_until 30 node_is "$1" RUNNING
}
# A master may run on either node, and uses the proxy of its node.
# shellcheck disable=SC2016 # Hadoop expands it
on_any_node=('spark.hadoop.yarn.resourcemanager.scheduler.address=${env.NM_HOST}:8049' "${spark_master[@]}")
begin() { # NAME OPTION... -- ARG-OF-THE-JOB...
    spark_begin "$1" "${on_any_node[@]}" "${service_options[@]}" "${@:2}"
}
initial=(spark.dynamicAllocation.initialExecutors=4) # a job with "spread" has not begun when it waits for executors
both_have_executors() { [ "$(executors_on 1 "$1")" -gt 0 ] && [ "$(executors_on 2 "$1")" -gt 0 ]; } # NAME: for wait_until

preempted() {
    local id lost
    need 'a job is submitted whose executors are lent' spark_lent preempted all "${service_options[@]}" -- "$(files_of preempted)"
    id=$(spark_id preempted)
    need 'preempted: the job shuffles its data' gets_ready preempted
    is 'preempted: all executors are lent' "$(count_of "$id" "$was_guaranteed")" 0
    at_least 'preempted: some of them run on the first node' "$(executors_on 1 preempted)" 1
    check 'a surge takes back an executor' surge 1 30 counts_more "$id" "$taken_back" 1
    lost=$(count_of "$id" "$taken_back")
    proceed preempted
    ended_once preempted
    at_least 'preempted: Spark has lost the executors' "$(executors_removed preempted)" "$lost"
    check 'preempted: the service of the first node has sent blocks' wait_until 30 has_sent 1 1
}

# The death of the server and of nmd, and a new ResourceManager, between the maps and the second reading of their outputs.
kill_all_parts() {
    local former
    former=$(server_on 1)
    kill -KILL "$former"
    end_process "${nmd_nodes[2]}" KILL
    rm_kill
    need 'nmd of the second node is killed, and starts again' lent_restart_second
    need 'the ResourceManager is killed, and starts again' rm_again
    check 'the killed service of the first node is started again' wait_until 20 has_new_server 1 "$former"
    check 'both nodes are RUNNING under the new ResourceManager' wait_until 60 eval 'node_is 1 RUNNING && node_is 2 RUNNING'
}
lent_restart_second() { # without a ResourceManager
    nmd_node_start 2 "$proxy.address=node02:8049" "$(service_port 2)" "$memory_of_node=$second_mb"
}
killed() {
    begin killed "${initial[@]}" -- "$(files_of killed)" spread
    pushed
    need 'killed: the job shuffles its data' gets_ready killed
    check 'killed: executors run on both nodes' both_have_executors killed
    mapfile -t pids < <(executors_of killed)
    kill -KILL "${pids[@]}"
    check 'killed: all executors are killed' wait_until 20 no_executor_runs killed
    kill_all_parts
    proceed killed
    ended_once killed
    at_least 'killed: Spark has lost the executors' "$(executors_removed killed)" "${#pids[@]}"
    check 'killed: the service of the first node has sent blocks' wait_until 30 has_sent 1 1
    check 'killed: the service of the second node has sent blocks' wait_until 90 has_sent 2 1
}

# Spark pushes blocks only with a serializer whose objects can be moved, and to at least this number of hosts. Of a small shuffle it
# reports a failed merge only if it waits for it, for at most results.timeout.
pushed() {
    begin pushed spark.shuffle.push.enabled=true spark.serializer=org.apache.spark.serializer.KryoSerializer \
        spark.shuffle.push.mergersMinStaticThreshold=1 spark.shuffle.push.minShuffleSizeToWait=0 \
        spark.shuffle.push.finalize.timeout=1s spark.shuffle.push.results.timeout=60s \
        "${initial[@]}" -- "$(files_of pushed)" spread
    proceed pushed
    ended_once pushed
    at_least 'pushed: the driver could not finalize the merge of any of the shuffles' \
        "$(grep -c 'Cannot handle shuffle block merge' "$dir/pushed.log")" 1
}

exclude() { printf '%s\n' "$@" >"$dir/exclude"; } # HOST...
released() {
    begin released spark.authenticate=true spark.dynamicAllocation.executorIdleTimeout=15s "${initial[@]}" \
        -- "$(files_of released)" spread released
    need 'released: the job shuffles its data, and Spark releases all executors' gets_ready released
    check 'released: no executor runs' wait_until 60 no_executor_runs released
    exclude node02
    rm_admin -refreshNodes -g 120 -client >"$dir/admin.log" 2>&1 &
    at_exit "end_process $!"
    check 'the second node is DECOMMISSIONING' wait_until 30 node_is 2 DECOMMISSIONING
    proceed released
    ended_once released
    check 'released: the service of the leaving node has sent blocks' wait_until 90 has_sent 2 1
    check 'the second node is DECOMMISSIONED after the job' wait_until 60 node_is 2 DECOMMISSIONED
}

# One container for each heartbeat of a node, so that executors run on both nodes.
lent_cluster preempted 384 -- "${service_site[@]}" "$cs.per-node-heartbeat.multiple-assignments-enabled=false"
need 'PySpark is available' spark_install
need 'the job is available' service_install
preempted
need 'all services end' empty
killed
nmd_node_stop 1
nmd_node_stop 2
node_options=(spark.authenticate=true)
need 'both nodes start again with authentication' eval 'lent_join 1 && lent_join_second'
released
lent_end
