#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
# beside: all
#
# Jobs on a node whose network delays packets, loses some of them, drops all of them for a while, or rejects them. The node is in a
# network namespace of its own. The masters, the ResourceManager and a small node are on the other side of the network.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
# shellcheck source=tests/yarn/faults.sh
. "$(dirname "$0")/faults.sh"
[ -e /dev/net/tun ] || skip_all 'this machine has no tunnel devices'

jobs_fs=local job_deadline=300 heartbeat_ms=200
expiry=8
need 'a cluster can be configured' net_configure "${rm_remembers[@]}" "yarn.nm.liveness-monitor.expiry-interval-ms=${expiry}000" \
    yarn.am.liveness-monitor.expiry-interval-ms=600000 yarn.resourcemanager.connect.max-wait.ms=120000 \
    yarn.resourcemanager.connect.retry-interval.ms=200 ipc.client.connect.timeout=3000
need 'the second node has a network of its own' net_of 2
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
need 'the first node starts' nmd_node_start 1 yarn.nodemanager.resource.memory-mb=768
need 'the second node starts' net_start 2
need 'both nodes join' wait_until 30 eval 'node_is 1 RUNNING && node_is 2 RUNNING'
upstream_is() { use_node "$1"; status_is .upstream.state "$2"; } # N STATE
lost_nodes() { grep -c 'Deactivating Node node02.* as it is now LOST' "$rm_log"; }
on_first=-Dmapreduce.job.am.strict-locality=node01

# ---- delayed and lost packets ------------------------------------------------------------------------------

mkdir "$shared/work/words"
seq 1 4000 | sed 's/.*/word & of many/' | split -l 1000 - "$shared/work/words/part."
words() { # NAME: runs a job whose reducers fetch over the network
    local name=$1
    job_begin "$name" org.apache.hadoop.examples.ExampleDriver wordcount "$on_first" -Dmapreduce.job.reduces=3 \
        "file://$shared/work/words" "file://$shared/work/$name"
    succeeds "$name"
    is "$name: each word is counted" "$(grep -hE '^(of|many)' "$shared/work/$name"/part-* | sort | tr '\t\n' '  ')" 'many 4000 of 4000 '
    is "$name: no map and no reducer has failed" "$(counters "$name" | grep -E '^Failed (map|reduce) tasks')" ''
    saw "$name" "succeeds; $(counters "$name" | sed -n 's/Failed Shuffles=//p') fetches have failed"
    is "$name: the node was not lost" "$(lost_nodes)" 0
}
net_link_is 2 delay 150
words delayed
net_link_is 2 loss 5
words lossy
net_link_is 2 ok

# ---- short outages -----------------------------------------------------------------------------------------

need 'a job is submitted whose maps run on both nodes' held_begin outage 5 "$on_first"
need 'all its maps run' wait_until 60 eval 'held_runs outage 5 1 2 && held_runs_some outage 3 2'
on_second=$(held_running outage 2)
saw outage "$on_second maps run on node02, $(held_running outage 1) on node01"
passed() { [ $((SECONDS - since)) -ge "$1" ]; } # SECONDS
beats() { use_node 2; status_of .upstream.heartbeats; }
beats_again() { [ "$(beats)" -gt $((before + 3)) ]; }
for fault in drop drop-to drop-from; do
    since=$SECONDS
    net_link_is 2 "$fault"
    wait_until 20 passed 3
    before=$(beats)
    net_link_is 2 ok
    check "the node beats again after an outage of 3 s ($fault)" wait_until 20 beats_again
    saw outage "$(held_running outage 1 2) maps run on"
done
net_reject 2
check 'nmd reports at once that the ResourceManager is unreachable, if packets are rejected' wait_until 10 upstream_is 2 unreachable
net_accept 2
check 'nmd is connected again' wait_until 20 upstream_is 2 running
is 'the node was not lost by short outages' "$(lost_nodes)" 0
is 'all maps have run through the short outages' "$(held_running outage 1 2)" 5

# ---- a long outage ------------------------------------------------------------------------------------------

since=$SECONDS
net_link_is 2 drop
check 'the ResourceManager loses the node' wait_until 60 node_is 2 LOST
is 'the containers on the node run on' "$(held_running outage 2)" "$on_second"
# TCP would repeat the unanswered heartbeat 12.6 and 25.4 s after it was sent.
check 'the outage lasts for 15 s' wait_until 60 passed 15
net_link_is 2 ok
check 'the node is RUNNING again soon' wait_until 6 node_is 2 RUNNING
check 'all maps run again' wait_until 60 eval 'held_runs outage 5 1 2 && held_runs_some outage 3 2'
saw outage "$on_second maps were lost and run again"
held_all outage
ends_right outage 5
is 'no map has failed' "$(maps_of outage Failed)" 0
faults_table
done_testing
