#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
# beside: others
#
# Draining: no container is admitted, running containers end by themselves or at the deadline, and nmd reports when the node is
# empty. Undrain lets the node admit containers again.
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
check "drain succeeds on a running node" nmctl drain
is "status shows a draining node" "$(status_of '"\(.node.state) \(.node.drained)"')" "draining false"
is "drain does not end running containers" "$(state_of g) $(state_of o)" "RUNNING RUNNING"
check "drain discards queued containers" wait_until 5 in_state q COMPLETED
is "the discarded containers have the exit reason drained" "$(field_of q .exit_reason)" drained
node_cpu 0
try nmctl run -m 10M -- true
is "a new container is refused on a draining node" "$status" 125
like "the refusal says that the node is draining" "$err" 'draining.*undrain'
api POST /v1/containers '{"command":["true"]}'
is "the HTTP status of a refusal on a draining node is 503" "$api_status $(jq -r .error.code <<<"$api_body")" "503 unavailable"

check "undrain succeeds on a draining node" nmctl undrain
is "status shows a running node after undrain" "$(status_of .node.state)" running
try nmctl run -m 10M -c 0.1 -- true
is "a new container is accepted after undrain" "$status" 0

check "drain with --kill-opportunistic succeeds" nmctl drain --kill-opportunistic
check "drain --kill-opportunistic ends opportunistic containers" wait_until 10 in_state o COMPLETED
is "the ended opportunistic containers have the exit reason drained" "$(field_of o .exit_reason)" drained
is "drain --kill-opportunistic does not end guaranteed containers" "$(state_of g)" RUNNING
rm "$dir/wait"
check "a guaranteed container can end by itself on a draining node" wait_until 10 in_state g COMPLETED
is "this guaranteed container has the exit code of its command" "$(field_of g '"\(.exit_reason) \(.exit_code)"')" "exited 4"
check "status shows that the node is drained when the last container has ended" wait_until 5 status_is .node.drained true
nmctl undrain >/dev/null

submit g1 -m 100M -c 0.2 -- sleep 300
submit o1 --opportunistic -m 100M -c 0.2 -- sleep 300
wait_until 10 in_state o1 RUNNING
begun=$(date +%s%3N)
check "drain --deadline --wait succeeds" nmctl drain --deadline 1s --wait
at_least "drain --wait waits until the deadline" "$(($(date +%s%3N) - begun))" 900
is "all containers that are running at the deadline are ended" "$(field_of g1 .exit_reason) $(field_of o1 .exit_reason)" "drained drained"
is "the node is empty after the deadline" "$(status_of '"\(.node.drained) \(.containers.guaranteed_running)"')" "true 0"
like "explain says that the deadline of the drain has passed" "$(nmctl explain g1)" 'the deadline of the drain has passed'

# A drain continues after a restart of nmd.
nmd_stop
nmd_start
is "the node still drains after a restart" "$(status_of .node.state)" draining
check "a drain that continued after a restart can be ended with undrain" nmctl undrain

# A drain with --until-restart continues after a crash, and ends only with a stop of nmd. The restart after a crash must not
# start containers.
check "drain --until-restart succeeds" nmctl drain --until-restart --deadline 0 --wait
like "status says that the drain ends with nmd" "$(nmctl status)" 'drain .*ends when nmd is stopped'
is "status --json says that the drain ends when nmd is stopped" "$(status_of .node.drain_until_restart)" true
nmd_kill
nmd_start
is "drain --until-restart continues after a crash of nmd" "$(status_of '"\(.node.state) \(.node.drain_until_restart)"')" "draining true"
nmd_stop
nmd_start
is "drain --until-restart has ended after a stop and start of nmd" \
    "$(status_of '"\(.node.state) \(.node.drain_until_restart)"')" "running false"
try nmctl run -m 10M -c 0.1 -- true
is "containers run after that drain has ended" "$status" 0
nmctl drain >/dev/null
check "drain --until-restart succeeds on a node that is already draining" nmctl drain --until-restart
nmd_stop
nmd_start
is "drain --until-restart does not shorten an unlimited drain" "$(status_of .node.state)" draining
nmctl undrain >/dev/null
nmd_alive || not_ok "nmd still runs"
done_testing
