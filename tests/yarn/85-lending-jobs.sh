#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
# beside: others
#
# Unmodified jobs on two nodes whose memory is allocated by services that use almost nothing: MapReduce and PySpark. They run as
# lent containers, lose some of them to a surge, survive the death of nmd, and are promoted when the services end.
# With NMD_TEST_LENDING=all also Terasort, Tez, Spark in cluster mode and with dynamic allocation, the modes percent and overflow
# for each of them, a restart of the ResourceManager, and a Java NodeManager as the second node. This takes ten minutes. With some of
# "tez spark modes restarts java", only these parts run.
jobs_of=(spark)
[ -z "${NMD_TEST_LENDING:-}" ] || jobs_of+=(tez)
# shellcheck source=tests/yarn/lent.sh
. "$(dirname "$0")/lent.sh"

# shellcheck disable=SC2034 # it is used by spark_begin
spark_in=file://$shared/work
counted_words() { cat "$shared/work/$1/part-00000"; } # NAME: replaces the function for HDFS
spark_master=(spark.yarn.am.memory=256m spark.yarn.am.memoryOverhead=128m)
# Submits a job of Spark, and waits until its master runs in its hole.
spark_lent() { # NAME RULE OPTION... -- ARG-OF-THE-JOB...
    free_hole "$1" || return
    spark_begin "$1" "spark.yarn.appMasterEnv.$rule=$2" "spark.hadoop.yarn.resourcemanager.scheduler.address=$proxy_at" \
        "${spark_master[@]}" "${@:3}"
    wait_until 60 spark_runs "$1"
}
spark_runs() { [ -n "$(application_of "$1")" ] && app_is "$(spark_id "$1")" RUNNING; } # NAME
spark_id() { local id; id=$(application_of "$1"); echo "${id#application_}"; }        # NAME
spark_words='many 2000 2000 4
of 2000 2000 2
word 2000 2000 4
words 2003'
spark_input() {
    seq 1 2000 | sed 's/.*/word & of many/' >"$shared/work/words"
}
# Has two executors that are lent, until lent_core has ended.
spark_before() {
    need 'Spark is available' spark_install
    spark_input
    need 'a job of PySpark is submitted' spark_lent client all spark.submit.deployMode=client spark.executor.instances=2 -- \
        "until=$shared/work/go-client"
    client=$(spark_id client)
    check 'two executors run as lent containers' wait_until 90 counts "$client" "$lent_now" 2
    lent_before=2
}
spark_after() {
    local lost
    lost=$(count_of "$client" "$taken_back")
    touch "$shared/work/go-client"
    ended_well client "$spark_words"
    is 'Spark counts no executor as failed' "$(grep -c 'Max number of executor failures' "$dir/client.log")" 0
    [ "$lost" = 0 ] || like 'Spark sees that lost executors were preempted' "$(grep -h preempted "$dir/client.log")" 'was preempted'
    diag "executors lost: $lost"
}

lent_cluster client 384 held 256 pi 256 plain 256
case ${NMD_TEST_LENDING:-all} in all)
    spark_before
    lent_core
    spark_after
    ;;
esac
if [ -n "${NMD_TEST_LENDING:-}" ]; then
    # shellcheck source=tests/yarn/lent-more.sh
    . "$(dirname "$0")/lent-more.sh"
    read -ra parts <<<"$NMD_TEST_LENDING"
    lent_more "${parts[@]}"
fi
lent_end
