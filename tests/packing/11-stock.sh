#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# The same as 10-example without packing. It shows that the policy causes the results of 10-example.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

need 'the ResourceManager starts without the policy' rm_start --stock
need 'ten light nodes register' cluster_start 10 10240:10
check 'the scheduler places 20 containers' ask_and_settle 20
# Each heartbeat places one container on its node. A node with a late heartbeat may have one container fewer.
at_least 'without packing, the containers are on at least nine nodes' "$(($(nodes_json | jq length) - $(empty_nodes)))" 9
for round in {1..8}; do
    churn "$round" || break
done
most=$(empty_nodes)
check "without packing, at most four nodes are empty after eight rounds of churn ($most)" test "$most" -le 4
done_testing
