#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# The defaults (60 %, 5 nodes) with changing nodes: too few nodes, a hot, an unhealthy and a decommissioning node, and nodes of different
# sizes.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

need 'the ResourceManager starts with the policy' rm_start
need 'four light nodes register' cluster_start 4 10240:10
check 'with fewer nodes than the minimum, 20 containers are placed' ask_and_settle 20
is 'evenly' "$(containers_per_node)" '5 5 5 5'
check 'they are given back' release_all
for i in 05 06 07 08 09 10; do
    node_add node$i 10240:10 >/dev/null
done
check 'six more nodes come' nodes_running 10
check '20 containers are placed' ask_and_settle 20
is 'now they are packed, to 60 %' "$(containers_per_node)" '6 6 6 2 0 0 0 0 0 0'

# ---- a hot node -------------------------------------------------------------------------------------------------
medium() { nodes_json | jq -r '.[] | select(.containers == 2) | .name'; }
rm_has() { # NODE JQ-CONDITION
    rm_get "nodes/$1:20000" | jq -e ".node | $2" | grep -q true
}
hot=$(medium)
node_set "$hot" 'containers_mb=2048&node_mb=9300'
wait_until 30 rm_has "$hot" '.resourceUtilization.nodePhysicalMemoryMB == 9300'
check 'the node with two containers is at 90 % by its own report: four more are placed' ask_and_settle 4
is 'none of them there' "$(containers_on "$hot")" 2
is 'but on an empty one' "$(containers_per_node)" '6 6 6 4 2 0 0 0 0 0'
node_set "$hot" 'containers_mb=2048&node_mb=2500'
wait_until 30 rm_has "$hot" '.resourceUtilization.nodePhysicalMemoryMB == 2500'
check 'it has cooled down: six more are placed' ask_and_settle 6
is 'there too' "$(containers_per_node)" '6 6 6 6 6 0 0 0 0 0'
check 'they are given back' release_all

# ---- an unhealthy node ------------------------------------------------------------------------------------------
check 'two containers are placed' ask_and_settle 2
ill=$(medium)
node_set "$ill" healthy=false
wait_until 30 rm_has "$ill" '.state == "UNHEALTHY"'
is 'a node says that it is ill' "$(rm_nodes UNHEALTHY)" "$ill"
check 'three containers are placed' ask_and_settle 3
others() { nodes_json | jq -r --arg ill "$ill" '[.[] | select(.name != $ill) | .containers] | sort | reverse | join(" ")'; }
is 'on another' "$(others)" '3 0 0 0 0 0 0 0 0'
node_set "$ill" healthy=true
wait_until 30 nodes_running 10
check 'all are given back' release_all

# ---- a decommissioning node -------------------------------------------------------------------------------------
check 'two containers are placed' ask_and_settle 2
going=$(medium)
echo "$going" >"$dir/exclude"
check 'their node is to be decommissioned' rm_admin -refreshNodes -g 300 -server
wait_until 30 rm_has "$going" '.state == "DECOMMISSIONING"'
check 'three containers are placed' ask_and_settle 3
is 'none of them there' "$(containers_on "$going")" 2
is 'but together' "$(containers_per_node)" '3 2 0 0 0 0 0 0 0 0'
: >"$dir/exclude"
check 'it may stay' rm_admin -refreshNodes
wait_until 30 nodes_running 10
check 'one more is placed' ask_and_settle 1
is 'the fuller node gets it' "$(containers_per_node)" '4 2 0 0 0 0 0 0 0 0'
check 'two more are placed' ask_and_settle 2
check 'and two' ask_and_settle 2
is 'and then the one that stayed' "$(containers_on "$going")" 4
check 'all are given back' release_all

# ---- nodes of different sizes -----------------------------------------------------------------------------------
node_add node11 20480:20 >/dev/null
node_add node12 10240:10 >/dev/null
check 'a node of twice the size comes, and one more' nodes_running 12
check 'which is left nothing to give away' rm_admin -updateNodeResource node12:20000 0 0
wait_until 30 rm_has node12 '.availMemoryMB == 0'
check '72 containers are placed' ask_and_settle 72
is 'each node is filled to 60 % of its own size' "$(containers_per_node)" '12 6 6 6 6 6 6 6 6 6 6 0'
is 'the large one with twice as many' "$(containers_on node11)" 12
is 'and the one without capacity with none' "$(containers_on node12)" 0
check 'eight more are placed' ask_and_settle 8
release 4 1 host=node11
check 'and four of the large node end' settle
# The order of nodes ends with small ones, and the scheduler makes a reservation on the last node of the order.
ask 1 'mb=15360&vcores=1'
reserved() { rm_get metrics | jq -r '.clusterMetrics.reservedMB' | grep -qx "$1"; }
wait_until 30 reserved 15360
check 'what only the large node can hold, and not now, has room reserved there' reserved 15360
release 20 2 host=node11
check 'and runs when there is enough' settle
is 'on the large node' "$(containers_on node11)" 1
done_testing
