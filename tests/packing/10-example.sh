#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
#
# The published example: 10 nodes of 10 slots, 20 requests, threshold 80 %. Then the cluster is filled, emptied, filled with
# more requests than it has slots, and goes through eight rounds of churn.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

need 'the ResourceManager starts with the policy' rm_start "$pack_policy.pack.high-threshold=80"
need 'ten light nodes register' cluster_start 10 10240:10
check 'the scheduler places 20 containers' ask_and_settle 20
is 'two nodes have eight containers, and one node has four' "$(containers_per_node)" '8 8 4 0 0 0 0 0 0 0'
is 'seven nodes are empty' "$(empty_nodes)" 7
is 'the used nodes are used to 67 % on average' \
    "$(nodes_json | jq '[.[] | select(.containers > 0)] | (map(.used_mb) | add) / (map(.mb) | add) * 100 | round')" 67
is 'the ResourceManager has the same counts as the nodes' \
    "$(rm_get nodes | jq -r '[.nodes.node[].numContainers] | sort | reverse | join(" ")')" '8 8 4 0 0 0 0 0 0 0'

empties=''
for round in {1..8}; do
    churn "$round" || break
    empties+="$(empty_nodes) "
done
is 'seven nodes stay empty in eight rounds of churn (8 random containers end, 8 are requested)' "$empties" '7 7 7 7 7 7 7 7 '

check '60 more containers fit below the threshold' ask_and_settle 60
is 'all nodes are filled to the threshold before a node exceeds it' "$(containers_per_node)" '8 8 8 8 8 8 8 8 8 8'
check '20 containers fit above the threshold' ask_and_settle 20
is 'a full cluster has no free slot' "$(containers_per_node)" '10 10 10 10 10 10 10 10 10 10'
ask 3
check 'three more containers wait for a slot' settle 3
check 'a waiting container is placed when another container ends' release 1 1
check 'two containers still wait' settle 2
light cancel >/dev/null
check 'all containers can be released' release_all
is 'all nodes are empty after the release' "$(empty_nodes)" 10
done_testing
