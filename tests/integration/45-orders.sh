#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# Tests each victim order and each queue order once, the limit of kills per minute, and the breaker.
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
# Three containers that every order ranks differently: "big" has the most memory and works, "idle" belongs to the same application and
# has done no work, and "last" works and was started last.
big() { hog big --opportunistic --app A -m 200M -c 0.3 -- 150 --spin && wait_until 20 uses big 150; }
idle() { hog idle --opportunistic --app A -m 200M -c 0.3 -- 60 && wait_until 20 uses idle 60; }
last() { hog last --opportunistic --app B -m 200M -c 0.3 -- 80 --spin && wait_until 60 worked last 400; }
victims() { # ORDER MIB: who is killed when memory is over beta by so much
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
is "reverse-arrival: the latest-started" "$(victims reverse-arrival 20 big idle last)" "big idle"
last
is "least-work-lost: the one that has done least" "$(victims least-work-lost 20 big idle last)" "big last"
idle
is "fewest-victims: the one that is enough by itself" "$(victims fewest-victims 120 big idle last)" "idle last"
is "app-fair: the application that holds the most" "$(victims app-fair 20 idle last)" "idle"
kill_all

# ---- the queue ----
try nmctl run --app nearly -m 10M -c 0.1 -- true
submit promised -m 960M -c 0.5 -- sleep 300
wait_until 10 settled promised
admitted() { # ORDER: names in the order of their admission, of four that waited together
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
    is "$1" "$(admitted "$1")" "$2"
    is "$1: as the positions said" "$(cat "$dir/positions")" "$2"
}
in_order fifo "w1 w2 w3 w4"
in_order smallest-first "w2 w3 w1 w4"
# A container of w4's application is known to have ended at once. There are no data about w1.
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
check "after a kill nothing opportunistic is admitted for a while" wait_until 5 hold_is held breaker
is "status says until when" "$(status_of '.node.breaker_until_usec > 0')" true
check "and then it is" wait_until 10 in_state held RUNNING
at_least "not sooner than configured" \
    "$(jq -n "($(field_of held .started_usec) - $(field_of last .finished_usec)) / 1000 | floor")" 2800

# An operator who has removed the cause can close the breaker at once.
reconfigure preemption breaker 10min
last
node_memory 730
wait_until 20 in_state last COMPLETED
node_memory 0
submit freed --opportunistic -m 50M -c 0.1 -- sleep 300
check "a long hold" wait_until 5 hold_is freed breaker
check "can be ended" nmctl close-breaker
check "and is then over at once" wait_until 3 in_state freed RUNNING
is "status says so" "$(status_of .node.breaker_until_usec)" null
check "the event is told" grep -q 'breaker closed by an administrator' <(nmctl events)
check "with nothing to end it is fine, too" nmctl close-breaker
nmctl kill --now --wait freed >/dev/null

# ---- limit of kills per minute ----
# The kill above has used up the limit of this minute.
reconfigure preemption breaker 0
reconfigure preemption kills-per-minute 1
last
node_memory 730
check "over beta" wait_until 5 status_is '.node.utilization.memory > 0.71' true
samples 15
is "the budget is spent: nothing is killed" "$(status_of .containers.opportunistic_running)" 2
reconfigure preemption kills-per-minute 60
check "with a larger one, the latest-started" wait_until 10 in_state last COMPLETED
nmd_alive || not_ok "nmd is still there"
done_testing
