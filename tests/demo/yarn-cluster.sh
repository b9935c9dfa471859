#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# For yarn.py, in its own network and mount namespaces: runs a stock ResourceManager, a stock HDFS and a node of nmd as long as
# standard input is open. Prints a line "about LOG SENTENCE" for each of them while it starts, then "ready RM-ADDRESS
# NMD-SOCKET", and "ended STATUS" for the job that it then runs. If a process does not start, it prints "failed WHAT", and
# standard error ends with the last lines of that process.
#
#   yarn-cluster.sh; MAPS, SAMPLES and DISTRIBUTED (empty: the ResourceManager places all containers) are in the environment
set -uo pipefail
exec 3>&1 >&2 # the libraries print TAP, which has no reader here
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/../yarn/jobs.sh"
# shellcheck source=tests/yarn/hdfs/lib.sh
. "$(dirname "$0")/../yarn/hdfs/lib.sh"
tap_done=1
report() { printf '%s\n' "$*" >&3; }
fail() { report "failed $1"; exit 1; }

report 'about nn.log a stock HDFS starts'
job_deadline=0 # yarn.py ends the job if it makes no progress
distributed=() through=()
if [ -n "$DISTRIBUTED" ]; then
    distributed=(yarn.nodemanager.distributed-scheduling.enabled=true yarn.nodemanager.amrmproxy.address=node01:8049)
    through=(-Dyarn.resourcemanager.scheduler.address=node01:8049)
fi
# The queue is long enough for all opportunistic maps of pi, because maps that the queue refused would need another node.
jobs_configure yarn.nodemanager.opportunistic-containers-max-queue-length=60 \
    yarn.resourcemanager.nm-container-queuing.min-queue-length=60 \
    yarn.resourcemanager.nm-container-queuing.max-queue-length=60 "${distributed[@]}" || fail 'HDFS did not come up'
report 'about rm.log a stock ResourceManager starts'
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
nmd_node_start 1 yarn.nodemanager.resource.memory-mb=1536 || fail 'nmd did not start'
patient_until 'the ResourceManager does not list the node as running' "${nmd_nodes[1]}=$dir/nmd1.log" "$rm_pid=$rm_log" -- \
    node_is 1 RUNNING || fail 'nmd did not join it'
report "ready $rm_web $NMD_SOCKET"
job_begin pi org.apache.hadoop.examples.ExampleDriver pi "${through[@]}" -Dmapreduce.job.num-opportunistic-maps-percent=40 \
    "$MAPS" "$SAMPLES"
while kill -0 "$job_pid" 2>/dev/null; do
    read -r -t 0.2 _
    [ $? -gt 128 ] || exit 0 # standard input has ended
done
job_ends
report "ended $?"
cat >/dev/null
