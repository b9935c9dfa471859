#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# For lending.py, in its own network and mount namespaces: runs a stock ResourceManager and a node of nmd, all of whose memory is
# allocated by a service, as long as standard input is open. Prints lines as yarn-cluster.sh does: "about LOG SENTENCE", "failed
# WHAT", and "ready RM-ADDRESS NMD-SOCKET TARGET LATENCIES" with the files of served.py. Then it carries out the lines of standard
# input, and prints "done LINE" after each of them: "jobs" submits the jobs, "lend" switches lending on, "end" ends the service.
# "ended NAME STATUS" and the result follow for each job.
set -uo pipefail
exec 3>&1 >&2 # the libraries print TAP, which has no reader here
jobs_of=(spark)
# shellcheck source=tests/yarn/lent.sh
. "$(dirname "$0")/../yarn/lent.sh"
demo_here=$(cd "$(dirname "$0")" && pwd)
tap_done=1
report() { printf '%s\n' "$*" >&3; }
fail() { report "failed $1"; exit 1; }

# lending.py ends the jobs if they make no progress
# shellcheck disable=SC2034 # spark_begin uses some of them
job_deadline=0 spark_deadline=0 node_mb=2560 spark_in=file://$shared/work
pi_mb=256 spark_mb=384 # of the masters
through=(-Dmapreduce.map.memory.mb=512 -Dmapreduce.reduce.memory.mb=512)
# With "supervised", containers keep running over a restart of nmd.
node() { # RULE
    lent_join 1 "nmd.lending=$1" yarn.nodemanager.recovery.supervised=true
}

report 'about rm.log a stock ResourceManager starts'
jobs_configure "$distributed=true" yarn.am.liveness-monitor.expiry-interval-ms=3600000 || fail 'the cluster can not be configured'
spark_install || fail 'PySpark is not available'
rm_again || fail 'the ResourceManager did not come up'
report 'about nmd1.log nmd joins it'
nmd_configure <<-END
	[sampling]
	period = 250ms
	[over-allocation]
	warmup = 1s
	warmup-samples = 2
	[preemption]
	cpu-samples = 4
	pause-deadline = 60s
	breaker = 2s
	[health]
	disk-min-free = 0
END
# the books of asks are kept, and nothing is lent
node observe || fail 'nmd did not join it'
report 'about nmd1.log a service allocates the memory of the node'
install -m 755 "$demo_here/served.py" "$demo_here/work.py" "$shared/"
echo $((node_mb / 10)) >"$shared/target"
{ service_begin hole-pi "$pi_mb" && service_begin hole-client "$spark_mb" &&
    service_begin service $((node_mb - pi_mb - spark_mb)) "exec python3 $shared/served.py $shared/target $shared/work/latencies" &&
    wait_until 60 test -s "$shared/work/latencies" && wait_until 30 is_full; } || fail 'the service did not start'
seq 1 2000 | sed 's/.*/word & of many/' >"$shared/work/words"
report "ready $rm_web $NMD_SOCKET $shared/target $shared/work/latencies"

# The options say where the masters find the node's proxy, as the configuration of a cluster with lending does. Both jobs are
# submitted at the same time: the ResourceManager would reserve the node for the tasks of one before the other has a master.
submit() {
    free_hole pi && free_hole client || return
    spark_begin client "spark.hadoop.yarn.resourcemanager.scheduler.address=$proxy_at" spark.yarn.am.memory=256m \
        spark.yarn.am.memoryOverhead=128m spark.executor.memoryOverhead=128m spark.submit.deployMode=client \
        spark.executor.instances=2 -- "until=$shared/work/go"
    pi_lent pi - 4 && wait_until 90 has_application
}
has_application() { [ -n "$(application_of client)" ]; }
result_of() { # NAME
    if [ "$1" = pi ]; then
        counters pi | grep '^Estimated' || echo 'no result'
    elif [ "$(cat "$shared/work/client/part-00000" 2>/dev/null)" = "$spark_words" ]; then
        echo 'each word is counted'
    else
        echo 'wrong result'
    fi
}
spark_words='many 2000 2000 4
of 2000 2000 2
word 2000 2000 4
words 2003'
names=()
while :; do
    command=''
    read -r -t 0.2 command
    status=$?
    [ "$status" -eq 0 ] || [ "$status" -gt 128 ] || exit 0 # standard input has ended
    case $command in
        '') ;;
        jobs) submit && names=(pi client) ;;
        lend) end_process "${nmd_nodes[1]}"; node all ;;
        go) touch "$shared/work/go" ;;
        end) service_end service ;;
    esac || fail "'$command' failed"
    [ -z "$command" ] || report "done $command"
    for name in "${names[@]}"; do
        [ -n "$name" ] || continue
        kill -0 "${begun[$name]}" 2>/dev/null && continue
        status=0
        wait "${begun[$name]}" || status=$?
        report "ended $name $status $(result_of "$name")"
        names=("${names[@]/$name/}")
    done
done
