#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
#
# Partitions: the policy packs each partition separately, and counts the nodes of each partition separately.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

need 'the ResourceManager starts with two labels' rm_start_labelled gpu ssd
gpu=10240:10:gpu ssd=10240:10:ssd
need '16 nodes register: six with label gpu, four with label ssd, six without a label' \
    cluster_start 16 $gpu $gpu $gpu $gpu $gpu $gpu $ssd $ssd $ssd $ssd 10240:10:
need 'the scheduler knows all six nodes with label gpu' wait_until 60 chooses_from gpu 6
need 'the scheduler knows all four nodes with label ssd' wait_until 60 chooses_from ssd 4
need 'the scheduler knows all six nodes without a label' wait_until 60 chooses_from '' 6
check 'nine containers are requested in each partition' ask 9 label=gpu
ask 9 label=ssd
ask 9
check 'the containers of all partitions are placed' settle
is 'containers are packed in partition gpu with six nodes' "$(containers_per_node gpu)" '6 3 0 0 0 0'
is 'containers are spread in partition ssd, which has fewer nodes than the minimum' "$(containers_per_node ssd)" '3 2 2 2'
is 'nodes without a label are a partition too, and containers are packed in it' "$(containers_per_node '')" '6 3 0 0 0 0'
check 'nine more containers are placed in partition gpu' ask_and_settle 9 label=gpu
is 'the other partitions do not affect partition gpu, and are unchanged' \
    "$(containers_per_node gpu), $(containers_per_node '')" '6 6 6 0 0 0, 6 3 0 0 0 0'
done_testing
