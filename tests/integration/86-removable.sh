#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
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
check 'a node without containers is removable since the start of nmd' test "$first" -ge "$begun" -a "$first" -le "$(now)"
like 'status says in words that the node is removable' \
    "$(nmctl status)" '^removable +since [0-9]{2}:[0-9]{2}:[0-9]{2} \(no containers for [0-9.]+m?s'
is 'the metric has the same time in seconds' "$(awk -v t="$first" 'BEGIN { printf "%.3f", t / 1e6 }')" \
    "$(awk -v t="$(metric)" 'BEGIN { printf "%.3f", t }')"
# A round writes this time to the journal, so that a clean stop is not necessary.
samples 2
nmd_kill
nmd_start
is 'the time is unchanged after a crash' "$(since)" "$first"
nmctl drain >/dev/null
is 'the time is unchanged by a drain' "$(since)" "$first"
nmctl undrain >/dev/null

submit sleeper -m 100M -c 0.1 -- sleep 300
is 'a container makes the node immediately not removable' "$(since)" null
is 'status has no such line' "$(nmctl status | grep -c ^removable)" 0
is 'the metric is 0' "$(metric)" 0
wait_until 10 in_state sleeper RUNNING
nmd_kill
nmd_start
is 'a restart finds the container, and reports no time' "$(since)" null
submit waits --opportunistic -m 990M -c 0.1 -- sleep 300
nmctl kill --now --wait sleeper >/dev/null
is 'the node is not removable after the end of one of two containers' "$(nmctl list --json | jq length) $(state_of sleeper)" '1 COMPLETED'
is 'a waiting or running container makes the node not removable' "$(is_null && echo yes)" yes
nmctl kill --now --wait waits >/dev/null 2>&1

submit paused --opportunistic -m 100M -c 0.1 -- sleep 300
wait_until 10 in_state paused RUNNING
nmctl pause paused >/dev/null
wait_until 10 in_state paused PAUSED
is 'a paused container makes the node not removable' "$(since)" null
nmctl kill --now --wait paused >/dev/null

# The command exits immediately. Its leftover process ignores SIGTERM, and must be killed.
ended=$(now)
nmctl run -m 100M -c 0.1 -- sh -c '(trap "" TERM; exec sleep 300) & exit 0'
check 'the time is that of the last end' wait_until 10 status_is '.node.removable_since_usec != null' true
last=$(since)
check 'the time is not before the last end' test "$last" -ge "$ended"
id=$(nmctl list --all --json | jq -r '.[-1].id')
check 'the time is not before the cgroup was empty' test "$last" -ge "$(field_of "$id" .finished_usec)"
samples 2
nmd_stop
nmd_start
is 'the time is unchanged after a clean restart' "$(since)" "$last"
done_testing
