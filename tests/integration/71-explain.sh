#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
# beside: others
#
# nmctl explain for every kind of decision: the text has the measured numbers, the other candidates, and the predicted and
# measured gain.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[preemption]
breaker = 0
settle-samples = 8
pause-deadline = 10min
[queue]
max-length = 1
END
nmd_start
grep_explain() { nmctl explain "$1" | grep -Eq -- "$2"; } # NAME REGEX
says() { # NAME CONTAINER REGEX...: passes if one explanation matches all the regular expressions
    local name=$1 text regex missing=
    text=$(nmctl explain "$2" | tr '\n' ' ')
    shift 2
    for regex in "$@"; do
        grep -Eq -- "$regex" <<<"$text" || missing+="no match of: $regex"$'\n'
    done
    is "$name" "$missing" "" || diag "in: $text"
}

hog big -m 700M -c 0.2 -- 100 660
wait_until 20 uses big 100
says "explain prints the amounts for an admitted guaranteed container" big 'Admitted .*\(big\)' 'guaranteed and its request fits' \
    'memory at 0 % of capacity, 70 % with its request' 'asks for 700 MiB and 0\.2 vcores' 'It took .* ms'
hog o1 --opportunistic -m 200M -c 0.3 -- 150 --spin
wait_until 20 uses o1 150
says "explain prints the amounts for an admission by allocation" o1 'can hold all requests together \(900 MiB of 1000 MiB, 0\.5 of 2 vcores'
wait_until 10 settled big o1
hog o2 --opportunistic -m 300M -c 0.3 -- 150 --spin
wait_until 20 uses o2 150
wait_until 20 burns o2 100
says "explain prints the amounts for an admission by over-allocation" o2 'others use less than they asked for' \
    'thresholds of 95 % of memory and 95 % of CPU' '900 MiB of 1000 MiB allocated' \
    'Memory: [0-9]+ MiB used by containers, [0-9.]+ [KM]?i?B reserved while they warm up, [0-9.]+ [KM]?i?B used by others'
wait_until 10 settled o2

# ---- queue, refuse ----
submit q --opportunistic -m 600M -c 0.1 -- sleep 300
check "a container waits in the queue" wait_until 5 queue_reason_is q would-exceed-beta
says "explain prints the amounts for a queued container" \
    q 'Queued .*\(q\)' 'memory is at [0-9.]+ % of capacity' 'with the 600 MiB that it asks for' \
    'over the limit of 95 %' 'Queue: 1 of at most 1' 'What you can do'
try nmctl run --detach --opportunistic --name r -m 100M -- true
like "explain prints the limit that a refused container exceeds" \
    "$(nmctl explain --last 2)" 'queue is full: 1 opportunistic containers are queued, the maximum is 1'
nmctl kill --now --wait q >/dev/null

# ---- pause, resume ----
node_cpu 1950
wait_until 20 in_state o2 PAUSED
says "explain prints the amounts and the candidates for a pause" \
    o2 'Paus(ed|ing) .*\(o2\)' 'CPU was at 97\.[0-9] % of capacity \(1\.9[0-9]? of 2 cores: ' \
    '\(.* [0-9.]+ cores used by containers, [0-9.]+ cores used by others on the node\)' \
    'over the preemption threshold of 95 %' '[0-9]+ samples in a row' \
    'Considered, the latest-started first' '1\. container_[0-9_]+ \(o2\).*chosen: this one' \
    '2\. container_[0-9_]+ \(o1\).*spared, the others are enough' 'Expected back: 0\.[0-9]+ cores' \
    'the container is resumed when CPU is free again'
check "explain prints the measured gain of a pause after the next samples" \
    wait_until 10 grep_explain o2 'really regained: .*0\.[0-9]+ cores'
node_cpu 0
wait_until 20 in_state o2 RUNNING
says "explain prints the amounts for a resume" \
    o2 'Resum(ed|ing) .*\(o2\)' 'CPU is down to [0-9.]+ % of capacity' 'used before its pause fit again'

# ---- kill ----
grow big
wait_until 20 in_state o2 COMPLETED
before=$(field_of o2 .memory_peak_bytes)
says "explain prints the amounts and the candidates for a kill" o2 'Killed .*\(o2\)' \
    'memory was at 9[0-9.]+ % of capacity \((9[0-9.]+ MiB|1\.0 GiB) of 1000 MiB: [0-9.]+ [MG]iB used by containers\)' \
    'over the preemption threshold of 95 %' '\(o1\): .* MiB.*spared, the others are enough' \
    'Expected back: 1[5-9][0-9](\.[0-9]+)? MiB' 'really regained: 1[5-9][0-9](\.[0-9]+)? MiB' 'submit it again'
is "explain --json has the amounts for a kill" "$(decision_of o2 kill "(.regained.memory_bytes > 150 * 1048576) and
    (.predicted.memory_bytes <= $before) and .candidates_total == 2 and .used_or_reserved.memory_bytes > 950 * 1048576")" true
is "explain --json has the times of a kill in the right order" "$(decision_of o2 kill '.cause_usec <= .decided_usec and
    .decided_usec <= .acted_usec and .acted_usec <= .effective_usec')" true

# ---- requests of users ----
nmctl pause o1 >/dev/null
says "explain describes a pause that a user requested" o1 'root asked for it' 'nmctl resume'
like "explain says that a pause that a user requested frees CPU but no memory" \
    "$(nmctl explain o1 | grep 'Expected back')" 'Expected back: [0-9.]+ cores;'
nmctl promote o1 >/dev/null
says "explain prints the amounts for a promotion" o1 'Promoted .*\(o1\)'
nmctl update -m 220M o1 >/dev/null
says "explain prints the amounts for an update" o1 'Changed the resources of .*\(o1\)' '220 MiB'
nmctl demote o1 >/dev/null
says "explain prints the amounts for a demotion" o1 'Demoted .*\(o1\)'
nmctl kill --now --wait o1 >/dev/null
says "explain describes a kill that a user requested" o1 'Killed .*\(o1\).*root asked for it'

# ---- a kill to start a guaranteed container ----
hog o3 --opportunistic -m 200M -c 0.1 -- 150
wait_until 20 uses o3 150
wait_until 10 settled o3
submit vip -m 250M -c 0.1 -- sleep 300
wait_until 10 in_state o3 COMPLETED
says "explain names the guaranteed container for which another container was killed" \
    o3 "$id, which is guaranteed, needs room, and memory is short" \
    '\([0-9.]+ [MG]iB of 1000 MiB used or reserved: [0-9.]+ MiB used by containers.*\)' \
    'Expected back: 1[5-9][0-9](\.[0-9]+)? MiB' 'really regained: 1[5-9]'
# ---- ends of containers that nmd did not cause ----
submit shot -m 50M -c 0.1 -- sleep 300
wait_until 10 in_state shot RUNNING
kill -KILL "$(field_of shot .pid)"
wait_until 10 in_state shot COMPLETED
says "explain says that another program killed the container" \
    shot "now ended: it was ended by signal 9 \(Killed\): SIGKILL was not sent by nmd" \
    "What you can do: submit it again"
try nmctl explain nobody
is "explain with an unknown container fails" "$status" 1
at_least "explain without a container prints the decisions of all containers" "$(nmctl explain --last 100 --json | jq length)" 12
nmd_alive || not_ok "nmd still runs"
done_testing
