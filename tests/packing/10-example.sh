#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# The published example: 10 nodes of 10 slots, 20 requests, threshold 80 %.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

need 'the ResourceManager starts with the policy' rm_start "$pack_policy.pack.high-threshold=80"
need 'ten light nodes register' cluster_start 10 10240:10
check '20 containers are placed' ask_and_settle 20
is 'two nodes have 8, one has 4' "$(containers_per_node)" '8 8 4 0 0 0 0 0 0 0'
is 'seven nodes are empty' "$(empty_nodes)" 7
done_testing
