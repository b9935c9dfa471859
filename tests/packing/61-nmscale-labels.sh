#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
# beside: others
#
# nmscale and partitions, by node labels of a stock ResourceManager. Tests how many nodes of each partition stay, and which
# demand counts for each partition. A node that is put back or readmitted is in its partition again.
# shellcheck source=tests/packing/nmscale.sh
. "$(dirname "$0")/nmscale.sh"

need 'the ResourceManager starts with two labels' rm_start_labelled gpu ssd
gpu=10240:10:gpu ssd=10240:10:ssd
need 'nine nodes register: four with label gpu, two with label ssd, three without a label' \
    cluster_start 9 $gpu $gpu $gpu $gpu $ssd $ssd 10240:10:
need 'the ResourceManager knows the nodes with label gpu' wait_until 30 labelled gpu 4
need 'the ResourceManager knows the nodes with label ssd' wait_until 30 labelled ssd 2
# Prints the number of nodes of each partition that can be removed, such as "gpu 3, ssd 1". The partition without a name is
# "default".
count='[.nodes[] | select(.give) | if .partition == "" then "default" else .partition end]
    | group_by(.) | map("\(.[0]) \(length)") | join(", ")'
goes() { nms --json --all "$@" | jq -r "$count"; }

# ---- nodes that stay ----
is 'one node of each named partition stays' "$(goes)" 'default 3, gpu 3, ssd 1'
is 'the last node of each partition stays' "$(reason node04) $(reason node06)" 'min-label min-label'
like 'the reason names the partition and its minimum' "$(nms --all)" 'node04.*at least 1 of partition gpu must stay'
is 'with --min-per-label 2, two nodes of each named partition stay' "$(goes --min-per-label 2)" 'default 3, gpu 2'
is 'with a minimum larger than the partitions, all nodes of named partitions stay' "$(goes --min-per-label 5)" 'default 3'
is 'with --min-per-label 0, no node must stay' "$(goes --min-per-label 0)" 'default 3, gpu 4, ssd 2'
is '--min-nodes counts the nodes of all partitions together' "$(nms --min-nodes 7 --json | jq .give)" 2
is 'the JSON has the partition of each node' "$(nms --json --all |
    jq -r '.nodes[] | select(.host == "node01" or .host == "node07") | .partition' | paste -sd,)" 'gpu,'

# ---- partitions in use ----
need 'a container runs on a node of partition gpu' ask_and_settle 1 label=gpu
used=$(nodes_json | jq -r '.[] | select(.containers > 0) | .name')
has_reason() { [ "$(reason "$1")" = "$2" ]; }
check 'nmscale reports this node as in use' wait_until 20 has_reason "$used" in-use
is 'the node in use is the node of partition gpu that stays' "$(goes --trust-rm)" 'default 3, gpu 3, ssd 1'
release_all
light finish >/dev/null

# ---- demand by partition ----
ask 100 # the three nodes without a label have thirty slots
need '70 requests wait in the default partition' settle 70
is "requests of the default partition can't use labelled nodes, so that labelled nodes can be removed" "$(goes --trust-rm)" 'gpu 3, ssd 1'
light cancel >/dev/null
release_all
light finish >/dev/null

need 'a container runs on a node of partition gpu again' ask_and_settle 1 label=gpu
used=$(nodes_json | jq -r '.[] | select(.containers > 0) | .name')
ask 1 "label=gpu&mb=10240&host=$used&strict=1"
need 'a request of the size of a whole node waits in partition gpu' settle 1
check 'empty nodes stay only in the partition with the waiting request' wait_until 20 \
    eval '[ "$(goes --trust-rm)" = "default 3, gpu 2, ssd 1" ]'
like 'the reason names the waiting request' "$(nms --trust-rm --all)" 'gpu .*the other nodes have no room for all waiting containers'
light cancel >/dev/null
release_all
light finish >/dev/null

# ---- removal and readmission ----
all_can_go() { [ "$(goes --min-per-label 0)" = 'default 3, gpu 4, ssd 2' ]; }
need 'all nodes are empty' wait_until 20 all_can_go
remove_state # so that all nodes are empty since the same observation, and nmscale sorts them by name
apply --at-most 1 >"$dir/out" 2>&1
is 'nmscale --apply removes a node of partition gpu' "$? $(state node01)" '0 DECOMMISSIONED'
is 'the removed node does not count for its partition' "$(goes)" 'default 3, gpu 2, ssd 1'
check 'nmscale --readmit readmits the node' "$nmscale" --rm "$rm_web" --readmit node01 -x "$exclude" --rmadmin "$dir/rmadmin"
light 'revive?node=node01' >/dev/null
check 'the readmitted node is in its partition again' wait_until 30 labelled gpu 4

leave_data() { ask_and_settle 40 label=gpu && release 40 1 && settle; }
need 'an application leaves data on the nodes of partition gpu' leave_data
remove_state
need 'three nodes of partition gpu are DECOMMISSIONING' begin_apply 3 --trust-rm
is 'the DECOMMISSIONING nodes are the first three of partition gpu' "$(tr '\n' ' ' <<<"$leaving")" 'node01 node02 node03 '
is 'another nmscale does not remove the last node of the partition' \
    "$(nms --state "$dir/other.json" --trust-rm --json --all | jq -r '.nodes[] | select(.host == "node04") | .reason')" min-label
kill -INT "$apply_pid"
apply_ends
is 'an interrupt puts the nodes back' "$? $(state node01) $(state node02) $(state node03)" '130 RUNNING RUNNING RUNNING'
check 'the nodes that were put back are in their partition again' labelled gpu 4
release_all
remove_state
need 'three nodes of partition gpu are DECOMMISSIONING again' begin_apply 3 --trust-rm
ask 20 label=ssd
need 'requests wait in partition ssd' eval 'ask 5 label=ssd && settle 5'
is 'requests that wait in partition ssd put no node of partition gpu back' \
    "$(state node01) $(state node02) $(state node03)" 'DECOMMISSIONING DECOMMISSIONING DECOMMISSIONING'
ask 11 label=gpu
apply_ends
is 'requests that wait in partition gpu put its nodes back' "$? $(grep -c 'put-back$' "$dir/apply.out")" '4 3'
light cancel >/dev/null
release_all
is 'all nodes that were put back get containers' "$(ask_and_settle 40 label=gpu && containers_per_node gpu)" '10 10 10 10'
done_testing
