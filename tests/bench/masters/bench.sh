#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures the cost for application masters of going through the proxy of a node. `make bench-masters` runs this as root.
#
#   tests/bench/masters/bench.sh BUILD
#
# A stock ResourceManager and one node at a time run in their own network namespace. The kinds of nodes take turns: nmd without
# a proxy ("no proxy": the ResourceManager allocates), nmd with distributed scheduling, Hadoop's own NodeManager with
# distributed scheduling, and nmd with fill-nodes. The node starts master-probe as an application master. master-probe requests
# 8 opportunistic containers at once and sends heartbeats until it has all of them, 60 times in each turn. Then eight masters
# start one after the other and keep running. They measure the wait for a master's first container, and the memory of the node.
# If possible, all programs run with real-time priority (SCHED_RR), because other programs of the host would affect all figures.
# ROUNDS, TURNS, INTERVAL_MS (20; between two heartbeats of a master) and MASTERS (8, the number for which a Java node has
# vcores) may be set in the environment.
bench_here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${NMD_TEST_BUILD:-}" ]; then
    NMD_TEST_BUILD=$(cd "${1:?where is it built?}" && pwd) || exit
    NMD_TEST_CLASSPATH=$("$bench_here/../../packing/build" "$NMD_TEST_BUILD/java") || exit
    NMD_TEST_DIR=$(mktemp -d "${TMPDIR:-/tmp}/nmd-masters.XXXXXX") || exit
    export NMD_TEST_BUILD NMD_TEST_CLASSPATH NMD_TEST_DIR
fi
# shellcheck source=tests/yarn/jobs.sh
. "$bench_here/../../yarn/jobs.sh"
at_exit 'umount -l "$dir/nmd1/run" 2>/dev/null; rm -rf "$NMD_TEST_DIR"'
tap_done=1 # this script prints figures, and no test results
# The JVMs of both kinds of nodes have their default settings: all compilers, and the default garbage collector.
small='-XX:-UsePerfData -Djava.net.preferIPv4Stack=true'
java_options=(-Xmx512m -XX:-UsePerfData "-Djdk.net.hosts.file=$dir/hosts" -Djava.net.preferIPv4Stack=true
    --add-opens=java.base/java.lang=ALL-UNNAMED "-Dhadoop.log.dir=$dir" "-Djava.io.tmpdir=$dir")
chrt -r -p 1 $$
rounds=${ROUNDS:-60} turns=${TURNS:-2} interval_ms=${INTERVAL_MS:-20} masters=${MASTERS:-8}
asks=8 warm=40
distributed=yarn.nodemanager.distributed-scheduling.enabled
ours_at=node01:8049 theirs_at=node02:8049 # each node has its own name and the user has its own directories

must() { # WHAT COMMAND...
    local what=$1
    shift
    "$@" >"$dir/must" 2>&1 && return
    printf 'bench-masters: %s failed: %s\n' "$what" "$*" >&2
    tail -n 5 "$dir/must" "$dir"/*.log >&2
    exit 1
}

# ---- masters --------------------------------------------------------------------------------------

submit() { # COMMAND: the application's id is in $application
    application=$(curl -sS -X POST "$rm_web/ws/v1/cluster/apps/new-application?user.name=$job_user" | jq -r '."application-id"')
    jq -n --arg id "$application" --arg command "exec $1" '{"application-id": $id, "application-name": "probe",
        "am-container-spec": {commands: {command: $command}}, "max-app-attempts": 1, resource: {memory: 128, vCores: 1}}' |
        curl -sS --fail-with-body -X POST -H 'Content-Type: application/json' -d @- \
            "$rm_web/ws/v1/cluster/apps?user.name=$job_user"
}
ended() { [[ "$(rm_get "apps/$1" | jq -r .app.finalStatus)" != UNDEFINED ]]; }
go_ahead() { chrt -r -p 1 "$(pgrep -n -u "$job_user" -x master-probe)"; } # the node starts it with the default priority
measure() { # NAME ADDRESS: appends to $dir/NAME.figures
    must 'an application' submit \
        "$shared/lib/master-probe ${2/:/ } measure $warm $rounds $asks $interval_ms >>$shared/work/$1.figures 2>&1"
    must "the application of $1" wait_until 30 go_ahead
    must "the application of $1" wait_until 180 ended "$application"
    [ "$(tail -n 1 "$shared/work/$1.figures")" = "done" ] && return
    tail -n 5 "$shared/work/$1.figures" "$dir"/*.log >&2
    exit 1
}
holding() { [ "$(cat "$shared/work/holds."* 2>/dev/null | grep -c holds)" -eq "$1" ]; } # N
no_masters() { [ "$(rm_get apps?states=ACCEPTED,RUNNING | jq '.apps.app | length')" -eq 0 ]; }

# ---- memory, in KiB -------------------------------------------------------------------------------

pss_of() { awk '$1 == "Pss:" { print $2 }' "/proc/$1/smaps_rollup"; } # PID
# Prints the used heap after a garbage collection. The process's memory would be too large, because a JVM does not return memory.
heap_of() { # PID
    as_user "$java_home/bin/jcmd" "$1" GC.class_histogram | awk '$1 == "Total" { print int($3 / 1024) }'
}
memory_of() { # pss|heap PID
    sleep 2 # waits until memory that is released with a delay is released
    "$1_of" "$2"
}
# Starts the masters one after the other, and prints the additional KiB for each of them.
hold_masters() { # NAME ADDRESS pss|heap PID
    local before after i
    rm -f "$shared/work/holds".* "$shared/work/over"
    before=$(memory_of "$3" "$4")
    for ((i = 1; i <= masters; i++)); do
        must 'an application' submit \
            "$shared/lib/master-probe ${2/:/ } hold 1000 $shared/work/over >$shared/work/holds.$i 2>&1"
        must 'to have a master that stays' wait_until 60 holding "$i"
    done
    after=$(memory_of "$3" "$4")
    {
        cat "$shared/work/holds".*
        printf 'memory %s\nwhole %s\n' "$(((after - before) / masters))" "$(pss_of "$4")"
    } >>"$shared/work/$1.figures"
    touch "$shared/work/over"
    must 'the end of all masters' wait_until 60 no_masters
}

# ---- nodes ----------------------------------------------------------------------------------------

with_nmd() { # COMMAND... -- NAME=VALUE...
    local command=()
    while [ "$1" != -- ]; do command+=("$1"); shift; done
    # The runtime directory is in memory, as for a service of systemd.
    mkdir -p "$dir/nmd1/run" && { mountpoint -q "$dir/nmd1/run" || mount -t tmpfs tmpfs "$dir/nmd1/run"; } || exit
    must 'nmd' nmd_node_start 1 "${@:2}"
    must 'the registration of nmd' wait_until 60 node_is 1 RUNNING
    chrt -a -r -p 1 "${nmd_nodes[1]}"
    "${command[@]}"
    nmd_node_stop 1
    must 'the leave of nmd' wait_until 60 node_is 1 SHUTDOWN
}
with_java() { # COMMAND...
    java_node_start 2 "$distributed=true" "yarn.nodemanager.amrmproxy.address=$theirs_at"
    must 'the registration of the Java NodeManager' wait_until 90 node_is 2 RUNNING
    "$@"
    java_node_stop 2
    must 'the leave of the Java NodeManager' wait_until 60 node_is 2 SHUTDOWN
}
direct() {
    measure no-proxy "127.0.0.1:${rm_ports[1]}"
    [ "$turn" -lt "$turns" ] || hold_masters no-proxy "127.0.0.1:${rm_ports[1]}" pss "${nmd_nodes[1]}"
}
ours() {
    measure nmd "$ours_at"
    curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics >"$dir/metrics"
    [ "$turn" -lt "$turns" ] || hold_masters nmd "$ours_at" pss "${nmd_nodes[1]}"
}
theirs() {
    measure java "$theirs_at"
    [ "$turn" -lt "$turns" ] || hold_masters java "$theirs_at" heap "${java_nodes[2]}"
}

# ---- the run --------------------------------------------------------------------------------------

queue=yarn.nodemanager.opportunistic-containers-max-queue-length
limits=yarn.resourcemanager.nm-container-queuing
# The limits of queues are large, because containers that are immediately given back would never wait in a queue.
must 'a cluster' jobs_configure "$distributed=true" "$queue=100000" "$limits.min-queue-length=100000" \
    "$limits.max-queue-length=100000"
cp "$NMD_TEST_BUILD/master-probe" "$shared/lib/"
must 'a stock ResourceManager' rm_again
must 'a machine to measure' node_proc_start 3000 4
: >"$shared/work/no-proxy.figures"
chown "$job_user" "$shared/work/no-proxy.figures"
turn=0
with_nmd direct -- "$distributed=false" # warm-up, because Java compiles at run time
: >"$shared/work/no-proxy.figures"
for ((turn = 1; turn <= turns; turn++)); do
    with_nmd direct -- "$distributed=false"
    with_nmd ours -- "yarn.nodemanager.amrmproxy.address=$ours_at"
    with_java theirs
done
with_nmd measure fill "$ours_at" -- "yarn.nodemanager.amrmproxy.address=$ours_at" nmd.distributed-scheduling.fill-nodes=true
python3 "$bench_here/table.py" "$shared/work" "$dir/metrics" "$interval_ms" "$asks"
