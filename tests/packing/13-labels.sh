#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
#
# Partitions: the policy packs each partition separately, with its own number of nodes.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

need 'the ResourceManager starts with two labels' rm_start_labelled gpu ssd
gpu=10240:10:gpu ssd=10240:10:ssd
need '16 nodes register: six with one label, four with another, six with none' \
    cluster_start 16 $gpu $gpu $gpu $gpu $gpu $gpu $ssd $ssd $ssd $ssd 10240:10:
need 'the scheduler knows all six of one label' wait_until 60 chooses_from gpu 6
need 'the scheduler knows all four of the other label' wait_until 60 chooses_from ssd 4
need 'the scheduler knows all six without label' wait_until 60 chooses_from '' 6
check 'nine containers are placed in each partition' ask 9 label=gpu
ask 9 label=ssd
ask 9
check 'all containers run' settle
is 'the containers in the partition of six nodes are packed' "$(containers_per_node gpu)" '6 3 0 0 0 0'
is 'the containers in the partition of four nodes are spread' "$(containers_per_node ssd)" '3 2 2 2'
is 'nodes without a label are a partition too' "$(containers_per_node '')" '6 3 0 0 0 0'
check 'nine more containers are placed in one partition' ask_and_settle 9 label=gpu
is 'the other partitions are unchanged' "$(containers_per_node gpu), $(containers_per_node '')" '6 6 6 0 0 0, 6 3 0 0 0 0'
done_testing
