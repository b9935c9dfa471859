# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the suites and their libraries
#
# Jobs of PySpark on the cluster of lent.sh, for suites that source this file after lent.sh with spark in jobs_of.

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
