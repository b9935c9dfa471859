# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # much of it is for those who source it
#
# Library for suites that run real jobs: . "$(dirname "$0")/jobs.sh". It provides a stock ResourceManager, nodes of Hadoop and
# nodes of nmd. Each node has its own name. The suite has its own network and mount namespaces, because MapReduce listens on all
# addresses, and because every program must be able to look up the names.
#
# The cluster is configured like real ones. A suite that needs another configuration passes it to jobs_configure:
#   - HDFS is the default file system (jobs_fs=local before jobs_configure: none, the local one; jobs_fs=service: HDFS with two
#     name nodes).
#   - Each node has three local directories and two log directories, each a small file system of its own. MapReduce and Spark
#     place each file in any of them.
#   - Two ordinary users exist: alice, and o.neil$, whose name needs quotes in a shell and escapes in a URL. Jobs are
#     submitted and run by alice, or by the user in job_user.
#   - Recovery and ACLs are on. LinuxContainerExecutor has its usual properties; a Java NodeManager, for which its setuid
#     program would have to be built, has DefaultContainerExecutor instead.
#   - The staging directory, a second queue and jobs have names that need escaping.
#   - Log aggregation is on, but nmd keeps the local logs, which suites read. A Java NodeManager has it off, since suites compare
#     only its jobs.
# NMD_TEST_HADOOP names the version of ResourceManager, NodeManager and MapReduce. The default is the one of pom.xml.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../packing/lib.sh"
# shellcheck source=tests/yarn/hdfs/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/hdfs/lib.sh"
# Further software for the jobs of a suite is in folders beside this file: set jobs_of=(FOLDER...) before sourcing it. All
# downloads happen before the suite enters a network namespace without external access.
for job_kind in "${jobs_of[@]}"; do
    # shellcheck source=/dev/null
    . "$(dirname "${BASH_SOURCE[0]}")/$job_kind/lib.sh"
done
jobs_fetch() {
    local kind
    stock_build "${NMD_TEST_HADOOP:-}" && hdfs_fetch "$NMD_TEST_BUILD/java/hdfs" || return
    for kind in "${jobs_of[@]}"; do "${kind}_fetch" || return; done
    # the names of most classes are the same in all versions
    [ -z "${jobs_archive:-}" ] || [ ! -e "$NMD_TEST_BUILD/java/stock/classes" ] ||
        "$packing_here/../yarn/archive" "$NMD_TEST_BUILD/java/stock-$NMD_TEST_HADOOP" "$NMD_TEST_BUILD/java/stock/classes"
}
jobs_fetch >&2 || { not_ok 'all parts of Hadoop for the jobs are available: see stderr'; done_testing; }
own_network
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../integration/lib.sh"
make_shared_dir # called first, so that the directory is removed when no process writes to it any more

users=(alice "o.neil\$")
job_user=alice
java_home=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")
export JAVA_HOME=$java_home
small='-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto -XX:-UsePerfData'
small+=' -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -Djava.net.preferIPv4Stack=true'
# Hadoop 3.3 does not support the strong encapsulation of newer Java versions: its MapReduce master does not open packages
# itself.
[[ ${NMD_TEST_HADOOP:-} != 3.3.* ]] || small+=' --add-opens=java.base/java.lang=ALL-UNNAMED'
as_user_by=() # a command that starts the command of as_user
# Uses exec, so that $! is the command's PID if the function runs in the background.
as_user() {
    exec "${as_user_by[@]}" setpriv --reuid "$job_user" --regid "$(id -g "$job_user")" --clear-groups env -C "$(home_of "$job_user")" HOME="$shared" "$@"
}
# The first user's home is $shared/work.
home_of() { if [ "$1" = alice ]; then echo "$shared/work"; else echo "$shared/home/$1"; fi; } # USER

# ---- the cluster ----

# Creates accounts that exist only in the suite's mount namespace.
jobs_accounts() {
    local name id=64101 file
    for file in passwd group; do
        cp "/etc/$file" "$shared/$file"
    done
    for name in "${users[@]}"; do
        echo "$name:x:$id:$id::$(home_of "$name"):/bin/sh" >>"$shared/passwd"
        echo "$name:x:$id:" >>"$shared/group"
        id=$((id + 1))
    done
    for file in passwd group; do
        mount --bind "$shared/$file" "/etc/$file" || return
    done
}
# Fills $shared/lib with the jars. With an archive of their classes, all JVMs of this class path use the archive: the
# ResourceManager, clients, and MapReduce's masters and tasks. A JVM opens the archive before it reads CLASSPATH, which begins
# with a directory, so masters and tasks get their class path as an option. A suite of another version has an archive if it sets jobs_archive.
mapred_classes=
jobs_libraries() {
    local lib=$NMD_TEST_BUILD/java/stock${NMD_TEST_HADOOP:+-$NMD_TEST_HADOOP}/lib
    if [ -e "$lib/classes.jsa" ]; then
        mount --bind -o ro "$lib" /mnt && mount --bind -o ro "$lib" "$shared/lib" || return
        NMD_TEST_CLASSPATH=$shared/lib/*:$NMD_TEST_BUILD/java/cluster/light-cluster.jar # an archive permits further jars at the end
        class_options+=(-XX:SharedArchiveFile=/mnt/classes.jsa)
        mapred_classes="-XX:SharedArchiveFile=/mnt/classes.jsa -cp $shared/lib/*:$conf:."
        return
    fi
    copy_jars "$stock_classpath" "$shared/lib"
}
# Creates the files that the users of the jobs read (libraries, configuration, names) and the directories that they write to.
jobs_install() {
    local name
    jobs_accounts || return
    mkdir "$shared/lib" "$shared/conf" || return
    jobs_libraries || return
    install -d -m 1777 "$shared/staging" "$shared/tmp" "$shared/home"
    for name in "${users[@]}"; do
        install -d -o "$name" "$(home_of "$name")" || return
    done
    printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$shared/hosts"
    printf '127.0.1.%d node%02d\n' 1 1 2 2 3 3 4 4 >>"$shared/hosts"
    mount --bind "$shared/hosts" /etc/hosts
}
# Mounts a small file system on the directory. It is unmounted before $shared is removed.
small_file_system() { # DIRECTORY MIB
    mkdir -p "$1" && { mountpoint -q "$1" || mount -t tmpfs -o "size=$2m,mode=755" nmd-test "$1"; }
}
unmount_all() { # DIRECTORY: unmounts all file systems below the directory
    awk -v below="$1/" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
        while read -r mounted; do umount -l "$mounted"; done
}
at_exit 'unmount_all "$shared"'
# The three local directories and two log directories of a node, in the format of its configuration.
disks=(1 2 3) log_disks=(1 2) disk_mib=256 log_disk_mib=64
node_disks() { # N
    local own=$shared/node$1 disk
    for disk in "${disks[@]}"; do small_file_system "$own/local/$disk" "$disk_mib" || return; done
    for disk in "${log_disks[@]}"; do small_file_system "$own/logs/$disk" "$log_disk_mib" || return; done
}
listed() { local IFS=,; echo "${*/#/$prefix}"; } # WORD...: prints the words with $prefix before each
local_dirs_of() { local prefix=$shared/node$1/local/; listed "${disks[@]}"; } # N
log_dirs_of() { local prefix=$shared/node$1/logs/; listed "${log_disks[@]}"; } # N
# Prints the file that matches the pattern. The file may appear shortly after its container is reported as running.
existing() { wait_until 20 compgen -G "$1"; compgen -G "$1" | head -n 1; } # PATTERN
# Prints the map outputs whose data and index are in different local directories, while their application runs.
outputs_apart() {
    local data
    # with its own service, Tez has a directory for each DAG
    for data in "$shared"/node?/local/*/usercache/*/appcache/application_*/{,dag_*/}output/*/file.out; do
        [ ! -e "$data" ] || [ -e "$data.index" ] || basename "$(dirname "$data")"
    done
}
# Prints the log directories of an application's containers on a node.
logs_of() { # N APPLICATION-ID [CONTAINER-ID]
    local found
    for found in "$shared/node$1/logs"/*/"$2"/${3:-container_*}; do
        [ ! -e "$found" ] || echo "$found"
    done
}

jobs_fs=hdfs
# The queue beside the default one. Its share is small, but the queue may use all of the cluster, and one user may use all of
# the queue.
jobs_queue="größe-\"100%25\"'&+b"
jobs_queue_xml=${jobs_queue//&/&amp;}
default_executor=org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor
lce=yarn.nodemanager.linux-container-executor
container_executor=(yarn.nodemanager.container-executor.class=org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor
    "$lce.group=root" "$lce.nonsecure-mode.limit-users=false" "$lce.nonsecure-mode.local-user=nobody"
    "$lce.resources-handler.class=org.apache.hadoop.yarn.server.nodemanager.util.CgroupsLCEResourcesHandler"
    "$lce.cgroups.hierarchy=/hadoop-yarn" "$lce.cgroups.mount=false" "$lce.cgroups.strict-resource-usage=false")
# Writes the files of the cluster that all nodes use. The names of the nodes are not in a domain, so Hadoop must use addresses.
jobs_configure() { # NAME=VALUE...: properties for yarn-site.xml or capacity-scheduler.xml
    local fs=file:/// staging=$shared/staging logs=$shared/tmp/logs
    jobs_install || return
    if [ "$jobs_fs" != local ]; then
        if [ "$jobs_fs" = hdfs ]; then
            hdfs_configure_one
        else
            hdfs_configure
            hdfs_fs=hdfs://cluster1
        fi
        hdfs_find "$NMD_TEST_BUILD/java/hdfs" || return
        fs=$hdfs_fs staging="$hdfs_fs/staging area 100%" logs=/tmp/logs
    fi
    rm_configure --stock yarn.resourcemanager.opportunistic-container-allocation.enabled=true \
        yarn.nodemanager.opportunistic-containers-max-queue-length=20 \
        yarn.resourcemanager.nm-container-queuing.min-queue-length=20 \
        yarn.resourcemanager.nm-container-queuing.max-queue-length=20 \
        yarn.scheduler.minimum-allocation-mb=128 yarn.am.liveness-monitor.expiry-interval-ms=60000 \
        yarn.nodemanager.aux-services=mapreduce_shuffle "yarn.nodemanager.env-whitelist=JAVA_HOME,PATH" \
        yarn.nodemanager.vmem-check-enabled=false yarn.nodemanager.pmem-check-enabled=false \
        yarn.nodemanager.delete.debug-delay-sec=0 yarn.nodemanager.sleep-delay-before-sigkill.ms=100 \
        yarn.nodemanager.recovery.enabled=true yarn.nodemanager.recovery.supervised=false \
        "$cs.root.queues=default,$jobs_queue_xml" "$cs.root.default.capacity=90" "$cs.root.$jobs_queue_xml.capacity=10" \
        "$cs.root.$jobs_queue_xml.maximum-capacity=100" "$cs.root.$jobs_queue_xml.user-limit-factor=100" \
        yarn.acl.enable=true "yarn.admin.acl=root operators" yarn.log-aggregation-enable=true \
        "yarn.nodemanager.remote-app-log-dir=$logs" yarn.log-aggregation.enable-local-cleanup=false \
        "${container_executor[@]}" "$@"
    cp "$shared/hosts" "$dir/hosts"
    chmod a+rx "$dir"
    write_conf "$conf/core-site.xml" "fs.defaultFS=$fs" "hadoop.tmp.dir=$shared/tmp/hadoop-\${user.name}" hadoop.http.staticuser.user=root
    write_conf "$conf/mapred-site.xml" mapreduce.framework.name=yarn "mapreduce.application.classpath=$shared/lib/*" \
        "yarn.app.mapreduce.am.staging-dir=$staging" "mapreduce.cluster.local.dir=$shared/tmp/mapred-\${user.name}" \
        mapreduce.map.memory.mb=256 mapreduce.reduce.memory.mb=256 yarn.app.mapreduce.am.resource.mb=256 \
        "mapred.child.java.opts=-Xmx96m $small $mapred_classes" \
        "yarn.app.mapreduce.am.command-opts=-Xmx160m $small $mapred_classes" \
        mapreduce.task.io.sort.mb=8 mapreduce.map.speculative=false mapreduce.reduce.speculative=false \
        mapreduce.job.reduce.slowstart.completedmaps=1.0 mapreduce.job.ubertask.enable=false mapreduce.shuffle.port=0 \
        mapreduce.client.progressmonitor.pollinterval=200 yarn.app.mapreduce.am.job.client.port-range= \
        mapreduce.client.completion.pollinterval=300 yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms=200
    chmod -R a+rX "$conf"
    [ "$jobs_fs" != local ] || return 0
    rm_launch_early
    hdfs_start_jobs
}
# Makes the homes and the staging directory in HDFS, in which each user makes its own directories.
hdfs_start_jobs() {
    local path
    if [ "$jobs_fs" = hdfs ]; then
        hdfs_start_one || return
    else
        hdfs_start_two && hdfs_rest '/?op=SETPERMISSION&permission=1777' -f -X PUT || return
    fi
    for path in /user /tmp "/staging%20area%20100%25"; do
        hdfs_rest "$path?op=MKDIRS&permission=1777" -f -X PUT || return
    done
}
# Copies the cluster's configuration for a node and adds the node's own properties. The last of several values applies.
node_files() { # N PORT NAME=VALUE...
    local n=$1 name=node0$1 own=$shared/node$1 port=$2 pair
    shift 2
    mkdir -p "$own"
    node_disks "$n" || return
    cp -rT "$conf" "$own/conf"
    sed -i '/<\/configuration>/d' "$own/conf/yarn-site.xml"
    for pair in "yarn.nodemanager.hostname=$name" "yarn.nodemanager.address=$name:$port" \
        "yarn.nodemanager.webapp.address=$name:$((port + 2))" "yarn.nodemanager.local-dirs=$(local_dirs_of "$n")" \
        "yarn.nodemanager.log-dirs=$(log_dirs_of "$n")" "yarn.nodemanager.recovery.dir=$own/recovery" \
        yarn.nodemanager.resource.memory-mb="$node_mb" yarn.nodemanager.resource.cpu-vcores=8 "$@"; do
        property "${pair%%=*}" "${pair#*=}"
    done >>"$own/conf/yarn-site.xml"
    echo '</configuration>' >>"$own/conf/yarn-site.xml"
    chmod -R a+rX "$own/conf"
}
pausing=yarn.nodemanager.opportunistic-containers-use-pause-for-preemption # a Java NodeManager can't pause; false by default
node_mb=2304 # one application master and seven tasks fit

# Starts Hadoop's own NodeManager as the jobs' user, because its containers run as the same user.
java_nodes=()
java_node_start() { # N [NAME=VALUE...]
    local n=$1 port=7${1}01 own=$shared/node$1
    shift
    node_files "$n" "$port" "yarn.nodemanager.bind-host=127.0.1.$n" "yarn.nodemanager.localizer.address=node0$n:$((port + 1))" \
        "yarn.nodemanager.collector-service.address=node0$n:$((port + 3))" "yarn.nodemanager.container-executor.class=$default_executor" \
        yarn.log-aggregation-enable=false "$@"
    chown "$job_user" "$own"/local/* "$own"/logs/*
    install -d -o "$job_user" "$own/recovery" "$own/tmp"
    as_user java -Xmx256m "-Dhadoop.log.dir=$own/logs" "-Djava.io.tmpdir=$own/tmp" $small \
        --add-opens=java.base/java.lang=ALL-UNNAMED -cp "$own/conf:$shared/lib/*" \
        org.apache.hadoop.yarn.server.nodemanager.NodeManager </dev/null >>"$dir/java$n.log" 2>&1 &
    java_nodes[n]=$!
}
# Kills the NodeManager after it has unregistered. Otherwise it would wait ten seconds for the removal of logs, which is only
# due in hours.
java_node_stop() { # N
    kill -TERM "${java_nodes[$1]}"
    wait_until 20 node_is "$1" SHUTDOWN
    end_process "${java_nodes[$1]}" KILL
    unset "java_nodes[$1]"
}
java_nodes_stop() { local n; for n in "${!java_nodes[@]}"; do end_process "${java_nodes[$n]}"; done; }
at_exit java_nodes_stop
node_is() { [ "$(rm_get nodes | jq -r --arg n "node0$1" '[.nodes.node[] | select(.nodeHostName == $n)] | last.state')" = "$2" ]; } # N STATE

# Starts a node of nmd with its own socket, slice and directories. It uses the suite's figures of the machine if node_proc_start was
# called before.
nmd_nodes=()
nmd_node_start() { # N [NAME=VALUE...]
    local n=$1 own=$dir/nmd$1
    shift
    node_files "$n" "7${n}01" "$pausing=true" "$@"
    [ -e "$nmd_conf" ] || nmd_configure </dev/null
    mkdir -p "$own/state" "$own/run"
    "$NMD" --config "$nmd_conf" --socket "$own/nmd.sock" --state-dir "$own/state" --runtime-dir "$own/run" \
        --slice "nmdtest${$}n$n.slice" --backend direct ${node_proc:+--node-proc "$node_proc"} \
        --yarn-conf "$shared/node$n/conf" </dev/null >>"$dir/nmd$n.log" 2>&1 &
    nmd_nodes[n]=$!
    NMD_SOCKET=$own/nmd.sock
    patient_until "nmd does not answer" "${nmd_nodes[n]}=$dir/nmd$n.log" -- nmctl status
}
nmd_node_stop() { # N
    end_process "${nmd_nodes[$1]:-}"
    unset "nmd_nodes[$1]"
    nmd_clean_slice "nmdtest${$}n$1.slice"
}
nmd_nodes_stop() { local n; for n in "${!nmd_nodes[@]}"; do nmd_node_stop "$n"; done; }
at_exit nmd_nodes_stop
use_node() { NMD_SOCKET=$dir/nmd$1/nmd.sock; } # N: makes nmctl use the socket of node N

# ---- jobs ----

# A job's output is in $dir/NAME.log. The job starts in a directory of its user. pi creates its input there.
job_pid=''
at_exit 'end_process "$job_pid"'
job_begin() { # NAME CLASS ARG...
    local name=$1
    shift
    local classes=(-cp "$conf:${job_libs:-}/*")
    [ -n "${job_libs:-}" ] || classes=("${class_options[@]}" -cp "$shared/lib/*:$conf")
    as_user timeout -k 5 "${job_deadline:-100}" java -Xmx256m "-Djava.io.tmpdir=$(home_of "$job_user")" $small \
        "${classes[@]}" "$@" </dev/null >"$dir/$name.log" 2>&1 &
    job_pid=$!
}
job_ends() { # waits for the end of the job, and returns its exit status
    local status=0
    wait "$job_pid" || status=$?
    job_pid=''
    return "$status"
}
pi_begin() { # NAME PERCENT MAPS [SAMPLES]: runs pi with so many percent of its maps as opportunistic
    job_begin "$1" org.apache.hadoop.examples.ExampleDriver pi \
        "-Dmapreduce.job.num-opportunistic-maps-percent=$2" "$3" "${4:-100}"
}
pi() { pi_begin "$@" && job_ends; }
example() { job_begin "$1" org.apache.hadoop.examples.ExampleDriver "${@:2}"; } # NAME PROGRAM ARG...
declare -A begun=()
aside() { begun[$1]=$job_pid job_pid=''; at_exit "end_process '${begun[$1]}'"; } # NAME: keeps the last job running in the background
succeeds() { # NAME
    job_pid=${begun[$1]:-$job_pid}
    job_ends
    is "$1 succeeds" "$?" 0 || job_trouble "$1"
}
# Prints the counters of a job that depend neither on the nodes nor on the speed.
counters() { # NAME
    sed -nE 's/^\s*((Launched|Failed|Killed) (map|reduce) tasks|(Map|Reduce) (input|output) records|Reduce input groups|Shuffled Maps ?|Failed Shuffles|Merged Map outputs|Spilled Records|Bytes Read|Bytes Written)=([0-9]+)$/\1=\6/p' "$dir/$1.log"
    grep -o '^Estimated value of Pi is .*' "$dir/$1.log"
}
job_id() { sed -nE 's/.*Running job: job_([0-9_]+).*/\1/p' "$dir/$1.log"; } # NAME: without its kind
job_trouble() { # NAME: prints the last output of the job and its application masters
    local file
    diag "the end of the job's log:" "$(tail -n 25 "$dir/$1.log")"
    [ -n "$(job_id "$1")" ] || return 0
    for file in "$shared"/node?/logs/*/"application_$(job_id "$1")"/container_*_000001/{syslog,stderr,stdout}; do
        [ ! -s "$file" ] || diag "the end of ${file#"$shared"/}:" "$(tail -n 12 "$file")"
    done
}

# ---- Hadoop's distributed shell ----

declare -A shells=()
shells_end() { local name; for name in "${!shells[@]}"; do end_process "${shells[$name]}"; done; }
at_exit shells_end
# The shell's files are in its user's home. Java gets the path of the home from the passwd file.
master_mb=256 # of shell_begin's applications
shell_begin() { # NAME OPTION...
    local name=$1
    shift
    job_begin "$name" "-Duser.home=$shared/work" org.apache.hadoop.yarn.applications.distributedshell.Client \
        -jar "$shared"/lib/hadoop-yarn-applications-distributedshell-*.jar -appname "$name" -master_memory "$master_mb" \
        -container_memory 128 "$@"
    shells[$name]=$job_pid
    job_pid=''
}
shell_ends() { # NAME: waits for the end of the shell, and returns its exit status
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
    diag "the application master's log:" "$(find "$own"/logs/*/"$(app_of "$1")" -name AppMaster.stderr -exec tail -n 30 {} +)"
}
app_of() { sed -nE 's/.*Submitted application (application_[0-9_]+).*/\1/p' "$dir/$1.log" | head -n 1; } # NAME
app_value() { rm_get "apps/$(app_of "$1")" | jq -r ".app | $2"; } # NAME JQ-EXPRESSION
# Prints the ids of an application's containers without its master. With a condition, prints only the ids that match it.
ids_of() { nmctl list --all --json | jq -r --arg app "$(app_of "$1")" \
    '[.[] | select(.app == $app and '"${2:-.name != \"master\"}"') | .id] | sort | .[]'; } # NAME [JQ-CONDITION]
masters_of() { ids_of "$1" '.name == "master"'; }
run_now() { [ "$(ids_of "$1" '.name != "master" and .state == "RUNNING"' | wc -l)" = "$2" ]; } # NAME N
# Prints the path of a container's log on the node in $own.
log_of() { existing "$own/logs/*/$(sed -E 's/container_(e[0-9]+_)?([0-9]+_[0-9]+)_.*/application_\2/' <<<"$1")/$1/${2:-stdout}"; } # ID [FILE]
has_printed() { grep -q -- "$2" "$(log_of "$1" "${3:-stdout}")"; } # ID REGEX [FILE]
# Prints a command that runs until the file NAME exists in its user's directory. NAME may contain the container's id.
until_file() { echo "until [ -e $shared/work/$1 ]; do sleep 0.1; done; echo over"; }
let_go() { touch "$shared/work/$1"; }
