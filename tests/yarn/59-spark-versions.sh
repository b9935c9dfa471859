#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
# beside: others
#
# Spark's shuffle service with the oldest and the newest supported version of PySpark: executors are killed after the maps of their
# job, and no map runs again. Both jobs run at the same time, and use the same service. 56-spark-shuffle and 57-spark-nodes run the
# version that all other suites use.
jobs_of=(spark)
spark_versions=(3.3.4 4.3.0)
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
# shellcheck source=tests/yarn/spark/service.sh
. "$(dirname "$0")/spark/service.sh"

# shellcheck disable=SC2034 # jobs.sh and spark/lib.sh use them
jobs_fs=local node_mb=6144 spark_deadline=200
need 'a cluster can be configured' jobs_configure "${service_site[@]}"
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
need 'a node with the service joins' eval 'nmd_node_start 1 "$(service_port 1)" && wait_until 30 node_is 1 RUNNING'
for version in "${spark_versions[@]}"; do
    need "PySpark $version is available" spark_install "$version"
done
need 'the job is available' service_install
for version in "${spark_versions[@]}"; do
    spark_version=$version spark_begin "$version" "${service_options[@]}" spark.dynamicAllocation.maxExecutors=2 -- "$(files_of "$version")"
done
for version in "${spark_versions[@]}"; do
    need "$version: the job shuffles its data" gets_ready "$version"
    mapfile -t pids < <(executors_of "$version")
    at_least "$version: executors run" "${#pids[@]}" 1
    kill -KILL "${pids[@]}"
    check "$version: all executors are killed" wait_until 20 no_executor_runs "$version"
    proceed "$version"
    ended_once "$version"
    is "$version: this version of Spark has run" "$(events_of "$version" | jq -r 'select(.["Spark Version"])["Spark Version"]')" "$version"
    at_least "$version: Spark has lost the executors" "$(executors_removed "$version")" "${#pids[@]}"
done
check 'the service has sent blocks' wait_until 30 has_sent 1 2
done_testing
