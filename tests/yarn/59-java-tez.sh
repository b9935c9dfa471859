#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
# beside: others
#
# Jobs of Tez fetch their outputs from a service that is written in Java, on a node of nmd without any other service. Its process and nmd
# are killed while tasks wait for outputs. Tez doesn't publish its own service, tez-aux-services, in Maven's repository. So Hadoop's
# ShuffleHandler takes its place, with a class path of its own. Tez would use extensions of its own protocol if the name of the service
# contained "tez". Whoever has built Tez' jar can test it instead: NMD_TEST_TEZ_AUX_SERVICES=JAR[:JAR...], with the jars that it needs
# (tez-api, tez-common and tez-runtime-library) if it doesn't contain them, all of the version in tez/pom.xml.
jobs_of=(auxhost tez)
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"

# shellcheck disable=SC2034 # jobs.sh uses them
jobs_fs=local job_deadline=240
service=yarn.nodemanager.aux-services
IFS=: read -ra tez_jars <<<"${NMD_TEST_TEZ_AUX_SERVICES:-}"
name=java_shuffle
[ ${#tez_jars[@]} -eq 0 ] || name=tez_shuffle
id_option=-Dtez.am.shuffle.auxiliary-service.id=$name
port=13563
host() { status_of ".upstream.aux_host.$1"; } # JQ-EXPRESSION
host_trouble() {
    diag "the end of the services' log:" "$(tail -n 30 "$dir/nmd1/state-aux/log/aux-host.log")" \
        "$(grep 'auxiliary services' "$dir/nmd1.log" | tail -n 10)"
}
start_node() { nmd_node_start 1 "${properties[@]}" && wait_until 60 node_is 1 RUNNING; }
is_known() { [ "$(host applications)" = 1 ]; }
is_forgotten() { [ "$(host applications)" = 0 ]; }
# One question: between two, the process might end.
is_running() { # FORMER-PID
    local now
    now=$(status_of '.upstream.aux_host | "\(.state) \(.pid)"')
    [[ $now == "running "* ]] && [ "${now#running }" != "$1" ]
}
other_programs() { pgrep -P "${nmd_nodes[1]}" '^nm-(shu|spa)'; }
outputs_are_made() { grep -q 'VertexName: Tokenizer Progress: 100%' "$dir/$1.log"; } # NAME

# Starts a job whose tasks can't fetch: the service is stopped before the first outputs are made.
begin_stopped() { # NAME
    tez_begin "$1" "$id_option" && aside "$1"
    need "$1: the service knows the application" wait_until 90 is_known
    kill -STOP "$(host pid)"
    need "$1: all outputs are made while the service is away" wait_until 120 outputs_are_made "$1"
}
# Tez itself makes outputs again that it can't fetch for some seconds, so this suite doesn't count its tasks, unlike 59-java-services.
finish() { # NAME
    succeeds "$1" || host_trouble
    tez_is_right "$1"
    check "$1: the service learns about the end of the application" wait_until 30 is_forgotten
}

undisturbed() {
    is "the service has metadata" "$(host 'services | map("\(.name) \(.metadata)") | join(" ")')" "$name true"
    is 'no program of nmd serves outputs' "$(other_programs)" ''
    tez_job "$id_option"
    check 'the service learns about the end of the application' wait_until 30 is_forgotten
}
disturbed() {
    local former
    begin_stopped killed
    former=$(host pid)
    kill -KILL "$former"
    check 'a killed service is started again' wait_until 60 is_running "$former" || host_trouble
    finish killed
    begin_stopped recovered
    end_process "${nmd_nodes[1]}" KILL
    need 'nmd is killed, and starts again' start_node
    finish recovered
}

need 'a cluster can be configured' jobs_configure
sed -i "s|\(<name>mapreduce.shuffle.port</name><value>\)0<|\1$port<|" "$conf/mapred-site.xml"
need 'the jar of the process is available' auxhost_install
need 'Tez is available' tez_install
tez_configure
mapfile -t properties < <(auxhost_properties)
if [ ${#tez_jars[@]} -gt 0 ]; then
    need 'the jars of the service of Tez can be read' install -D -m 644 -t "$shared/services/tez" "${tez_jars[@]}"
    properties+=("$service=$name" "$service.$name.class=org.apache.tez.auxservices.ShuffleHandler" "tez.shuffle.port=$port"
        "$service.$name.classpath=$shared/services/tez/*")
else
    properties+=("$service=$name" "$service.$name.class=org.apache.hadoop.mapred.ShuffleHandler"
        "$service.$name.classpath=$(echo "$shared"/lib/hadoop-mapreduce-client-shuffle-[0-9]*.jar)")
fi
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
need 'a node with the service joins' start_node
undisturbed
disturbed
done_testing
