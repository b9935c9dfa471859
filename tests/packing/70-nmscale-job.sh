#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
# beside: others
#
# nmscale on a real cluster: a stock ResourceManager, three stock NodeManagers, and a MapReduce job that must not be disturbed.
# While the job runs, a node that the job doesn't need is removed, and a node with output of its mappers is not removed. If a
# node is removed too early on request, its removal waits for the end of the job.
#
# The suite runs in its own network and mount namespaces, because MapReduce listens on all addresses, and because nodes need
# names.
# shellcheck source=tests/packing/nmscale.sh
. "$(dirname "$0")/nmscale.sh"

# ---- nodes and jobs ----------
stock_build || { not_ok 'the class path of a stock cluster is available'; done_testing; }
own_network
java_home=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")
small='-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -XX:-UsePerfData -Djava.net.preferIPv4Stack=true'
export JAVA_HOME=$java_home

# A node's configuration is the ResourceManager's, with additional properties of the node.
add_properties() { # FILE NAME=VALUE...
    local file=$1 pair
    shift
    sed -i '/<\/configuration>/d' "$file"
    for pair in "$@"; do
        property "${pair%%=*}" "${pair#*=}"
    done >>"$file"
    echo '</configuration>' >>"$file"
}
node_pids=()
node_start() { # N
    local name=node0$1 own=$dir/node$1
    mkdir -p "$own/local" "$own/logs"
    cp -r "$conf" "$own/conf"
    add_properties "$own/conf/yarn-site.xml" "yarn.nodemanager.hostname=$name" "yarn.nodemanager.address=$name:7001" \
        "yarn.nodemanager.localizer.address=$name:7002" "yarn.nodemanager.webapp.address=$name:7003" \
        "yarn.nodemanager.collector-service.address=$name:7004" "yarn.nodemanager.bind-host=127.0.1.$1" \
        "yarn.nodemanager.local-dirs=$own/local" "yarn.nodemanager.log-dirs=$own/logs" \
        yarn.nodemanager.resource.memory-mb=768 yarn.nodemanager.resource.cpu-vcores=8 \
        yarn.nodemanager.vmem-check-enabled=false yarn.nodemanager.pmem-check-enabled=false \
        yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=100 \
        yarn.nodemanager.aux-services=mapreduce_shuffle \
        yarn.nodemanager.delete.debug-delay-sec=0 yarn.nodemanager.sleep-delay-before-sigkill.ms=100 \
        yarn.nodemanager.env-whitelist=JAVA_HOME
    java "${java_options[@]}" -cp "$own/conf:$stock_classpath" \
        org.apache.hadoop.yarn.server.nodemanager.NodeManager </dev/null >>"$dir/node$1.log" 2>&1 &
    node_pids+=("$!")
}
nodes_stop() {
    local pid
    for pid in "${node_pids[@]}"; do
        end_process "$pid"
    done
}
at_exit 'end_process "$job_pid"; nodes_stop'
job_pid=''

# The job has four mappers of 256 MB and then one reducer, which run for the given times. The application master needs 256 MB,
# so that one node has the master and two mappers, and another node has the other two mappers.
job_start() { # SECONDS-OF-A-MAPPER SECONDS-OF-THE-REDUCER
    java "${java_options[@]}" -cp "$conf:$stock_classpath" \
        org.apache.hadoop.mapreduce.SleepJob -m 4 -r 1 -mt "${1}000" -rt "${2}000" </dev/null >"$dir/job.log" 2>&1 &
    job_pid=$!
}
configure() {
    rm_configure "$pack_policy.pack.high-threshold=100" "$pack_policy.pack.min-nodes=1" \
        yarn.scheduler.minimum-allocation-mb=128 yarn.am.liveness-monitor.expiry-interval-ms=60000
    printf '127.0.0.1 localhost %s\n127.0.1.1 node01\n127.0.1.2 node02\n127.0.1.3 node03\n' "$(hostname)" >"$dir/hosts"
    mount --bind "$dir/hosts" /etc/hosts
    # The names of the nodes are not in a domain, so Hadoop must use addresses.
    write_conf "$conf/core-site.xml" fs.defaultFS=file:/// "hadoop.tmp.dir=$dir/tmp" hadoop.http.staticuser.user=root
    write_conf "$conf/mapred-site.xml" mapreduce.framework.name=yarn "mapreduce.application.classpath=$stock_classpath" \
        "yarn.app.mapreduce.am.staging-dir=$dir/staging" "mapreduce.cluster.local.dir=$dir/mapred" \
        mapreduce.map.memory.mb=256 mapreduce.reduce.memory.mb=256 yarn.app.mapreduce.am.resource.mb=256 \
        "mapred.child.java.opts=-Xmx96m -Djdk.net.hosts.file=$dir/hosts $small" \
        "yarn.app.mapreduce.am.command-opts=-Xmx160m -Djdk.net.hosts.file=$dir/hosts $small" \
        mapreduce.task.io.sort.mb=8 mapreduce.map.speculative=false mapreduce.reduce.speculative=false \
        mapreduce.job.reduce.slowstart.completedmaps=1.0 mapreduce.map.maxattempts=1 mapreduce.reduce.maxattempts=1 \
        mapreduce.shuffle.port=0
}

used_nodes() { rm_get nodes | jq -r '[.nodes.node[] | select(.numContainers > 0) | .nodeHostName] | sort | join(" ")'; }
holds() { # N [N...]: checks the numbers of containers on the nodes, in descending order
    [ "$(rm_get nodes | jq -r '[.nodes.node[].numContainers] | sort | reverse | join(" ")')" = "$*" ]
}

configure
need 'a stock ResourceManager starts' rm_again
for i in 1 2 3; do
    node_start "$i"
done
need 'three stock NodeManagers register' nodes_running 3
is 'each node reports that it keeps no data of applications' "$(given --ask-nodes)" 'node01 node02 node03'
nms >/dev/null # an observation before the job, so that nmscale follows the job from its start
job_start 15 20
need 'the application master and two mappers run on one node, and two mappers on another node' wait_until 120 holds 3 2 0
used=$(used_nodes)
free=$(printf 'node01\nnode02\nnode03\n' | grep -vxF "${used// /$'\n'}")
is 'nmscale names the third node' "$(given)" "$free"
is 'with --ask-nodes, nmscale also names the third node' "$(given --ask-nodes)" "$free"
apply >"$dir/out" 2>&1
is 'nmscale removes the third node while the job is running' "$? $(state "$free")" '0 DECOMMISSIONED'
gone() { ! kill -0 "${node_pids[${free#node0} - 1]}" 2>/dev/null; }
check 'the NodeManager of the third node has exited' wait_until 30 gone

need 'when the mappers have ended, the reducer runs and one node is empty' wait_until 120 holds 2 0 0
empty=$(tr ' ' '\n' <<<"$used" | grep -vxF "$(used_nodes)")
about() { nms --json --all "$@" | jq -r '.nodes[] | select(.host == "'"$empty"'") | .reason + " " + (.application // "")'; }
app=$(rm_get 'apps?states=RUNNING' | jq -r '.apps.app[0].id')
is 'nmscale does not name an empty node that has data of the running job' "$(about)" "has-data $app"
remove_state
is 'without its state file, nmscale does not know whether the node has data' "$(about)" "unknown-data $app"
is 'with --ask-nodes, the node informs nmscale that it has data' "$(about --ask-nodes)" "has-data $app"
need 'with --trust-rm, the removal of a node with data starts' begin_apply 1 --trust-rm
status=0
wait "$job_pid" || status=$?
job_pid=''
is 'the job succeeds during this removal' "$status $(grep -c 'completed successfully' "$dir/job.log")" '0 1'
is 'the job has run four mappers and a reducer, and none of them failed or was killed' \
    "$(sed -nE 's/^\s*((Launched|Failed|Killed) (map|reduce) tasks=[0-9]+)$/\1/p' "$dir/job.log" | sort | paste -sd,)" \
    'Launched map tasks=4,Launched reduce tasks=1'
apply_ends
is 'the node is DECOMMISSIONED when the job has ended' "$? $(state "$empty")" '0 DECOMMISSIONED'
done_testing
