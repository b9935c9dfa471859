#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
# beside: others
#
# Status and metrics report since when the node has no container. Tests this time in the JSON, the text and the metrics: across
# restarts, with queued and paused containers, with leftover processes, and while draining.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
END
since() { status_of .node.removable_since_usec; }
is_null() { [ "$(since)" = null ]; }
metric() { curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics | awk '$1 == "nm_node_removable_since_seconds" { print $2 }'; }
now() { date +%s%6N; }

begun=$(now)
nmd_start
first=$(since)
check 'a node without containers is removable since nmd has started' test "$first" -ge "$begun" -a "$first" -le "$(now)"
like 'the text of nmctl status says since when the node is removable' \
    "$(nmctl status)" '^removable +since [0-9]{2}:[0-9]{2}:[0-9]{2} \(no containers for [0-9.]+m?s'
is 'the metric of the removable time has the same time in seconds' "$(awk -v t="$first" 'BEGIN { printf "%.3f", t / 1e6 }')" \
    "$(awk -v t="$(metric)" 'BEGIN { printf "%.3f", t }')"
# A round writes this time to the journal, so that a clean stop is not necessary.
samples 2
nmd_kill
nmd_start
is 'the removable time is unchanged after a crash of nmd' "$(since)" "$first"
nmctl drain >/dev/null
is 'draining does not change the removable time' "$(since)" "$first"
nmctl undrain >/dev/null

submit sleeper -m 100M -c 0.1 -- sleep 300
is 'a node with a container is not removable' "$(since)" null
is 'nmctl status does not mention a removable time while a container exists' "$(nmctl status | grep -c ^removable)" 0
is 'the metric of the removable time is 0 while a container exists' "$(metric)" 0
wait_until 10 in_state sleeper RUNNING
nmd_kill
nmd_start
is 'after a restart with a running container, the node is not removable' "$(since)" null
submit waits --opportunistic -m 990M -c 0.1 -- sleep 300
nmctl kill --now --wait sleeper >/dev/null
is 'when one of two containers has ended, the other one still exists' "$(nmctl list --json | jq length) $(state_of sleeper)" '1 COMPLETED'
is 'a node with a waiting or running container is not removable' "$(is_null && echo yes)" yes
nmctl kill --now --wait waits >/dev/null 2>&1

submit paused --opportunistic -m 100M -c 0.1 -- sleep 300
wait_until 10 in_state paused RUNNING
nmctl pause paused >/dev/null
wait_until 10 in_state paused PAUSED
is 'a node with a paused container is not removable' "$(since)" null
nmctl kill --now --wait paused >/dev/null

# The command exits immediately. Its leftover process ignores SIGTERM, and must be killed.
ended=$(now)
nmctl run -m 100M -c 0.1 -- sh -c '(trap "" TERM; exec sleep 300) & exit 0'
check 'when all containers have ended, the node is removable' wait_until 10 status_is '.node.removable_since_usec != null' true
last=$(since)
check 'the removable time is not before the end of the last command' test "$last" -ge "$ended"
id=$(nmctl list --all --json | jq -r '.[-1].id')
check 'the removable time is not before the cgroup of the last container was empty' test "$last" -ge "$(field_of "$id" .finished_usec)"
samples 2
nmd_stop
nmd_start
is 'the removable time is unchanged after a clean restart' "$(since)" "$last"
done_testing
