#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: others
#
# Servers that are not a ResourceManager, or a faulty one: nmd reports the problem, limits its requests, and continues.
# The cluster is the one of lib.sh, with Hadoop's default directories, because no container of a cluster is started here.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"

rm_configure --stock "${node_site[@]}" ipc.client.connect.timeout=1000 ipc.client.rpc-timeout.ms=1000
need "the host's memory can be simulated" node_proc_start 1000 2
node_configure
need 'nmd starts without a ResourceManager' node_start
check 'nmd reports that it is unreachable' wait_until 10 upstream_is unreachable
submit here -m 10M -c 0.1 -- sleep 600
check 'nmd answers meanwhile' wait_until 10 in_state here RUNNING

strange_pid=
strange_end() { end_process "$strange_pid"; strange_pid=''; }
at_exit strange_end
strange() { # MANNER [SEED]
    strange_end
    : >"$dir/strange.out"
    python3 "$(dirname "$0")/strange-rm.py" "${rm_ports[2]}" "$1" "${2:-1}" >"$dir/strange.out" 2>&1 &
    strange_pid=$!
    wait_until 20 grep -q connection "$dir/strange.out"
}
in_trouble() { [[ $(upstream_of .trouble) =~ $1 ]]; } # REGEX
answers_at_once() { [ "$({ time -p nmctl list >/dev/null; } 2>&1 | awk '/^real/ { print ($2 < 1) }')" = 1 ]; }

while read -r manner state trouble; do
    strange "$manner"
    check "a $manner ResourceManager makes nmd $state, with a reason" wait_until 20 in_trouble "$trouble"
    check "$manner: the status has this state" upstream_is "$state"
    check "$manner: nmd answers clients immediately" answers_at_once
done <<'END'
silent unreachable ^Connection.timed.out$
closes unreachable reset
noise unreachable Bad.message|Message.too.long
huge unreachable Bad.message|Message.too.long
truncated unreachable reset
nonsense unreachable invalid.answer
END

# A working ResourceManager would get two requests per second. nmd sends fewer and fewer requests to this one.
for manner in wrong-number resync; do
    strange "$manner"
    check "a ResourceManager that always answers $manner is reported" wait_until 20 in_trouble 'requires the node to register again'
    before=$(upstream_of .heartbeats)
    sleep_until=$((SECONDS + 2))
    wait_until 3 test "$sleep_until" -le "$SECONDS" || true
    [ $(($(upstream_of .heartbeats) - before)) -le 30 ]
    is "$manner: nmd limits its heartbeats" "$?" 0
done
like 'control characters of its message are replaced' "$(upstream_of .trouble)" 'again: .\[31mNode unknown'

for seed in 1 2 3 4; do
    strange mutated "$seed"
    wait_until 1 test -e "$dir/nothing" # for a second
    check "changed bytes in answers, seed $seed: nmd answers" answers_at_once
done
check 'the container still runs' in_state here RUNNING

strange shutdown
check 'nmd stops if the ResourceManager shuts it down' wait_until 20 upstream_is stopped
: >"$dir/strange.out"
wait_until 1 test -s "$dir/strange.out"
is 'nmd sends no more requests to that ResourceManager' "$(cat "$dir/strange.out")" ''
nmd_stop
is 'nmd ends with status 0' "$?" 0
kill_all 2>/dev/null
done_testing
