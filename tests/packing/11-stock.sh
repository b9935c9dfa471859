#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# The same without packing, so that the facts of 10-example are known to be the policy's.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

need 'the ResourceManager starts without the policy' rm_start --stock
need 'ten light nodes register' cluster_start 10 10240:10
check '20 containers are placed' ask_and_settle 20
# Each heartbeat places one on its node; a node whose heartbeat came late may have one fewer.
at_least 'they are on nine nodes at least' "$(($(nodes_json | jq length) - $(empty_nodes)))" 9
for round in {1..8}; do
    churn "$round" || break
done
most=$(empty_nodes)
check "after eight rounds of churn at most four nodes are empty ($most)" test "$most" -le 4
done_testing
