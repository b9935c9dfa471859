# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables that the sourcing suite sets and uses
#
# PySpark from PyPI, for suites that source core.sh with spark in jobs_of: in client mode, in cluster mode, and with dynamic
# allocation. Dynamic allocation releases executors and requests new ones by tracking shuffles. spark/service.sh has functions for
# jobs that use Spark's shuffle service. The names of the jobs' scripts are in spark_job.
#
# NMD_TEST_SPARK=VERSION is the version of PySpark. The default is the one of tests/deps. A suite that runs several versions lists
# them in spark_versions before it sources this file, and names each one to spark_install, and in spark_version before spark_begin.
# An empty name stands for the default.

# The users of the jobs may be unable to read the directory in which PySpark is installed.
spark_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
spark_installed() { echo "$NMD_TEST_BUILD/java/pyspark${1:+-$1}"; } # [VERSION]
spark_fetch() {
    local version
    for version in "${spark_versions[@]:-${NMD_TEST_SPARK:-}}"; do
        (
            flock 9
            "$spark_here/../../deps" --python "$(spark_installed "$version")" "spark${version:+-$version}"
        ) 9>"$NMD_TEST_BUILD/java/lock" || return
    done
}
spark_version=${NMD_TEST_SPARK:-}
spark_home() { echo "$shared/spark${spark_version:+-$spark_version}"; }
spark_install() { # [VERSION]
    local spark_version=${1-$spark_version} found home
    home=$(spark_home)
    mkdir "$home" || return
    found=$(echo "$(spark_installed "$spark_version")"/lib/python3.*/site-packages/pyspark)
    mount --bind "$found" "$home" && install -m 755 "$spark_here/job.py" "$shared/spark-job.py"
}
spark_in=hdfs:///tmp # the directory of input and results
# Submits a job with its own environment, from which spark-submit gets all paths.
spark_begin() { # NAME OPTION... -- ARG-OF-THE-JOB...
    local name=$1 options=() home
    home=$(spark_home)
    shift
    while [ "$1" != -- ]; do options+=(--conf "$1"); shift; done
    shift
    as_user SPARK_HOME="$home" HADOOP_CONF_DIR="$conf" YARN_CONF_DIR="$conf" SPARK_LOCAL_DIRS="$(home_of "$job_user")" \
        PYSPARK_PYTHON=/usr/bin/python3 timeout -k 5 "${spark_deadline:-200}" "$home/bin/spark-submit" --master yarn \
        --driver-memory 512m --executor-memory 512m --conf "spark.yarn.jars=local:$home/jars/*" \
        --conf spark.yarn.am.memory=512m --conf spark.ui.enabled=false --conf "spark.driver.extraJavaOptions=$small" \
        --conf "spark.executor.extraJavaOptions=$small" --conf "spark.yarn.am.extraJavaOptions=$small" \
        --conf spark.yarn.submit.waitAppCompletion=true --conf spark.yarn.report.interval=300ms \
        --conf spark.yarn.scheduler.heartbeat.interval-ms=300 --conf spark.scheduler.maxRegisteredResourcesWaitingTime=5s \
        --name "$name: 100% of \"it\"" "${options[@]}" "$shared/${spark_job:-spark-job.py}" "$spark_in/words" "$spark_in/$name" "$@" \
        </dev/null >"$dir/$name.log" 2>&1 &
    job_pid=$!
    aside "$name"
}
counted_words() { hdfs_cat "/tmp/$1/part-00000"; } # NAME
application_of() { sed -nE 's/.*Submitted application (application_[0-9_]+).*/\1/p' "$dir/$1.log" | head -n 1; } # NAME
# Prints the containers of all nodes as a list.
list_of() { # NAME
    local n id
    id=$(application_of "$1")
    for n in 1 2; do
        use_node "$n"
        nmctl list --all --json
    done | jq -s --arg app "$id" 'add | map(select(.app == $app))'
}
# Prints one container per line: id, name, state, exit code.
containers_of() { list_of "$1" | jq -r '.[] | "\(.id) \(.name) \(.state) \(.exit_code)"'; } # NAME
# Prints how many containers of a list are executors that started after another one had ended.
count_later() {
    jq 'map(select(.name != "master")) | (map(.finished_usec // empty) | min) as $first
        | map(select($first and .started_usec and .started_usec > $first)) | length'
}
ended_well() { # NAME WANTED
    local status=0
    wait "${begun[$1]}" || status=$?
    is "$1: the job succeeds" "$status" 0 || diag "the end of its log:" "$(tail -n 25 "$dir/$1.log")" "$(containers_of "$1")"
    is "$1: the job counts each word" "$(counted_words "$1")" "$2"
}

spark_jobs() {
    local wanted name
    seq 1 2000 | sed 's/.*/word & of many/' >"$dir/spark-words"
    need 'the input of Spark is written to HDFS' hdfs_put "$dir/spark-words" /tmp/words

    wanted='many 2000 2000 4
of 2000 2000 2
word 2000 2000 4
words 2003'
    spark_begin client spark.submit.deployMode=client spark.executor.instances=2 --
    spark_begin cluster spark.submit.deployMode=cluster spark.executor.instances=2 --
    ended_well client "$wanted"
    ended_well cluster "$wanted"
    spark_begin dynamic spark.submit.deployMode=client spark.dynamicAllocation.enabled=true \
        spark.dynamicAllocation.shuffleTracking.enabled=true spark.dynamicAllocation.shuffleTracking.timeout=2s \
        spark.dynamicAllocation.executorIdleTimeout=1s spark.dynamicAllocation.schedulerBacklogTimeout=1s \
        spark.dynamicAllocation.minExecutors=0 spark.dynamicAllocation.maxExecutors=3 -- elastic
    ended_well dynamic "$wanted
the same again True"
    at_least 'dynamic: Spark releases executors and starts new ones later' "$(list_of dynamic | count_later)" 1
    for name in client cluster dynamic; do
        is "$name: no container of the job failed" "$(containers_of "$name" | grep -Ev ' COMPLETED (0|-105|-106|-107|143|137)$')" ''
    done
}
