#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: others
#
# nmd as a node of a stock ResourceManager: the data that the ResourceManager has of it, and restarts of each of the two.
# The cluster is the one of lib.sh, with Hadoop's default directories, because no container of a cluster is started here.
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
check 'the ResourceManager reports the node as running' wait_until 30 rm_says RUNNING
is "the ResourceManager has the node's name, port and version" \
    "$(of_node '"\(.id) \(.version) \(.nodeHTTPAddress)"')" "node07:$node_port 3.4.2 node07:$node_port"
like 'nmd runs without its pages if their port is in use' "$(<"$dir/nmd.log")" \
    "yarn.nodemanager.webapp.address: port $node_port: Address already in use; nmd continues"
is 'the sizes are those of yarn-site.xml' \
    "$(nmctl status --json | jq -c '[(.node.capacity | .memory_bytes, .vcores), .queue.max_length]')" \
    "[$((800 << 20)),2,7]"
is "Hadoop's default is used where the cluster sets no value, and config says so" "$(nmctl config --json | jq -r '.[] |
    select(.section == "preemption" and .key == "kill-grace") | "\(.value) \(.source)"')" "250ms Hadoop's default"
is 'a message reports the default' "$(nmctl config --json | jq -r '.[] | select(.section == "node" and .key == "memory") | .source')" \
    "$conf/yarn-site.xml"
is 'the ResourceManager has the capacity of nmctl status' "$(of_node '"\(.availMemoryMB) \(.availableVirtualCores)"')" \
    "$(nmctl status --json | jq -r '.node.capacity | "\(.memory_bytes / 1048576) \(.vcores)"')"
node_memory 300
node_cpu 1500
uses() { [ "$(of_node '.resourceUtilization | "\(.nodePhysicalMemoryMB) \(.nodeCPUUsage * 10 | round)"')" = "$1" ]; }
check "the ResourceManager knows the use of the whole host" wait_until 20 uses '300 15'

# Local containers run on the same node, and the ResourceManager sees their use.
hog g1 -m 700M -c 0.5 -- 150
used_mib() { nmctl status --json | jq -r '[.node.used_by | .guaranteed, .opportunistic | .memory_bytes] | add / 1048576 | floor'; }
same_use() { [ "$(of_node .resourceUtilization.aggregatedContainersPhysicalMemoryMB)" = "$(used_mib)" ] && [ "$(used_mib)" -ge 150 ]; }
check "the ResourceManager has the containers' use of nmctl status" wait_until 30 same_use
wait_until 20 settled g1
node_memory 900 # over the threshold: who comes now waits
wait_until 10 status_is '.node.machine.memory_available_bytes < 120 * 1048576' true
for i in 1 2 3; do
    submit "o$i" --opportunistic -m 110M -c 0.1 -- sleep 600
done
waits() { [ "$(of_node '"\(.numQueuedContainers) \(.numRunningOpportContainers) \(.usedMemoryOpportGB)"')" = "$1" ]; }
check 'three containers wait' wait_until 10 status_is .queue.length 3
check 'the ResourceManager knows the waiting containers' wait_until 30 waits '3 0 0'
node_memory 300
check 'running containers are counted in the units of the ResourceManager' wait_until 30 waits '0 3 1'
is 'no heartbeat has failed' "$(upstream_of .failures)" 0
like 'nmctl status shows the ResourceManager' "$(nmctl status)" \
    "upstream .*yarn, running: node07:$node_port at 127.0.0.1:${rm_ports[2]}; heartbeat [0-9.a-z]+ ago, answered in [0-9.]"
like 'nmctl config names the file of a property' "$(nmctl config)" "yarn.nodemanager.hostname.*node07.*yarn-site.xml"
at_least 'nmd is smaller than 12 MiB' "$((12 << 20))" "$(status_of .node.own.rss_bytes)"
metrics=$(curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics)
like 'the metrics report the connection as running' "$metrics" '^nm_upstream_running 1$'
like 'the metrics have a histogram of the heartbeats' "$metrics" '^nm_upstream_heartbeat_seconds_count\{kind="yarn"\} [1-9]'
is 'promtool accepts the metrics' "$(promtool check metrics <<<"$metrics" 2>&1)" ''

# ---- a restart of the ResourceManager

rm_kill
check 'nmd reports that the ResourceManager is unreachable' wait_until 30 upstream_is unreachable
like 'status has the reason' "$(upstream_of .trouble)" 'refused|reset'
submit later -m 10M -c 0.1 -- sleep 600
check 'containers keep running' wait_until 10 in_state later RUNNING
is 'the log has the message once' "$(grep -c 'not connected to the ResourceManager at' "$dir/nmd.log")" 1
need 'the ResourceManager comes back' rm_again
check 'the ResourceManager has the node again' wait_until 30 rm_says RUNNING
check 'nmd reports that it is connected' wait_until 10 upstream_is running
is 'the containers were not disturbed' "$(for c in g1 o1 o2 o3 later; do field_of "$c" .state; done | sort -u)" RUNNING

# ---- a restart of nmd

nmd_kill
need 'nmd starts after a crash' node_start
check 'the node is running after the restart of nmd' wait_until 30 upstream_is running
is 'the node has the same id' "$(rm_get nodes | jq -r '[.nodes.node[].id] | join(" ")')" "node07:$node_port"
nmd_stop
is 'nmd ends with status 0' "$?" 0
check 'nmd signs off' wait_until 10 rm_says SHUTDOWN
node_start
check 'the node returns after signing off' wait_until 30 upstream_is running
check 'nmd and the ResourceManager report the node as running' wait_until 30 rm_says RUNNING

# ---- the end of a node

echo node07 >"$dir/exclude"
yarn() { [ "$1" = rmadmin ] && rm_admin "${@:2}"; } # as docs/yarn.md has it
check 'the node is to be decommissioned gracefully' yarn rmadmin -refreshNodes -g 60 -client
unset -f yarn
check 'the decommissioning ends, because no container of the cluster runs' wait_until 30 rm_says DECOMMISSIONED
check 'nmd is told about the decommissioning' wait_until 30 upstream_is stopped
like 'status gives the reason' "$(upstream_of .trouble)" '^the ResourceManager told this node to leave the cluster: .*DECOMMISSION'
is 'local containers keep running' "$(field_of g1 .state)" RUNNING
nmd_stop
node_start
check 'an excluded node is refused' wait_until 30 upstream_is stopped
like 'status gives the reason of the refusal' "$(upstream_of .trouble)" 'Disallowed NodeManager'
check 'nmd itself still runs' nmctl status
kill_all
done_testing
