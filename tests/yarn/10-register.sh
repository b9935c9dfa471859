#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# rpc/hadoop/'s client and a stock ResourceManager: a node registers, sends heartbeats and unregisters. What the
# ResourceManager says of it is its REST interface's word.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/../packing/lib.sh"

need 'a stock ResourceManager answers' rm_start --stock
"$NMD_TEST_BUILD/rpc-node" "${rm_ports[2]}" node07 45454 >"$dir/node.out" 2>&1 &
node=$!
at_exit 'end_process "$node"'

of_node() { rm_get nodes | jq -r ".nodes.node[]? | select(.nodeHostName == \"node07\") | $1"; }
said() { grep -q "$1" "$dir/node.out"; }
shut_down() { [ "$(rm_get 'nodes?states=SHUTDOWN' | jq -r '.nodes.node[]?.nodeHostName')" = node07 ]; }
is_state() { [ "$(of_node .state)" = "$1" ]; }
need 'it registers, and gets two keys' wait_until 30 said '^registered with 3\.4\.2: action 0, keys of 8 and 8 bytes$'
check 'the ResourceManager says that it is running' wait_until 30 is_state RUNNING
is 'it knows its port, version and sizes' "$(of_node '"\(.id) \(.version) \(.availMemoryMB) \(.availableVirtualCores)"')" \
    'node07:45454 3.4.2 4096 4'
uses() { [ "$(of_node .resourceUtilization.nodePhysicalMemoryMB)" = 1234 ]; }
check 'it knows what the node uses' wait_until 30 uses
check 'ten heartbeats were answered, each with the next number' wait_until 30 said '^heartbeat 10$'
first=$(of_node .lastHealthUpdate)
later() { [ "$(of_node .lastHealthUpdate)" -gt "$first" ]; }
check 'what they say arrives' wait_until 30 later

kill -TERM "$node"
check 'it unregisters' wait_until 30 said '^unregistered$'
wait "$node"
is 'and ends without complaint' "$?" 0
node=''
check 'the ResourceManager says that it has shut down' wait_until 30 shut_down
done_testing
