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
is "the kernel's OOM killer prefers an opportunistic container" "$(oom_score a)" 1000
check "promote succeeds" nmctl promote a
is "the container is guaranteed" "$(field_of a '"\(.execution_type) \(.state)"')" "GUARANTEED RUNNING"
is "the promoted container has the same process and cgroup" "$(identity a)" "$was"
is "the kernel's OOM killer no longer prefers the container" "$(oom_score a)" 0
is "the allocation counts as guaranteed" "$(status_of '.node.allocated | "\(.guaranteed.memory_bytes) \(.opportunistic.memory_bytes)"')" \
    "$((200 << 20)) 0"
like "explain describes the promotion" "$(nmctl explain a)" 'Promoted .*\(a\)'
try nmctl promote a
is "a second promotion is refused" "$status" 1
like "the refusal says that the container is already guaranteed" "$err" 'GUARANTEED already'
check "demote succeeds" nmctl demote a
is "the container is opportunistic again" "$(field_of a '"\(.execution_type) \(.state)"')" "OPPORTUNISTIC RUNNING"
is "the demoted container has the same process and cgroup" "$(identity a)" "$was"
is "the kernel's OOM killer prefers the container again" "$(oom_score a)" 1000

check "update succeeds" nmctl update -m 300M -c 0.5 a
is "the request has the new amounts" "$(field_of a '"\(.memory_bytes) \(.vcores)"')" "$((300 << 20)) 0.5"
is "the updated container has the same process and cgroup" "$(identity a)" "$was"
check "update changes memory alone" nmctl update -m 250M a
is "an update of memory leaves vcores unchanged" "$(field_of a '"\(.memory_bytes) \(.vcores)"')" "$((250 << 20)) 0.5"
try nmctl update -m 20M a
is "an update below the current use is refused" "$status" 1
like "the refusal has the current use" "$err" 'uses 5[0-9.]+ MiB now.*20\.0 MiB'
try nmctl update -m 2000M a
is "an update beyond the node is refused" "$status" 1
like "the refusal has the node's capacity" "$err" '2\.0 GiB.*1000 MiB'
is "a refused update changes nothing" "$(field_of a .memory_bytes)" $((250 << 20))

# ---- paused, then promoted ----
node_cpu 1950
check "the policy pauses the container" wait_until 20 in_state a PAUSED
was=$(identity a)
check "promote succeeds while the container is paused" nmctl promote a
check "the promoted container runs immediately although CPU is over beta" wait_until 5 in_state a RUNNING
is "the promoted container is thawed" "$(frozen a || echo thawed)" thawed
is "the promoted container has the same process" "$(identity a)" "$was"
samples 10
is "the promoted container is not paused again" "$(state_of a)" RUNNING
node_cpu 0

# ---- promises to other containers are kept ----
submit b -m 700M -c 0.5 -- sleep 300
submit c --opportunistic -m 300M -c 0.5 -- sleep 300
wait_until 10 in_state c RUNNING
try nmctl promote c
is "a promotion beyond the node's size is refused" "$status" 1
like "the refusal has the amounts of the promotion" "$err" '950 MiB.*1000 MiB.*300 MiB'
like "the refusal suggests what a promotion permits" "$err" \
    "It stays opportunistic\. Promote it when other containers have ended .*'nmctl update --memory SIZE --vcores N $(field_of c .id)'"
is "the container remains opportunistic" "$(field_of c '"\(.execution_type) \(.state)"')" "OPPORTUNISTIC RUNNING"
try nmctl update -m 800M b
is "a larger guarantee is refused too" "$status" 1
like "the refusal of a larger guarantee has its own suggestion" \
    "$err" "It keeps its present resources\. Ask for less, .*'nmctl demote $(field_of b .id)'"
nmctl kill --now --wait a >/dev/null
check "a promotion succeeds when it fits" nmctl promote c

# ---- in the queue ----
node_cpu_seen 1950
nmctl kill --now --wait c >/dev/null
submit q1 --opportunistic -m 400M -c 0.1 -- sleep 300
check "a container waits in the queue" wait_until 5 hold_is q1 never-fits # beside such a system
check "a queued container can be updated" nmctl update -m 100M q1
is "the updated container still waits" "$(field_of q1 '"\(.state) \(.memory_bytes)"')" "SCHEDULED $((100 << 20))"
check "a queued container can be promoted" nmctl promote q1
check "the promotion starts the container" wait_until 5 in_state q1 RUNNING
is "the started container is guaranteed" "$(decision_of q1 admit .reason)" guaranteed

# ---- more memory used than requested, which is possible without a memory controller ----
node_cpu 0
if [ "$(status_of '[.node.notes[] | select(test("memory limits: not enforced"))] | length')" -gt 0 ]; then
    hog large -m 20M -c 0.1 -- 40
    wait_until 10 uses large 40
    check "the vcores of a container that uses more memory than requested can be changed" nmctl update -c 0.2 large
    check "a container that uses more memory than requested can get more, even if too little" nmctl update -m 30M large
    try nmctl update -m 25M large
    is "a container that uses more memory than requested can't get less" "$status" 1
fi
nmd_alive || not_ok "nmd still runs"
done_testing
