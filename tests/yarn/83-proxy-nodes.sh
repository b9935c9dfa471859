#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
#
# The proxy for application masters on several nodes. In a mixed cluster, a node of nmd and Hadoop's own NodeManager place
# containers on each other and on a node of nmd without a proxy. Then three nodes of nmd place containers on each other. One of
# these nodes places as many containers per heartbeat as fit.
# shellcheck source=tests/yarn/proxied.sh
. "$(dirname "$0")/proxied.sh"

join() { # N [NAME=VALUE...]
    nmd_node_start "$@" && wait_until 30 node_is "$1" RUNNING
}
with_proxy() { join "$1" "$proxy.address=node0$1:8049" "${@:2}"; } # N [NAME=VALUE...]
without_proxy() { join "$1" "$distributed=false"; }                # N
placed_are() { # NAME N NODES: so many maps of the job were placed by nodes, and they ran on all these nodes
    is "$1: the opportunistic maps have ids from a node, each one only once" "$(placed_by_node numbers "$1")" "$(first_numbers "$2")"
    is "$1: all other containers have ids from the ResourceManager" "$(placed_by_rm numbers "$1")" "$((8 - $2))"
    is "$1: the opportunistic maps ran on all nodes" "$(nodes_with "$1")" "$3"
}

job_deadline=150
node_mb=4096 # no opportunistic container blocks other containers or is run again
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
is 'without a proxy, all containers have ids from the ResourceManager' "$(placed_by_rm numbers direct)" 8
like 'pi without a proxy prints its result' "$(counters direct)" '^Estimated value of Pi is 3\.'
is 'the jobs with a proxy have the same counters as without' "$(for job in ours java; do counters $job; done)" \
    "$(for job in 1 2; do counters direct; done)"
use_node 2
is 'a node without a proxy shows no placements' "$(masters .)" null
use_node 1
is "nmd's proxy counts the containers that it has placed" "$(masters '.placed | add')" 4
near=$(placed_by_node numbers_on 1 ours | tail -n 1)
id=container_$(job_id ours)_01_$near
is "the interface of nmd accepts a container id from a node" \
    "$(curl -sS --unix-socket "$NMD_SOCKET" "http://nmd/v1/containers/$id" | jq -r '"\(.id) \(.execution_type) \(.state)"')" \
    "$id OPPORTUNISTIC COMPLETED"
is "the interface of nmd lists all containers of the application that this node has placed" \
    "$(nmctl list --all --quiet --app "application_$(job_id ours)" | sed 's/.*_//' | sort)" \
    "$(numbers_on 1 ours)"
far=$(placed_by_node numbers_on 4 ours | tail -n 1)
like "explain describes a placement on a Java NodeManager" \
    "$(nmctl explain "container_$(job_id ours)_01_$far")" 'It was placed on node04 because'

# ---- three nodes of nmd ---------------------------------------------------------------------------

java_node_stop 4
nmd_node_stop 2
need 'the Java NodeManager unregisters' wait_until 30 node_is 4 SHUTDOWN
need 'the second node of nmd is restarted with a proxy' with_proxy 2
need 'a third node of nmd joins with fill-nodes = true' with_proxy 3 nmd.distributed-scheduling.fill-nodes=true
jobs_succeed '2 part 40 6' '3 all 100 6'
all='node01 node02 node03'
placed_are part 6 "$all"
placed_are all 6 "$all"
is 'the jobs on three nodes of nmd have the same counters' "$(for job in part all; do counters $job; done)" \
    "$(for job in 1 2; do counters direct; done)"
placed=''
for n in 1 2 3; do
    use_node "$n"
    placed+="$(masters '.placed | add') "
done
is 'each node counts the containers that it has placed' "$placed" '4 6 6 '
use_node 2
at_least 'without fill-nodes, placing all maps takes two heartbeats or more' "$(heartbeats part)" 2
use_node 3
is 'with fill-nodes, placing all maps takes at most two heartbeats' "$([ "$(heartbeats all)" -le 2 ] && echo yes)" yes
done_testing
