# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the suites and their libraries
#
# Jobs of PySpark that use Spark's shuffle service with dynamic allocation, for suites that source this file after jobs.sh or lent.sh
# with spark in jobs_of. The file system is the local one.
#
#   spark_begin NAME "${service_options[@]}" OPTION... -- "$(files_of NAME)" [spread] [released]  submits spark/nodes-job.py
#   gets_ready NAME   waits until the job has read its shuffles once
#   proceed NAME      lets the job read the same shuffles again
#   ended_once NAME   checks that the job succeeds with the right result, and that no map has run again

# shellcheck disable=SC2154
spark_in=file://$shared/work
spark_job=spark-nodes-job.py
service_class=org.apache.spark.network.yarn.YarnShuffleService
# The nodes of a suite share a host, so each has another port. Executors read it from the environment of their container.
service_site=(yarn.nodemanager.aux-services=mapreduce_shuffle,spark_shuffle
    "yarn.nodemanager.aux-services.spark_shuffle.class=$service_class" spark.shuffle.service.port=17101)
service_port() { echo "spark.shuffle.service.port=17${1}01"; } # N: prints the property of a node
# Blocks are fetched from the service, not from the disk. Event logs have the stages.
# shellcheck disable=SC2016 # Hadoop expands it
service_options=(spark.submit.deployMode=client spark.shuffle.service.enabled=true
    'spark.hadoop.spark.shuffle.service.port=1${env.NM_PORT:-7101}' spark.shuffle.readHostLocalDisk=false
    spark.dynamicAllocation.enabled=true spark.dynamicAllocation.minExecutors=0 spark.dynamicAllocation.maxExecutors=4
    spark.dynamicAllocation.schedulerBacklogTimeout=1s spark.eventLog.enabled=true
    "spark.eventLog.dir=file://$shared/work/events" spark.eventLog.compress=false spark.eventLog.rolling.enabled=false)
files_of() { echo "$shared/work/$1"; } # NAME: the prefix of the job's files
service_install() { # after spark_install
    install -m 755 "$spark_here/nodes-job.py" "$shared/$spark_job" && install -d -o "$job_user" "$shared/work/events"
}

is_ready() { [ -e "$(files_of "$1").ready" ]; }
is_ready_or_over() { is_ready "$1" || over "${begun[$1]}"; }
gets_ready() { # NAME
    wait_until "${ready_seconds:-120}" is_ready_or_over "$1"
    is_ready "$1" || { tail -n 40 "$dir/$1.log"; return 1; }
}
proceed() { : >"$(files_of "$1").go"; }
events_of() { cat "$shared/work/events/$(application_of "$1")"; } # NAME: after the job
# Counts the events for which an expression of jq is true.
count_events() { # NAME EVENT CONDITION
    events_of "$1" | jq -n "[inputs | select(.Event == \"SparkListener$2\") | select($3)] | length"
}
maps_in_job=9
ended_once() {
    local status=0
    wait "${begun[$1]}" || status=$?
    is "$1: the job succeeds" "$status" 0 || diag "the end of its log:" "$(tail -n 40 "$dir/$1.log")"
    is "$1: the result is right" "$(cat "$(files_of "$1").result")" 'groups 500 right True the same again True'
    is "$1: no stage is submitted again" "$(count_events "$1" StageSubmitted '.["Stage Info"]["Stage Attempt ID"] > 0')" 0
    at_least "$1: its stages are counted" "$(count_events "$1" StageSubmitted true)" 4
    is "$1: each map has run once" "$(count_events "$1" TaskEnd '.["Task Type"] == "ShuffleMapTask"')" "$maps_in_job"
    is "$1: no fetch has failed" "$(count_events "$1" TaskEnd '.["Task End Reason"].Reason == "FetchFailed"')" 0
}
executors_removed() { count_events "$1" ExecutorRemoved true; } # NAME

# ---- processes ---------------------------------------------------------------------------------------

# Prints the processes of the job's executors, without the shells that have started them.
executors_of() { pgrep -f "^[^ ]*java .*--app-id $(application_of "$1") "; } # NAME
no_executor_runs() { [ -z "$(executors_of "$1")" ]; }                         # NAME
executors_on() { # N NAME: prints the number of running executors on a node
    NMD_SOCKET=$dir/nmd$1/nmd.sock nmctl list --json |
        jq --arg app "$(application_of "$2")" '[.[] | select(.app == $app and .name != "master")] | length'
}
server_on() { pgrep -P "${nmd_nodes[$1]}" -x nm-spark-shuffl; }                       # N
has_new_server() { [ -n "$(server_on "$1")" ] && [ "$(server_on "$1")" != "$2" ]; }   # N PID
# Figures of the service are up to a minute old, and newer ones arrive soon after a request.
blocks_sent() { curl -sSf "http://node0$1:7${1}03/jmx?qry=Hadoop:service=NodeManager,name=sparkShuffleService" |
    jq '.beans[0].blockTransferRate_count'; } # N
has_sent() { [ "$(blocks_sent "$1")" -ge "$2" ]; } # N BLOCKS
