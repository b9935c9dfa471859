#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures what lending gains on a node whose services use 20 to 40 % of their allocation. `make bench-lending` runs this as root. It
# takes 35 minutes.
#
#   tests/bench/lending/bench.sh BUILD
#
# An hour of a cluster is compressed to ten minutes. Three services have two thirds of the node's memory, and answer requests. Jobs of
# MapReduce and Spark arrive. Their tasks mostly wait. They run twice, with the same plan: on a stock Java NodeManager, and on nmd that
# lends. A service's memory surges twice. The table has the makespan, the waiting time of the jobs, the work done and lost, and the
# latency of the services. SECONDS_OF_PLAN (600), JOBS (12), RULE (all; nmd.lending) and SURGING (1) may be set in the environment. With
# SURGING=3, all services surge at the same time, to 60 % of the node's memory: then the node takes memory back from lent containers.
bench_here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${NMD_TEST_BUILD:-}" ]; then
    NMD_TEST_BUILD=$(cd "${1:?where is it built?}" && pwd) || exit
    NMD_TEST_CLASSPATH=$("$bench_here/../../packing/build" "$NMD_TEST_BUILD/java") || exit
    NMD_TEST_DIR=$(mktemp -d "${TMPDIR:-/tmp}/nmd-lending.XXXXXX") || exit
    chmod 711 "$NMD_TEST_DIR"
    export NMD_TEST_BUILD NMD_TEST_CLASSPATH NMD_TEST_DIR
fi
jobs_of=(spark)
# shellcheck source=tests/yarn/lent.sh
. "$bench_here/../../yarn/lent.sh"
at_exit 'rm -rf "$NMD_TEST_DIR"'
tap_done=1 # this script prints figures, and no test results
length=${SECONDS_OF_PLAN:-600} jobs=${JOBS:-12} lending_rule=${RULE:-all} surging=${SURGING:-1}
# shellcheck disable=SC2034 # libraries use them
node_mb=6144 job_deadline=3000 spark_deadline=3000
service_mb=1280 # three of them; four masters and two tasks fit beside them. A multiple of the minimum allocation

must() { # WHAT COMMAND...
    local what=$1
    shift
    "$@" >"$dir/must" 2>&1 && return
    printf 'bench-lending: %s failed: %s\n' "$what" "$*" >&2
    tail -n 5 "$dir/must" "$dir"/*.log >&2
    exit 1
}
say() { printf '%s  %s\n' "$(progress_took $SECONDS)" "$*" >&2; }

# ---- services ------------------------------------------------------------------------------------

hold() { echo $((service_mb * $2 / 100)) >"$shared/target$1"; } # N PERCENT: of its allocation
services_begin() {
    local n
    for n in 1 2 3; do
        hold "$n" 30
        must "service $n" service_begin "service$n" "$service_mb" \
            "exec python3 $shared/served.py $shared/target$n $records/latencies$n 5 10 $units" || return
    done
}
# The services use 20 to 40 %, and `surging` of them surge twice.
services_vary() {
    local step=0 n
    while sleep $((length / 20)); do
        step=$((step + 1))
        hold 1 $((20 + step * 7 % 21)) && hold 2 $((20 + step * 11 % 21)) && hold 3 $((20 + step * 13 % 21))
        [ $((step % 8)) = 6 ] || continue
        for ((n = 0; n < surging; n++)); do hold $((1 + (step / 8 + n) % 3)) 95; done
    done
}

# ---- jobs ----------------------------------------------------------------------------------------

# Clients and drivers stand for programs on other machines, so they get only the CPU time that the node leaves. The kernel compares
# scheduling classes only within a session, so each of them has a session of low priority.
elsewhere=(setsid sh -c 'echo 19 >/proc/self/autogroup; exec chrt -i 0 "$@"' sh)

submit() { # KIND NAME TASKS SECONDS
    local n input=$shared/work/$2-in as_user_by=("${elsewhere[@]}")
    if [ "$1" = mapreduce ]; then
        mkdir -p "$input"
        for ((n = 0; n < $3; n++)); do echo "$n" >"$input/$n"; done
        job_begin "$2" org.apache.hadoop.streaming.HadoopStreaming -Dmapreduce.map.memory.mb=512 -Dmapreduce.reduce.memory.mb=512 \
            "-Dyarn.resourcemanager.scheduler.address=$masters_at" -Dmapreduce.job.reduces=1 -Dmapreduce.job.maps="$3" \
            -input "file://$input" -output "file://$shared/work/$2-$turn" \
            -mapper "python3 $shared/task.py $records $2 - $4" -reducer /bin/cat
    else
        spark_begin "$2" "spark.hadoop.yarn.resourcemanager.scheduler.address=$masters_at" spark.submit.deployMode=client \
            spark.yarn.am.memory=256m spark.yarn.am.memoryOverhead=128m spark.executor.memoryOverhead=64m spark.executor.instances=2 \
            spark.driver.memory=512m -- "$records" "$2" "$3" "$4" "$shared"
    fi
    date +%s.%N >"$records/submitted.$2"
    [ "$1" = spark ] || aside "$2"
    running+=("$2=${begun[$2]}")
}
run_plan() {
    local at kind name tasks seconds since=$SECONDS pair pid status=0
    running=()
    date +%s.%N >"$records/begun"
    while read -r at kind name tasks seconds; do
        while [ $((SECONDS - since)) -lt "$at" ]; do sleep 1; done
        submit "$kind" "$name" "$tasks" "$seconds"
        say "$turn: $name arrives"
    done < <(python3 "$bench_here/plan.py" "$length" "$jobs")
    for pair in "${running[@]}"; do
        pid=${pair#*=}
        status=0
        while kill -0 "$pid" 2>/dev/null; do
            say "$turn: waits for ${pair%%=*}; $(rm_get metrics | jq -r '.clusterMetrics |
                "\(.appsRunning) jobs run, \(.appsPending) wait, \(.pendingMB) MB pending"')"
            sleep 1.5
        done
        wait "$pid" || status=$?
        [ "$status" = 0 ] || { echo "${pair%%=*}" >>"$records/failed"; cp "$dir/${pair%%=*}.log" "$records/"; }
    done
    date +%s.%N >"$records/over"
}

# ---- turns ---------------------------------------------------------------------------------------

begin_turn() { # NAME
    turn=$1 records=$shared/work/records-$1
    install -d -m 1777 "$records"
    say "$turn: begins"
}
with_services() { # NAME
    local vary n
    services_begin
    sleep 10 # latencies of the services alone
    services_vary &
    vary=$!
    at_exit "end_process $vary"
    run_plan
    end_process "$vary"
    for n in 1 2 3; do must "the end of service $n" service_end "service$n"; done
}
stock_turn() {
    begin_turn stock
    masters_at=127.0.0.1:${rm_ports[1]}
    java_node_start 4 "$distributed=false"
    must 'the Java NodeManager' wait_until 90 node_is 4 RUNNING
    with_services
    java_node_stop 4
    must 'the leave of the Java NodeManager' wait_until 60 node_is 4 SHUTDOWN
}
lending_turn() {
    begin_turn lending
    masters_at=$proxy_at
    must nmd lent_join 1 "nmd.lending=$lending_rule"
    with_services
    nmctl list --all --json >"$records/containers.json"
    nmctl status --json >"$records/status.json"
    nmd_node_stop 1
}

must 'a cluster' jobs_configure "$distributed=true" yarn.am.liveness-monitor.expiry-interval-ms=3600000 \
    "$cs.maximum-am-resource-percent=1" "$cs.root.default.maximum-am-resource-percent=1"
must PySpark spark_install
# Both turns serve the same requests. The speed of the machine changes between them.
units=$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$bench_here/../../demo python3 -c 'import work; print(work.calibrate(2))') || exit
install -m 755 "$bench_here/../../demo/served.py" "$bench_here/../../demo/work.py" "$bench_here/task.py" "$shared/"
install -m 755 "$bench_here/job.py" "$shared/spark-job.py"
nmd_configure <<-END
	[sampling]
	period = 1s
	[health]
	disk-min-free = 0
END
must 'a stock ResourceManager' rm_again
stock_turn
lending_turn
python3 "$bench_here/table.py" "$shared/work/records-stock" "$shared/work/records-lending" "$length"
