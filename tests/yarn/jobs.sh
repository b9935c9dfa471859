# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # much of it is for those who source it
#
# For suites that run real jobs: . "$(dirname "$0")/jobs.sh". A stock ResourceManager and nodes of either kind, Hadoop's and ours, with
# names of their own, in a network and mount namespace of the suite's: MapReduce listens on all addresses, and names must
# be found by whatever asks. Jobs are submitted, and run, by `nobody`, for containers of the cluster never run as root.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../packing/lib.sh"
stock_build || { not_ok 'the class path of a stock cluster is there'; done_testing; }
own_network
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../integration/lib.sh"
open_place # before all else, so that it is removed when nobody writes there any more

job_user=nobody
java_home=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")
export JAVA_HOME=$java_home
small='-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -XX:-UsePerfData -Djava.net.preferIPv4Stack=true'
# In the background, so that $! is the command's own.
as_user() { exec setpriv --reuid "$job_user" --regid "$(id -g "$job_user")" --clear-groups env -C "$place/work" HOME="$place" "$@"; }

# ---- the cluster ----

# Everything that the jobs' user reads: libraries, configuration, names; and where it writes.
jobs_place() {
    local jar
    mkdir "$place/lib" "$place/conf" && install -d -o "$job_user" "$place/work" "$place/staging" || return
    IFS=: read -r -a jars <"$NMD_TEST_BUILD/java/stock/classpath"
    for jar in "${jars[@]}"; do
        cp -n "$jar" "$place/lib/" || return
    done
    chmod -R a+rX "$place/lib"
    printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$place/hosts"
    printf '127.0.1.%d node%02d\n' 1 1 2 2 3 3 4 4 >>"$place/hosts"
    mount --bind "$place/hosts" /etc/hosts
}

# What the cluster's files say to all. Names that are in no domain are found by their addresses only.
jobs_configure() { # NAME=VALUE...: of yarn-site.xml or capacity-scheduler.xml
    jobs_place || return
    rm_configure --stock yarn.resourcemanager.opportunistic-container-allocation.enabled=true \
        yarn.nodemanager.opportunistic-containers-max-queue-length=20 \
        yarn.resourcemanager.nm-container-queuing.min-queue-length=20 \
        yarn.resourcemanager.nm-container-queuing.max-queue-length=20 \
        yarn.scheduler.minimum-allocation-mb=128 yarn.am.liveness-monitor.expiry-interval-ms=60000 \
        yarn.nodemanager.aux-services=mapreduce_shuffle "yarn.nodemanager.env-whitelist=JAVA_HOME,PATH" \
        yarn.nodemanager.vmem-check-enabled=false yarn.nodemanager.pmem-check-enabled=false \
        yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=100 \
        yarn.nodemanager.delete.debug-delay-sec=0 yarn.nodemanager.sleep-delay-before-sigkill.ms=100 "$@"
    cp "$place/hosts" "$dir/hosts"
    chmod a+rx "$dir"
    write_conf "$conf/core-site.xml" "fs.defaultFS=${hdfs_fs:-file:///}" "hadoop.tmp.dir=$place/work/tmp" hadoop.http.staticuser.user=root
    write_conf "$conf/mapred-site.xml" mapreduce.framework.name=yarn "mapreduce.application.classpath=$place/lib/*" \
        "yarn.app.mapreduce.am.staging-dir=${hdfs_fs:-$place}/staging" "mapreduce.cluster.local.dir=$place/work/mapred" \
        mapreduce.map.memory.mb=256 mapreduce.reduce.memory.mb=256 yarn.app.mapreduce.am.resource.mb=256 \
        "mapred.child.java.opts=-Xmx96m $small" "yarn.app.mapreduce.am.command-opts=-Xmx160m $small" \
        mapreduce.task.io.sort.mb=8 mapreduce.map.speculative=false mapreduce.reduce.speculative=false \
        mapreduce.job.reduce.slowstart.completedmaps=1.0 mapreduce.job.ubertask.enable=false mapreduce.shuffle.port=0 \
        mapreduce.client.progressmonitor.pollinterval=200 yarn.app.mapreduce.am.job.client.port-range= \
        mapreduce.client.completion.pollinterval=300 yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms=200
    chmod -R a+rX "$conf"
}
# A copy of the cluster's configuration for a node, with its own on top. The last of several values holds.
node_files() { # N PORT NAME=VALUE...
    local name=node0$1 own=$place/node$1 port=$2 pair
    shift 2
    mkdir -p "$own"
    cp -rT "$conf" "$own/conf"
    sed -i '/<\/configuration>/d' "$own/conf/yarn-site.xml"
    for pair in "yarn.nodemanager.hostname=$name" "yarn.nodemanager.address=$name:$port" \
        "yarn.nodemanager.webapp.address=$name:$((port + 2))" "yarn.nodemanager.local-dirs=$own/local" "yarn.nodemanager.log-dirs=$own/logs" \
        yarn.nodemanager.resource.memory-mb="$node_mb" yarn.nodemanager.resource.cpu-vcores=8 "$@"; do
        property "${pair%%=*}" "${pair#*=}"
    done >>"$own/conf/yarn-site.xml"
    echo '</configuration>' >>"$own/conf/yarn-site.xml"
    chmod -R a+rX "$own/conf"
}
pausing=yarn.nodemanager.opportunistic-containers-use-pause-for-preemption # a Java node can't; false by default
node_mb=2304 # a master and seven tasks fit

# Hadoop's own NodeManager, as the jobs' user: its containers run as what it runs as.
java_nodes=()
java_node_start() { # N [NAME=VALUE...]
    local n=$1 port=7${1}01 own=$place/node$1
    shift
    node_files "$n" "$port" "yarn.nodemanager.bind-host=127.0.1.$n" "yarn.nodemanager.localizer.address=node0$n:$((port + 1))" \
        "yarn.nodemanager.collector-service.address=node0$n:$((port + 3))" "$@"
    install -d -o "$job_user" "$own/local" "$own/logs" "$own/tmp"
    as_user java -Xmx256m "-Dhadoop.log.dir=$own/logs" "-Djava.io.tmpdir=$own/tmp" $small \
        --add-opens=java.base/java.lang=ALL-UNNAMED -cp "$own/conf:$place/lib/*" \
        org.apache.hadoop.yarn.server.nodemanager.NodeManager </dev/null >>"$dir/java$n.log" 2>&1 &
    java_nodes[n]=$!
}
java_node_stop() { end_process "${java_nodes[$1]:-}"; unset "java_nodes[$1]"; } # N
java_nodes_stop() { local n; for n in "${!java_nodes[@]}"; do java_node_stop "$n"; done; }
at_exit java_nodes_stop
node_is() { [ "$(rm_get nodes | jq -r --arg n "node0$1" '[.nodes.node[] | select(.nodeHostName == $n)] | last.state')" = "$2" ]; } # N STATE

# Ours, each with a socket, a slice and directories of its own. The machine's figures are the suite's where node_proc_start
# was called before.
nmd_nodes=()
nmd_node_start() { # N [NAME=VALUE...]
    local n=$1 own=$dir/nmd$1
    shift
    node_files "$n" "7${n}01" "$pausing=true" "$@"
    [ -e "$nmd_conf" ] || nmd_configure </dev/null
    mkdir -p "$own/state" "$own/run" "$place/node$n/local" "$place/node$n/logs"
    "$NMD" --config "$nmd_conf" --socket "$own/nmd.sock" --state-dir "$own/state" --runtime-dir "$own/run" \
        --slice "nmdtest${$}n$n.slice" --backend direct ${node_proc:+--node-proc "$node_proc"} \
        --yarn-conf "$place/node$n/conf" </dev/null >>"$dir/nmd$n.log" 2>&1 &
    nmd_nodes[n]=$!
    NMD_SOCKET=$own/nmd.sock
    wait_until 20 nmctl status && return
    diag "nmd doesn't answer; its log:" "$(tail -n 20 "$dir/nmd$n.log")"
    return 1
}
nmd_node_stop() { # N
    end_process "${nmd_nodes[$1]:-}"
    unset "nmd_nodes[$1]"
    nmd_clean_slice "nmdtest${$}n$1.slice"
}
nmd_nodes_stop() { local n; for n in "${!nmd_nodes[@]}"; do nmd_node_stop "$n"; done; }
at_exit nmd_nodes_stop
use_node() { NMD_SOCKET=$dir/nmd$1/nmd.sock; } # N: nmctl talks to it

# ---- jobs ----

# What a job says comes into $dir/NAME.log. It begins in a directory of its user's: pi's input is there.
job_pid=''
at_exit 'end_process "$job_pid"'
job_begin() { # NAME CLASS ARG...
    local name=$1
    shift
    as_user timeout -k 5 "${job_deadline:-100}" java -Xmx256m "-Djava.io.tmpdir=$place/work" $small \
        -cp "$conf:$place/lib/*" "$@" </dev/null >"$dir/$name.log" 2>&1 &
    job_pid=$!
}
job_ends() { # its status
    local status=0
    wait "$job_pid" || status=$?
    job_pid=''
    return "$status"
}
pi_begin() { # NAME PERCENT MAPS [SAMPLES]: so many percent of the maps are opportunistic
    job_begin "$1" org.apache.hadoop.examples.ExampleDriver pi \
        "-Dmapreduce.job.num-opportunistic-maps-percent=$2" "$3" "${4:-100}"
}
pi() { pi_begin "$@" && job_ends; }
# What a job has counted that doesn't depend on where and how fast it ran.
counters() { # NAME
    sed -nE 's/^\s*((Launched|Failed|Killed) (map|reduce) tasks|(Map|Reduce) (input|output) records|Reduce input groups|Shuffled Maps ?|Failed Shuffles|Merged Map outputs|Spilled Records|Bytes Read|Bytes Written)=([0-9]+)$/\1=\6/p' "$dir/$1.log"
    grep -o '^Estimated value of Pi is .*' "$dir/$1.log"
}
job_id() { sed -nE 's/.*Running job: job_([0-9_]+).*/\1/p' "$dir/$1.log"; } # NAME: without its kind
job_trouble() { diag "the job's last words:" "$(tail -n 25 "$dir/$1.log")"; } # NAME

# ---- the distributed shell ----

declare -A shells=()
shells_end() { local name; for name in "${!shells[@]}"; do end_process "${shells[$name]}"; done; }
at_exit shells_end
# Its files lie in its user's home, which for Java is what the accounts' file says.
shell_begin() { # NAME OPTION...
    local name=$1
    shift
    job_begin "$name" "-Duser.home=$place/work" org.apache.hadoop.yarn.applications.distributedshell.Client \
        -jar "$place"/lib/hadoop-yarn-applications-distributedshell-*.jar -appname "$name" -master_memory 256 -container_memory 128 "$@"
    shells[$name]=$job_pid
    job_pid=''
}
shell_ends() { # NAME: its status
    local status=0
    wait "${shells[$1]}" || status=$?
    unset "shells[$1]"
    return "$status"
}
ends_well() { # NAME
    local status=0
    shell_ends "$1" || status=$?
    is "$1: the application succeeds" "$status" 0 || trouble "$1"
}
trouble() { # NAME
    job_trouble "$1"
    diag "its master's:" "$(find "$own/logs/$(app_of "$1")" -name AppMaster.stderr -exec tail -n 30 {} +)"
}
app_of() { sed -nE 's/.*Submitted application (application_[0-9_]+).*/\1/p' "$dir/$1.log" | head -n 1; } # NAME
app_says() { rm_get "apps/$(app_of "$1")" | jq -r ".app | $2"; } # NAME JQ-EXPRESSION
# The ids of an application's containers, its master's left out; or masters only.
ids_of() { nmctl list --all --json | jq -r --arg app "$(app_of "$1")" \
    '[.[] | select(.app == $app and '"${2:-.name != \"master\"}"') | .id] | sort | .[]'; } # NAME [JQ-CONDITION]
masters_of() { ids_of "$1" '.name == "master"'; }
run_now() { [ "$(ids_of "$1" '.name != "master" and .state == "RUNNING"' | wc -l)" = "$2" ]; } # NAME N
log_of() { echo "$own/logs/$(sed -E 's/container_(e[0-9]+_)?([0-9]+_[0-9]+)_.*/application_\2/' <<<"$1")/$1/${2:-stdout}"; } # ID [FILE]
has_said() { grep -q -- "$2" "$(log_of "$1" "${3:-stdout}")"; } # ID REGEX [FILE]
# A command that runs until there is the file NAME in its user's directory, where names may have the container's id in them.
until_file() { echo "until [ -e $place/work/$1 ]; do sleep 0.1; done; echo over"; }
let_go() { touch "$place/work/$1"; }
