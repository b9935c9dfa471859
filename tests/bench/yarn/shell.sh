#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures short containers of Hadoop's distributed shell under a stock ResourceManager. `run` starts this as root.
#
#   tests/bench/yarn/shell.sh
#
# The node is nmd or Hadoop's own NodeManager in turn. Each turn runs one application, whose containers only run `true`, up to 128 of
# them at the same time. The time is the ResourceManager's: from the submission to the end of the application. It contains the
# start of the application master, which is a JVM, and the heartbeats of node and master, one per second. By default the scheduler
# assigns one container of this application per heartbeat, so the time would show the heartbeats only; here it assigns up to 128.
# From the environment: SAMPLES (the file for the values), TURNS, CONTAINERS, and those of tests/yarn/jobs.sh.
# shellcheck disable=SC2034 # jobs.sh uses it
heartbeat_ms=1000 # the default of Hadoop
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/../../yarn/jobs.sh"
tap_done=1 # this script prints figures, and no test results
# shellcheck disable=SC2034 # jobs.sh uses them
jobs_fs=local disk_mib=512 node_mb=$((128 * 128 + 1024)) master_mb=1024 job_deadline=500
# The JVMs of nodes have their default settings: all compilers, and the default garbage collector.
small='-XX:-UsePerfData -Djava.net.preferIPv4Stack=true'

must() { # WHAT COMMAND...
    local what=$1
    shift
    "$@" >"$dir/must" 2>&1 && return
    printf 'bench-yarn: shell: %s failed: %s\n' "$what" "$*" >&2
    tail -n 5 "$dir/must" "$dir"/*.log >&2
    exit 1
}
once() { # WHO NODE
    local name=$1$turn ms
    shell_begin "$name" -num_containers "$CONTAINERS" -shell_command true
    must "the application on $1" shell_ends "$name"
    ms=$(app_value "$name" 'select(.finalStatus == "SUCCEEDED") | .finishedTime - .startedTime')
    must "the application on $1" [ "${ms:-0}" -gt 0 ]
    must "the count of the containers on $1" ran_all "$name" "$2"
    awk -v who="$1" -v ms="$ms" 'BEGIN { printf "shell\t%s\t%.6g\n", who, ms / 1000 }' | tee -a "$SAMPLES" |
        sed "s/^/shell, turn $turn of $TURNS: /" >&2
}
# The master succeeds only if all of its containers have succeeded. The node must have a directory of logs for each of them, too.
ran_all() { # NAME NODE
    [ "$(logs_of "$2" "$(app_of "$1")" | sed 's,.*/,,' | sort -u | wc -l)" -gt "$CONTAINERS" ]
}
nmd_turn() {
    export JAVA_TOOL_OPTIONS=$small # for the application master, which inherits this variable from the node
    must nmd nmd_node_start 1 yarn.log-aggregation-enable=false
    unset JAVA_TOOL_OPTIONS
    must 'the registration of nmd' wait_until 60 node_is 1 RUNNING
    once nmd 1
    nmd_node_stop 1
    must 'the leave of nmd' wait_until 60 node_is 1 SHUTDOWN
}
java_turn() {
    export JAVA_TOOL_OPTIONS=$small
    java_node_start 4
    unset JAVA_TOOL_OPTIONS
    must 'the registration of the Java NodeManager' wait_until 90 node_is 4 RUNNING
    once java 4
    java_node_stop 4
    must 'the leave of the Java NodeManager' wait_until 60 node_is 4 SHUTDOWN
}

must 'a cluster' jobs_configure "yarn.application.classpath=$conf,$shared/lib/*" \
    "yarn.nodemanager.env-whitelist=JAVA_HOME,PATH,JAVA_TOOL_OPTIONS" yarn.resourcemanager.am.max-attempts=1 \
    yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments=128
must 'a stock ResourceManager' rm_again
must 'a machine to measure' node_proc_start $((node_mb + 2048)) 16
cd "$shared/work" || exit
for ((turn = 1; turn <= TURNS; turn++)); do
    if [ $((turn % 2)) = 1 ]; then
        nmd_turn
        java_turn
    else
        java_turn
        nmd_turn
    fi
done
