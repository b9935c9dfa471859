#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 600
# beside: others
#
# Lent containers when the ResourceManager restarts, and on a cluster with a Java NodeManager. NMD_TEST_HADOOP=VERSION is the
# version of the ResourceManager, of MapReduce and of the Java NodeManager.
[ -z "${NMD_TEST_HADOOP:-}" ] || jobs_archive=1
# shellcheck source=tests/yarn/lent.sh
. "$(dirname "$0")/lent.sh"

restarts_lent() {
    local id
    need 'a job with maps that wait is submitted' held_lent restarted all 4
    id=$(job_id restarted)
    check 'its four maps run as lent containers' wait_until 60 counts "$id" "$lent_now" 4
    rm_kill
    need 'the ResourceManager is started again' rm_again
    check 'the maps run through the restart of the ResourceManager' wait_until 60 rm_counts_opportunistic 4
    is 'no map has ended' "$(count_of "$id" "$lent_now")" 4
    use_node 1
    failures_before[1]=$(status_of .upstream.failures)
    check 'a surge takes back a lent map after the restart' surge 30 counts_more "$id" "$taken_back" 1
    local lost
    lost=$(count_of "$id" "$taken_back")
    lent_promote "$id" $((4 - lost))
    touch "$shared/work/go-restarted"
    succeeds restarted
    is 'the job counts the lost maps as killed' "$(counters restarted | grep -E '^(Failed|Killed) map')" "Killed map tasks=$lost"
}

java_lent() {
    local id
    need 'all services end' empty
    # A node that stops before the ResourceManager has told it of the ends keeps the files.
    check 'both nodes of nmd remove the local files' wait_until 30 nothing_left || diag "$(left_files)"
    nmd_node_stop 2
    need 'the second node of nmd leaves' wait_until 30 node_is 2 SHUTDOWN
    java_node_start 4 "$proxy.address=node04:8049" "$memory_of_node=$second_mb"
    need 'a Java NodeManager joins' wait_until 60 node_is 4 RUNNING
    need 'services fill the nodes again' refill mixed 256
    need 'a job with maps that wait is submitted' held_lent mixed all 4
    id=$(job_id mixed)
    check 'all maps run as lent containers on the node of nmd' wait_until 90 counts "$id" "$lent_now" 4
    is 'the Java NodeManager has no container of the job' "$(logs_of 4 "application_$id")" ''
    touch "$shared/work/go-mixed"
    succeeds mixed
    is 'no map of the job was killed or has failed' "$(counters mixed | grep -E '^(Failed|Killed) map')" ''
    need 'all services end, also the one on the Java NodeManager' empty
    check 'both nodes remove the local files' wait_until 30 nothing_left || diag "$(left_files)"
    java_node_stop 4
}

lent_cluster restarted 256
restarts_lent
java_lent
lent_end
