#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
# beside: others
#
# Further frameworks that run unmodified as lent containers, in several modes: Tez, PySpark in cluster mode and with dynamic
# allocation, and Terasort. NMD_TEST_HADOOP=VERSION is the version of the ResourceManager and of MapReduce.
jobs_of=(spark tez)
[ -z "${NMD_TEST_HADOOP:-}" ] || jobs_archive=1
# shellcheck source=tests/yarn/lent.sh
. "$(dirname "$0")/lent.sh"
# shellcheck source=tests/yarn/lent-spark.sh
. "$(dirname "$0")/lent-spark.sh"

tez_lent() {
    free_hole tez
    local through=("-Dtez.am.launch.env=$rule=all" "-Dyarn.resourcemanager.scheduler.address=$proxy_at" -Dtez.task.resource.memory.mb=512)
    tez_job "${through[@]}"
    is 'Tez: all tasks were lent' "$(count_of "$(tez_id)" "$was_guaranteed")" 0
}
tez_id() { sed -nE 's/.*application_([0-9]+_[0-9]+).*/\1/p' "$dir/tez.log" | head -n 1; }

spark_jobs_lent() {
    need 'services fill the nodes again' refill cluster 640 dynamic 384
    spark_lent cluster overflow:3 spark.submit.deployMode=cluster spark.executor.instances=2 spark.driver.memoryOverhead=128m --
    ended_well cluster "$spark_words"
    is 'cluster: all executors were lent' "$(count_of "$(spark_id cluster)" "$was_guaranteed")" 0
    spark_lent dynamic all spark.submit.deployMode=client spark.dynamicAllocation.enabled=true \
        spark.dynamicAllocation.shuffleTracking.enabled=true spark.dynamicAllocation.shuffleTracking.timeout=2s \
        spark.dynamicAllocation.executorIdleTimeout=1s spark.dynamicAllocation.schedulerBacklogTimeout=1s \
        spark.dynamicAllocation.minExecutors=0 spark.dynamicAllocation.maxExecutors=3 -- elastic
    ended_well dynamic "$spark_words
the same again True"
    is 'dynamic: all executors were lent' "$(count_of "$(spark_id dynamic)" "$was_guaranteed")" 0
}

# With the mode percent, the rest of the asks needs guaranteed room: one container at a time.
terasort_lent() {
    local free_mb=512 name
    need 'services fill the nodes except for one task' refill generate 256 sort 256 validate 256
    lent_begin generate percent:50 org.apache.hadoop.examples.ExampleDriver teragen -Dmapreduce.job.maps=4 40000 \
        "file://$shared/work/generated"
    succeeds generate
    lent_begin sort percent:50 org.apache.hadoop.examples.ExampleDriver terasort -Dmapreduce.job.reduces=3 \
        -Dmapreduce.terasort.simplepartitioner=true -Dmapreduce.task.io.sort.mb=1 \
        "file://$shared/work/generated" "file://$shared/work/sorted"
    succeeds sort
    lent_begin validate overflow:1 org.apache.hadoop.examples.ExampleDriver teravalidate "file://$shared/work/sorted" \
        "file://$shared/work/validated"
    succeeds validate
    like 'the validation of Terasort reports a checksum and no error' "$(cat "$shared/work/validated"/part-r-*)" '^checksum\s[0-9a-f]+$'
    for name in generate sort; do
        at_least "$name: some containers were lent" "$(count_of "$(job_id "$name")" '.execution_type == "OPPORTUNISTIC"')" 1
        at_least "$name: some containers were guaranteed" "$(count_of "$(job_id "$name")" "$was_guaranteed")" 1
    done
}

lent_cluster tez 384
need 'Tez is available' tez_install
tez_configure
need 'Spark is available' spark_install
spark_input
tez_lent
spark_jobs_lent
terasort_lent
lent_end
