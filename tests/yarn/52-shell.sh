#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# Hadoop's unmodified distributed shell on a node of nmd: its containers and their output, promotion, retries, signals,
# containers that outlive their master, killed applications, and requests for resources that the node doesn't have. Here the
# ResourceManager promotes containers (containers_to_update). 45-containers tests promotion by the master and other sizes.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"

# Runs `yarn COMMAND...` as an operator does.
yarn_cli() { hadoop_java org.apache.hadoop.yarn.client.cli.ApplicationCLI "$@"; }
signal() { yarn_cli container -signal "$1" "$2"; } # ID COMMAND

need 'a cluster can be configured' jobs_configure yarn.resourcemanager.auto-update.containers=true \
    "yarn.application.classpath=$conf,$shared/lib/*" "yarn.nodemanager.env-whitelist=JAVA_HOME,PATH,JAVA_TOOL_OPTIONS" \
    yarn.resourcemanager.am.max-attempts=2
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 6000 2
own=$shared/node1 node_mb=5120
export JAVA_TOOL_OPTIONS=$small # for the application masters, which inherit this variable from the node
need 'nmd starts' nmd_node_start 1 yarn.nodemanager.resource.cpu-vcores=32
unset JAVA_TOOL_OPTIONS
need 'nmd registers' wait_until 30 node_is 1 RUNNING
cd "$shared/work" || exit

# ---- four applications at once: a plain one, one to be promoted, one that fails at first, one that requests Docker ----

echo 'words from elsewhere' >words
cat >try.sh <<'END'
echo "$PWD $$ $JVM_PID" >>"$TRIES/$YARN_SHELL_ID"
echo try >>tries
echo "try $(wc -l <tries)"
[ "$YARN_SHELL_ID" = 1 ] || exit 9
case $(wc -l <tries) in 1) exit 7 ;; 2) exit 8 ;; esac
END
echo 'until [ -e "$1" ]; do sleep 0.1; done; echo "$2 over"' >wait.sh
install -d -o "$job_user" tries
shell_begin plain -num_containers 2 -localize_files "$shared/work/words" -shell_env GREETING=hello -shell_env EMPTY= \
    -shell_command '{ cat words; echo $GREETING${EMPTY-unset} $CONTAINER_ID; }'
shell_begin promoted -container_type OPPORTUNISTIC -promote_opportunistic_after_start \
    -shell_script "$shared/work/wait.sh" -shell_args "$shared/work/go-promoted" two
shell_begin retried -num_containers 2 -localize_files "$shared/work/try.sh" -shell_env "TRIES=$shared/work/tries" \
    -shell_command 'bash try.sh' -container_retry_policy 2 -container_retry_error_codes 7,8 -container_max_retries 3 \
    -container_retry_interval 200
shell_begin docker -shell_env YARN_CONTAINER_RUNTIME_TYPE=docker -shell_command true

check 'promoted: a container of the application is running' wait_until 90 run_now promoted 1
promoted=$(ids_of promoted)
is_promoted() { [ "$(field_of "$promoted" .execution_type)" = GUARANTEED ]; }
check 'promoted: the ResourceManager promotes the container' wait_until 30 is_promoted
promotions() { nmctl explain --json "$promoted" | jq -r '[.[] | select(.kind == "promote") | .reason] | join(" ")'; }
is 'promoted: the decision record of the promotion names the owner' "$(promotions)" owner
master_has_update() { grep -q "Container $promoted updated, updateType=PROMOTE_EXECUTION_TYPE" \
    "$(log_of "$(masters_of promoted)" AppMaster.stderr)"; }
check 'promoted: the application master gets the promotion, and requests it from the node too' wait_until 20 master_has_update
let_go go-promoted

ends_well plain
mapfile -t plain < <(ids_of plain)
is 'plain: the application had two containers' "${#plain[@]}" 2
for id in "${plain[@]}"; do
    is "plain: a container's log has the contents of its localized file and its environment variable" \
        "$(cat "$(log_of "$id")")" "words from elsewhere
hello $id"
done
ends_well promoted
is "promoted: the container's script had its arguments" "$(cat "$(log_of "$promoted")")" 'two over'
is "promoted: the application master's request caused no second promotion" "$(promotions)" owner

shell_ends retried
is 'retried: the application fails, because one of its containers fails permanently' "$?" 2
like 'retried: the failed container has the exit code that is not retried' "$(app_value retried .diagnostics)" 'failed = 1, .*exit code 9'
is 'retried: the failed container was not retried' "$(wc -l <tries/2)" 1
is 'retried: the other container had three attempts' "$(wc -l <tries/1)" 3
is 'retried: all attempts had the same working directory' "$(awk '{ print $1 }' tries/1 | sort -u | wc -l)" 1
is 'retried: each attempt had its own process' "$(awk '{ print $2 }' tries/1 | sort -u | wc -l)" 3
is 'retried: the last attempt succeeded' "$(field_of "$(ids_of retried | head -n 1)" '"\(.exit_code) \(.state)"')" '0 COMPLETED'

shell_ends docker
is 'docker: an application that requests Docker fails' "$?" 2
like 'docker: the diagnostics say that the node does not support Docker' \
    "$(app_value docker .diagnostics)" "runtime 'docker'.*this node has only the default one"

# ---- three applications: one for signals, one whose master dies, one that is killed ----

cat >signals.sh <<'END'
trap 'echo "$1 has heard QUIT"' QUIT
trap 'echo "$1 $2 has heard TERM"; exit 0' TERM
echo "$1 is there"
while :; do sleep 0.1; done
END
shell_begin signals -localize_files "$shared/work/signals.sh" -shell_args one two -shell_command 'exec bash signals.sh'
shell_begin kept -num_containers 2 -keep_containers_across_application_attempts -attempt_failures_validity_interval 60000 \
    -shell_command "$(until_file 'go-\$CONTAINER_ID')"
shell_begin killed -num_containers 2 -shell_command 'exec sleep 1000'

check 'signals: the container of the application is running' wait_until 90 run_now signals 1
script=$(ids_of signals)
check "signals: the container's script has installed its signal handlers" wait_until 20 has_printed "$script" '^one is there$'
signal "$script" OUTPUT_THREAD_DUMP
check 'signals: a request for a thread dump sends SIGQUIT to the container' wait_until 20 has_printed "$script" '^one has heard QUIT$'
master=$(masters_of signals)
signal "$master" OUTPUT_THREAD_DUMP
check 'signals: a request for a thread dump of the application master prints its threads' \
    wait_until 20 has_printed "$master" '^Full thread dump' AppMaster.stdout
is 'signals: the container and the application master keep running' "$(state_of "$script") $(state_of "$master")" 'RUNNING RUNNING'
signal "$script" GRACEFUL_SHUTDOWN
check 'signals: a graceful shutdown ends the container' wait_until 20 in_state "$script" COMPLETED
check 'signals: a graceful shutdown sends SIGTERM to the container' has_printed "$script" '^one two has heard TERM$'

check 'killed: two containers of the application are running' wait_until 60 run_now killed 2
mapfile -t killed < <(ids_of killed)
signal "${killed[0]}" FORCEFUL_SHUTDOWN
check 'killed: a forceful shutdown ends a container' wait_until 20 in_state "${killed[0]}" COMPLETED
is 'killed: the container of the forceful shutdown has exit code 137' "$(field_of "${killed[0]}" .exit_code)" 137
killed_master=$(masters_of killed)
check 'killed: the application master gets the exit status of the killed container' \
    wait_until 20 has_printed "$killed_master" "containerID=${killed[0]}, .*exitStatus=137" AppMaster.stderr
check 'the application is killed' yarn_cli application -kill "$(app_of killed)"
check 'killed: the other container ends when the application is killed' wait_until 20 in_state "${killed[1]}" COMPLETED
like 'killed: the message of the container that ended with its application names the ResourceManager' \
    "$(field_of "${killed[1]}" .message)" 'ResourceManager'
shell_ends killed
is 'killed: the client gets the killed state' "$(app_value killed '"\(.state) \(.finalStatus)"')" 'KILLED KILLED'
nothing_of() { [ -z "$(find "$own/local" -path "*appcache/$1*" -print -quit; find "$(nmd_cgroup_root)" -name "*${1#application_}*")" ]; }
check 'killed: no directory and no cgroup of the application is left' wait_until 20 nothing_of "$(app_of killed)"

ends_well signals

# The application master dies before it learns that one of its two containers has ended. The next attempt gets the other
# container, and requests one more.
check 'kept: two containers of the application are running' wait_until 60 run_now kept 2
mapfile -t kept < <(ids_of kept)
master=$(masters_of kept)
kill -STOP "$(field_of "$master" .pid)"
let_go "go-${kept[0]}"
check 'kept: a container ends while the application master is stopped' wait_until 20 in_state "${kept[0]}" COMPLETED
holds() { [ "$(app_value kept .runningContainers)" = "$1" ]; }
check 'kept: the ResourceManager has the end of the container that ended while the application master was stopped' wait_until 20 holds 2
process=$(field_of "${kept[1]}" .pid)
kill -KILL "$(field_of "$master" .pid)"
more_runs() { ids_of kept '.name != "master" and .state == "RUNNING"' | grep -q _02_; }
check 'kept: the second attempt of the application master starts another container' wait_until 60 more_runs
is 'kept: the container of the first attempt keeps its process' "$(field_of "${kept[1]}" '"\(.state) \(.pid)"')" "RUNNING $process"
second=$(masters_of kept | tail -n 1)
like 'kept: the second attempt has got the container of the first attempt' \
    "$(cat "$(log_of "$second" AppMaster.stderr)")" 'received 1 previous attempts. running containers'
for id in $(ids_of kept); do let_go "go-$id"; done
ends_well kept
is 'kept: the application had two attempts' "$(rm_get "apps/$(app_of kept)/appattempts" | jq -r '.appAttempts.appAttempt | length')" 2
codes=$(for id in $(ids_of kept); do field_of "$id" .exit_code; done)
is 'kept: all containers end with exit code 0 on the node' "${codes//$'\n'/ }" '0 0 0'

# ---- an application master that is too large for the host, on a node whose size an administrator has raised ----

rm_admin -updateNodeResource "$(rm_get nodes | jq -r '.nodes.node[] | select(.nodeHostName == "node01") | .id')" 9000 32
counts_on() { [ "$(status_of .upstream.memory_bytes)" = "$(($1 << 20))" ]; } # MIB
check 'large: the ResourceManager uses a size that the host does not have' wait_until 20 counts_on 9000
master_mb=8000 # the host has 6000
shell_begin large -shell_command true
shell_ends large
is 'large: an application whose master is larger than the host fails' "$?" 2
is 'large: the application had its maximum of attempts' \
    "$(rm_get "apps/$(app_of large)/appattempts" | jq -r '.appAttempts.appAttempt | length')" 2
like 'large: the client gets the reason why the application failed' \
    "$(app_value large .diagnostics | tr '\n' ' ')" 'failed 2 times.*larger than the node'

# ---- after the applications ----

nothing_left() { [ -z "$(find "$own/local" -path '*appcache/*' -print -quit)" ]; }
check 'nmd removes the local files of the applications' wait_until 30 nothing_left
is 'no heartbeat has failed' "$(status_of .upstream.failures)" 0
done_testing
