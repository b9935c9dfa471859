#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# The defaults (60 %, 5 nodes) with changing nodes: too few nodes, a busy, an unhealthy and a decommissioning node, and nodes of
# different sizes.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

need 'the ResourceManager starts with the policy' rm_start
need 'four light nodes register' cluster_start 4 10240:10
check '20 containers are placed on fewer nodes than the minimum' ask_and_settle 20
is 'with fewer nodes than the minimum, containers are spread evenly' "$(containers_per_node)" '5 5 5 5'
check 'all containers can be released' release_all
for i in 05 06 07 08 09 10; do
    node_add node$i 10240:10 >/dev/null
done
check 'six more nodes join' nodes_running 10
check '20 containers are placed on ten nodes' ask_and_settle 20
is 'with enough nodes, containers are packed to 60 % of each node' "$(containers_per_node)" '6 6 6 2 0 0 0 0 0 0'

# ---- a busy node ------------------------------------------------------------------------------------------------
medium() { nodes_json | jq -r '.[] | select(.containers == 2) | .name'; }
rm_has() { # NODE JQ-CONDITION
    rm_get "nodes/$1:20000" | jq -e ".node | $2" | grep -q true
}
hot=$(medium)
node_set "$hot" 'containers_mb=2048&node_mb=9300'
wait_until 30 rm_has "$hot" '.resourceUtilization.nodePhysicalMemoryMB == 9300'
check 'four containers are placed while a node with two containers reports 90 % use' ask_and_settle 4
is 'no container is placed on the busy node' "$(containers_on "$hot")" 2
is 'the four containers are placed on an empty node' "$(containers_per_node)" '6 6 6 4 2 0 0 0 0 0'
node_set "$hot" 'containers_mb=2048&node_mb=2500'
wait_until 30 rm_has "$hot" '.resourceUtilization.nodePhysicalMemoryMB == 2500'
check 'six containers are placed after the node is not busy any more' ask_and_settle 6
is 'the node that is not busy any more gets containers' "$(containers_per_node)" '6 6 6 6 6 0 0 0 0 0'
check 'all containers can be released again' release_all

# ---- an unhealthy node ------------------------------------------------------------------------------------------
check 'two containers are placed on one node' ask_and_settle 2
ill=$(medium)
node_set "$ill" healthy=false
wait_until 30 rm_has "$ill" '.state == "UNHEALTHY"'
is 'this node reports that it is unhealthy' "$(rm_nodes UNHEALTHY)" "$ill"
check 'three containers are placed while this node is unhealthy' ask_and_settle 3
others() { nodes_json | jq -r --arg ill "$ill" '[.[] | select(.name != $ill) | .containers] | sort | reverse | join(" ")'; }
is 'the three containers are on one other node' "$(others)" '3 0 0 0 0 0 0 0 0'
node_set "$ill" healthy=true
wait_until 30 nodes_running 10
check "the containers of the other nodes can be released" release_all

# ---- a decommissioning node -------------------------------------------------------------------------------------
check 'two containers are placed on a node that will be decommissioned' ask_and_settle 2
going=$(medium)
echo "$going" >"$dir/exclude"
check 'the decommissioning of this node starts' rm_admin -refreshNodes -g 300 -server
wait_until 30 rm_has "$going" '.state == "DECOMMISSIONING"'
check 'three containers are placed during the decommissioning' ask_and_settle 3
is 'no container is placed on the decommissioning node' "$(containers_on "$going")" 2
is 'the three containers are placed on one other node' "$(containers_per_node)" '3 2 0 0 0 0 0 0 0 0'
: >"$dir/exclude"
check 'the decommissioning can be cancelled' rm_admin -refreshNodes
wait_until 30 nodes_running 10
check 'one container is placed after the cancellation' ask_and_settle 1
is 'the container is placed on the node with the most containers' "$(containers_per_node)" '4 2 0 0 0 0 0 0 0 0'
check 'two more containers are placed after the cancellation' ask_and_settle 2
check 'another two containers are placed after the cancellation' ask_and_settle 2
is 'the node whose decommissioning was cancelled gets containers again' "$(containers_on "$going")" 4
check 'all containers are released after the cancellation' release_all

# ---- nodes of different sizes -----------------------------------------------------------------------------------
node_add node11 20480:20 >/dev/null
node_add node12 10240:10 >/dev/null
check 'a node of twice the size and a small node join' nodes_running 12
check 'the capacity of the small node can be set to zero' rm_admin -updateNodeResource node12:20000 0 0
wait_until 30 rm_has node12 '.availMemoryMB == 0'
check '72 containers are placed on nodes of different sizes' ask_and_settle 72
is 'each node is filled to 60 % of its own size' "$(containers_per_node)" '12 6 6 6 6 6 6 6 6 6 6 0'
is 'the large node has twice as many containers' "$(containers_on node11)" 12
is 'the node without capacity has no containers' "$(containers_on node12)" 0
check 'eight more containers are placed on nodes of different sizes' ask_and_settle 8
release 4 1 host=node11
check 'four containers of the large node end' settle
# The policy's order of nodes ends with small nodes, and the scheduler makes a reservation on the last node of the order.
ask 1 'mb=15360&vcores=1'
reserved() { rm_get metrics | jq -r '.clusterMetrics.reservedMB' | grep -qx "$1"; }
wait_until 30 reserved 15360
check 'a request that fits only on the large node gets a reservation there' reserved 15360
release 20 2 host=node11
check 'the reserved request is placed when the large node has enough resources' settle
is 'the container of the reserved request is on the large node' "$(containers_on node11)" 1
done_testing
