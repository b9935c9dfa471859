#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 400
#
# Two ResourceManagers with their state in ZooKeeper, and two nodes of nmd. The active ResourceManager changes while jobs run: first
# by an administrator, then because the active one hangs, or dies. While none is active, containers end, and the nmd of one
# node is killed. Each job has the right result with one master. No container is lost, runs twice or fails. The jobs are terasort,
# PySpark, and two jobs of streaming. First their masters call the ResourceManager, then the proxy of their node, which also lends
# one of them its containers.
jobs_of=(spark)
# shellcheck source=tests/yarn/proxied.sh
. "$(dirname "$0")/proxied.sh"
# shellcheck source=tests/yarn/faults.sh
. "$(dirname "$0")/faults.sh"
# shellcheck source=tests/yarn/ha.sh
. "$(dirname "$0")/ha.sh"
# shellcheck source=tests/yarn/lent-spark.sh
. "$(dirname "$0")/lent-spark.sh"

export spark_deadline=420 job_deadline=420 node_mb=5120

# ---- the cluster ---------------------------------------------------------------------------------------

with_proxy=true
node() { # N
    if $with_proxy; then
        nmd_node_start "$1" "$rpc_timeout" "$proxy.address=node0$1:8049"
    else
        nmd_node_start "$1" "$rpc_timeout" "$distributed=false" nmd.lending=off
    fi
}
rpc_timeout=ipc.client.rpc-timeout.ms=10000 # until a node leaves a ResourceManager that hangs; by default 30 s
both_are() { node_is 1 "$1" && node_is 2 "$1"; }  # STATE: for wait_until
both_join() { node 1 && node 2 && wait_until 60 both_are RUNNING; }
both_leave() { # they stop at the same time
    kill -TERM "${nmd_nodes[1]}"
    nmd_node_stop 2 && nmd_node_stop 1 && wait_until 30 both_are SHUTDOWN
}
rm_of() { use_node "$1"; status_of '"\(.upstream.state) \(.upstream.address)"'; } # N: the state and the ResourceManager of a node
tracker_of() { sed -n "/resource-tracker.address.rm$1</s/.*<value>\(.*\)<.value>.*/\1/p" "$conf/yarn-site.xml"; } # N
follows() { [ "$(rm_of "$1")" = "running $(tracker_of "$2")" ]; } # NODE N: for wait_until
both_follow() { follows 1 "$1" && follows 2 "$1"; }               # N: for wait_until
unreachable() { [[ $(rm_of "$1") = unreachable* ]]; }             # NODE: for wait_until

# ---- jobs ----------------------------------------------------------------------------------------------

# Prints the containers of a job on all nodes: id, name, state, exit code.
all_of() { # ID
    local n
    for n in 1 2; do
        use_node "$n"
        nmctl list --all --json
    done | jq -rs --arg id "$1" 'add | .[] | select(.id | contains($id)) | "\(.id) \(.name // "-") \(.state) \(.exit_code // "-")"'
}
id_of() { local id; id=$(application_of "$1"); echo "${id#application_}"; } # NAME
has_begun() { [ -n "$(id_of "$1")" ] && [ "$(rm_get "apps/application_$(id_of "$1")" | jq -r .app.state)" = RUNNING ]; } # NAME
running() { all_of "$(id_of "$1")" | grep -v ' master ' | grep -c ' RUNNING '; }     # NAME: prints how many tasks run
over() { all_of "$(id_of "$1")" | grep -v ' master ' | grep -c ' COMPLETED '; }      # NAME: prints how many tasks have ended
runs() { [ "$(running "$1")" -ge "$2" ]; }                                           # NAME N: for wait_until
are_over() { [ "$(over "$1")" -ge "$2" ]; }                                          # NAME N: for wait_until

# Prints how many tasks have started since a time in microseconds.
started_since() { # NAME USEC
    list_of "$1" | jq --argjson since "$2" 'map(select(.name != "master" and (.started_usec // 0) > $since)) | length'
}
now_usec() { echo "${EPOCHREALTIME/./}"; }
# Prints id and PID of each running container of the jobs.
processes_of() { # NAME...
    local name
    for name; do list_of "$name"; done | jq -r '.[] | select(.state == "RUNNING") | "\(.id) \(.pid)"' | sort
}

# Two jobs whose maps record that they run, and then wait for a file.
maps=3
held_begin() { # NAME OPTION...
    local name=$1 n
    mkdir -p "$shared/work/$name-in"
    for ((n = 1; n <= maps; n++)); do echo "line $n" >"$shared/work/$name-in/$n"; done
    cat >"$shared/work/$name.sh" <<-EOF
	read -r line n
	echo "\$n \$CONTAINER_ID" >>$shared/work/runs-$name
	until [ -e $shared/work/go-$name-\$n ]; do sleep 0.1; done
	echo "\$line \$n"
	EOF
    job_begin "$name" org.apache.hadoop.streaming.HadoopStreaming -Dmapreduce.job.reduces=1 "${@:2}" \
        -input "file://$shared/work/$name-in" -output "file://$shared/work/$name-out" \
        -mapper "/bin/sh $shared/work/$name.sh" -reducer /bin/cat
    aside "$name"
}
let_maps_go() { local n; for n in "${@:2}"; do touch "$shared/work/go-$1-$n"; done; } # NAME N...
held_result() { cat "$shared/work/$1-out"/part-* | sed 's/\s*$//' | sort | paste -sd ' '; } # NAME
# The options with which a master uses the proxy of its node, whichever node that is.
proxied=() spark_proxied=()
for n in 1 2; do
    proxied+=("-Dyarn.resourcemanager.scheduler.address.rm$n=\${env.NM_HOST}:8049")
    spark_proxied+=("spark.hadoop.yarn.resourcemanager.scheduler.address.rm$n=\${env.NM_HOST}:8049")
done
# One job is in a queue with room for its master only, so that its tasks are lent.
lent=(-Dyarn.app.mapreduce.am.env=NMD_LEND=all "-Dmapreduce.job.queuename=$jobs_queue")
narrow=("$cs.root.default.capacity=98" "$cs.root.$jobs_queue_xml.capacity=2" "$cs.root.$jobs_queue_xml.maximum-capacity=3")

# Only two maps run at the same time, so that the others must be allocated after a failover.
sort_maps=8
sort_begin() { # NAME OPTION...
    example "$1" terasort "${@:2}" -Dmapreduce.job.running.map.limit=2 -Dmapreduce.job.reduces=2 \
        -Dmapreduce.terasort.simplepartitioner=true "file://$shared/work/generated" "file://$shared/work/$1-out"
    aside "$1"
}
sort_input() { # rows as teragen's, with random keys: a file for each map
    mkdir "$shared/work/generated" && python3 -c 'import random, sys
rows = random.Random(1)
for n in range(int(sys.argv[2])):
    with open(f"{sys.argv[1]}/part-m-{n:05}", "wb") as file:
        for i in range(10000):
            file.write(rows.randbytes(10) + b"%088d\r\n" % (n * 10000 + i))' "$shared/work/generated" "$sort_maps"
}
# Prints the number of rows, "sorted" if they are in order, and a checksum that doesn't depend on the order.
rows_of() { # DIRECTORY
    python3 -c 'import glob, sys, zlib
rows = [f[i:i + 100] for f in (open(p, "rb").read() for p in sorted(glob.glob(sys.argv[1] + "/part-*"))) for i in range(0, len(f), 100)]
keys = [row[:10] for row in rows]
print(len(rows), "sorted" if keys == sorted(keys) else "unsorted", sum(map(zlib.crc32, rows)))' "$1"
}

# Checks that the job's containers ran once, and that the job needed no second attempt of anything.
ran_once() { # NAME MAPS REDUCES
    local id codes
    id=$(id_of "$1")
    wait_until 30 none_runs "$id" # the master ends after its client
    is "$1: one master, each map and each reducer ran once" "$(all_of "$id" | cut -d ' ' -f 1 | sort | uniq -u | wc -l)" \
        $((1 + $2 + $3)) || diag "$(all_of "$id")"
    codes=$(all_of "$id" | grep -Ev ' COMPLETED (0|143|-105)$')
    is "$1: no container was lost or failed" "$codes" ''
    is "$1: the master counts no failed and no killed attempt" "$(counters "$1" | grep -E '^(Failed|Killed) (map|reduce)')" ''
    is "$1: the application had one attempt" "$(attempts "$id")" 1
    saw "$1" "$2 maps and $3 reducers ran once, with one master"
}
none_runs() { ! all_of "$1" | grep -qv ' COMPLETED '; } # ID: for wait_until
attempts() { rm_get "apps/application_$1/appattempts" | jq '.appAttempts.appAttempt | length'; } # ID
survived() { saw "$1" "$(over "$1") tasks have ended, $(running "$1") run"; } # NAME

need 'a cluster with two ResourceManagers can be configured' ha_configure "$distributed=true" nmd.lending=allowed \
    "${narrow[@]}"
need 'an administrator makes the first ResourceManager active' ha_start manual
need "the host's memory can be simulated" node_proc_start 16384 16
with_proxy=false
need 'two nodes of nmd join' both_join
check 'both nodes are connected to the active ResourceManager' wait_until 10 both_follow 1
need 'PySpark is available' spark_install
spark_input

# ---- an administrator changes the active ResourceManager ---------------------------------------------

need 'the input of terasort is generated' sort_input
wanted=$(rows_of "$shared/work/generated" | sed 's/unsorted/sorted/')

sort_begin first
need 'terasort is submitted' wait_until 60 has_begun first
check 'some maps of terasort have ended' wait_until 90 are_over first 2
survived first
ha_note_roles
fault 'an administrator makes rm2 active in place of rm1'
# Hadoop 3.4 has no -failover for ResourceManagers.
hand_over() { ha_admin -transitionToStandby rm1 && ha_admin -transitionToActive rm2; }
check 'the administrator makes the second ResourceManager active' hand_over
check 'both nodes register with the second ResourceManager' wait_until 30 both_follow 2
saw nodes 'both are registered with rm2'
survived first
since=$(now_usec)
succeeds first
at_least 'first: tasks have started after the failover' "$(started_since first "$since")" 2
is 'the output of terasort is complete and in order' "$(rows_of "$shared/work/first-out")" "$wanted"
ran_once first $sort_maps 2

# ---- all ResourceManagers are restarted, with automatic failover -------------------------------------

with_proxy=true
need 'both nodes leave' both_leave
held_begin held "${proxied[@]}"
held_begin lent "${proxied[@]}" "${lent[@]}"
need 'both nodes join with the proxy for application masters' both_join
need 'two jobs of streaming are submitted' wait_until 60 has_begun held
need 'the second job has a master' wait_until 60 has_begun lent
check 'all maps of the first job run' wait_until 60 runs held $maps
check 'all maps of the second job run' wait_until 60 runs lent $maps
# Prints how many containers of the second job were lent: their numbers are from a node.
lent_tasks() { all_of "$(id_of lent)" | cut -d ' ' -f 1 | grep -c _10995; }
is 'all maps of the second job are lent' "$(lent_tasks)" $maps
fault 'both ResourceManagers are stopped, and start with automatic failover'
ha_stop
need 'one ResourceManager becomes active by election' ha_start automatic
active=$(ha_active)
check 'both nodes register with the elected ResourceManager' wait_until 60 both_follow "$active"
saw nodes "both are registered with rm$active"
is 'all maps of the first job still run' "$(running held)" $maps
is 'all maps of the second job still run' "$(running lent)" $maps
survived held
survived lent

# ---- the active ResourceManager hangs ----------------------------------------------------------------

ha_note_roles
ha_signal "$active" STOP
other=$((3 - active))
need 'the other ResourceManager becomes active' ha_wait $other ACTIVE
check 'both nodes leave the ResourceManager that hangs' wait_until 90 both_follow $other
saw nodes "both are registered with rm$other"
ha_signal "$active" CONT
check 'the ResourceManager that hung is on standby' wait_until 60 ha_is "$active" STANDBY
active=$other
is 'all maps of the first job still run' "$(running held)" $maps
is 'all maps of the second job still run' "$(running lent)" $maps
survived held
survived lent

# ---- the active ResourceManager dies ------------------------------------------------------------------

spark_begin counted "${spark_proxied[@]}" spark.submit.deployMode=cluster spark.executor.instances=2 spark.driver.memoryOverhead=128m \
    -- "until=$shared/work/go-words"
need 'a job of PySpark is submitted' wait_until 90 has_begun counted
sort_begin second "${proxied[@]}"
need 'terasort is submitted again' wait_until 60 has_begun second
check 'the executors of the job run' wait_until 90 runs counted 2
check 'some maps of the second terasort have ended' wait_until 120 are_over second 2
before=$(processes_of held lent counted)
ha_note_roles
standby=$((3 - active))
ha_signal $standby STOP # so that no ResourceManager is active for as long as the suite needs
ha_signal "$active" KILL
check 'the first node has no ResourceManager' wait_until 30 unreachable 1
saw node01 "$(rm_of 1)"
let_maps_go held 1 2
let_maps_go lent 1 2
check 'two maps of the first job end meanwhile' wait_until 30 are_over held 2
check 'two maps of the second job end meanwhile' wait_until 30 are_over lent 2
for name in second counted held lent; do survived $name; done
fault_nmd 2 KILL
fault 'nmd of node02 starts again'
need 'the nmd of the second node is started again' node 2
check 'the second node has no ResourceManager' wait_until 30 unreachable 2
after=$(processes_of held lent counted)
is 'the other processes of the jobs run on' "$(comm -13 <(echo "$before") <(echo "$after"))" '' || diag "$before"
is 'no other container of the jobs has ended' "$(comm -23 <(echo "$before") <(echo "$after") | wc -l)" 4 || diag "$after"
since=$(now_usec)
ha_signal $standby CONT
need 'the other ResourceManager becomes active' ha_wait $standby ACTIVE
saw nodes "rm$standby is active"
check 'both nodes register with the new active ResourceManager' wait_until 60 both_follow $standby
saw nodes "both are registered with rm$standby"
check 'the ResourceManager has both nodes' wait_until 30 node_is 2 RUNNING
for name in second counted held lent; do survived $name; done
has_end() { [ "$(rm_get "apps/application_$(id_of "$1")" | jq .app.runningContainers)" = "$2" ]; } # NAME N: for wait_until
check 'the new ResourceManager learns of the ends of the first job' wait_until 30 has_end held 2

let_maps_go held 3
let_maps_go lent 3
touch "$shared/work/go-words"
for name in held lent; do
    succeeds $name
    is "$name: the job has the right result" "$(held_result $name)" 'line 1 line 2 line 3'
    is "$name: each map ran once" "$(cut -d ' ' -f 1 "$shared/work/runs-$name" | sort | paste -sd ' ')" '1 2 3'
    ran_once $name $maps 1
done
ended_well counted "$spark_words"
is 'counted: no executor was lost and replaced' "$(all_of "$(id_of counted)" | wc -l)" 3
is 'counted: the application had one attempt' "$(attempts "$(id_of counted)")" 1
saw counted 'two executors ran once, with one master'
succeeds second
at_least 'second: tasks have started after the failover' "$(started_since second "$since")" 2
is 'the output of the second terasort is complete and in order' "$(rows_of "$shared/work/second-out")" "$wanted"
ran_once second $sort_maps 2

# ---- after the jobs ------------------------------------------------------------------------------------

is 'the reducer of the second job was lent, after the failover' "$(lent_tasks)" $((maps + 1))
nothing_allocated() { [ "$(rm_get metrics | jq '.clusterMetrics | "\(.allocatedMB) \(.containersPending)"' -r)" = '0 0' ]; }
check 'the ResourceManager has freed everything' wait_until 30 nothing_allocated
nothing_left() { [ -z "$(find "$shared"/node?/local -path '*appcache/*' -print -quit)" ]; }
check 'nmd removes the local files of the jobs' wait_until 30 nothing_left
faults_table
done_testing
