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
check "drain" nmctl drain
is "the state says so" "$(status_of '"\(.node.state) \(.node.drained)"')" "draining false"
is "what runs may finish" "$(state_of g) $(state_of o)" "RUNNING RUNNING"
check "what waited is discarded" wait_until 5 in_state q COMPLETED
is "as drained" "$(field_of q .exit_reason)" drained
node_cpu 0
try nmctl run -m 10M -- true
is "nothing new is taken" "$status" 125
like "because" "$err" 'draining.*undrain'
api POST /v1/containers '{"command":["true"]}'
is "HTTP says 503" "$api_status $(jq -r .error.code <<<"$api_body")" "503 unavailable"

check "undrain" nmctl undrain
is "running again" "$(status_of .node.state)" running
try nmctl run -m 10M -c 0.1 -- true
is "and admits again" "$status" 0

check "drain, opportunistic ones ended at once" nmctl drain --kill-opportunistic
check "they are" wait_until 10 in_state o COMPLETED
is "and say why" "$(field_of o .exit_reason)" drained
is "guaranteed ones may finish" "$(state_of g)" RUNNING
rm "$dir/wait"
check "by themselves" wait_until 10 in_state g COMPLETED
is "with their own exit code" "$(field_of g '"\(.exit_reason) \(.exit_code)"')" "exited 4"
check "empty is told" wait_until 5 status_is .node.drained true
nmctl undrain >/dev/null

submit g1 -m 100M -c 0.2 -- sleep 300
submit o1 --opportunistic -m 100M -c 0.2 -- sleep 300
wait_until 10 in_state o1 RUNNING
begun=$(date +%s%3N)
check "drain with a deadline, waiting" nmctl drain --deadline 1s --wait
at_least "waits for the deadline" "$(($(date +%s%3N) - begun))" 900
is "all are ended" "$(field_of g1 .exit_reason) $(field_of o1 .exit_reason)" "drained drained"
is "and the node is empty" "$(status_of '"\(.node.drained) \(.containers.guaranteed_running)"')" "true 0"
like "explained" "$(nmctl explain g1)" 'the deadline of the drain has passed'

# A drain continues after a restart of nmd.
nmd_stop
nmd_start
is "after a restart it drains on" "$(status_of .node.state)" draining
check "until it is undrained" nmctl undrain

# A drain with --until-restart continues only after a crash, because the restart after a crash must not start containers.
check "a drain until nmd is stopped" nmctl drain --until-restart --deadline 0 --wait
like "is told as such" "$(nmctl status)" 'drain .*ends when nmd is stopped'
is "in JSON, too" "$(status_of .node.drain_until_restart)" true
nmd_kill
nmd_start
is "after a crash it drains on" "$(status_of '"\(.node.state) \(.node.drain_until_restart)"')" "draining true"
nmd_stop
nmd_start
is "after a stop it is over" "$(status_of '"\(.node.state) \(.node.drain_until_restart)"')" "running false"
try nmctl run -m 10M -c 0.1 -- true
is "and containers run again" "$status" 0
nmctl drain >/dev/null
check "who drained the node for good" nmctl drain --until-restart
nmd_stop
nmd_start
is "isn't overruled" "$(status_of .node.state)" draining
nmctl undrain >/dev/null
nmd_alive || not_ok "nmd is still there"
done_testing
