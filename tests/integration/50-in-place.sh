#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
#
# Promotion, demotion and a change of resources of a running container: in place, without moving a process, and by the same rules as
# for new requests.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[preemption]
breaker = 0
END
nmd_start
identity() { # NAME: what must not change
    local cg
    cg=$(cgroup_of "$1")
    printf '%s %s %s %s' "$(field_of "$1" .pid)" "$(stat -c %i "$cg")" \
        "$(sort "$cg/cgroup.procs" | tr '\n' ' ')" "$(field_of "$1" .started_usec)"
}
oom_score() { cat "/proc/$(field_of "$1" .pid)/oom_score_adj"; }

hog a --opportunistic -m 200M -c 0.4 -- 50 --spin
wait_until 20 burns a 100
was=$(identity a)
is "an opportunistic one is the kernel's first choice" "$(oom_score a)" 1000
check "promote" nmctl promote a
is "it is guaranteed" "$(field_of a '"\(.execution_type) \(.state)"')" "GUARANTEED RUNNING"
is "same process, same cgroup" "$(identity a)" "$was"
is "no longer the kernel's first choice" "$(oom_score a)" 0
is "the allocation moved over" "$(status_of '.node.allocated | "\(.guaranteed.memory_bytes) \(.opportunistic.memory_bytes)"')" \
    "$((200 << 20)) 0"
like "explained" "$(nmctl explain a)" 'Promoted .*\(a\)'
try nmctl promote a
is "twice is refused" "$status" 1
like "because it is already" "$err" 'GUARANTEED already'
check "demote" nmctl demote a
is "it is opportunistic again" "$(field_of a '"\(.execution_type) \(.state)"')" "OPPORTUNISTIC RUNNING"
is "same process, same cgroup, still" "$(identity a)" "$was"
is "the kernel's first choice again" "$(oom_score a)" 1000

check "update" nmctl update -m 300M -c 0.5 a
is "resources are changed" "$(field_of a '"\(.memory_bytes) \(.vcores)"')" "$((300 << 20)) 0.5"
is "same process, same cgroup, after that" "$(identity a)" "$was"
check "memory alone" nmctl update -m 250M a
is "leaves vcores" "$(field_of a '"\(.memory_bytes) \(.vcores)"')" "$((250 << 20)) 0.5"
try nmctl update -m 20M a
is "less than it uses is refused" "$status" 1
like "with the numbers" "$err" 'uses 5[0-9.]+ MiB now.*20\.0 MiB'
try nmctl update -m 2000M a
is "more than the node has is refused" "$status" 1
like "with the numbers, too" "$err" '2\.0 GiB.*1000 MiB'
is "and nothing changed" "$(field_of a .memory_bytes)" $((250 << 20))

# ---- paused, then promoted ----
node_cpu 1950
check "paused by policy" wait_until 20 in_state a PAUSED
was=$(identity a)
check "promote while it is paused" nmctl promote a
check "runs at once, though CPU is short" wait_until 5 in_state a RUNNING
is "thawed" "$(frozen a || echo thawed)" thawed
is "in place" "$(identity a)" "$was"
samples 10
is "and is not paused again" "$(state_of a)" RUNNING
node_cpu 0

# ---- promises to other containers are kept ----
submit b -m 700M -c 0.5 -- sleep 300
submit c --opportunistic -m 300M -c 0.5 -- sleep 300
wait_until 10 in_state c RUNNING
try nmctl promote c
is "no promotion beyond the node's size" "$status" 1
like "with the numbers of it" "$err" '950 MiB.*1000 MiB.*300 MiB'
like "and what can be done, which isn't what run could do" "$err" \
    "It stays opportunistic\. Promote it when other containers have ended .*'nmctl update --memory SIZE --vcores N $(field_of c .id)'"
is "it stays what it is" "$(field_of c '"\(.execution_type) \(.state)"')" "OPPORTUNISTIC RUNNING"
try nmctl update -m 800M b
is "no larger promise either" "$status" 1
like "which has other ways out" "$err" "It keeps its present resources\. Ask for less, .*'nmctl demote $(field_of b .id)'"
nmctl kill --now --wait a >/dev/null
check "with room it can be promoted" nmctl promote c

# ---- in the queue ----
node_cpu_seen 1950
nmctl kill --now --wait c >/dev/null
submit q1 --opportunistic -m 400M -c 0.1 -- sleep 300
check "one that waits" wait_until 5 hold_is q1 never-fits # beside such a system
check "can be changed" nmctl update -m 100M q1
is "while it waits" "$(field_of q1 '"\(.state) \(.memory_bytes)"')" "SCHEDULED $((100 << 20))"
check "and promoted" nmctl promote q1
check "which starts it" wait_until 5 in_state q1 RUNNING
is "as guaranteed" "$(decision_of q1 admit .reason)" guaranteed

# ---- more memory used than requested, which is possible without a memory controller ----
node_cpu 0
if [ "$(status_of '[.node.notes[] | select(test("memory limits: not enforced"))] | length')" -gt 0 ]; then
    hog large -m 20M -c 0.1 -- 40
    wait_until 10 uses large 40
    check "vcores can be changed" nmctl update -c 0.2 large
    check "and more memory be given, if not enough" nmctl update -m 30M large
    try nmctl update -m 25M large
    is "but no less" "$status" 1
fi
nmd_alive || not_ok "nmd is still there"
done_testing
