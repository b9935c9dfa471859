#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
#
# Backfill: if the first container of the queue is too large at present, smaller containers start before it. They delay the
# first container at most for the time of [queue] backfill.
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

# "before" is already running when the large container is queued, and delays it at first. The other containers start before the
# large one in this time.
hog before -m 500M -c 0.1 -- 400
wait_until 20 settled before
submit large --opportunistic -m 800M -c 0.1 -- sleep 300
check "a request that is too large at present waits in the queue" wait_until 10 queue_reason_is large would-exceed-beta
hog small --opportunistic -m 300M -c 0.1 -- 270
check "a smaller request starts before the large one" wait_until 10 in_state small RUNNING
is "the decision record of the smaller request names the large one" "$(decision_of small admit .on_behalf_of_id)" "$(field_of large .id)"
like "explain names the large request that the smaller one overtook" \
    "$(nmctl explain small)" "it passes $(field_of large .id), which is before it in the queue"
is "the large request is still waiting" "$(state_of large)" SCHEDULED
wait_until 20 settled small
wait_until 20 uses small 270

# ---- only containers that were admitted by backfill delay the head of the queue ----
begun=$(date +%s%3N)
nmctl kill --now --wait before >/dev/null
submit later --opportunistic -m 50M -c 0.1 -- sleep 300
samples 5
is "when the backfill time is used up, no other request overtakes the large one" "$(state_of later)" SCHEDULED
is "a request that fits waits behind the large one" "$(field_of later .hold)" behind-others
is "the container admitted by backfill is running at first" "$(state_of small)" RUNNING
check "the large request starts" wait_until 20 in_state large RUNNING
took=$(($(date +%s%3N) - begun))
diag "started after $took ms of 8000"
at_least "the large request starts after the backfill time" "$took" 7500
at_least "the large request starts at most shortly after the backfill time" $((13000 - took)) 0
check "the container admitted by backfill is killed for the large request" wait_until 10 in_state small COMPLETED
is "the decision record of this kill has the reason" \
    "$(decision_of small kill '"\(.reason) \(.on_behalf_of_id)"')" "room-for-head $(field_of large .id)"
like "explain describes this kill in text" "$(nmctl explain small)" 'it passed .* first in the queue, and the larger container has now'
check "the requests behind the large one start after it" wait_until 20 in_state later RUNNING

# ---- a container that is larger than the node ----
kill_all
node_memory 200
wait_until 10 status_is '.node.utilization.memory == 0.2' true
submit giant --opportunistic -m 900M -c 0.1 -- sleep 300
check "a request that does not fit beside the system's use has the queue reason for it" wait_until 10 queue_reason_is giant never-fits
like "explain describes this queue reason in text" "$(nmctl explain giant)" 'would not fit even if no other container ran'
like "explain prints the requested amount, the limit, and the amount that fits" "$(nmctl explain giant | tail -n 1)" \
    'now queued at position 1: with the 900 MiB .* memory would be at 110 %, over the limit of 95 % .*; up to 750 MiB fits'
submit tiny --opportunistic -m 50M -c 0.1 -- sleep 300
check "a request that does not fit beside the system's use does not block other requests" wait_until 10 in_state tiny RUNNING
node_memory 20
check "the request starts when the system uses less" wait_until 20 in_state giant RUNNING
kill_all
nmd_alive || not_ok "nmd still runs"
done_testing
