#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
#
# The proxy for application masters, with a stock ResourceManager and real jobs on one node. Calls of masters go through the
# proxy. With distributed scheduling, the node itself places opportunistic maps: one per heartbeat, or all in one heartbeat if
# this is configured.
# shellcheck source=tests/yarn/proxied.sh
. "$(dirname "$0")/proxied.sh"

job_deadline=150
node_mb=6144 # enough for two jobs, so that no opportunistic container is killed and run again
need 'a cluster can be configured' jobs_configure "$distributed=true"
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 8192 8

need 'nmd starts with the proxy and without distributed scheduling' \
    nmd_node_start 1 "$distributed=false" "$proxy.enabled=true" "$proxy.address=node01:8049"
need 'nmd registers' wait_until 30 node_is 1 RUNNING
jobs_succeed '1 forwarded 40 6'
is 'without distributed scheduling, all containers have ids from the ResourceManager' \
    "$(placed_by_rm numbers forwarded), $(placed_by_node numbers forwarded)" '8, '
nmd_node_stop 1

# ---- the node places containers ---------------------------------------------------------------------

need 'nmd starts with distributed scheduling' nmd_node_start 1 "$proxy.address=node01:8049"
need 'nmd registers' wait_until 60 node_is 1 RUNNING
# For a share of N %, MapReduce makes the first N of each hundred maps opportunistic.
jobs_succeed '1 few 4 6' '1 all 100 6'
for pair in few:4 all:6; do
    job=${pair%:*} n=${pair#*:}
    is "$job: opportunistic containers have ids from the node, starting at -1" "$(placed_by_node numbers "$job")" "$(first_numbers "$n")"
    is "$job: all other containers have ids from the ResourceManager" "$(placed_by_rm numbers "$job")" "$((8 - n))"
    is "$job: the job has the same counters as without the proxy" "$(counters "$job")" "$(counters forwarded)"
done
is 'each heartbeat of the application master has placed one container' "$(heartbeats all)" 6
first=$(nmctl list --all --json | jq -r '[.[].id | select(endswith("_1099511627775"))][0]')
like 'explain gives the reason for the first placement' "$(nmctl explain "$first")" 'It was placed on node01 because'

# Further figures of the proxy since the start of this nmd.
is 'the metrics count all placed maps' "$(masters '.placed | add')" 10
is 'the metrics count two application masters that were started and have registered through the proxy' \
    "$(masters '.calls | [.start.answered, .register.answered, .finish.answered >= 2, .allocate.answered > 0]')" '[2,2,true,true]'
like 'nmctl status shows the application masters' \
    "$(nmctl status)" '^masters .* through node01:8049; 0 opportunistic containers wait for a node'
like 'the metrics count the registrations of application masters' "$(curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics)" \
    '^nm_amrmproxy_call_seconds_count\{call="register"\} 2$'

# ---- all placements in one heartbeat ----------------------------------------------------------------

nmd_node_stop 1
need 'nmd starts with fill-nodes = true' nmd_node_start 1 "$proxy.address=node01:8049" nmd.distributed-scheduling.fill-nodes=true
need 'nmd registers' wait_until 60 node_is 1 RUNNING
jobs_succeed '1 filled 100 8'
is 'the node places all eight maps of a job' "$(placed_by_node numbers filled)" "$(first_numbers 8)"
# A heartbeat may come while the application master still adds requests to its list.
check 'with fill-nodes, all maps are placed in one or two heartbeats' test "$(heartbeats filled)" -le 2
diag "longest wait for a place: $(placements filled | jq 'map(.waited_usec) | max / 1000 | round') ms"
done_testing
