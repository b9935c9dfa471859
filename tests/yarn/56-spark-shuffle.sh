#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
#
# Spark's shuffle service on a node of nmd: executors register, and their shuffle files are read after they were released. The
# service and nmd are killed in between. The service has another name than Spark's default, and its own file of properties. The jobs
# run without authentication, with SASL, and with Spark's own handshake.
jobs_of=(spark)
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"

# shellcheck disable=SC2034 # jobs.sh and spark/lib.sh use them
jobs_fs=local node_mb=4096 job_deadline=300 spark_deadline=300
# shellcheck disable=SC2034,SC2154
spark_in=file://$shared/work
# shellcheck disable=SC2154
executors=$dir/nmd1/state/spark/executors
port=7447 service=spark3_shuffle
result() { cat "$shared/work/$1/part-00000"; } # NAME
servers() { pgrep -P "${nmd_nodes[1]}" -x nm-spark-shuffl; }
server_is_new() { [ -n "$(servers)" ] && [ "$(servers)" != "$1" ]; } # PID
stored() { find "$executors" -name 'application_*' -printf '%f\n'; }
has_pushed() { grep -q 'Shuffle merge enabled' "$dir/$1.log"; } # NAME
has_shown_blocks() { [ "$(shown .blocks_sent)" -ge 5 ] && [ "$(shown .sent_bytes)" -gt 0 ]; }
released() { grep -c map "$shared/work/$1.marks"; } # NAME: prints the number of maps that have run
has_maps() { [ "$(released "$1")" = 6 ]; }          # NAME
# Spark does not repeat a question for the local directories of an executor, so a job whose first reduce tasks meet no service runs maps
# again.
first_is_over() { grep -q 'Job 0 finished' "$dir/$1.log"; } # NAME
no_executors() { ! nmctl list --json | jq -r '.[].name' | grep -q executor; }

start_node() { # NAME=VALUE...
    nmd_node_start 1 "$@" && wait_until 60 node_is 1 RUNNING
}
begin() { # NAME OPTION...
    local name=$1
    shift
    spark_job=spark-shuffle-job.py spark_begin "$name" spark.submit.deployMode=client spark.shuffle.service.enabled=true \
        "spark.shuffle.service.name=$service" "spark.shuffle.service.port=$port" spark.dynamicAllocation.enabled=true \
        spark.dynamicAllocation.executorIdleTimeout=1s \
        spark.dynamicAllocation.schedulerBacklogTimeout=1s spark.dynamicAllocation.minExecutors=0 \
        spark.dynamicAllocation.maxExecutors=2 "$@" -- "$shared/work/$name.marks" "$shared/work/$name.go"
    wait_until 120 has_maps "$name" && wait_until 60 first_is_over "$name"
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
figure() { curl -sSf "http://node01:7103/jmx?qry=Hadoop:service=NodeManager,name=spark3" | jq ".beans[0].$1"; } # NAME
shown() { nmctl status --json | jq -r ".upstream.services[] | select(.name == \"$service\") | $1"; } # FILTER
has_events() {
    [ "$(nmctl events --json | grep -cE 'nm-spark-shuffle (was killed by signal 9; restarting|listens at port 7447 again)')" = 2 ]
}
# What an application was sent is an event when it ends.
has_total() { nmctl events --json | grep -qE "application_[0-9_]+ has ended: nm-spark-shuffle has sent [1-9][0-9]* blocks? of it"; }
shows_application() { [ "$(shown '.by_application[0] | "\(.application) \(.sent_bytes >= 0) \(.streams)"')" = "$(stored) true 0" ]; }
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
    check 'the end and the start of the service are events' wait_until 20 has_events || diag "$(nmctl events --json | tail)"
    is 'nmctl status shows the service' "$(shown '"\(.program) \(.up) \(.port) \(.restarts) \(.applications)"')" \
        "nm-spark-shuffle true $port 1 1"
    check 'nmctl status shows the application' wait_until 30 shows_application || diag "$(shown .by_application)"
    curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics >"$dir/metrics-application"
    proceed_over_the_network plain
    check 'what an application was sent is an event' wait_until 20 has_total || diag "$(nmctl events --json | tail)"
    check 'nmctl status counts the blocks' wait_until 30 has_shown_blocks
    curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics >"$dir/metrics"
    like 'the metrics have the restart' "$(grep "^nm_aux_service_restarts_total{service=\"$service\"}" "$dir/metrics")" ' 1$'
    is 'the metrics have the executors, the open streams and the slow readers' \
        "$(grep -cE "^nm_spark_shuffle_(executors|streams|slow_readers_total)\{service=\"$service\"\} [0-9]" "$dir/metrics")" 3
    is 'the metrics have figures of applications' \
        "$(grep -cE '^# TYPE nm_spark_shuffle_application_(sent_bytes_total|streams|stalled_readers|slow_readers_total) ' \
            "$dir/metrics-application")" 4
    check 'the queries of services in the dashboard use existing metrics' \
        "$here/../integration/dashboard.py" "$here/../../packaging/nmd-dashboard.json" "$dir/metrics" nm_aux_service
    need 'a job with push-based shuffle shuffles its data' begin push "$over_the_network" spark.shuffle.push.enabled=true \
        spark.serializer=org.apache.spark.serializer.KryoSerializer spark.shuffle.push.mergersMinStaticThreshold=1
    proceed_over_the_network push
    check 'push: the driver has asked executors to push blocks' has_pushed push || diag "$(tail -n 40 "$dir/push.log")"
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

need 'a cluster can be configured' jobs_configure "yarn.nodemanager.aux-services=mapreduce_shuffle,$service" \
    "yarn.nodemanager.aux-services.$service.class=org.apache.spark.network.yarn.YarnShuffleService"
# shellcheck disable=SC2154
cat >"$conf/spark-shuffle-site.xml" <<END
<configuration>
<property><name>spark.shuffle.service.port</name><value>$port</value></property>
<property><name>spark.yarn.shuffle.service.metrics.namespace</name><value>spark3</value></property>
<property><name>spark.shuffle.io.serverThreads</name><value>2</value></property>
</configuration>
END
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
need 'PySpark is available' spark_install
install -m 755 "$(dirname "$0")/spark/shuffle-job.py" "$shared/spark-shuffle-job.py"
without_authentication
with_authentication sasl -- spark.authenticate.enableSaslEncryption=true
with_authentication handshake spark.network.crypto.enabled=true spark.network.crypto.saslFallback=false -- \
    spark.network.crypto.enabled=true spark.network.crypto.saslFallback=false
done_testing
