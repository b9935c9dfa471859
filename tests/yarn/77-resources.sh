#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# A countable resource of the cluster (resource-types.xml) that a node offers (node-resources.xml): the stock ResourceManager has
# the node's amount, and containers that request it are accounted on the node.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
jobs_fs=local

need 'the cluster is configured' jobs_configure "yarn.application.classpath=$conf,$shared/lib/*" \
    "$cs.resource-calculator=org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
write_conf "$conf/resource-types.xml" yarn.resource-types=license yarn.resource-types.license.units=k
write_conf "$conf/node-resources.xml" yarn.nodemanager.resource-type.license=2000
chmod -R a+rX "$conf"
need 'a ResourceManager with the resource answers' rm_again
own=$shared/node1
need 'node 1 starts' nmd_node_start 1
check 'node 1 is registered' wait_until 60 node_is 1 RUNNING

at_rm() { # RESOURCE
    rm_get nodes | jq -r ".nodes.node[0].$1.resourceInformations.resourceInformation[] |
        select(.name == \"license\") | \"\(.value)\(.units)\""
}
used_are() { [ "$(at_rm usedResource)" = "$1" ]; } # AMOUNT
of_resource() { nmctl status --json | jq -c '.upstream.resources[0] | [.name, .units, .amount, .guaranteed, .opportunistic]'; }
resource_is() { [ "$(of_resource)" = "$1" ]; } # JSON
is "the ResourceManager has the node's amount in the units of the type" "$(at_rm totalResource)" 2k
is 'nmctl status --json has the amount' "$(of_resource)" '["license","k",2,0,0]'
like 'nmctl config shows the amount and its file' "$(nmctl config)" 'resource-type.license.*2000.*node-resources.xml'

shell_begin licensed -shell_command "$(until_file go)" -num_containers 2 -container_resources memory-mb=128,vcores=1,license=1
check 'both containers run' wait_until 90 run_now licensed 2
is 'nmctl status has the sum of both containers' "$(of_resource)" '["license","k",2,2,0]'
like 'nmctl status shows the sum' "$(nmctl status)" '^resources +license: 2k of 2k allocated$'
check 'the ResourceManager has the same sum' wait_until 20 used_are 2k
nmd_node_kill() { end_process "${nmd_nodes[1]}" KILL; }
nmd_node_kill
need 'node 1 starts again after a crash' nmd_node_start 1
check 'the sum survives the restart' wait_until 60 resource_is '["license","k",2,2,0]'
let_go go
ends_well licensed
check 'the ends of the containers release the resource' wait_until 30 resource_is '["license","k",2,0,0]'
check 'the ResourceManager has released the resource' wait_until 30 used_are 0k
done_testing
