#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
#
# The proxy of application masters, with a stock ResourceManager and real jobs on one node: calls go through the proxy. With distributed
# scheduling the node places opportunistic maps itself, one per heartbeat, or all in one heartbeat if this is configured.
# shellcheck source=tests/yarn/proxied.sh
. "$(dirname "$0")/proxied.sh"

job_deadline=150
node_mb=6144 # for two jobs at once: nothing opportunistic is in the way, and tried again
need 'a cluster can be configured' jobs_configure "$distributed=true"
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 8192 8

need 'nmd starts with the proxy alone' nmd_node_start 1 "$distributed=false" "$proxy.enabled=true" "$proxy.address=node01:8049"
need 'nmd registers' wait_until 30 node_is 1 RUNNING
jobs_succeed '1 forwarded 40 6'
is 'the ResourceManager numbers all of its containers' "$(placed_by_rm numbers forwarded), $(placed_by_node numbers forwarded)" '8, '
nmd_node_stop 1

# ---- the node places containers ---------------------------------------------------------------------

need 'nmd starts with distributed scheduling' nmd_node_start 1 "$proxy.address=node01:8049"
need 'nmd registers' wait_until 60 node_is 1 RUNNING
# MapReduce makes the first N of each hundred maps opportunistic for a share of N %.
jobs_succeed '1 few 4 6' '1 all 100 6'
for pair in few:4 all:6; do
    job=${pair%:*} n=${pair#*:}
    is "$job: the node numbers opportunistic containers, from -1 on" "$(placed_by_node numbers "$job")" "$(first_numbers "$n")"
    is "$job: the ResourceManager numbers the other maps, the reduce and the master" "$(placed_by_rm numbers "$job")" "$((8 - n))"
    is "$job: the counters are those of a job without the proxy" "$(counters "$job")" "$(counters forwarded)"
done
is 'each heartbeat has placed one container of a job' "$(heartbeats all)" 6
first=$(nmctl list --all --json | jq -r '[.[].id | select(endswith("_1099511627775"))][0]')
like 'explain gives the reason of the first placement' "$(nmctl explain "$first")" 'It was placed on node01 because'

# Other figures of the proxy, since the start of this nmd.
is 'the metrics count all maps as placed' "$(masters '.placed | add')" 10
is 'the metrics count two masters as started and registered through the proxy' \
    "$(masters '.calls | [.start.answered, .register.answered, .finish.answered >= 2, .allocate.answered > 0]')" '[2,2,true,true]'
like 'status shows the masters' "$(nmctl status)" '^masters .* through node01:8049; 0 opportunistic containers wait for a node'
like 'the metrics count the registrations' "$(curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics)" \
    '^nm_amrmproxy_call_seconds_count\{call="register"\} 2$'

# ---- as many as the node has room for ---------------------------------------------------------------

nmd_node_stop 1
need 'nmd starts with permission to fill nodes' nmd_node_start 1 "$proxy.address=node01:8049" nmd.distributed-scheduling.fill-nodes=true
need 'nmd registers' wait_until 60 node_is 1 RUNNING
jobs_succeed '1 filled 100 8'
is 'the node places all eight maps' "$(placed_by_node numbers filled)" "$(first_numbers 8)"
# A heartbeat may happen while the master still adds requests to its list.
check 'the maps are placed in one or two heartbeats' test "$(heartbeats filled)" -le 2
diag "longest wait for a place: $(placements filled | jq 'map(.waited_usec) | max / 1000 | round') ms"
done_testing
