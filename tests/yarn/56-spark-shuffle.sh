#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
#
# Spark's shuffle service on a node of nmd: executors register, and their shuffle files are read after they were released. The
# service and nmd are killed in between. The jobs run without authentication, with SASL, and with Spark's own handshake.
jobs_of=(spark)
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"

# shellcheck disable=SC2034 # jobs.sh and spark/lib.sh use them
jobs_fs=local node_mb=4096 job_deadline=300 spark_deadline=300
# shellcheck disable=SC2034,SC2154
spark_in=file://$shared/work
# shellcheck disable=SC2154
executors=$dir/nmd1/state/spark/executors
port=7337
result() { cat "$shared/work/$1/part-00000"; } # NAME
servers() { pgrep -P "${nmd_nodes[1]}" -x nm-spark-shuffl; }
server_is_new() { [ -n "$(servers)" ] && [ "$(servers)" != "$1" ]; } # PID
stored() { find "$executors" -name 'application_*' -printf '%f\n'; }
released() { grep -c map "$shared/work/$1.marks"; } # NAME: prints the number of maps that have run
has_maps() { [ "$(released "$1")" = 6 ]; }          # NAME
no_executors() { ! nmctl list --json | jq -r '.[].name' | grep -q executor; }

start_node() { # NAME=VALUE...
    nmd_node_start 1 "$@" && wait_until 60 node_is 1 RUNNING
}
begin() { # NAME OPTION...
    local name=$1
    shift
    spark_job=spark-shuffle-job.py spark_begin "$name" spark.submit.deployMode=client spark.shuffle.service.enabled=true \
        "spark.shuffle.service.port=$port" spark.dynamicAllocation.enabled=true spark.dynamicAllocation.executorIdleTimeout=1s \
        spark.dynamicAllocation.schedulerBacklogTimeout=1s spark.dynamicAllocation.minExecutors=0 \
        spark.dynamicAllocation.maxExecutors=2 "$@" -- "$shared/work/$name.marks" "$shared/work/$name.go"
    wait_until 120 has_maps "$name"
}
proceed() { # NAME
    local status=0
    : >"$shared/work/$1.go"
    wait "${begun[$1]}" || status=$?
    is "$1: the job succeeds" "$status" 0 || diag "the end of its log:" "$(tail -n 40 "$dir/$1.log")" "$(tail -n 20 "$dir/nmd1.log")"
    is "$1: no map has run again" "$(result "$1")" 'groups 100 maps 6 the same again True'
    check "$1: the service forgets the application" wait_until 30 is_forgotten
}
# Each of the five reduce tasks fetches blocks of other executors after all executors were released.
proceed_over_the_network() { # NAME
    proceed "$1"
    check "$1: the service has sent blocks" wait_until 30 has_sent 5 || diag "blocks: $(figure blockTransferRate_count)"
}
is_forgotten() { [ -z "$(stored)" ]; }
# Figures of the service are up to a minute old, and newer ones arrive soon after a request.
figure() { curl -sSf "http://node01:7103/jmx?qry=Hadoop:service=NodeManager,name=sparkShuffleService" | jq ".beans[0].$1"; } # NAME
has_sent() { [ "$(figure blockTransferRate_count)" -ge "$1" ]; } # BLOCKS

over_the_network=spark.shuffle.readHostLocalDisk=false
without_authentication() {
    local former
    need 'a node with the service joins' start_node
    need 'a job shuffles its data' begin plain "$over_the_network"
    is 'the service stores the executors of the application' "$(stored | wc -l)" 1
    former=$(servers)
    kill -KILL "$former"
    check 'a killed service is started again' wait_until 20 server_is_new "$former"
    proceed_over_the_network plain
    need 'another job shuffles its data' begin local-disk
    end_process "${nmd_nodes[1]}" KILL
    need 'nmd is killed, and starts again' start_node
    proceed local-disk
}
with_authentication() { # NAME NODE-OPTION... -- JOB-OPTION...
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    nmd_node_stop 1
    need "$name: a node with the service joins" start_node spark.authenticate=true "${options[@]}"
    need "$name: a job shuffles its data" begin "$name" "$over_the_network" spark.authenticate=true "$@"
    proceed_over_the_network "$name"
}

need 'a cluster can be configured' jobs_configure "yarn.nodemanager.aux-services=mapreduce_shuffle,spark_shuffle" \
    yarn.nodemanager.aux-services.spark_shuffle.class=org.apache.spark.network.yarn.YarnShuffleService \
    "spark.shuffle.service.port=$port"
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
need 'PySpark is available' spark_install
install -m 755 "$(dirname "$0")/spark/shuffle-job.py" "$shared/spark-shuffle-job.py"
without_authentication
with_authentication sasl -- spark.authenticate.enableSaslEncryption=true
with_authentication handshake spark.network.crypto.enabled=true spark.network.crypto.saslFallback=false -- \
    spark.network.crypto.enabled=true spark.network.crypto.saslFallback=false
done_testing
