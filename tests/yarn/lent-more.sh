# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables of 85-lending-jobs.sh and its libraries
#
# For 85-lending-jobs.sh with NMD_TEST_LENDING: further frameworks and modes, a restart of the ResourceManager, and a Java
# NodeManager. Services fill the nodes anew for each part.

empty() { # ends all services, and waits until all memory is free
    local name
    for name in "${!service_ids[@]}"; do
        service_end "$name"
        unset "service_ids[$name]"
    done
    wait_until 30 nothing_allocated
}
refill() { empty && lent_fill "$@"; } # NAME MB...: of the holes

more_tez() {
    need 'services fill the nodes again' refill tez 384
    free_hole tez
    local through=("-Dtez.am.launch.env=$rule=all" "-Dyarn.resourcemanager.scheduler.address=$proxy_at" -Dtez.task.resource.memory.mb=512)
    tez_job "${through[@]}"
    is 'Tez: all tasks were lent' "$(count_of "$(tez_id)" "$was_guaranteed")" 0
}
tez_id() { sed -nE 's/.*application_([0-9]+_[0-9]+).*/\1/p' "$dir/tez.log" | head -n 1; }

more_spark() {
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
more_modes() {
    local free_mb=512 name
    need 'services fill the nodes except for one task' refill generate 256 sort 256 validate 256
    lent_begin generate percent:50 org.apache.hadoop.examples.ExampleDriver teragen -Dmapreduce.job.maps=4 40000 \
        "file://$shared/work/generated"
    succeeds generate
    lent_begin sort percent:50 org.apache.hadoop.examples.ExampleDriver terasort -Dmapreduce.job.reduces=3 \
        -Dmapreduce.terasort.simplepartitioner=true -Dmapreduce.task.io.sort.mb=1 "file://$shared/work/generated" "file://$shared/work/sorted"
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

more_restarts() {
    local id
    need 'services fill the nodes again' refill restarted 256
    need 'a job with maps that wait is submitted' held_lent restarted all 4
    id=$(job_id restarted)
    check 'its four maps run as lent containers' wait_until 60 counts "$id" "$lent_now" 4
    rm_kill
    need 'the ResourceManager is started again' rm_again
    check 'the maps run through the restart of the ResourceManager' wait_until 60 rm_counts_opportunistic 4
    is 'no map has ended' "$(count_of "$id" "$lent_now")" 4
    check 'a surge takes back a lent map after the restart' surge 30 counts_more "$id" "$taken_back" 1
    local lost
    lost=$(count_of "$id" "$taken_back")
    lent_promote "$id" $((4 - lost))
    touch "$shared/work/go-restarted"
    succeeds restarted
    is 'the job counts the lost maps as killed' "$(counters restarted | grep -E '^(Failed|Killed) map')" "Killed map tasks=$lost"
}

more_java() {
    local id
    need 'all services end' empty
    nmd_node_stop 2
    need 'the second node of nmd leaves' wait_until 30 node_is 2 SHUTDOWN
    java_node_start 4 "$proxy.address=node04:8049" "$memory_of_node=$second_mb"
    need 'a Java NodeManager joins' wait_until 60 node_is 4 RUNNING
    need 'services fill the nodes again' refill mixed 256
    need 'a job with maps that wait is submitted' held_lent mixed all 4
    id=$(job_id mixed)
    check 'all maps run as lent containers on the node of nmd' wait_until 90 counts "$id" "$lent_now" 4
    is 'the Java NodeManager has no container of the job' "$(logs_of 4 "application_$id")" ''
    touch "$shared/work/go-mixed"
    succeeds mixed
    is 'no map of the job was killed or has failed' "$(counters mixed | grep -E '^(Failed|Killed) map')" ''
    java_node_stop 4
}

lent_more() { # PART...: some of them, or "all"
    local part
    need 'Tez is available' tez_install
    tez_configure
    [ "$*" != all ] || set -- tez spark modes restarts java
    for part in "$@"; do "more_$part"; done
}
