#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 500
#
# The stock commands about nodes and containers, with a node of nmd and a Java NodeManager in the same cluster: yarn node -status,
# yarn container -list, -status and -signal, yarn top and yarn application -kill. Also the figures of the shuffle after a job.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"

client=org.apache.hadoop.yarn.client.cli
yarn_node() { hadoop_java "$client.NodeCLI" "$@" 2>>"$dir/cli.err"; }
yarn_container() { hadoop_java "$client.ApplicationCLI" container "$@" 2>>"$dir/cli.err"; }
yarn_application() { hadoop_java "$client.ApplicationCLI" application "$@" 2>>"$dir/cli.err"; }

need 'a cluster can be configured' jobs_configure "yarn.application.classpath=$conf,$shared/lib/*" yarn.resourcemanager.am.max-attempts=1
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 6000 8
cd "$shared/work" || exit
job_deadline=400

# The container notes the signals that it receives.
cat >signals.sh <<'END'
trap 'echo quit >>"$1.signals"' QUIT
trap 'echo term >>"$1.signals"; exit 143' TERM
echo ready >>"$1.ready"
until [ -e "$1" ]; do sleep 0.1; done
END
begin() { # NAME
    shell_begin "$1" -localize_files "$shared/work/signals.sh" -shell_args "$shared/work/go-$1" -shell_command 'bash signals.sh'
}
node_mb=384 java_node_start 4
need 'a Java NodeManager registers' wait_until 60 node_is 4 RUNNING
begin java
check 'the container on the Java NodeManager runs' wait_until 60 test -e go-java.ready
own=$shared/node1
node_mb=384 need 'nmd starts' nmd_node_start 1
need 'nmd registers' wait_until 30 node_is 1 RUNNING
begin nmd
check 'the container on nmd runs' wait_until 60 test -e go-nmd.ready
id=$(ids_of nmd) app=$(app_of nmd) japp=$(app_of java)
jid=$(curl -sS http://node04:7403/ws/v1/node/containers | jq -r '.containers.container[].id' | grep '_000002$')

# Replaces what differs: ids, nodes, times and measured use.
normal() {
    sed -E 's/application_[0-9]+_[0-9]+/APPLICATION/g; s/(container|appattempt)_(e[0-9]+_)?[0-9]+_[0-9]+/\1/g; s/node0[14]:7[14]0/NODE:70/g
        s/node0[14]/NODE/g; s/[A-Z][a-z]{2} [A-Z][a-z]{2} [0-9 :]+ [+-]?[A-Z0-9]+ [0-9]{4}/TIME/g; s/[0-9-]+ at [0-9:]+/TIME/
        s/(by (Node|Containers) : ).*/\1USE/; s/^(\s*Last-Health-Update : ).*/\1TIME/; s/(Start|Finish)-Time : [0-9]+/\1-Time : TIME/
        s/[0-9]+ms/TIME/' | tr -s ' \t' ' '
}
is 'yarn node -status prints the same for nmd and Java' "$(yarn_node -status node01:7101 | normal)" \
    "$(yarn_node -status node04:7401 | normal)"
like 'it prints the size of the node' "$(yarn_node -status node01:7101)" 'Memory-Capacity : 384MB'
like 'yarn node -list has nmd' "$(yarn_node -list)" 'node01:7101 +RUNNING +node01:7103 +2'
is 'yarn container -list prints the same' "$(yarn_container -list "${app/application/appattempt}_000001" | normal)" \
    "$(yarn_container -list "${japp/application/appattempt}_000001" | normal)"
is 'yarn container -status prints the same' "$(yarn_container -status "$id" | normal)" "$(yarn_container -status "$jid" | normal)"
like 'it prints the state' "$(yarn_container -status "$id")" 'State : RUNNING'

# yarn top runs on a terminal until it is ended.
top_of() {
    (
        cd "$shared/tmp" && TERM=xterm timeout -s INT 20 script -qec "stty cols 200 rows 40
            exec java ${java_options[*]} ${class_options[*]} -cp '$(hadoop_classpath)' $client.TopCLI -delay 2" /dev/null </dev/null
    ) 2>>"$dir/cli.err" | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' | tr -d '\r'
}
top_of >"$dir/top"
like 'yarn top counts both nodes' "$(cat "$dir/top")" 'NodeManager\(s\): 2 total, 2 active, 0 unhealthy'
like 'yarn top has the application on nmd' "$(grep "$app" "$dir/top" | head -n 1)" "$app +alice .* 2 "

# ---- signals ----

signal_both() { # COMMAND
    yarn_container -signal "$id" "$1" >>"$dir/signal.out" && yarn_container -signal "$jid" "$1" >>"$dir/signal.out"
}
both_have() { [ "$(grep -c "$1" go-nmd.signals)" = "$2" ] && [ "$(grep -c "$1" go-java.signals)" = "$2" ]; } # SIGNAL N
check 'yarn container -signal requests thread dumps' signal_both OUTPUT_THREAD_DUMP
check 'both containers get SIGQUIT' wait_until 30 both_have quit 1
check 'yarn container -signal requests graceful shutdowns' signal_both GRACEFUL_SHUTDOWN
check 'both containers get SIGTERM' wait_until 30 both_have term 1
status_of_shell() { shell_ends "$1"; echo $?; } # NAME
is 'the applications end in the same way' "$(status_of_shell nmd)" "$(status_of_shell java)"
diagnostics_of() { app_value "$1" '.finalStatus + " " + .diagnostics' | normal; } # NAME
is 'with the same diagnostics' "$(diagnostics_of nmd)" "$(diagnostics_of java)"

# ---- the end of an application ----

begin again
check 'another container runs' wait_until 60 test -e go-again.ready
begin more
check 'and one more on the other node' wait_until 60 test -e go-more.ready
runs_on_nmd() { [ -n "$(ids_of "$1")" ]; } # NAME
check 'one of them runs on nmd' eval 'runs_on_nmd again || runs_on_nmd more'
for name in again more; do
    check "yarn application -kill ends $name" yarn_application -kill "$(app_of "$name")"
    is "$name is killed" "$(app_value "$name" '.state + " " + .finalStatus + " " + .diagnostics' | normal)" \
        'KILLED KILLED Application killed by user.'
    shell_ends "$name"
done
empty() { ! curl -sS "$1/ws/v1/node/containers" | grep -q '"RUNNING"'; } # ADDRESS
check 'nmd has no container any more' wait_until 30 empty http://node01:7103
check 'Java has no container any more' wait_until 30 empty http://node04:7403
java_node_stop 4

# ---- the shuffle ----

nmd_node_stop 1
node_mb=2304 need 'nmd restarts as a larger node' nmd_node_start 1
need 'nmd registers again' wait_until 30 node_is 1 RUNNING
check 'MapReduce runs on nmd' pi pi 0 2
shuffle() { curl -sS 'http://node01:7103/jmx?qry=Hadoop:service=NodeManager,name=ShuffleMetrics' | jq ".beans[0].$1"; } # ATTRIBUTE
two_outputs() { [ "$(shuffle ShuffleOutputsOK)" = 2 ]; }
check 'nmd counts the map outputs that it has sent' wait_until 30 two_outputs || diag "$(shuffle .)"
at_least 'nmd counts their bytes' "$(shuffle ShuffleOutputBytes)" 50
is 'no map output has failed' "$(shuffle ShuffleOutputsFailed)" 0
metric() { # JQ-EXPRESSION
    curl -sS 'http://node01:7103/jmx?qry=Hadoop:service=NodeManager,name=NodeManagerMetrics' | jq -c ".beans[0] | $1"
}
is 'nmd counts the containers of the job' "$(metric '[.ContainersLaunched, .ContainersCompleted]')" '[4,4]'
at_least 'nmd counts the resources of the containers' "$(metric '.LocalizedCacheHitFiles + .LocalizedCacheMissFiles')" 4
done_testing
