#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
#
# The proxy of application masters on several nodes. In a mixed cluster, a node of nmd and Hadoop's own NodeManager place containers on
# each other and on a node of nmd without a proxy. Then three nodes of nmd place containers on each other, and one of them places as many
# per heartbeat as there is room for.
# shellcheck source=tests/yarn/proxied.sh
. "$(dirname "$0")/proxied.sh"

join() { # N [NAME=VALUE...]
    nmd_node_start "$@" && wait_until 30 node_is "$1" RUNNING
}
with_proxy() { join "$1" "$proxy.address=node0$1:8049" "${@:2}"; } # N [NAME=VALUE...]
without_proxy() { join "$1" "$distributed=false"; }                # N
placed_are() { # NAME N NODES: so many of a job's maps, on all of these
    is "$1: a node has numbered its opportunistic maps, each once" "$(placed_by_node numbers "$1")" "$(first_numbers "$2")"
    is "$1: the ResourceManager has numbered the others, the reduce and the master" "$(placed_by_rm numbers "$1")" "$((8 - $2))"
    is "$1: the maps ran on all nodes" "$(nodes_with "$1")" "$3"
}

job_deadline=150
node_mb=4096 # nothing opportunistic is in the way of others, and tried again
need 'a cluster can be configured' jobs_configure "$distributed=true" \
    yarn.resourcemanager.nm-container-queuing.sorting-nodes-interval-ms=200
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 8192 8

# ---- a mixed cluster ------------------------------------------------------------------------------

java_node_start 4 "$proxy.address=node04:8049"
need 'one node of nmd has a proxy' with_proxy 1
need 'another node of nmd has no proxy' without_proxy 2
need "the Hadoop node has a proxy" wait_until 60 node_is 4 RUNNING
jobs_succeed '1 ours 4 6' '4 java 100 6' "2 direct 40 6 127.0.0.1:${rm_ports[1]}"
all='node01 node02 node04'
placed_are ours 4 "$all"
placed_are java 6 "$all"
is 'without a proxy the ResourceManager numbers all containers' "$(placed_by_rm numbers direct)" 8
like 'pi ends with a result' "$(counters direct)" '^Estimated value of Pi is 3\.'
is 'all jobs have the same counters' "$(for job in ours java; do counters $job; done)" \
    "$(for job in 1 2; do counters direct; done)"
use_node 2
is 'a node without a proxy shows no placements' "$(masters .)" null
use_node 1
is "nmd's proxy has placed the containers of its own masters" "$(masters '.placed | add')" 4
near=$(placed_by_node numbers_on 1 ours | tail -n 1)
id=container_$(job_id ours)_01_$near
is "nmd's interface knows a container by its number" \
    "$(curl -sS --unix-socket "$NMD_SOCKET" "http://nmd/v1/containers/$id" | jq -r '"\(.id) \(.execution_type) \(.state)"')" \
    "$id OPPORTUNISTIC COMPLETED"
is "nmd's interface has all containers of the application that were placed by it" \
    "$(nmctl list --all --quiet --app "application_$(job_id ours)" | sed 's/.*_//' | sort)" \
    "$(numbers_on 1 ours)"
far=$(placed_by_node numbers_on 4 ours | tail -n 1)
like "explain describes a placement on a Hadoop node" \
    "$(nmctl explain "container_$(job_id ours)_01_$far")" 'It was placed on node04 because'

# ---- three nodes of nmd ---------------------------------------------------------------------------

java_node_stop 4
nmd_node_stop 2
need 'the Java NodeManager leaves' wait_until 30 node_is 4 SHUTDOWN
need 'the other node of nmd gets a proxy' with_proxy 2
need 'a third node of nmd joins, which fills nodes' with_proxy 3 nmd.distributed-scheduling.fill-nodes=true
jobs_succeed '2 part 40 6' '3 all 100 6'
all='node01 node02 node03'
placed_are part 6 "$all"
placed_are all 6 "$all"
is 'all jobs have the same counters as before' "$(for job in part all; do counters $job; done)" \
    "$(for job in 1 2; do counters direct; done)"
placed=''
for n in 1 2 3; do
    use_node "$n"
    placed+="$(masters '.placed | add') "
done
is 'each node counts what it has placed' "$placed" '4 6 6 '
use_node 2
at_least 'a job takes two heartbeats or more if each node gets one container in each' "$(heartbeats part)" 2
use_node 3
is 'a job takes at most two heartbeats if nodes may be filled' "$([ "$(heartbeats all)" -le 2 ] && echo yes)" yes
done_testing
