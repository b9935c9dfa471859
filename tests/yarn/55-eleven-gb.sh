#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
#
# The 11 GB experiment with a tenth of the size. On a node of 12 units, application A is guaranteed 10 units and uses 1. B
# requests 10 units. While A runs, the stock scheduler can't guarantee them to B, neither on a Java NodeManager nor on nmd. As
# opportunistic, B waits on a Java NodeManager as long as A runs. On nmd, B runs immediately, and is preempted when A uses its
# 10 units. A is not slowed down or ended. The cluster has no HDFS, because the jobs fetch no files and A's times are measured.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
# shellcheck source=tests/vm/data/grower.sh
. "$(dirname "$0")/../vm/data/grower.sh"

unit=100 # MiB
node_mb=$((12 * unit))
full=$((10 * unit - 20)) # ten units minus the memory of the interpreter
# The size at which A's growth reaches nmd's threshold of 95 %, with B's memory and two interpreters of about 8 MiB.
over=$((node_mb * 95 / 100 - full - 16))

ms() { date +%s%3N; }
log_of() { existing "$shared/node$1/logs/*/$(app_id "$2")/$3/stdout"; } # NODE APP ID
app_id() { cat "$dir/app.$1"; }                                  # APP
want() { echo "$2" >"$shared/$1.part" && mv "$shared/$1.part" "$shared/$1"; } # APP MIB: sets the memory that the process of APP must use
containers() { light "containers?app=$1" | jq -r ".[] | $2"; }   # APP JQ-EXPRESSION
held() { containers "$1" 'select(.node) | .id' | sort; }         # APP
# Requests ten units on this node only. The container runs grower.py of the application.
ask_for() { # APP NODE [KEY=VALUE]
    local cmd="exec python3 $shared/grower.py $shared/$1"
    light "ask?app=$1&n=1&mb=$((10 * unit))&host=node0$2&strict=1&cmd=$(jq -rn --arg c "$cmd" '$c | @uri')${3:+&$3}" |
        jq -r .app >"$dir/app.$1"
}
has_one() { [ -n "$(held "$1")" ]; }                             # APP
reported() { light "state?app=$1&container=$2" | jq -r '"\(.state) \(.sub_state)"'; } # APP ID: the state that its application master gets
state_is() { [ "$(reported "$1" "$2")" = "$3" ]; }
ended() { [ -n "$(end_of "$1" "$2")" ]; }
end_of() { containers "$1" "select(.id == \"$2\") | .end // \"\""; } # APP ID
# pending_mib prints the MiB that an application still waits for. guaranteed prints the ids of its guaranteed containers.
pending_mib() { rm_get "apps/$(app_id "$1")" | jq '.app.resourceInfo.resourceUsagesByPartition[0].pending.memory'; } # APP
guaranteed() { containers "$1" 'select(.type == "GUARANTEED") | .id'; } # APP
refused() { [ "$(pending_mib "$1")" = $((10 * unit)) ] && [ -z "$(guaranteed "$1")" ]; }

jobs_fs=local # times are measured, and no file is fetched
# root submits the applications here, but a node of nmd does not run containers as root.
need 'a cluster can be configured' jobs_configure yarn.scheduler.minimum-allocation-mb=4 \
    "$lce.nonsecure-mode.limit-users=true" "$lce.nonsecure-mode.local-user=$job_user"
install -m 755 "$(dirname "$0")/../vm/data/grower.py" "$shared/"
java_node_start 4
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 2000 2
/usr/bin/python3 "$here/node-memory.py" "$node_proc/meminfo" 2000 "$(nmd_cgroup_root)/nmdtest${$}n1.slice" &
# shellcheck disable=SC2034 # it is used when the suite ends
node_memory_pid=$!
at_exit 'end_process "$node_memory_pid"'
nmd_configure </dev/null && : >"$nmd_conf" # only nmd's defaults and the cluster's files
need 'nmd starts' nmd_node_start 1
need 'two application masters are registered' cluster_start 0
need 'nmd registers' wait_until 30 node_is 1 RUNNING
need 'a Java NodeManager registers' wait_until 60 node_is 4 RUNNING

# ---- A alone ----------------------------------------------------------------------------------------

want a1 $unit
want a4 $unit
ask_for a1 1
ask_for a4 4
check 'A gets a container with its ten units on nmd' wait_until 30 has_one a1
check 'A gets a container with its ten units on the Java NodeManager' wait_until 30 has_one a4
a1=$(held a1) a4=$(held a4)
log1=$(log_of 1 a1 "$a1") log4=$(log_of 4 a4 "$a4")
check 'A uses one unit on nmd' wait_until 30 holds "$log1" $unit
check 'A uses one unit on the Java NodeManager' wait_until 30 holds "$log4" $unit

ask_for b1 1
ask_for b4 4
want b1 $full
want b4 $full
both_are_pending() { [ "$(pending_mib b1)$(pending_mib b4)" = "$((10 * unit))$((10 * unit))" ]; }
check "B's guaranteed request of ten units is pending on nmd and on the Java NodeManager" wait_until 20 both_are_pending

# Measures the same growth without another container, for comparison. Only the second growth is measured, because a machine may
# be slow to provide memory that was not used before.
want a1 $full
want a4 $full
check 'application A uses 10 units of memory on nmd, without B' wait_until 30 holds "$log1" $full
check 'application A uses 10 units of memory on the Java NodeManager, without B' wait_until 30 holds "$log4" $full
read -r java_alone _ < <(last_growth "$log4")
want a1 $unit
want a4 $unit
check 'A shrinks to one unit on nmd' wait_until 30 holds "$log1" $unit
check 'A shrinks to one unit on the Java NodeManager' wait_until 30 holds "$log4" $unit
want a1 $full
check 'A grows a second time on nmd, without B' wait_until 30 holds "$log1" $full
read -r alone alone_own < <(last_growth "$log1")
line=$(lines_of "$log1")
check 'A works with all ten units, without B' wait_until 30 worked_since "$log1" "$line" 5
rate=$(rate_since "$log1" "$line")
want a1 $unit
# A's warm-up has ended, so nmd counts its measured use.
at_rest() { nmctl status --json | jq -e --argjson most $((2 * unit << 20)) '.node.used_or_reserved.memory_bytes < $most'; }
check "nmd reports that nine of A's ten units are unused" wait_until 40 at_rest
is 'B has no guaranteed container on either node' "$(guaranteed b1)$(guaranteed b4)" ''

# ---- B as opportunistic -----------------------------------------------------------------------------

since4=$(ms)
ask_for b4 4 type=OPPORTUNISTIC
check "the Java NodeManager gets B's opportunistic container" wait_until 30 has_one b4
b4=$(held b4)
check "the Java NodeManager queues B's container" wait_until 20 state_is b4 "$b4" 'RUNNING SCHEDULED'
since1=$(ms)
ask_for b1 1 type=OPPORTUNISTIC
check "nmd gets B's opportunistic container" wait_until 30 has_one b1
b1=$(held b1)
poll_seconds=0.02
check "nmd runs B's container" wait_until 20 in_state "$b1" RUNNING
b1_waited=$((($(field_of "$b1" .started_usec) / 1000) - since1))
unset poll_seconds
logb=$(log_of 1 b1 "$b1")
check 'B uses all ten units on nmd' wait_until 30 holds "$logb" $full
is "B's application master gets the running state of the container" "$(reported b1 "$b1")" 'RUNNING RUNNING'
check "the scheduler still does not guarantee B's request" refused b1
check 'nmd reports that eleven of twelve units are in use' wait_until 20 uses "$b1" $((full - 20))

# ---- A uses its guaranteed memory -----------------------------------------------------------------------

line=$(lines_of "$log1")
want a1 $full
check 'application A uses 10 units of memory on nmd while B is running' wait_until 30 holds "$log1" $full
check "B's container is killed on nmd" wait_until 20 in_state "$b1" COMPLETED
check "B's application master gets the end of the container" wait_until 20 ended b1 "$b1"
read -r beside beside_own < <(last_growth "$log1")
crossed=$(held_at "$log1" $over "$line")
decided=$(($(decision_of "$b1" kill .time_usec) / 1000)) gone=$(($(field_of "$b1" .finished_usec) / 1000))
like "B's application master is informed that the node ended the container, which is not a failure of B" \
    "$(end_of b1 "$b1")" '^-108 .*ended by the node'
is 'the decision record of the kill has the reason memory-over-beta' "$(decision_of "$b1" kill .reason)" memory-over-beta
at_least 'nmd decided before A had grown by three units over the threshold' "$(held_at "$log1" $((over + 3 * unit)) "$line")" "$decided"
at_least "A's growth took at most twice as long as without B plus 0.3 s, without the time that A waited for CPU" \
    $((2 * alone_own + 300)) "$beside_own"
line=$(lines_of "$log1")
check 'A continues to work after its growth' wait_until 30 worked_since "$log1" "$line" 5
rate_after=$(rate_since "$log1" "$line")
at_least "A's work rate is at least three quarters of its rate before B was running" "$rate_after" $((rate * 3 / 4))
is 'B still has no guaranteed container after the kill' "$(refused b1 && echo so)" so

want a4 $full
check 'application A uses 10 units of memory on the Java NodeManager' wait_until 30 holds "$log4" $full
read -r java_growth _ < <(last_growth "$log4")
is "B's container has waited on the Java NodeManager all the time" "$(reported b4 "$b4")" 'RUNNING SCHEDULED'
is "A's containers are running on both nodes" "$(reported a1 "$a1"), $(reported a4 "$a4")" 'RUNNING RUNNING, RUNNING RUNNING'

# ---- A ends -----------------------------------------------------------------------------------------

light "end?app=a1&container=$a1" >/dev/null
given_at_last() { [ -n "$(guaranteed b1)" ]; }
check 'B gets its guaranteed container when A has ended' wait_until 30 given_at_last
light "cancel?app=b4" >/dev/null
light "end?app=a4&container=$a4" >/dev/null
check "B's opportunistic container runs on the Java NodeManager when A has ended" wait_until 30 state_is b4 "$b4" 'RUNNING RUNNING'
b4_waited=$(($(ms) - since4))
for app in a1 b1 a4 b4; do light "finish?app=$app" >/dev/null; done
no_grower_runs() { ! pgrep -f "$shared/grower.py" >/dev/null; }
check 'all containers end when their applications end' wait_until 30 no_grower_runs

diag "a node of $node_mb MiB, where A is guaranteed $((10 * unit)) and uses $unit; then B requests $((10 * unit)):" "$(table_head)" \
    "$(table_nmd "$b1_waited" $((decided - crossed)) $((gone - decided)) "$beside" "$alone")" \
    "$(table_row 'Java NodeManager' 'no, while A runs' "waited $(seconds "$b4_waited") s for A's end" 'waits on' \
        "$(seconds "$java_growth") s (alone $(seconds "$java_alone") s)")" \
    "A's pieces of work in a second: $rate before B, $rate_after after it" \
    "its growth without waiting for CPUs: $beside_own ms ($alone_own alone)"
done_testing
