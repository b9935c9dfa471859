#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
#
# The ResourceManager is killed and restarted: nodes register with their running containers, and the policy continues to pack.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

need 'the ResourceManager starts with recovery' rm_start "$pack_policy.pack.high-threshold=80" \
    "${rm_remembers[@]}"
need 'ten light nodes register' cluster_start 10 10240:10
check 'the scheduler places 20 containers' ask_and_settle 20
where=$(nodes_json | jq -c '[.[] | [.name, .containers]]')
app=$(light apps | jq -r '.[0].id')
rm_kill
ask 8
need 'the ResourceManager is killed and started again' rm_again
need 'all nodes register with the restarted ResourceManager' nodes_running 10
check 'containers that were requested during the outage are placed' settle
is 'after the restart, containers are packed on nodes that already have containers' "$(containers_per_node)" '8 8 8 4 0 0 0 0 0 0'
is 'the restart loses no container' "$(light apps | jq -c '.[0] | [.held, .lost]')" '[28,0]'
is 'each node still has its earlier containers' "$(nodes_json | jq -c --argjson before "$where" \
    '[.[] | [.name, .containers]] as $now | [range(10) | $now[.][1] >= $before[.][1]] | all')" true
is 'after the restart, the ResourceManager has the same number of containers per node as the nodes' \
    "$(rm_get nodes | jq -r '[.nodes.node[].numContainers] | sort | reverse | join(" ")')" '8 8 8 4 0 0 0 0 0 0'
is 'the application is still running after the restart' "$(rm_get apps | jq -r '.apps.app[] | select(.state == "RUNNING") | .id')" "$app"
check 'four more containers are placed after the restart' ask_and_settle 4
is 'these four containers are packed on used nodes' "$(containers_per_node)" '8 8 8 8 0 0 0 0 0 0'
done_testing
