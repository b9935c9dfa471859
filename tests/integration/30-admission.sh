#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
#
# Admission: which guaranteed and opportunistic containers start, and when. nmd measures the memory of the containers as usual.
# The suite sets the use of the node by other processes.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
# The warm-up lasts long enough for some calls of nmctl on a busy machine.
warmup=1.5
nmd_configure <<END
[node]
memory = 1000M
[over-allocation]
warmup = 1500ms
[queue]
max-length = 10
backfill = 0s
END
nmd_start
reason_of() { decision_of "$1" admit .reason; }

# ---- plain rule, over-allocation, warm-up ----
submit plain1 --opportunistic -m 400M -c 0.5 -- sleep 300
submit plain2 --opportunistic -m 400M -c 0.5 -- sleep 300
check "a request that fits by allocation starts immediately" wait_until 5 in_state plain2 RUNNING
is "the decision record of a request that fits by allocation names the plain rule" \
    "$(reason_of plain1) $(reason_of plain2)" "within-allocation within-allocation"
submit beyond1 --opportunistic -m 400M -c 0.5 -- sleep 300
check "a request beyond the node's unallocated resources waits during the warm-up of others" wait_until 5 queue_reason_is beyond1 over-alpha
check "the waiting request is admitted when the use of the other containers is measured" wait_until 10 in_state beyond1 RUNNING
is "the decision record of a request beyond the allocation names over-allocation" "$(reason_of beyond1)" over-allocation
is "the sum of the allocations is larger than the node's memory" \
    "$(status_of '.node.allocated.opportunistic.memory_bytes > .node.capacity.memory_bytes')" true
at_least "the waiting request was admitted only after the warm-up" \
    "$(($(field_of beyond1 .started_usec) - $(field_of plain2 .started_usec)))" 1400000

submit beyond2 --opportunistic -m 600M -c 0.5 -- sleep 300
check "the next request waits during the warm-up of the previous container" wait_until 5 queue_reason_is beyond2 would-exceed-beta
is "the measured use is near zero during the warm-up" "$(status_of '.node.used_by.opportunistic.memory_bytes < 100000000')" true
check "the next request is admitted after the warm-up of the previous container" wait_until 10 in_state beyond2 RUNNING
at_least "the next request waited for the whole warm-up of the previous container" \
    "$(($(field_of beyond2 .started_usec) - $(field_of beyond1 .started_usec)))" 1400000
kill_all

# ---- alpha and beta ----
# Nearly all of the node is allocated, but very little of it is used. The next containers start only with over-allocation.
submit promised -m 960M -c 1.8 -- sleep 300
wait_until 10 settled promised

node_memory 850
wait_until 5 status_is '.node.utilization.memory == 0.85' true
submit opp1 --opportunistic -m 60M -c 0.3 -- sleep 300
check "no queued container starts while memory use is alpha or more" wait_until 5 queue_reason_is opp1 over-alpha
is "the queue reason is memory use over alpha" "$(decision_of opp1 queue '"\(.reason) \(.resource)"')" "over-alpha memory"
node_memory 100
check "a queued container starts when memory use is below alpha" wait_until 5 in_state opp1 RUNNING
nmctl kill --now --wait opp1 >/dev/null

node_memory 700
wait_until 5 status_is '.node.utilization.memory == 0.7' true
submit opp2 --opportunistic -m 260M -c 0.3 -- sleep 300
check "a request that would raise memory use above beta waits although use is below alpha" \
    wait_until 5 queue_reason_is opp2 would-exceed-beta
submit opp3 --opportunistic -m 10M -c 0.1 -- sleep 300
check "a smaller request does not start before the larger one ahead of it" wait_until 5 queue_reason_is opp3 behind-others
node_memory 600
check "both queued requests start when they fit" wait_until 5 in_state opp3 RUNNING
is "both queued requests start in their queue order" "$(($(decision_of opp2 admit .number) < $(decision_of opp3 admit .number)))" 1
nmctl kill --now --wait opp2 opp3 >/dev/null
node_memory 0

node_cpu_seen 1700
submit opp4 --opportunistic -m 60M -c 0.3 -- sleep 300
check "no queued container starts while CPU use is alpha or more" wait_until 5 queue_reason_is opp4 over-alpha
is "the queue reason is CPU use over alpha" "$(decision_of opp4 queue '"\(.reason) \(.resource)"')" "over-alpha cpu"
node_cpu 1000
check "a queued container starts when CPU use is below alpha" wait_until 5 in_state opp4 RUNNING
nmctl kill --now --wait opp4 >/dev/null
node_cpu_seen 1000
# Waits for a sample without the CPU time of opp4's start and end. With sanitizers, this CPU time is 0.1 cores, which is too
# much for the next check.
wait_until 5 status_is '.node.used_by.others.cpu_millicores >= 990' true
submit opp5 --opportunistic -m 60M -c 1 -- sleep 300
check "a request that would raise CPU use above beta waits" wait_until 5 queue_reason_is opp5 would-exceed-beta
is "the queue reason is CPU use over beta" "$(decision_of opp5 queue '"\(.reason) \(.resource)"')" "would-exceed-beta cpu"
node_cpu 500
check "the request waiting for CPU starts when CPU is available" wait_until 5 in_state opp5 RUNNING
kill_all

# ---- the queue ----
submit promised -m 960M -c 1.8 -- sleep 300
wait_until 10 settled promised
node_cpu_seen 1700
for i in 1 2 3 4 5 6 7 8 9 10; do
    submit "q$i" --opportunistic -m 50M -c 0.01 -- sleep 300
done
is "ten requests fill the queue" "$(status_of '"\(.queue.length) \(.containers.queued)"')" "10 10"
try nmctl run --detach --name q11 --opportunistic -m 50M -c 0.01 -- sleep 300
is "the eleventh request is refused because the queue is full" "$status" 125
like "the refusal names the length of the queue" "$err" 'queue.*10'
api POST /v1/containers '{"command":["true"],'"$me"',"execution_type":"OPPORTUNISTIC","memory_bytes":20000000}'
is "the HTTP status of a refusal by a full queue is 429" "$api_status $(jq -r .error.code <<<"$api_body")" "429 queue-full"
is "a refused request leaves no files behind" "$(status_of '"\(.queue.length) \(.containers.queued)"')" "10 10"
like "a decision record has the refusal" \
    "$(nmctl explain --last 3)" 'the queue is full: 10 opportunistic containers are queued, the maximum is 10'
is "several refusals share one decision record with a count" \
    "$(nmctl explain --json --last 10 | jq -c '[.[] | select(.kind == "refuse") | .count]')" "[2]"
record=$(nmctl explain --json --last 10 | jq 'map(select(.kind == "refuse"))[0].number')
for i in 1 2 3; do nmctl run --detach --name "more$i" --opportunistic -m 50M -- true 2>/dev/null; done
is "a further refusal raises the count of the record, and the record keeps its number" "$(nmctl explain --json --last 10 |
    jq -c '[.[] | select(.kind == "refuse") | [.number, .count, .container_name]]')" "[[$record,5,\"more3\"]]"
like "explain describes the refusals in text" \
    "$(nmctl explain --last 10)" 'refused 5 requests, the last one more3|Refused 5 requests, the last one more3'
at_least "events lists only the first of several equal refusals" \
    1 "$(nmctl events --json | jq -s 'map(select(.decision_kind == "refuse")) | length')"
submit first -m 40M -c 0.1 -- sleep 300
check "a guaranteed container starts before all queued opportunistic ones" wait_until 5 in_state first RUNNING
is "the queued opportunistic containers keep waiting" "$(status_of .queue.length)" 10
nmctl kill --now --wait q4 >/dev/null
is "killing a queued container removes it from the queue" "$(status_of .queue.length)" 9
submit q11 --opportunistic -m 50M -c 0.01 -- sleep 300
is "the next request takes the free place in the queue" "$(field_of q11 .queue_position)" 10
node_cpu 0
check "all queued containers start when they fit" wait_until 10 in_state q11 RUNNING
is "all queued containers start in order of arrival" "$(nmctl explain --json --last 40 | jq -r '[.[] | select(.kind == "admit") |
    .container_name | select(startswith("q"))] | join(" ")')" "q1 q2 q3 q5 q6 q7 q8 q9 q10 q11"
kill_all

# ---- requests that can never be admitted ----
refused() { # NAME HTTP CODE WORDS MEMBERS
    api POST /v1/containers "{\"command\":[\"true\"],$me,$5}"
    is "$1: the response has the right HTTP status and error code" "$api_status $(jq -r .error.code <<<"$api_body")" "$2 $3"
    like "$1: the error message has the requested and the available amounts" "$(jq -r .error.message <<<"$api_body")" "$4"
}
refused "a guaranteed request larger than the node" 422 too-large '1001 MiB.*1000 MiB' \
    "\"memory_bytes\":$((1001 << 20))"
refused "an opportunistic request larger than the node" 422 too-large '2\.50 vcores.*2\.00 vcores' \
    '"execution_type":"OPPORTUNISTIC","vcores":2.5'
submit g1 -m 700M -c 0.5 -- sleep 300
refused "a guaranteed request for memory that other guaranteed containers hold" 422 too-large '700 MiB.*1000 MiB.*301 MiB' \
    "\"memory_bytes\":$((301 << 20)),\"vcores\":0.5"
refused "a guaranteed request for CPU that other guaranteed containers hold" 422 too-large '0\.50 vcores.*2\.00 vcores.*1\.60 vcores' \
    "\"memory_bytes\":$((100 << 20)),\"vcores\":1.6"
like "the decision record has the same reason when the refusal comes before the first round" "$(nmctl explain --last 1)" \
    'guaranteed containers already hold 0\.5 of 2 vcores, and it asks for 1\.6 vcores'
submit g2 -m 300M -c 1.5 -- sleep 300
check "a guaranteed request that needs exactly the remaining resources is accepted" wait_until 5 in_state g2 RUNNING
submit o1 --opportunistic -m 999M -c 2 -- sleep 300
is "an opportunistic request as large as the node is queued" "$(state_of o1)" SCHEDULED
kill_all

# ---- over-allocation off: plain YARN ----
sed -i 's/^\[over-allocation\]/&\nenabled = no/' "$nmd_conf"
kill -HUP "$nmd_pid"
wait_until 5 status_is .node.over_allocation false
submit off1 -m 900M -c 0.5 -- sleep 300
wait_until 10 settled off1
submit off2 --opportunistic -m 200M -c 0.5 -- sleep 300
check "with over-allocation off, a request beyond the unallocated resources waits" wait_until 5 queue_reason_is off2 allocation-full
nmctl kill --now --wait off1 >/dev/null
check "with over-allocation off, a request starts when its allocation fits" wait_until 5 in_state off2 RUNNING
is "with over-allocation off, the decision record names the plain rule" "$(reason_of off2)" within-allocation

# ---- a start doesn't wait for a whole sampling period ----
kill_all
nmd_stop
sed -i 's/^period = .*/period = 60s/' "$nmd_conf"
nmd_start || exit 1
submit early --opportunistic -m 100M -c 0.5 -- sleep 300
check "a request shortly after another start is admitted as soon as the CPU use is known" \
    wait_until 15 in_state early RUNNING
nmd_alive || not_ok "nmd still runs"
done_testing
