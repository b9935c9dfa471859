#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# The proxy of application masters, with a stock ResourceManager and real jobs: calls go through it, and with distributed
# scheduling the node places opportunistic maps itself.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"

proxy=yarn.nodemanager.amrmproxy
distributed=yarn.nodemanager.distributed-scheduling.enabled
succeeds() { # NAME PERCENT
    pi_through "$1" "$2" 6
    if job_ends; then ok "$1 succeeds"; else not_ok "$1 succeeds" "$(tail -n 25 "$dir/$1.log")"; fi
}

need 'a cluster can be made' jobs_configure "$distributed=true"
need 'a stock ResourceManager answers' rm_again
need 'a machine to measure' node_proc_start 3000 4

need 'nmd starts with the proxy alone' nmd_node_start 1 "$distributed=false" "$proxy.enabled=true" "$proxy.address=node01:8049"
need 'it registers' wait_until 30 node_is 1 RUNNING
succeeds forwarded 40
nmd_node_stop 1
need 'nmd starts with distributed scheduling' nmd_node_start 1 "$proxy.address=node01:8049"
need 'it registers' wait_until 60 node_is 1 RUNNING
succeeds distributed 100
# -1 and so on: the node itself has numbered the maps; the reduce and the master have the ResourceManager's numbers.
is 'the six maps have numbers of the node' "$(own_numbers "$(job_id distributed)")" \
    '1099511627770 1099511627771 1099511627772 1099511627773 1099511627774 1099511627775'
first=$(nmctl list --all --json | jq -r '[.[].id | select(endswith("_1099511627775"))][0]')
like 'explain tells why the first is where it is' "$(nmctl explain "$first")" 'It went to node01 because'

# What else there is to see of it, since this nmd's start.
masters=$(nmctl status --json | jq -c .upstream.masters)
is 'it counts all maps as placed' "$(jq '.placed | add' <<<"$masters")" 6
is 'and one master as started and registered by way of it' \
    "$(jq -c '.calls | [.start.answered, .register.answered, .finish.answered > 0, .allocate.answered > 0]' <<<"$masters")" \
    '[1,1,true,true]'
like 'status tells of masters' "$(nmctl status)" '^masters .* by way of node01:8049; 0 opportunistic containers wait for a place'
like 'metrics count the registration' "$(curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics)" \
    '^nm_amrmproxy_call_seconds_count\{call="register"\} 1$'
done_testing
