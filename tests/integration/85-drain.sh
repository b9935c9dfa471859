#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
#
# Draining: no container is admitted, running containers finish or are ended at the deadline, and nmd reports when the node is empty.
# Undraining ends this.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[preemption]
kill-grace = 200ms
END
nmd_start
touch "$dir/wait"
submit g -m 700M -c 0.2 -- sh -c "while [ -e $dir/wait ]; do sleep 0.05; done; exit 4"
submit o --opportunistic -m 200M -c 0.2 -- sleep 300
wait_until 10 in_state o RUNNING
node_cpu_seen 1950
submit q --opportunistic -m 900M -c 0.1 -- sleep 300
wait_until 5 in_state q SCHEDULED

try nmctl undrain
is "undrain of a node that isn't draining is refused" "$status" 1
check "drain succeeds" nmctl drain
is "the state is DRAINING" "$(status_of '"\(.node.state) \(.node.drained)"')" "draining false"
is "running containers keep running" "$(state_of g) $(state_of o)" "RUNNING RUNNING"
check "queued containers are discarded" wait_until 5 in_state q COMPLETED
is "the discarded containers have the reason drained" "$(field_of q .exit_reason)" drained
node_cpu 0
try nmctl run -m 10M -- true
is "a new container is refused" "$status" 125
like "the refusal gives the drain as its reason" "$err" 'draining.*undrain'
api POST /v1/containers '{"command":["true"]}'
is "the HTTP status of the refusal is 503" "$api_status $(jq -r .error.code <<<"$api_body")" "503 unavailable"

check "undrain succeeds" nmctl undrain
is "the state is RUNNING again" "$(status_of .node.state)" running
try nmctl run -m 10M -c 0.1 -- true
is "new containers are admitted again" "$status" 0

check "drain with --kill-opportunistic succeeds" nmctl drain --kill-opportunistic
check "the opportunistic containers end" wait_until 10 in_state o COMPLETED
is "the opportunistic containers have the reason drained" "$(field_of o .exit_reason)" drained
is "the guaranteed containers keep running" "$(state_of g)" RUNNING
rm "$dir/wait"
check "the guaranteed container ends without a kill" wait_until 10 in_state g COMPLETED
is "the guaranteed container has its own exit code" "$(field_of g '"\(.exit_reason) \(.exit_code)"')" "exited 4"
check "an event reports the empty node" wait_until 5 status_is .node.drained true
nmctl undrain >/dev/null

submit g1 -m 100M -c 0.2 -- sleep 300
submit o1 --opportunistic -m 100M -c 0.2 -- sleep 300
wait_until 10 in_state o1 RUNNING
begun=$(date +%s%3N)
check "drain with a deadline and --wait succeeds" nmctl drain --deadline 1s --wait
at_least "drain --wait waits for the deadline" "$(($(date +%s%3N) - begun))" 900
is "all containers are ended after the deadline" "$(field_of g1 .exit_reason) $(field_of o1 .exit_reason)" "drained drained"
is "the node is empty" "$(status_of '"\(.node.drained) \(.containers.guaranteed_running)"')" "true 0"
like "explain describes the end" "$(nmctl explain g1)" 'the deadline of the drain has passed'

# A drain continues after a restart of nmd.
nmd_stop
nmd_start
is "the node still drains after a restart" "$(status_of .node.state)" draining
check "undrain ends the drain after a restart" nmctl undrain

# A drain with --until-restart continues only after a crash, because the restart after a crash must not start containers.
check "a drain until the next stop succeeds" nmctl drain --until-restart --deadline 0 --wait
like "status says that the drain ends with nmd" "$(nmctl status)" 'drain .*ends when nmd is stopped'
is "the JSON says that the drain ends with nmd" "$(status_of .node.drain_until_restart)" true
nmd_kill
nmd_start
is "the drain continues after a crash" "$(status_of '"\(.node.state) \(.node.drain_until_restart)"')" "draining true"
nmd_stop
nmd_start
is "the drain is over after a stop" "$(status_of '"\(.node.state) \(.node.drain_until_restart)"')" "running false"
try nmctl run -m 10M -c 0.1 -- true
is "containers run again" "$status" 0
nmctl drain >/dev/null
check "the node is drained without an end" nmctl drain --until-restart
nmd_stop
nmd_start
is "a drain until the next stop does not replace it" "$(status_of .node.state)" draining
nmctl undrain >/dev/null
nmd_alive || not_ok "nmd still runs"
done_testing
