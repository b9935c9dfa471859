#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: all
#
# nmd as a node of a stock ResourceManager: the data that the ResourceManager has about the node, a restart of the
# ResourceManager, and a restart of nmd. The cluster is the one of lib.sh, with Hadoop's default directories, because the
# ResourceManager starts no container here.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"

need 'a stock ResourceManager answers' rm_start --stock "${node_site[@]}" \
    yarn.resourcemanager.opportunistic-container-allocation.enabled=true \
    yarn.nodemanager.opportunistic-containers-max-queue-length=7 "yarn.nodemanager.webapp.address=127.0.0.1:$node_port"
need "the host's memory can be simulated" node_proc_start 1000 2

# ---- the ResourceManager's data about the node

node_configure
need 'nmd starts' node_start
need 'nmd reports that its node is running' wait_until 30 upstream_is running
check 'the ResourceManager reports the node as RUNNING' wait_until 30 rm_state_is RUNNING
is "the ResourceManager has the node's name, port and version of nmd" \
    "$(of_node '"\(.id) \(.version) \(.nodeHTTPAddress)"')" "node07:$node_port 3.4.2 node07:$node_port"
like 'nmd runs without its web pages if their port is in use' "$(<"$dir/nmd.log")" \
    "yarn.nodemanager.webapp.address: port $node_port: Address already in use; nmd continues"
is 'the node has the memory and vcores of yarn-site.xml' \
    "$(nmctl status --json | jq -c '[(.node.capacity | .memory_bytes, .vcores), .queue.max_length]')" \
    "[$((800 << 20)),2,7]"
is "nmd uses Hadoop's default if yarn-site.xml has no value, and nmctl config says so" "$(nmctl config --json | jq -r '.[] |
    select(.section == "preemption" and .key == "kill-grace") | "\(.value) \(.source)"')" "250ms Hadoop's default"
is 'a message names the property whose default is used' \
    "$(nmctl config --json | jq -r '.[] | select(.section == "node" and .key == "memory") | .source')" \
    "$conf/yarn-site.xml"
is 'the ResourceManager has the same capacity as nmctl status' "$(of_node '"\(.availMemoryMB) \(.availableVirtualCores)"')" \
    "$(nmctl status --json | jq -r '.node.capacity | "\(.memory_bytes / 1048576) \(.vcores)"')"
node_memory 300
node_cpu 1500
uses() { [ "$(of_node '.resourceUtilization | "\(.nodePhysicalMemoryMB) \(.nodeCPUUsage * 10 | round)"')" = "$1" ]; }
check "the ResourceManager has the memory and CPU use of the whole host" wait_until 20 uses '300 15'

# Local containers run on the same node, and the ResourceManager sees their use.
hog g1 -m 700M -c 0.5 -- 150
used_mib() { nmctl status --json | jq -r '[.node.used_by | .guaranteed, .opportunistic | .memory_bytes] | add / 1048576 | floor'; }
same_use() { [ "$(of_node .resourceUtilization.aggregatedContainersPhysicalMemoryMB)" = "$(used_mib)" ] && [ "$(used_mib)" -ge 150 ]; }
check "the ResourceManager has the same use of containers as nmctl status" wait_until 30 same_use
wait_until 20 settled g1
node_memory 900 # over the threshold, so that new opportunistic containers wait
wait_until 10 status_is '.node.machine.memory_available_bytes < 120 * 1048576' true
for i in 1 2 3; do
    submit "o$i" --opportunistic -m 110M -c 0.1 -- sleep 600
done
waits() { [ "$(of_node '"\(.numQueuedContainers) \(.numRunningOpportContainers) \(.usedMemoryOpportGB)"')" = "$1" ]; }
check 'three opportunistic containers wait in the queue' wait_until 10 status_is .queue.length 3
check 'the ResourceManager has the number of queued containers' wait_until 30 waits '3 0 0'
node_memory 300
check 'the ResourceManager has the number and resources of running opportunistic containers' wait_until 30 waits '0 3 1'
is 'no heartbeat has failed' "$(upstream_of .failures)" 0
like 'nmctl status shows the connection to the ResourceManager' "$(nmctl status)" \
    "upstream .*yarn, running: node07:$node_port at 127.0.0.1:${rm_ports[2]}; heartbeat [0-9.a-z]+ ago, answered in [0-9.]"
like "nmctl config names the cluster's file from which a property comes" \
    "$(nmctl config)" "yarn.nodemanager.hostname.*node07.*yarn-site.xml"
at_least "nmd's resident memory is below 12 MiB" "$((12 << 20))" "$(status_of .node.own.rss_bytes)"
metrics=$(curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics)
like 'the metrics report that nmd is connected to the ResourceManager' "$metrics" '^nm_upstream_running 1$'
like 'the metrics have a histogram of the heartbeat times' "$metrics" '^nm_upstream_heartbeat_seconds_count\{kind="yarn"\} [1-9]'
is 'promtool accepts the metrics' "$(promtool check metrics <<<"$metrics" 2>&1)" ''

# ---- a restart of the ResourceManager

rm_kill
check 'nmd reports that the ResourceManager is unreachable' wait_until 30 upstream_is unreachable
like 'nmctl status gives the reason for the lost connection' "$(upstream_of .trouble)" 'refused|reset'
submit later -m 10M -c 0.1 -- sleep 600
check 'containers keep running while the ResourceManager is down' wait_until 10 in_state later RUNNING
is 'nmd logs the lost connection only once' "$(grep -c 'not connected to the ResourceManager at' "$dir/nmd.log")" 1
need 'the ResourceManager is started again' rm_again
check 'the restarted ResourceManager reports the node as RUNNING' wait_until 30 rm_state_is RUNNING
check 'nmd reports that it is connected to the restarted ResourceManager' wait_until 10 upstream_is running
is 'all containers keep running through the restart of the ResourceManager' \
    "$(for c in g1 o1 o2 o3 later; do field_of "$c" .state; done | sort -u)" RUNNING

# ---- a restart of nmd

nmd_kill
need 'nmd starts after a crash' node_start
check 'nmd is connected to the ResourceManager after its own restart' wait_until 30 upstream_is running
is 'the node has the same node id after the restart of nmd' "$(rm_get nodes | jq -r '[.nodes.node[].id] | join(" ")')" "node07:$node_port"
nmd_stop
is 'nmd ends with exit status 0' "$?" 0
check 'nmd unregisters from the ResourceManager when it ends' wait_until 10 rm_state_is SHUTDOWN
node_start
check 'nmd is connected again when it is started after unregistering' wait_until 30 upstream_is running
check 'nmd and the ResourceManager report the node as running' wait_until 30 rm_state_is RUNNING

# ---- decommissioning

echo node07 >"$dir/exclude"
yarn() { [ "$1" = rmadmin ] && rm_admin "${@:2}"; } # like the command in docs/yarn.md
check 'an administrator decommissions the node gracefully' yarn rmadmin -refreshNodes -g 60 -client
unset -f yarn
check 'the node is DECOMMISSIONED, because no container of the cluster runs on it' wait_until 30 rm_state_is DECOMMISSIONED
check 'nmd stops its connection when the node is decommissioned' wait_until 30 upstream_is stopped
like 'nmctl status says that the ResourceManager decommissioned the node' \
    "$(upstream_of .trouble)" '^the ResourceManager told this node to leave the cluster: .*DECOMMISSION'
is 'local containers keep running on the decommissioned node' "$(field_of g1 .state)" RUNNING
nmd_stop
node_start
check 'the ResourceManager refuses an excluded node' wait_until 30 upstream_is stopped
like 'nmctl status says why the ResourceManager refused the node' "$(upstream_of .trouble)" 'Disallowed NodeManager'
check 'nmd is running although the ResourceManager refused the node' nmctl status
kill_all
done_testing
