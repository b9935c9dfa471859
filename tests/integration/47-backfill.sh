#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
#
# Backfill: smaller containers pass a head of the queue that is too large at present, but they delay it no longer than the time of
# [queue] backfill.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[queue]
backfill = 8s
END
nmd_start

# "before" runs already when the large container is queued, and delays it at first. The others pass the large one in this time.
hog before -m 500M -c 0.1 -- 400
wait_until 20 settled before
submit large --opportunistic -m 800M -c 0.1 -- sleep 300
check "a request that is too large for now waits" wait_until 10 hold_is large would-exceed-beta
hog small --opportunistic -m 300M -c 0.1 -- 270
check "a smaller request passes the large one" wait_until 10 in_state small RUNNING
is "the record of the smaller request names the large one" "$(decision_of small admit .on_behalf_of_id)" "$(field_of large .id)"
like "explain names the request that was passed" "$(nmctl explain small)" "it passes $(field_of large .id), which is before it in the queue"
is "the large request still waits" "$(state_of large)" SCHEDULED
wait_until 20 settled small
wait_until 20 uses small 270

# ---- only containers that passed delay the head ----
begun=$(date +%s%3N)
nmctl kill --now --wait before >/dev/null
submit later --opportunistic -m 50M -c 0.1 -- sleep 300
samples 5
is "no other request passes the large one now" "$(state_of later)" SCHEDULED
is "a request that fits waits behind the large one" "$(field_of later .hold)" behind-others
is "the request that passed keeps running at first" "$(state_of small)" RUNNING
check "the large request starts" wait_until 20 in_state large RUNNING
took=$(($(date +%s%3N) - begun))
diag "started after $took ms of 8000"
at_least "the large request starts after the time of those that passed" "$took" 7500
at_least "the large request starts soon after that time" $((13000 - took)) 0
check "the container that passed is killed for the large request" wait_until 10 in_state small COMPLETED
is "the record of the kill has the reason" \
    "$(decision_of small kill '"\(.reason) \(.on_behalf_of_id)"')" "room-for-head $(field_of large .id)"
like "explain describes the kill" "$(nmctl explain small)" 'it passed .* first in the queue, and has now delayed it'
check "the requests behind the large one start" wait_until 20 in_state later RUNNING

# ---- a container that is larger than the node ----
kill_all
node_memory 200
wait_until 10 status_is '.node.utilization.memory == 0.2' true
submit giant --opportunistic -m 900M -c 0.1 -- sleep 300
check "a request that is too large beside the system's use has that reason" wait_until 10 hold_is giant never-fits
like "explain describes the reason in words" "$(nmctl explain giant)" 'would not fit even if no other container ran'
like "the last line has the amounts of the request, of the limit, and of what fits" "$(nmctl explain giant | tail -n 1)" \
    'now queued at position 1: with the 900 MiB .* memory would be at 110 %, over the limit of 95 % .*; up to 750 MiB fits'
submit tiny --opportunistic -m 50M -c 0.1 -- sleep 300
check "the request that is too large holds no other request" wait_until 10 in_state tiny RUNNING
node_memory 20
check "the request starts when it fits" wait_until 20 in_state giant RUNNING
kill_all
nmd_alive || not_ok "nmd still runs"
done_testing
