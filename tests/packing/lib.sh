# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # much of it is for those who source it
#
# Library for scripts that need a stock ResourceManager with light nodes, such as the suites of this folder and the demo:
# . tests/packing/lib.sh. Needs NMD_TEST_DIR (an own directory) and NMD_TEST_CLASSPATH (tests/packing/build prints it).
# All processes end with the suite. tests/tap.sh defines ok, check, is, wait_until and more.
# shellcheck source=tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
# shellcheck source=tests/progress.sh
. "$(dirname "${BASH_SOURCE[0]}")/../progress.sh"

packing_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${NMD_TEST_CLASSPATH:?run me with tests/packing/run}"
dir=${NMD_TEST_DIR:-$(mktemp -d /tmp/nmd-packing.XXXXXX)}
conf=$dir/conf
rm_pid='' cluster_pid='' cluster_port='' rm_web=''
# These options make a JVM small, and its start short: it compiles quickly, and does not verify Hadoop's classes. Names are looked
# up only in a file, because no name service knows the nodes.
java_options=(-Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -XX:-UsePerfData
    -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote
    "-Djdk.net.hosts.file=$dir/hosts" -Djava.net.preferIPv4Stack=true
    --add-opens=java.base/java.lang=ALL-UNNAMED "-Dhadoop.log.dir=$dir" "-Djava.io.tmpdir=$dir")
# Milliseconds between two heartbeats of a node. skip.node.multiplier is so large that a node with a late heartbeat is not skipped.
heartbeat_ms=${heartbeat_ms:-50}
policy_class=nmd.packing.PackingPolicy

# Checks a condition on which the rest of the suite depends, and ends the suite if the check fails. Unlike check, it runs the
# command in this shell, so that the command can set variables.
need() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$dir/need" 2>&1; then
        ok "$name"
    else
        not_ok "$name" "command: $*" "$(head -n 40 "$dir/need")"
        done_testing
    fi
}

free_ports() { # N: prints N different free ports
    python3 - "$1" <<-'END'
	import socket, sys
	held = [socket.socket() for _ in range(int(sys.argv[1]))]
	for s in held:
	    s.bind(("127.0.0.1", 0))
	print(*[s.getsockname()[1] for s in held])
	END
}

# Builds MapReduce and Hadoop's NodeManager for suites that need them, and sets stock_classpath. With a version, it also sets
# NMD_TEST_CLASSPATH, so that the ResourceManager of that version is used. Packing and the light cluster are then not available.
stock_build() { # [VERSION]
    local stock=$NMD_TEST_BUILD/java/stock${1:+-$1}
    (
        exec 8>"$NMD_TEST_BUILD/java/lock"
        flock 8
        [ ! "$stock/classpath" -nt "$packing_here/stock/pom.xml" ] || exit 0
        mvn -q -B -f "$packing_here/stock/pom.xml" package "-DbuildDirectory=$stock" ${1:+"-Dhadoop.version=$1"} </dev/null >&2 &&
            touch "$stock/classpath"
    ) && stock_classpath=$(cat "$stock/classpath") || return
    [ -z "${1:-}" ] || NMD_TEST_CLASSPATH=$stock_classpath
}

# Copies the jars of a class path to a directory that the users of jobs can read.
copy_jars() { # CLASSPATH DIRECTORY
    local jar
    local -a jars
    IFS=: read -r -a jars <<<"$1"
    for jar in "${jars[@]}"; do
        cp -n "$jar" "$2/" || return
    done
    chmod -R a+rX "$2"
}

# Restarts the suite in a new network namespace and a new mount namespace, in which servers can listen on all addresses.
own_network() {
    if [ -z "${NMD_TEST_NAMESPACE:-}" ]; then
        unshare --net --mount true 2>/dev/null || skip_all 'this suite needs its own namespaces: run it as root'
        tap_done=1 # this shell has no results of its own
        NMD_TEST_NAMESPACE=1 exec unshare --net --mount bash "$0"
    fi
    python3 -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 0x41))' # brings lo up
}

property() { # NAME VALUE
    printf '  <property><name>%s</name><value>%s</value></property>\n' "$1" "$2"
}

# Writes a file of properties. A later NAME=VALUE replaces an earlier one, and an empty value removes the property.
write_conf() { # FILE NAME=VALUE...
    local file=$1 pair
    local -A values=()
    shift
    for pair in "$@"; do
        values[${pair%%=*}]=${pair#*=}
    done
    {
        printf '<?xml version="1.0"?>\n<configuration>\n'
        for pair in "${!values[@]}"; do
            [ -z "${values[$pair]}" ] || property "$pair" "${values[$pair]}"
        done
        printf '</configuration>\n'
    } >"$file"
}

cs=yarn.scheduler.capacity
pack_policy=$cs.multi-node-sorting.policy
# One queue, with limits for users and masters that have no effect in the suites.
scheduler_base=("$cs.root.queues=default" "$cs.root.default.capacity=100" "$cs.root.default.maximum-capacity=100"
    "$cs.root.default.user-limit-factor=100" "$cs.maximum-am-resource-percent=1" "$cs.maximum-applications=1000")
# The properties that enable packing, as in packing/capacity-scheduler.xml.example.
scheduler_pack=("$cs.multi-node-placement-enabled=true" "$pack_policy.names=pack" "$pack_policy=pack"
    "$pack_policy.pack.class=$policy_class")

# Writes the configuration. Properties yarn.scheduler.capacity.* go to capacity-scheduler.xml, and all others to yarn-site.xml.
# --stock, as the first argument, leaves packing off.
rm_configure() { # [--stock] [NAME=VALUE...]
    local scheduler=("${scheduler_base[@]}") site=() pair ports
    if [ "${1:-}" = --stock ]; then
        shift
    else
        scheduler+=("${scheduler_pack[@]}")
    fi
    for pair in "$@"; do
        case $pair in
            "$cs".*) scheduler+=("$pair") ;;
            *) site+=("$pair") ;;
        esac
    done
    mkdir -p "$conf"
    if [ -z "$rm_web" ]; then
        read -r -a ports < <(free_ports 5)
        rm_ports=("${ports[@]}")
        rm_web=http://127.0.0.1:${ports[4]}
    fi
    printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$dir/hosts"
    # The file also has each name with a final dot. Hadoop looks up names in this form if tokens contain names (use_ip=false).
    printf '127.0.0.1 node%02d node%02d.\n' $(seq 1 99 | awk '{ print $1, $1 }') >>"$dir/hosts"
    : >>"$dir/exclude"
    write_conf "$conf/core-site.xml" fs.defaultFS=file:/// "hadoop.tmp.dir=$dir/tmp" \
        hadoop.security.token.service.use_ip=false hadoop.http.staticuser.user=root
    write_conf "$conf/yarn-site.xml" yarn.resourcemanager.hostname=127.0.0.1 \
        "yarn.resourcemanager.address=127.0.0.1:${rm_ports[0]}" \
        "yarn.resourcemanager.scheduler.address=127.0.0.1:${rm_ports[1]}" \
        "yarn.resourcemanager.resource-tracker.address=127.0.0.1:${rm_ports[2]}" \
        "yarn.resourcemanager.admin.address=127.0.0.1:${rm_ports[3]}" \
        "yarn.resourcemanager.webapp.address=127.0.0.1:${rm_ports[4]}" \
        yarn.resourcemanager.bind-host=127.0.0.1 \
        "yarn.resourcemanager.nodes.exclude-path=$dir/exclude" \
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms=$heartbeat_ms" \
        yarn.scheduler.skip.node.multiplier=1000 "yarn.node-attribute.fs-store.root-dir=file://$dir/attributes" \
        yarn.resourcemanager.connect.max-wait.ms=500 yarn.resourcemanager.connect.retry-interval.ms=100 \
        yarn.scheduler.minimum-allocation-mb=1 yarn.scheduler.maximum-allocation-mb=1048576 \
        yarn.scheduler.maximum-allocation-vcores=1024 yarn.resourcemanager.webapp.ui-actions.enabled=false \
        "${site[@]}"
    write_conf "$conf/capacity-scheduler.xml" "${scheduler[@]}"
    cat >"$conf/log4j.properties" <<-'END'
	log4j.rootLogger=INFO,out
	log4j.appender.out=org.apache.log4j.ConsoleAppender
	log4j.appender.out.target=System.err
	log4j.appender.out.layout=org.apache.log4j.PatternLayout
	log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
	log4j.logger.org.apache.hadoop.ipc.Client=ERROR
	log4j.logger.org.apache.hadoop.io.retry=ERROR
	log4j.logger.nmd=DEBUG
	END
}

# Prints the class path. The jars are first, because an archive of classes requires that (tests/yarn/archive). No jar has files of
# the names of the configuration except log4j.properties. hadoop_java CLASS ARGS runs Hadoop's own commands with this class path.
hadoop_classpath() { printf '%s:%s\n' "$NMD_TEST_CLASSPATH" "$conf"; }
class_options=("-Dlog4j.configuration=file:$conf/log4j.properties") # further options of JVMs with this class path
hadoop_java() { java "${java_options[@]}" "${class_options[@]}" -cp "$(hadoop_classpath)" "$@"; }
rm_admin() { hadoop_java org.apache.hadoop.yarn.client.cli.RMAdminCLI "$@"; }

# The properties with which a restarted ResourceManager recovers its applications, so that they continue.
rm_remembers=(yarn.resourcemanager.recovery.enabled=true
    yarn.resourcemanager.store.class=org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore
    "yarn.resourcemanager.fs.state-store.uri=file://$dir/state"
    yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms=500)

rm_log=$dir/rm.log
# Starts the ResourceManager and does not wait until it responds. Sets $rm_pid.
rm_launch() {
    java "${java_options[@]}" "${class_options[@]}" -cp "$(hadoop_classpath)" \
        org.apache.hadoop.yarn.server.resourcemanager.ResourceManager </dev/null >>"$rm_log" 2>&1 &
    rm_pid=$!
}
rm_answers() { [ "$(rm_get info | jq -r .clusterInfo.haState)" = ACTIVE ]; }
rm_gone_or_answers() { ! kill -0 "$rm_pid" 2>/dev/null || rm_answers; }
rm_start() { # [--stock] [NAME=VALUE...]
    rm_configure "$@"
    rm_again
}
rm_launched=''
# Starts the ResourceManager while the suite waits for another program. The next rm_again waits for this ResourceManager.
rm_launch_early() { rm_launch && rm_launched=$rm_pid; }
rm_again() { # starts the ResourceManager with its present configuration
    [ -n "$rm_launched" ] || rm_launch
    rm_launched=''
    patient_until 'the ResourceManager does not answer' "$rm_pid=$rm_log" -- rm_answers
}
end_process() { # PID [SIGNAL]
    [ -n "$1" ] || return 0
    kill "-${2:-TERM}" "$1" 2>/dev/null
    wait "$1" 2>/dev/null
}
# Starts the ResourceManager with a partition for each label. The queue may use all nodes of each partition. Nodes report their
# labels.
rm_start_labelled() { # LABEL...
    local label names=() more=()
    for label in "$@"; do
        names+=("$label(exclusive=true)")
        more+=("$cs.root.accessible-node-labels.$label.capacity=100"
            "$cs.root.default.accessible-node-labels.$label.capacity=100")
    done
    rm_start yarn.node-labels.enabled=true yarn.node-labels.configuration-type=distributed \
        "yarn.node-labels.fs-store.root-dir=file://$dir/labels" "$cs.root.accessible-node-labels=*" \
        "$cs.root.default.accessible-node-labels=*" "${more[@]}" &&
        rm_admin -addToClusterNodeLabels "$(IFS=,; printf '%s' "${names[*]}")"
}
rm_stop() { end_process "$rm_pid"; rm_pid=''; }
rm_kill() { end_process "$rm_pid" KILL; rm_pid=''; }
rm_get() { curl -sf "$rm_web/ws/v1/cluster/$1"; } # PATH: JSON of its REST interface

# ---- the light cluster ----------------------------------------------------------------------------------------------

# Starts the light cluster with N nodes: node01, node02 and so on. With N = 0 it runs applications on other nodes. The format of a size
# is MB:VCORES[:LABEL]. The last size applies to all further nodes.
cluster_start() { # N [SIZE...]
    local n=$1 i size=10240:10
    shift
    rm -f "$dir/cluster.port"
    java "${java_options[@]}" "${class_options[@]}" -cp "$(hadoop_classpath)" cluster.LightCluster "$dir/cluster.port" \
        </dev/null >>"$dir/cluster.log" 2>&1 &
    cluster_pid=$!
    patient_until 'the light cluster does not say its port' "$cluster_pid=$dir/cluster.log" -- test -s "$dir/cluster.port" || return
    cluster_port=$(cat "$dir/cluster.port")
    for ((i = 1; i <= n; i++)); do
        size=${1:-$size}
        [ $# -eq 0 ] || shift
        node_add "$(printf 'node%02d' "$i")" "$size" >/dev/null
    done
    [ "$n" -eq 0 ] || {
        patient_until "the $n nodes do not all run" "$rm_pid=$rm_log" "$cluster_pid=$dir/cluster.log" -- test_nodes "$n" &&
            patient_until 'the nodes send no heartbeats' "$rm_pid=$rm_log" "$cluster_pid=$dir/cluster.log" -- nodes_beat
    }
}
# The scheduler skips a node until it has processed a heartbeat of the node. This is some time after the node's state is RUNNING.
nodes_beat() { light nodes | jq -e 'all(.[]; .beats > 2 or .state != "RUNNING")' >/dev/null; }
cluster_stop() { end_process "$cluster_pid"; cluster_pid=''; }
at_exit 'cluster_stop; rm_stop'

# Sends one request to the light cluster. Prints the response on stdout, or an error message as a diagnostic.
light() { # PATH?QUERY
    local answer
    answer=$(curl -sS --fail-with-body --max-time 120 "http://127.0.0.1:$cluster_port/$1" 2>&1) || {
        diag "light cluster, /$1: $answer" >&2
        return 1
    }
    printf '%s\n' "$answer"
}
node_add() { # NAME MB:VCORES[:LABEL]
    local mb vcores label
    IFS=: read -r mb vcores label <<<"$2"
    light "node?name=$1&mb=$mb&vcores=$vcores&label=$label"
}
node_set() { light "node?name=$1&$2" >/dev/null; } # NAME KEY=VALUE[&...]
rm_nodes() { rm_get nodes | jq -r '.nodes.node[]? | select(.state == "'"${1:-RUNNING}"'") | .nodeHostName' | sort; } # [STATE]
nodes_running() { wait_until 60 test_nodes "$1"; } # N: the ResourceManager has this number of running nodes
labelled() { # LABEL N: this number of running nodes has the label
    [ "$(rm_get nodes | jq --arg name "$1" \
        '[.nodes.node[] | select(.state == "RUNNING") | select((.nodeLabels // []) | index($name))] | length')" = "$2" ]
}
# Checks the number of nodes in the policy's log, because the scheduler gets labels and heartbeats later than the REST interface.
chooses_from() { # LABEL N
    [ "$(grep -oP "Partition \"$1\" has \K\d+(?= nodes to choose from)" "$rm_log" | tail -n 1)" = "$2" ]
}
test_nodes() { [ "$(rm_nodes | wc -l)" = "$1" ]; }

ask() { light "ask?n=$1${2:+&$2}" >/dev/null; } # N [KEY=VALUE&...]
release() { light "release?n=$1&seed=$2${3:+&$3}" >/dev/null; } # N SEED [KEY=VALUE&...]
settle() { light "settle?seconds=60&pending=${1:-0}" >/dev/null; } # [PENDING]
ask_and_settle() { ask "$@" && settle; }
churn() { release 8 "$1" && settle && ask_and_settle 8; } # SEED: eight random containers end, and eight containers are requested
# Releases the containers on all nodes.
release_all() { release 100000 1 "${1:-}" && settle; }

nodes_json() { light nodes; }
# Prints the numbers of containers on the nodes, in descending order: "8 8 4 0 0". With LABEL, only nodes with this label count.
containers_per_node() { # [LABEL]
    nodes_json | jq -r --arg wanted "${1-*}" \
        '[.[] | select($wanted == "*" or .label == $wanted) | .containers] | sort | reverse | join(" ")'
}
containers_on() { nodes_json | jq -r --arg name "$1" '.[] | select(.name == $name) | .containers'; } # NODE
empty_nodes() { nodes_json | jq '[.[] | select(.containers == 0 and .state == "RUNNING")] | length'; }
