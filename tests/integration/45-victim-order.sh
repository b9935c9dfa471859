#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# Tests each victim order and each queue order once. Tests also the limit of kills per minute, and the breaker.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[queue]
order = fifo
[over-allocation]
memory-threshold = 0.6
[preemption]
memory-threshold = 0.7
breaker = 0
settle-samples = 10
kills-per-minute = 60
victim-order = reverse-arrival
END
nmd_start

# ---- victims ----
# Every order ranks these three containers differently. "big" has the most memory and uses CPU. "idle" belongs to the same
# application and has used no CPU. "last" uses CPU and was started last.
big() { hog big --opportunistic --app A -m 200M -c 0.3 -- 150 --spin && wait_until 20 uses big 150; }
idle() { hog idle --opportunistic --app A -m 200M -c 0.3 -- 60 && wait_until 20 uses idle 60; }
last() { hog last --opportunistic --app B -m 200M -c 0.3 -- 80 --spin && wait_until 60 worked last 400; }
victims() { # ORDER MIB: prints the containers that remain after memory use was over beta by MIB
    local running
    running=$(status_of .containers.opportunistic_running)
    reconfigure preemption victim-order "$1"
    wait_until 10 settled "${@:3}"
    node_memory $((700 + $2))
    wait_until 20 status_is ".containers.opportunistic_running < $running" true
    node_memory 0
    nmctl list --json | jq -r '[.[].name] | sort | join(" ")'
}
big
idle
last
is "reverse-arrival kills the latest-started container" "$(victims reverse-arrival 20 big idle last)" "big idle"
last
is "least-work-lost kills the container that has done the least work" "$(victims least-work-lost 20 big idle last)" "big last"
idle
is "fewest-victims kills the one container that frees enough memory" "$(victims fewest-victims 120 big idle last)" "idle last"
is "app-fair kills a container of the application that uses the most" "$(victims app-fair 20 idle last)" "idle"
kill_all

# ---- the queue ----
try nmctl run --app nearly -m 10M -c 0.1 -- true
submit promised -m 960M -c 0.5 -- sleep 300
wait_until 10 settled promised
admitted() { # ORDER: prints four waiting containers in the order of their admission
    reconfigure queue order "$1"
    node_cpu_seen 1700
    submit w1 --opportunistic --app far -m 90M -c 0.02 -- sleep 300
    submit w2 --opportunistic --expect 1h -m 70M -c 0.02 -- sleep 300
    submit w3 --opportunistic --expect 1min -m 80M -c 0.02 -- sleep 300
    submit w4 --opportunistic --app nearly -m 100M -c 0.02 -- sleep 300
    wait_until 5 status_is .queue.length 4
    nmctl list --json | jq -r '[.[] | select(.queue_position) | {name, queue_position}] |
        sort_by(.queue_position) | map(.name) | join(" ")' >"$dir/positions"
    node_cpu 0
    wait_until 10 status_is .queue.length 0
    nmctl explain --json --last 30 | jq -r '[.[] | select(.kind == "admit") | .container_name // "" |
        select(startswith("w"))] | .[-4:] | join(" ")'
    nmctl kill --now --wait w1 w2 w3 w4 >/dev/null
}
in_order() { # ORDER NAMES
    is "queue order $1: the containers start in this order" "$(admitted "$1")" "$2"
    is "queue order $1: the reported positions are the order of the starts" "$(cat "$dir/positions")" "$2"
}
in_order fifo "w1 w2 w3 w4"
in_order smallest-first "w2 w3 w1 w4"
# A container of w4's application has already run, and ended immediately. nmd has no data about w1's application.
in_order shortest-expected-first "w4 w3 w2 w1"
in_order nearly-done-app-first "w4 w1 w2 w3"
kill_all

# ---- breaker ----
reconfigure preemption breaker 3s
last
node_memory 730
wait_until 20 in_state last COMPLETED
node_memory 0
submit held --opportunistic -m 50M -c 0.1 -- sleep 300
check "the breaker stops opportunistic admissions for some time after a kill" wait_until 5 queue_reason_is held breaker
is "status says how long the breaker stops admissions" "$(status_of '.node.breaker_until_usec > 0')" true
check "an opportunistic container is admitted when the breaker's time is over" wait_until 10 in_state held RUNNING
at_least "the breaker stops admissions for at least the configured time" \
    "$(jq -n "($(field_of held .started_usec) - $(field_of last .finished_usec)) / 1000 | floor")" 2800

# An operator who has removed the cause can end the breaker's stop immediately.
reconfigure preemption breaker 10min
last
node_memory 730
wait_until 20 in_state last COMPLETED
node_memory 0
submit freed --opportunistic -m 50M -c 0.1 -- sleep 300
check "the breaker stops admissions for a long time" wait_until 5 queue_reason_is freed breaker
check "a user ends the breaker's stop with nmctl close-breaker" nmctl close-breaker
check "an opportunistic container is admitted immediately after nmctl close-breaker" wait_until 3 in_state freed RUNNING
is "status says that the breaker is closed" "$(status_of .node.breaker_until_usec)" null
check "an event reports that the breaker was closed" grep -q 'breaker closed by an administrator' <(nmctl events)
check "nmctl close-breaker succeeds when the breaker is already closed" nmctl close-breaker
nmctl kill --now --wait freed >/dev/null

# ---- limit of kills per minute ----
# The kill of the previous test has used up the kills of this minute.
reconfigure preemption breaker 0
reconfigure preemption kills-per-minute 1
last
node_memory 730
check "memory use is over beta" wait_until 5 status_is '.node.utilization.memory > 0.71' true
samples 15
is "no container is killed when the limit of kills per minute is reached" "$(status_of .containers.opportunistic_running)" 2
reconfigure preemption kills-per-minute 60
check "with a higher limit of kills per minute, the latest-started container is killed" wait_until 10 in_state last COMPLETED
nmd_alive || not_ok "nmd still runs"
done_testing
