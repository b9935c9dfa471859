#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 720
# beside: others
#
# Lent containers when the ResourceManager informs the nodes of promotions itself, when it restarts (then without that), and on a
# cluster with a Java NodeManager. NMD_TEST_HADOOP=VERSION is the version of the ResourceManager, of MapReduce and of the Java
# NodeManager.
[ -z "${NMD_TEST_HADOOP:-}" ] || jobs_archive=1
# shellcheck source=tests/yarn/lent.sh
. "$(dirname "$0")/lent.sh"

auto_update=yarn.resourcemanager.auto-update.containers
rm_auto_updates() { curl -sf -H 'Accept: application/json' "$rm_web/conf?name=$auto_update" | jq -r .property.value; }
# Prints how often each container of a job was promoted on its node.
promotions_of() { # ID
    local n container
    for n in "${!nmd_nodes[@]}"; do
        use_node "$n"
        for container in $(nmctl list --all --json |
            jq -r --arg id "$1" '.[] | select((.id | contains($id)) and .name != "master") | .id'); do
            nmctl explain --json "$container" | jq '[.[] | select(.kind == "promote")] | length'
        done
    done | xargs
    use_node 1
}
# Each node gets the new token twice: from the ResourceManager in the answer to a heartbeat, and from the proxy.
updates_lent() {
    local id
    is 'the ResourceManager informs the nodes of promotions' "$(rm_auto_updates)" true
    need 'a job with maps that wait is submitted' held_lent updated all 3
    id=$(job_id updated)
    check 'its three maps run as lent containers' wait_until 60 counts "$id" "$lent_now" 3
    lent_promote "$id" 3
    is 'each map was promoted once' "$(promotions_of "$id")" '1 1 1'
    touch "$shared/work/go-updated"
    succeeds updated
    is 'the job whose maps were promoted has the right result' "$(held_result updated)" 'line 1 line 2 line 3'
    is 'no map of it was killed or has failed' "$(counters updated | grep -E '^(Failed|Killed) map')" ''
}

# The ResourceManager restarts with other settings, so the nodes get the tokens from the proxy only.
restarts_lent() {
    local id
    need 'a job with maps that wait is submitted' held_lent restarted all 4
    id=$(job_id restarted)
    check 'its four maps run as lent containers' wait_until 60 counts "$id" "$lent_now" 4
    rm_kill
    sed -i "s|\($auto_update</name><value>\)true|\1false|" "$conf/yarn-site.xml"
    need 'the ResourceManager is started again' rm_again
    is 'the ResourceManager does not inform the nodes of promotions' "$(rm_auto_updates)" false
    check 'the maps run through the restart of the ResourceManager' wait_until 60 rm_counts_opportunistic 4
    is 'no map has ended' "$(count_of "$id" "$lent_now")" 4
    use_node 1
    failures_before[1]=$(status_of .upstream.failures)
    check 'a surge takes back a lent map after the restart' surge 1 30 counts_more "$id" "$taken_back" 1
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

lent_cluster updated 256 -- "$auto_update=true"
updates_lent
need 'services fill the nodes again' refill restarted 256
restarts_lent
java_lent
lent_end
