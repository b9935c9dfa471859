#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
# beside: others
#
# nmscale and partitions, by node labels of a stock ResourceManager: the nodes of each partition that stay, and the demand that counts for
# each partition. A node that is put back or readmitted is in its partition again.
# shellcheck source=tests/packing/nmscale.sh
. "$(dirname "$0")/nmscale.sh"

need 'the ResourceManager starts with two labels' rm_start_labelled gpu ssd
gpu=10240:10:gpu ssd=10240:10:ssd
need 'nine nodes register: four with one label, two with another, three with none' \
    cluster_start 9 $gpu $gpu $gpu $gpu $ssd $ssd 10240:10:
need 'the ResourceManager knows the nodes with the first label' wait_until 30 labelled gpu 4
need 'the ResourceManager knows the nodes with the other label' wait_until 30 labelled ssd 2
# Prints the number of nodes of each partition that can be given back: "gpu 3, ssd 1". The partition without a name is "default".
count='[.nodes[] | select(.give) | if .partition == "" then "default" else .partition end]
    | group_by(.) | map("\(.[0]) \(length)") | join(", ")'
goes() { nms --json --all "$@" | jq -r "$count"; }

# ---- nodes that stay ----
is 'one node of each named partition stays' "$(goes)" 'default 3, gpu 3, ssd 1'
is 'the least useful nodes are named first' "$(reason node04) $(reason node06)" 'min-label min-label'
like 'the reason names the partition' "$(nms --all)" 'node04.*at least 1 of partition gpu must stay'
is 'two nodes of each partition stay with a minimum of two' "$(goes --min-per-label 2)" 'default 3, gpu 2'
is 'all nodes stay with a larger minimum' "$(goes --min-per-label 5)" 'default 3'
is 'no node stays with a minimum of zero' "$(goes --min-per-label 0)" 'default 3, gpu 4, ssd 2'
is 'nodes of all partitions count for the total minimum' "$(nms --min-nodes 7 --json | jq .give)" 2
is 'the JSON has the partition' "$(nms --json --all |
    jq -r '.nodes[] | select(.host == "node01" or .host == "node07") | .partition' | paste -sd,)" 'gpu,'

# ---- partitions in use ----
need 'a container runs on a node with a label' ask_and_settle 1 label=gpu
used=$(nodes_json | jq -r '.[] | select(.containers > 0) | .name')
has_reason() { [ "$(reason "$1")" = "$2" ]; }
check 'the ResourceManager shows the label' wait_until 20 has_reason "$used" in-use
is 'the only node of its partition stays, and all others can be removed' "$(goes --trust-rm)" 'default 3, gpu 3, ssd 1'
release_all
light finish >/dev/null

# ---- demand by partition ----
ask 100 # of which the three without a label hold thirty
need 'more requests wait in the default partition than it has room for' settle 70
is 'labelled nodes are no room for a request without label, so they can be removed' "$(goes --trust-rm)" 'gpu 3, ssd 1'
light cancel >/dev/null
release_all
light finish >/dev/null

need 'a container runs on a node with a label once more' ask_and_settle 1 label=gpu
used=$(nodes_json | jq -r '.[] | select(.containers > 0) | .name')
ask 1 "label=gpu&mb=10240&host=$used&strict=1"
need 'a request as large as the node waits for it' settle 1
check 'an empty node stays only in that partition' wait_until 20 \
    eval '[ "$(goes --trust-rm)" = "default 3, gpu 2, ssd 1" ]'
like 'the reason names the request' "$(nms --trust-rm --all)" 'gpu .*the other nodes have no room for all waiting containers'
light cancel >/dev/null
release_all
light finish >/dev/null

# ---- giving back and readmission ----
all_can_go() { [ "$(goes --min-per-label 0)" = 'default 3, gpu 4, ssd 2' ]; }
need 'all nodes are empty' wait_until 20 all_can_go
forget # so that all have been empty since one look, and go by their names
apply --at-most 1 >"$dir/out" 2>&1
is 'a node with a label is removed' "$? $(state node01)" '0 DECOMMISSIONED'
is 'the node no longer counts for its partition' "$(goes)" 'default 3, gpu 2, ssd 1'
check 'the node is readmitted' "$nmscale" --rm "$rm_web" --readmit node01 -x "$exclude" --rmadmin "$dir/rmadmin"
light 'revive?node=node01' >/dev/null
check 'the node is in its partition again' wait_until 30 labelled gpu 4

hold_on() { ask_and_settle 40 label=gpu && release 40 1 && settle; }
need 'an application leaves data in one partition' hold_on
forget
need 'the nodes of that partition are being decommissioned' begin_apply 3 --trust-rm
is 'all nodes are removed' "$(tr '\n' ' ' <<<"$leaving")" 'node01 node02 node03 '
is 'a partition keeps one node for another nmscale' \
    "$(nms --state "$dir/other.json" --trust-rm --json --all | jq -r '.nodes[] | select(.host == "node04") | .reason')" min-label
kill -INT "$apply_pid"
apply_ends
is 'an interrupt readmits the nodes' "$? $(state node01) $(state node02) $(state node03)" '130 RUNNING RUNNING RUNNING'
check 'the nodes return to their partition' labelled gpu 4
release_all
forget
need 'the nodes of that partition are being decommissioned again' begin_apply 3 --trust-rm
ask 20 label=ssd
need 'more requests than fit arrive in the other partition' eval 'ask 5 label=ssd && settle 5'
is 'demand of another partition readmits no node' \
    "$(state node01) $(state node02) $(state node03)" 'DECOMMISSIONING DECOMMISSIONING DECOMMISSIONING'
ask 11 label=gpu
apply_ends
is 'demand of their partition readmits the nodes' "$? $(grep -c 'put-back$' "$dir/apply.out")" '4 3'
light cancel >/dev/null
release_all
is 'all readmitted nodes take containers' "$(ask_and_settle 40 label=gpu && containers_per_node gpu)" '10 10 10 10'
done_testing
