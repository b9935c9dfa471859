#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
# beside: others
#
# Promotion, demotion and a change of the resources of a running container. No process is moved, and the rules are those for new
# requests.
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
identity() { # NAME: prints the container's process and cgroup, which must not change
    local cg
    cg=$(cgroup_of "$1")
    printf '%s %s %s %s' "$(field_of "$1" .pid)" "$(stat -c %i "$cg")" \
        "$(sort "$cg/cgroup.procs" | tr '\n' ' ')" "$(field_of "$1" .started_usec)"
}
oom_score() { cat "/proc/$(field_of "$1" .pid)/oom_score_adj"; }

hog a --opportunistic -m 200M -c 0.4 -- 50 --spin
wait_until 20 burns a 100
was=$(identity a)
is "the OOM score makes the kernel's OOM killer prefer an opportunistic container" "$(oom_score a)" 1000
check "a running opportunistic container can be promoted" nmctl promote a
is "the promoted container is guaranteed" "$(field_of a '"\(.execution_type) \(.state)"')" "GUARANTEED RUNNING"
is "the promoted container has the same process and cgroup" "$(identity a)" "$was"
is "the kernel's OOM killer does not prefer a promoted container" "$(oom_score a)" 0
is "the promoted container's resources count as guaranteed allocation" \
    "$(status_of '.node.allocated | "\(.guaranteed.memory_bytes) \(.opportunistic.memory_bytes)"')" \
    "$((200 << 20)) 0"
like "explain describes the promotion" "$(nmctl explain a)" 'Promoted .*\(a\)'
try nmctl promote a
is "a second promotion of the same container is refused" "$status" 1
like "the refusal says that the container is already guaranteed" "$err" 'GUARANTEED already'
check "a running guaranteed container can be demoted" nmctl demote a
is "the demoted container is opportunistic" "$(field_of a '"\(.execution_type) \(.state)"')" "OPPORTUNISTIC RUNNING"
is "the demoted container has the same process and cgroup" "$(identity a)" "$was"
is "the kernel's OOM killer prefers the demoted container again" "$(oom_score a)" 1000

check "the memory and vcores of a running container can be updated" nmctl update -m 300M -c 0.5 a
is "the updated container has the new memory and vcores" "$(field_of a '"\(.memory_bytes) \(.vcores)"')" "$((300 << 20)) 0.5"
is "the updated container has the same process and cgroup" "$(identity a)" "$was"
check "an update can change memory only" nmctl update -m 250M a
is "an update of memory does not change vcores" "$(field_of a '"\(.memory_bytes) \(.vcores)"')" "$((250 << 20)) 0.5"
try nmctl update -m 20M a
is "an update of memory below the current use is refused" "$status" 1
like "the refusal of this update names the current use" "$err" 'uses 5[0-9.]+ MiB now.*20\.0 MiB'
try nmctl update -m 2000M a
is "an update beyond the node's capacity is refused" "$status" 1
like "the refusal of this update names the node's capacity" "$err" '2\.0 GiB.*1000 MiB'
is "a refused update changes no amount" "$(field_of a .memory_bytes)" $((250 << 20))

# ---- paused, then promoted ----
node_cpu 1950
check "nmd pauses the opportunistic container" wait_until 20 in_state a PAUSED
was=$(identity a)
check "promote succeeds while the container is paused" nmctl promote a
check "the promoted container is resumed immediately although CPU use is over beta" wait_until 5 in_state a RUNNING
is "the cgroup of the promoted container is thawed" "$(frozen a || echo thawed)" thawed
is "the promoted container still has the same process" "$(identity a)" "$was"
samples 10
is "the promoted container is not paused again" "$(state_of a)" RUNNING
node_cpu 0

# ---- limits of promotion ----
submit b -m 700M -c 0.5 -- sleep 300
submit c --opportunistic -m 300M -c 0.5 -- sleep 300
wait_until 10 in_state c RUNNING
try nmctl promote c
is "a promotion that exceeds the guaranteed capacity of the node is refused" "$status" 1
like "the refusal of the promotion names the amounts" "$err" '950 MiB.*1000 MiB.*300 MiB'
like "the refusal of the promotion suggests what makes the promotion possible" "$err" \
    "It stays opportunistic\. Promote it when other containers have ended .*'nmctl update --memory SIZE --vcores N $(field_of c .id)'"
is "the container stays opportunistic after a refused promotion" "$(field_of c '"\(.execution_type) \(.state)"')" "OPPORTUNISTIC RUNNING"
try nmctl update -m 800M b
is "an update to a larger guarantee than the node has left is refused" "$status" 1
like "the refusal of this update suggests what makes the update possible" \
    "$err" "It keeps its present resources\. Ask for less, .*'nmctl demote $(field_of b .id)'"
nmctl kill --now --wait a >/dev/null
check "the promotion succeeds when enough resources are available" nmctl promote c

# ---- in the queue ----
node_cpu_seen 1950
nmctl kill --now --wait c >/dev/null
submit q1 --opportunistic -m 400M -c 0.1 -- sleep 300
check "a container waits in the queue" wait_until 5 queue_reason_is q1 never-fits # because of the system's use
check "a queued container can be updated" nmctl update -m 100M q1
is "the updated container still waits" "$(field_of q1 '"\(.state) \(.memory_bytes)"')" "SCHEDULED $((100 << 20))"
check "a queued container can be promoted" nmctl promote q1
check "the promotion of a queued container starts it" wait_until 5 in_state q1 RUNNING
is "the container that was promoted in the queue is guaranteed" "$(decision_of q1 admit .reason)" guaranteed

# ---- a container uses more memory than it requested, which is possible without a memory controller ----
node_cpu 0
if [ "$(status_of '[.node.notes[] | select(test("memory limits: not enforced"))] | length')" -gt 0 ]; then
    hog large -m 20M -c 0.1 -- 40
    wait_until 10 uses large 40
    check "if a container uses more memory than requested, its vcores can be changed" nmctl update -c 0.2 large
    check "if a container uses more memory than requested, its request can be raised to less than its use" nmctl update -m 30M large
    try nmctl update -m 25M large
    is "if a container uses more memory than requested, its request can't be lowered" "$status" 1
fi
nmd_alive || not_ok "nmd still runs"
done_testing
