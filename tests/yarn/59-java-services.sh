#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 600
# beside: others
#
# Auxiliary services that are written in Java, on a node of nmd: Hadoop's own ShuffleHandler serves MapReduce. Its process and nmd are
# killed while reducers wait for map outputs. NMD_TEST_HADOOP=VERSION is the version of Hadoop.
jobs_of=(auxhost)
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"

# shellcheck disable=SC2034 # jobs.sh uses them
jobs_fs=local job_deadline=240
tez_class=org.apache.tez.auxservices.ShuffleHandler
service=yarn.nodemanager.aux-services
port=13562
# shellcheck disable=SC2154
log=$dir/nmd1/state-aux/log/aux-host.log

start_node() { nmd_node_start 1 "${properties[@]}" "$@" && wait_until 60 node_is 1 RUNNING; } # NAME=VALUE...
host() { status_of ".upstream.aux_host.$1"; } # JQ-EXPRESSION
host_trouble() { diag "the end of the services' log:" "$(tail -n 30 "$log")" "$(grep "auxiliary services" "$dir/nmd1.log" | tail -n 10)"; }
# One question: between two, the process might end.
is_running() { # [FORMER-PID]
    local now
    now=$(status_of '.upstream.aux_host | "\(.state) \(.pid)"')
    [[ $now == "running "* ]] && [ "${now#running }" != "${1:-0}" ]
}
has_applications() { [ "$(host applications)" = "$1" ]; }
is_known() { has_applications 1; }
maps_are_done() { grep -q 'map 100% reduce 0%' "$dir/$1.log"; } # NAME
launched() { sed -nE 's/^\s*Launched map tasks=([0-9]+)$/\1/p' "$dir/$1.log"; } # NAME

# Starts a job whose reducer can't fetch: the process is stopped before the maps end.
begin_stopped() { # NAME
    pi_begin "$1" 0 4 && aside "$1"
    need "$1: the services know the application" wait_until 60 is_known
    kill -STOP "$(host pid)"
    need "$1: all maps run while the services are away" wait_until 120 maps_are_done "$1"
}
finish() { # NAME
    succeeds "$1" || host_trouble
    is "$1: no map has run again" "$(launched "$1")" 4
    check "$1: the services learn about the end of the application" wait_until 30 has_applications 0
}

refusals() {
    local out
    node_files 1 7101 "$service=tez_shuffle"
    check_config() { "$NMD" --check-config --config "$nmd_conf" --yarn-conf "$shared/node1/conf" --backend direct \
        --state-dir "$dir/check-state" --runtime-dir "$dir/check-run" 2>&1; }
    out=$(check_config)
    like 'a service without a class is refused' "$out" "'tez_shuffle' has no class"
    node_files 1 7101 "$service=tez_shuffle" "$service.tez_shuffle.class=$tez_class" "${properties[@]}" nmd.aux-host.java=/no/java
    out=$(check_config)
    like 'a node without Java is refused' "$out" "nmd.aux-host.java = '/no/java': must be the absolute path of a program"
    node_files 1 7101 "$service=tez_shuffle" "$service.tez_shuffle.class=$tez_class" "${properties[@]}" \
        "nmd.aux-host.class-path=$shared/none/*"
    out=$(check_config)
    like "a class path without Hadoop is refused" "$out" 'needs Hadoop.s jars, but no hadoop-yarn-server-nodemanager'
    node_files 1 7101 "$service=vendor" "$service.vendor.class=com.example.Missing" "${properties[@]}"
    out=$(timeout 120 "$NMD" --config "$nmd_conf" --socket "$dir/refused.sock" --state-dir "$dir/check-state" \
        --runtime-dir "$dir/check-run" --slice "nmdtest${$}r.slice" --backend direct --yarn-conf "$shared/node1/conf" 2>&1)
    is 'nmd refuses to start without the class of a service' "$?" 1
    like 'and says so' "$out" "the auxiliary services vendor can't be started: .*com\.example\.Missing.* not found"
}

map_reduce() {
    local former
    need 'a node with the ShuffleHandler joins' start_node "nmd.aux-host.services=mapreduce_shuffle"
    is 'the service has metadata' "$(host 'services[0] | "\(.name) \(.metadata)"')" 'mapreduce_shuffle true'
    isnt_root
    at_least 'the memory of the process is limited and shown' "$(host memory_bytes)" 1000000
    begin_stopped killed
    former=$(host pid)
    kill -KILL "$former"
    check 'a killed process is started again' wait_until 60 is_running "$former" || host_trouble
    is 'the restart is counted' "$(host restarts)" 1 || host_trouble
    like 'the end is an event' "$(nmctl events 2>/dev/null)" 'the auxiliary services mapreduce_shuffle are away: .*killed by signal 9'
    finish killed
    begin_stopped recovered
    former=$(host pid)
    end_process "${nmd_nodes[1]}" KILL
    need 'nmd is killed, and starts again' start_node "nmd.aux-host.services=mapreduce_shuffle"
    is_gone() { ! kill -0 "$former" 2>/dev/null; }
    check 'the former process has ended with nmd' wait_until 10 is_gone
    finish recovered
}
isnt_root() {
    local account=daemon
    ! getent passwd nmd-aux >/dev/null || account=nmd-aux
    is "the process doesn't run as root" "$(stat -c %U "/proc/$(host pid)")" "$account"
    is 'the process has no capabilities' "$(sed -n 's/^CapEff:\t//p' "/proc/$(host pid)/status")" 0000000000000000
}

need 'a cluster can be configured' jobs_configure
sed -i "s|\(<name>mapreduce.shuffle.port</name><value>\)0<|\1$port<|" "$conf/mapred-site.xml"
need 'the jars of the services are available' auxhost_install
mapfile -t properties < <(auxhost_properties)
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
nmd_configure </dev/null
refusals
map_reduce
done_testing
