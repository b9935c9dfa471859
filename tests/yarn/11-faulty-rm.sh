#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: all
#
# Servers that are not a ResourceManager, and a faulty ResourceManager: nmd reports the problem, limits its requests, and
# continues. The cluster is the one of lib.sh, with Hadoop's default directories, because the ResourceManager starts no
# container here.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"

rm_configure --stock "${node_site[@]}" ipc.client.connect.timeout=1000 ipc.client.rpc-timeout.ms=1000
need "the host's memory can be simulated" node_proc_start 1000 2
node_configure
need 'nmd starts without a ResourceManager' node_start
check 'nmd reports that the ResourceManager is unreachable' wait_until 10 upstream_is unreachable
submit here -m 10M -c 0.1 -- sleep 600
check 'nmd starts local containers while the ResourceManager is unreachable' wait_until 10 in_state here RUNNING

strange_pid=
strange_end() { end_process "$strange_pid"; strange_pid=''; }
at_exit strange_end
strange() { # MANNER [SEED]
    strange_end
    : >"$dir/strange.out"
    python3 "$(dirname "$0")/faulty-rm.py" "${rm_ports[2]}" "$1" "${2:-1}" >"$dir/strange.out" 2>&1 &
    strange_pid=$!
    wait_until 20 grep -q connection "$dir/strange.out"
}
trouble_matches() { [[ $(upstream_of .trouble) =~ $1 ]]; } # REGEX
answers_at_once() { [ "$({ time -p nmctl list >/dev/null; } 2>&1 | awk '/^real/ { print ($2 < 1) }')" = 1 ]; }

while read -r manner state trouble; do
    strange "$manner"
    check "$manner: nmd reports the state $state with a reason" wait_until 20 trouble_matches "$trouble"
    check "$manner: nmctl status shows the state $state" upstream_is "$state"
    check "$manner: nmd responds to clients immediately" answers_at_once
done <<'END'
silent unreachable ^Connection.timed.out$
closes unreachable reset
noise unreachable Bad.message|Message.too.long
huge unreachable Bad.message|Message.too.long
truncated unreachable reset
nonsense unreachable invalid.answer
END

# A working ResourceManager would get two requests per second. To this ResourceManager, nmd sends requests at growing intervals.
for manner in wrong-number resync; do
    strange "$manner"
    check "$manner: nmctl status says that the ResourceManager requires another registration" \
        wait_until 20 trouble_matches 'requires the node to register again'
    before=$(upstream_of .heartbeats)
    sleep_until=$((SECONDS + 2))
    wait_until 3 test "$sleep_until" -le "$SECONDS" || true
    [ $(($(upstream_of .heartbeats) - before)) -le 30 ]
    is "$manner: nmd sends few heartbeats" "$?" 0
done
like "nmctl status replaces control characters in the ResourceManager's message" "$(upstream_of .trouble)" 'again: .\[31mNode unknown'

for seed in 1 2 3 4; do
    strange mutated "$seed"
    wait_until 1 test -e "$dir/nothing" # for a second
    check "responses with changed bytes (seed $seed): nmd responds to clients immediately" answers_at_once
done
check 'the local container is running after all faulty responses' in_state here RUNNING

strange shutdown
check 'nmd stops its connection if the ResourceManager sends a shutdown' wait_until 20 upstream_is stopped
: >"$dir/strange.out"
wait_until 1 test -s "$dir/strange.out"
is 'nmd sends no more requests to a ResourceManager that has sent a shutdown' "$(cat "$dir/strange.out")" ''
nmd_stop
is 'nmd ends with exit status 0' "$?" 0
kill_all 2>/dev/null
done_testing
