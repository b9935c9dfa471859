#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
# beside: others
#
# How auxiliary services that are written in Java are loaded and what they learn, with services that record it (auxhost/Recorder.java).
# Their classes come from local class paths and from remote ones, in a local file system and in HDFS, while the class path of the node has
# another version of them. Then the process of the services ends in two ways, and a service is replaced in HDFS.
# NMD_TEST_HADOOP=VERSION is the version of Hadoop.
jobs_of=(auxhost)
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"

# Of several local directories, Hadoop chooses one for a copy of a remote class path, and removes former copies only there.
# shellcheck disable=SC2034 # jobs.sh uses them
job_deadline=240 disks=(1)
service=yarn.nodemanager.aux-services
all_services=plain,own,system,file,hdfs
# shellcheck disable=SC2154
own_jars=$shared/services

start_node() { nmd_node_start 1 "${properties[@]}" && wait_until 60 node_is 1 RUNNING; }

# ---- the services --------------------------------------------------------------------------------

make_jar() { # JAR TEXT
    local to=$dir/classes-$2
    mkdir -p "$to" "${1%/*}" || return
    printf 'package test.auxhost;\npublic class Label { public static String text() { return "%s"; } }\n' "$2" >"$to/Label.java"
    # shellcheck disable=SC2154 # auxhost/lib.sh sets auxhost_here
    javac -nowarn -proc:none -cp "$shared/lib/*" -d "$to" "$to/Label.java" "$auxhost_here/Recorder.java" || return
    rm "$to/Label.java" && python3 -m zipfile -c "$1" "$to/test" && chmod a+r "$1"
}
make_jars() {
    make_jar "$own_jars/node/node.jar" node && make_jar "$own_jars/own.jar" own && make_jar "$shared/remote/file.jar" file &&
        make_jar "$dir/hdfs.jar" hdfs && make_jar "$dir/newer.jar" newer && chmod -R a+rX "$own_jars" || return
    chown -R alice "$shared/remote" && put hdfs.jar
}
# Remote jars must belong to the user as which the services read file systems.
put() { # JAR
    hdfs_rest '/apps?op=MKDIRS&permission=755' -f -X PUT && hdfs_put "$dir/$1" /apps/recorder.jar &&
        hdfs_rest '/apps/recorder.jar?op=SETOWNER&owner=alice' -f -X PUT &&
        hdfs_rest '/apps/recorder.jar?op=SETPERMISSION&permission=644' -f -X PUT
}
properties_of_services() {
    auxhost_properties
    printf '%s\n' "nmd.aux-host.class-path=$shared/lib/*:$own_jars/node/*" nmd.aux-host.hadoop-user=alice \
        "$service=mapreduce_shuffle,$all_services" \
        "$service.plain.class=test.auxhost.Recorder" \
        "$service.own.class=test.auxhost.Recorder" "$service.own.classpath=$own_jars/own.jar" \
        "$service.system.class=test.auxhost.Recorder" "$service.system.classpath=$own_jars/own.jar" \
        "$service.system.system-classes=java.,javax.,org.apache.hadoop.,test.auxhost.Label" \
        "$service.file.class=test.auxhost.Recorder\$FromFile" "$service.file.remote-classpath=file://$shared/remote/file.jar" \
        "$service.hdfs.class=test.auxhost.Recorder\$FromHdfs" "$service.hdfs.remote-classpath=$hdfs_fs/apps/recorder.jar"
}

# ---- what they record ----------------------------------------------------------------------------

recovery=$dir/nmd1/state-aux/recovery/nm-aux-services
record() { cat "$recovery/$1/record"; }                     # NAME
recorded() { record "$1" | grep -cE -- "$2"; }               # NAME REGEX
has_recorded() { [ "$(recorded "$1" "$2")" = "$3" ]; }        # NAME REGEX TIMES: for wait_until
starts() { record "$1" | sed -n 's/^start //p'; }            # NAME
host() { status_of ".upstream.aux_host.$1"; }                # JQ-EXPRESSION
host_trouble() {
    diag "the end of the services' log:" "$(tail -n 30 "$dir/nmd1/state-aux/log/aux-host.log")" \
        "$(grep 'auxiliary services' "$dir/nmd1.log" | tail -n 10)"
}
# One question: between two, the process might end.
runs_again() { [ "$(status_of '.upstream.aux_host | "\(.state) \(.restarts)"')" = "running $1" ]; } # RESTARTS
own_loader='ApplicationClassLoader ApplicationClassLoader'

loading() {
    is "a service without a class path is loaded from that of the node" "$(starts plain)" 'node AppClassLoader AppClassLoader' ||
        host_trouble
    is 'a service has its own class path, and not the version of the node' "$(starts own)" "own $own_loader"
    is 'system classes come from the class path of the node' "$(starts system)" "node $own_loader"
    is 'a service is loaded from a remote class path in a local file system' "$(starts file)" "file $own_loader"
    is 'a service is loaded from a remote class path in HDFS' "$(starts hdfs)" "hdfs $own_loader"
    is 'all services have metadata' "$(host 'services | map("\(.name) \(.metadata)") | join(" ")')" \
        'plain true own true system true file true hdfs true'
}
# MapReduce sends data only to the services that a job names.
run_job() { # NAME
    example "$1" pi -Dmapreduce.job.shuffle.provider.services=own,hdfs "-D$service=mapreduce_shuffle,$all_services" 2 100
}
events() {
    local id
    run_job first
    succeeds first || host_trouble
    id=application_$(job_id first)
    check 'a service learns about the end of the application' wait_until 30 has_recorded own "^end $id\$" 1 || host_trouble
    is 'it has learned about the master' "$(recorded own '^begin container_.*_000001 alice 256 APPLICATION_MASTER$')" 1
    is 'and about the tasks' "$(recorded own '^begin container_.* alice 256 TASK$')" 3
    is 'and about the end of all containers' "$(recorded own '^over container_')" 4
    is 'each task has brought data of the application' "$(recorded own "^application $id alice 0\$")" 3
    is 'another service has got data, too' "$(recorded hdfs "^application $id alice 0\$")" 3
    is 'a service for which the job has no data gets none' "$(recorded file '^application ')" 0
    is 'but learns about containers and the end' "$(recorded file '^(begin|over) ') $(recorded file "^end $id\$")" '8 1'
    is 'the services know no application any more' "$(host applications)" 0
}
copies() { [ "$(find "$dir/nmd1/state-aux/local" -path '*/nmAuxService/*FromHdfs_*' -name recorder.jar | wc -l)" = "$1" ]; } # N
ends() {
    local before
    need 'the service in HDFS is replaced' put newer.jar
    kill -KILL "$(host pid)"
    check 'a killed process is started again' wait_until 60 runs_again 1 || host_trouble
    is 'a service keeps its recovery directory' "$(starts own | wc -l)" 2
    is 'the new version in HDFS is loaded' "$(starts hdfs | tail -n 1)" "newer $own_loader"
    check 'the copy of the former version is removed' wait_until 30 copies 1 ||
        diag "$(find "$dir/nmd1/state-aux/local" -path '*/nmAuxService/*')" \
            "$(grep 'elet\|FromHdfs' "$dir/nmd1/state-aux/log/aux-host.log" | tail -n 20)"
    before=$(starts own | wc -l)
    touch "$recovery/plain/eat" # the first container makes the service use too much memory
    run_job second
    succeeds second || host_trouble
    check 'a process that needs too much memory is started again' wait_until 60 runs_again 2 || host_trouble
    is 'with its services' "$(($(starts own | wc -l) - before))" 1
    like 'nmctl status says that its heap was exhausted' "$(host trouble)" 'OutOfMemoryError'
    is 'the heap is limited as configured' "$(tr '\0' '\n' <"/proc/$(host pid)/cmdline" | grep -c '^-Xmx160m$')" 1
    curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics >"$dir/metrics"
    is 'the metrics show each service' "$(grep -c '^nm_aux_service_up{service="\(plain\|own\|system\|file\|hdfs\)"} 1$' "$dir/metrics")" 5
    is 'the metrics have the restarts' "$(grep '^nm_aux_service_restarts_total{service="own"}' "$dir/metrics")" \
        'nm_aux_service_restarts_total{service="own"} 2'
    like 'the metrics have the memory' "$(grep '^nm_aux_host_memory_bytes ' "$dir/metrics")" ' [1-9][0-9.e+]*$'
    like 'nmctl status shows the process' "$(nmctl status)" \
        'services +plain, own, system, file, hdfs in Java: running, .*(heap at most|of) .*, restarted 2 times'
    check 'the services learn about the end of the job' wait_until 30 has_recorded own "^end application_$(job_id second)\$" 1
}

need 'a cluster can be configured' jobs_configure
need 'the jar of the process is available' auxhost_install
need 'the services are compiled' make_jars
mapfile -t properties < <(properties_of_services)
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
nmd_configure </dev/null
need 'a node with the services joins' start_node
loading
events
ends
done_testing
