# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # much of it is for those who source it
#
# Jobs whose guaranteed containers are lent, for suites that source this file. All memory of two nodes of nmd is allocated by
# services that use almost nothing. They are applications whose masters only sleep, so that they need no JVM and run with each
# version of Hadoop. A small "hole" beside them keeps the place of a job's master until the job is submitted, since masters are
# never lent. Tasks are larger than any hole. All holes and masters are on the first node.
#
#   lent_cluster  starts ResourceManager, nodes and services
#   lent_end      checks the nodes after all jobs have ended, and prints the summary
# shellcheck source=tests/yarn/proxied.sh
. "$(dirname "${BASH_SOURCE[0]}")/proxied.sh"

node_mb=5120 second_mb=5632 job_deadline=300 spark_deadline=300
proxy_at=node01:8049
memory_of_node=yarn.nodemanager.resource.memory-mb
rule=NMD_LEND # the variable of a master
through=(-Dmapreduce.map.memory.mb=512 -Dmapreduce.reduce.memory.mb=512)
with_rule() { # RULE: prints the options of a job of MapReduce
    printf '%s\n' "-Dyarn.app.mapreduce.am.env=$rule=$1" "-Dyarn.resourcemanager.scheduler.address=$proxy_at" "${through[@]}"
}

# ---- services ------------------------------------------------------------------------------------

declare -A service_ids=()
# Submits an application whose master is the command. It needs neither a client nor a JVM.
service_submit() { # NAME MB [COMMAND]
    local id
    id=$(curl -sSf -X POST "$rm_web/ws/v1/cluster/apps/new-application?user.name=$job_user" | jq -r '."application-id"') &&
        jq -n --arg id "$id" --arg name "$1" --argjson mb "$2" --arg command "${3:-exec sleep 100000}" '{"application-id": $id,
            "application-name": $name, "application-type": "SERVICE", "max-app-attempts": 1,
            "am-container-spec": {commands: {command: $command}}, resource: {memory: $mb, vCores: 1}}' |
        curl -sSf -X POST -H 'Content-Type: application/json' -d @- "$rm_web/ws/v1/cluster/apps?user.name=$job_user" || return
    service_ids[$1]=$id
}
service_begin() { # NAME MB [COMMAND]
    service_submit "$@" && wait_until 30 service_has "$1" "$2"
}
service_has() { [ "$(rm_get "apps/${service_ids[$1]}" | jq .app.allocatedMB)" = "$2" ]; } # NAME MB: for wait_until
app_kill() { # APPLICATION-ID
    curl -sSf -X PUT -H 'Content-Type: application/json' -d '{"state":"KILLED"}' -o /dev/null \
        "$rm_web/ws/v1/cluster/apps/$1/state?user.name=$job_user"
}
service_end() { # NAME
    app_kill "${service_ids[$1]}" && wait_until 30 service_has "$1" -1
}
allocated_mb() { rm_get metrics | jq .clusterMetrics.allocatedMB; }
available_mb() { rm_get metrics | jq .clusterMetrics.availableMB; }
pending_mb() { rm_get metrics | jq .clusterMetrics.pendingMB; }
is_full() { [ "$(available_mb)" = "$free_mb" ]; } # for wait_until
free_hole() { service_end "hole-$1"; }   # NAME: of the job whose master gets the place

lent_join() { # N [NAME=VALUE...]
    nmd_node_start "$1" "$proxy.address=node0$1:8049" "${@:2}" && wait_until 30 node_is "$1" RUNNING
}
# The second node is on another simulated machine, whose memory never surges.
lent_join_second() {
    local node_proc=$dir/proc2
    if [ ! -e "$node_proc" ]; then
        cp -r "$dir/proc" "$node_proc" || return
        /usr/bin/python3 "$here/node-proc.py" "$node_proc" 16 &
        second_proc_pid=$!
        at_exit 'kill "$second_proc_pid" 2>/dev/null'
    fi
    lent_join 2 "$memory_of_node=$second_mb"
}
# Fills the second node with one service, which no other node has room for. The first node gets the holes, and a service for the
# rest.
lent_fill() { # NAME MB...: of the holes
    local rest=$node_mb
    service_begin two "$second_mb" || return
    while [ $# -gt 0 ]; do
        service_begin "hole-$1" "$2" || return
        rest=$((rest - $2))
        shift 2
    done
    service_begin one "$((rest - free_mb))" && wait_until 30 is_full
}
empty() { # ends all services, and waits until all memory is free
    local name
    for name in "${!service_ids[@]}"; do
        service_end "$name"
        unset "service_ids[$name]"
    done
    wait_until 30 nothing_allocated
}
refill() { empty && lent_fill "$@"; } # NAME MB...: of the holes
free_mb=0 # memory that is left for guaranteed containers
lent_cluster() { # NAME MB... [-- NAME=VALUE...]: holes, and properties of the cluster
    local holes=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do holes+=("$1"); shift; done
    need 'a cluster can be configured' jobs_configure "$distributed=true" "${rm_remembers[@]}" nmd.lending=allowed \
        yarn.am.liveness-monitor.expiry-interval-ms=600000 yarn.resourcemanager.connect.max-wait.ms=60000 \
        yarn.resourcemanager.connect.retry-interval.ms=200 "${@:2}"
    need 'a stock ResourceManager answers' rm_again
    [ -z "${NMD_TEST_HADOOP:-}" ] ||
        is 'the requested version of Hadoop is used' "$(rm_get info | jq -r .clusterInfo.resourceManagerVersion)" "$NMD_TEST_HADOOP"
    need "the host's memory can be simulated" node_proc_start 16384 16
    need 'a node of nmd joins' lent_join 1
    need 'a second node of nmd joins' lent_join_second
    need 'services fill both nodes' lent_fill "${holes[@]}"
}

# ---- containers ----------------------------------------------------------------------------------

# Prints the containers of a job on all nodes of nmd, without its master, as a list.
tasks_of() { # ID
    local n
    for n in "${!nmd_nodes[@]}"; do
        NMD_SOCKET=$dir/nmd$n/nmd.sock nmctl list --all --json
    done | jq -s --arg id "$1" 'add | map(select((.id | contains($id)) and .name != "master"))'
}
count_of() { tasks_of "$1" | jq "map(select($2)) | length"; }      # ID JQ-CONDITION
counts() { [ "$(count_of "$1" "$2")" = "$3" ]; }                   # ID JQ-CONDITION N: for wait_until
counts_more() { [ "$(count_of "$1" "$2")" -ge "$3" ]; }            # ID JQ-CONDITION N: for wait_until
lent_now='.execution_type == "OPPORTUNISTIC" and .state == "RUNNING"'
guaranteed_now='.execution_type == "GUARANTEED" and .state == "RUNNING"'
was_guaranteed='.execution_type == "GUARANTEED"'
taken_back='.exit_reason == "preempted"'
has_id() { [ -n "$(job_id "$1")" ]; } # NAME: for wait_until
app_is() { [ "$(rm_get "apps/application_$1" | jq -r .app.state)" = "$2" ]; } # ID STATE: for wait_until
pending_of() { rm_get "apps/application_$1" | jq '[.app.resourceRequests[]? | select(.resourceName == "*") | .numContainers] | add // 0'; } # ID

# Submits a job of MapReduce.
lent_submit() { # NAME RULE CLASS ARG...; RULE -: none
    local options=()
    if [ "$2" = - ]; then
        options=("-Dyarn.resourcemanager.scheduler.address=$proxy_at" "${through[@]}")
    else
        mapfile -t options < <(with_rule "$2")
    fi
    # the first argument of ExampleDriver is the program
    if [ "$3" = org.apache.hadoop.examples.ExampleDriver ]; then
        job_begin "$1" "$3" "$4" "${options[@]}" "${@:5}"
    else
        job_begin "$1" "$3" "${options[@]}" "${@:4}"
    fi
    aside "$1"
}
# Submits a job of MapReduce, and waits until its master runs in its hole.
lent_begin() { # NAME RULE CLASS ARG...
    free_hole "$1" && lent_submit "$@" && wait_until 60 has_id "$1" && wait_until 60 app_is "$(job_id "$1")" RUNNING
}
pi_lent() { lent_begin "$1" "$2" org.apache.hadoop.examples.ExampleDriver pi "$3" 100; } # NAME RULE MAPS
# Runs maps that copy their input when the file $shared/work/go exists.
held_lent() { # NAME RULE MAPS
    local n
    mkdir -p "$shared/work/$1-in"
    for ((n = 1; n <= $3; n++)); do echo "line $n" >"$shared/work/$1-in/$n"; done
    echo "until [ -e $shared/work/go-$1 ]; do sleep 0.1; done; cat" >"$shared/work/$1.sh"
    "${begin_by:-lent_begin}" "$1" "$2" org.apache.hadoop.streaming.HadoopStreaming -Dmapreduce.job.reduces=0 \
        -input "file://$shared/work/$1-in" -output "file://$shared/work/$1-out" -mapper "/bin/sh $shared/work/$1.sh"
}
held_result() { cat "$shared/work/$1-out"/part-* | sed 's/\s*$//' | sort | paste -sd ' '; } # NAME
# Simulates a surge of a machine's memory, until CONDITION succeeds. What is not the node's memory is used first, so nearly all memory
# of the machine must be in use.
surge() { # N SECONDS CONDITION...
    local status=0 node_proc=$dir/proc
    [ "$1" = 1 ] || node_proc=$dir/proc$1
    node_memory 16300
    wait_until "${@:2}" || status=$?
    node_memory 0
    return "$status"
}
# Prints the number of a node that runs a container of the job, with the condition.
node_with() { # ID JQ-CONDITION
    local n
    for n in "${!nmd_nodes[@]}"; do
        NMD_SOCKET=$dir/nmd$n/nmd.sock nmctl list --all --json |
            jq -e --arg id "$1" "any(.[]; (.id | contains(\$id)) and .name != \"master\" and $2)" >/dev/null && echo "$n" && return
    done
}

# ---- jobs ----------------------------------------------------------------------------------------

# A surge takes back lent maps of the job "held", on a node that has one. Sets $lost.
lent_surge() { # ID MAPS
    local node
    node=$(node_with "$1" "$lent_now")
    check "a surge of node ${node:-1} takes back a lent map" surge "${node:-1}" 60 counts_more "$1" "$taken_back" 1
    lost=$(count_of "$1" "$taken_back")
    check 'the master asks for the lost map again' wait_until 30 asks_again "$1" "$2" "$lost"
    at_least 'nmctl status counts the lost map' "$(masters .lending.preempted)" "$lost"
}
# Ends the job "held", whose maps are guaranteed now, or wait.
lent_held_ends() { # ID LOST
    local promoted
    promoted=$(tasks_of "$1" | jq -r "map(select($guaranteed_now and (.id | test(\"_10995\"))))[0].id")
    like 'explain tells that a container was lent and promoted' "$(nmctl explain "$promoted" | tr '\n' ' ')" \
        'Asked for as guaranteed; lent after [^;]* without a grant; promoted '
    check 'all maps that wait run when there is room' wait_until 60 counts "$1" "$guaranteed_now" 3
    touch "$shared/work/go-held"
    succeeds held
    is 'the job that lost a map has the right result' "$(held_result held)" 'line 1 line 2 line 3'
    is 'the job that lost a map counts it as killed, and none as failed' \
        "$(counters held | grep -E '^(Failed|Killed) map')" "Killed map tasks=$2" || diag "$(tail -n 40 "$dir/held.log")"
}
rm_counts_opportunistic() { [ "$(rm_get nodes | jq '[.nodes.node[].numRunningOpportContainers] | add')" = "$1" ]; } # N
# A preempted key is not lent for a minute, but MapReduce asks for the next attempt with another priority.
asks_again() { [ $(($(pending_of "$1") + $(count_of "$1" .) - $2)) -ge "$3" ]; } # ID N-BEFORE N-LOST
# The services end, and so all lent containers become guaranteed.
lent_promote_first() { # ID N
    service_end one
    service_end two
    check 'lent containers are promoted when the services end' wait_until 60 counts_more "$1" "$guaranteed_now" "$2"
}
lent_promoted() {
    check 'the ResourceManager counts no opportunistic container' wait_until 20 rm_counts_opportunistic 0
    check 'no promotion is left pending' wait_until 30 nothing_pending
}
lent_promote() { lent_promote_first "$@"; lent_promoted; } # ID N
nothing_pending() { [ "$(pending_mb)" = 0 ]; }

# ---- after the jobs ------------------------------------------------------------------------------

declare -A failures_before=() # of the node N: while the ResourceManager was away
left_files() { find "$shared"/node?/local -path '*appcache/*' | head -n 10; }
nothing_left() { [ -z "$(left_files)" ]; }
nothing_allocated() { [ "$(allocated_mb)" = 0 ]; }
lent_end() {
    local n name
    for name in "${!service_ids[@]}"; do service_end "$name"; done
    check 'the ResourceManager has freed all memory at the end' wait_until 30 nothing_allocated
    check 'nmd removes the local files of the jobs' wait_until 30 nothing_left || diag "$(left_files)" \
        "what the nodes know of applications:" "$(find "$dir"/nmd?/state/{applications,ended} -type f)" \
        "$(grep -h 'could be removed\|has files of' "$dir"/nmd?.log)"
    for n in "${!nmd_nodes[@]}"; do
        use_node "$n"
        is "no heartbeat of node $n has failed${failures_before[$n]:+ since the ResourceManager was back}" \
            "$(status_of .upstream.failures)" "${failures_before[$n]:-0}"
    done
    done_testing
}
