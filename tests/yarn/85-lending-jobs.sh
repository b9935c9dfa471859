#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
# beside: others
#
# Unmodified jobs on two nodes whose memory is allocated by services that use almost nothing: MapReduce and PySpark. They run as
# lent containers, lose some of them to a surge, survive the death of nmd, and are promoted when the services end.
jobs_of=(spark)
# shellcheck source=tests/yarn/lent.sh
. "$(dirname "$0")/lent.sh"

# shellcheck source=tests/yarn/lent-spark.sh
. "$(dirname "$0")/lent-spark.sh"

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
spark_before
lent_core
spark_after
lent_end
