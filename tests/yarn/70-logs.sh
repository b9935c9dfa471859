#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 500
#
# Log aggregation: a node of nmd uploads the logs of real applications to HDFS, the ResourceManager shows that this succeeded, and
# stock `yarn logs` prints byte for byte what the containers wrote: also after a kill of nmd during an upload, after a failure of
# the name node, and if a running application is uploaded in pieces. The local logs are removed only afterwards.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
# shellcheck source=tests/yarn/job-logs.sh
. "$(dirname "$0")/job-logs.sh"

own=$shared/node1 node_mb=5120
rolls=yarn.nodemanager.log-aggregation.roll-monitoring-interval-seconds
need 'a cluster can be configured' jobs_configure yarn.resourcemanager.am.max-attempts=2 \
    "yarn.application.classpath=$conf,$shared/lib/*" "yarn.nodemanager.env-whitelist=JAVA_HOME,PATH,JAVA_TOOL_OPTIONS" \
    "$rolls=3" "$rolls.min=1"
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 6000 2
node_begin() { # [NAME=VALUE...]
    export JAVA_TOOL_OPTIONS=$small # for the application masters, which inherit this variable from the node
    nmd_node_start 1 "$@" || return
    unset JAVA_TOOL_OPTIONS
    wait_until 30 node_is 1 RUNNING && wait_until 30 upstream_is running
}
upstream_is() { [ "$(nmctl status --json | jq -r .upstream.state)" = "$1" ]; } # STATE
need 'nmd starts and registers' node_begin
cd "$shared/work" || exit

logs_status() { nmctl status --json | jq -r ".upstream.logs | $1"; } # JQ-EXPRESSION
logs_are() { [ "$(logs_status "$1")" = "$2" ]; }                     # JQ-EXPRESSION VALUE: for wait_until
bucket_of() { printf %04d "$((10#${1##*_} % 10000))"; } # APPLICATION-ID
# Prints the complete files of an application in HDFS, with owner and mode.
remote_files() { # USER APPLICATION-ID
    hdfs_rest "/tmp/logs/${1//\$/%24}/bucket-logs-tfile/$(bucket_of "$2")/$2?op=LISTSTATUS" |
        jq -r '.FileStatuses.FileStatus[] | select(.pathSuffix | endswith(".tmp") | not) | "\(.pathSuffix) \(.owner) \(.permission)"'
}
local_is_gone() { [ -z "$(compgen -G "$own/logs/*/$1")" ]; } # APPLICATION-ID: for wait_until

# ---- a shell and a job of MapReduce ----

shell_begin plain -num_containers 2 -shell_command '{ seq 1 300000; head -c 5000 /dev/urandom >&2; }'
ends_well plain
plain=$(app_of plain)
aggregated plain "$plain"
same_logs plain alice "$plain"
like 'plain: the remote file belongs to the user, and has the node and a time in its name' "$(remote_files alice "$plain")" \
    '^node01_7101_[0-9]{13} alice 640$'
like 'plain: the directory of uploaded logs belongs to yarn, and all users may create files in it' \
    "$(hdfs_rest '/tmp/logs?op=GETFILESTATUS' | jq -r '.FileStatus | "\(.owner) \(.permission)"')" '^yarn 1777$'
is 'nmctl shows the uploaded application' "$(logs_status '"\(.uploaded) \(.given_up) \(.failures)"')" '1 0 0'
curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics >"$dir/metrics"
like 'the metrics show the uploaded application' "$(grep '^nm_log_uploads_done_total' "$dir/metrics")" ' 1$'
check 'the queries of uploaded logs in the dashboard use existing metrics' \
    "$here/../integration/dashboard.py" "$here/../../packaging/nmd-dashboard.json" "$dir/metrics" nm_log_upload

job_user=${users[1]}
pi_begin pi 0 4
succeeds pi
job_user=alice
pi=application_$(job_id pi)
aggregated pi "$pi"
same_logs pi "${users[1]}" "$pi"

# ---- a running application ----

# The container writes a line now and then. Each interval uploads the new lines.
cat >rolled.sh <<'END'
for i in $(seq 1 1000); do
    echo "line $i"
    [ ! -e "$1" ] || break
    sleep 0.1
done
END
shell_begin rolled -rolling_log_pattern '^stdout' -shell_script "$shared/work/rolled.sh" -shell_args "$shared/work/go-rolled"
check 'rolled: the container of the application is running' wait_until 90 run_now rolled 1
rolled=$(app_of rolled)
has_files() { [ "$(remote_files alice "$1" | wc -l)" -ge "$2" ]; } # APPLICATION-ID N: for wait_until
check 'rolled: the running application has two uploads' wait_until 40 has_files "$rolled" 2
# Prints the lines in the remote files, in the order of the uploads.
remote_lines() {
    local name
    remote_files alice "$rolled" | while read -r name _; do
        hdfs_rest "/tmp/logs/alice/bucket-logs-tfile/$(bucket_of "$rolled")/$rolled/$name?op=OPEN" -L
    done | grep -aoE 'line [0-9]+$'
}
is 'rolled: while the container runs, the uploads have its lines in order' "$(remote_lines | head -n 30)" \
    "$(seq -f 'line %g' 1 30)"
is 'rolled: no line is uploaded twice' "$(remote_lines | sort | uniq -d)" ''
is 'rolled: the local log still begins with the first line' "$(head -n 1 "$(log_of "$(ids_of rolled)")")" 'line 1'
let_go go-rolled
ends_well rolled
aggregated rolled "$rolled"
same_logs rolled alice "$rolled"

# ---- a kill of nmd during an upload ----

shell_begin killed -shell_command "{ seq 1 200000; $(until_file go-killed); }"
check 'killed: the container of the application is running' wait_until 90 run_now killed 1
killed=$(app_of killed)
kill -STOP "$dn_pid" # the upload waits for the data node
let_go go-killed
check 'killed: the upload begins' wait_until 60 logs_are .running 1
end_process "${nmd_nodes[1]}" KILL
kill -CONT "$dn_pid"
need 'nmd is killed, and starts again' node_begin
shell_ends killed
aggregated killed "$killed"
same_logs killed alice "$killed"
is 'killed: there is one remote file' "$(remote_files alice "$killed" | wc -l)" 1

# ---- a name node that is away for a while ----

shell_begin away -shell_command "{ seq 1 1000; $(until_file go-away); }"
check 'away: the container of the application is running' wait_until 90 run_now away 1
away=$(app_of away)
end_process "$nn1_pid" KILL
let_go go-away
check 'away: nmctl shows that the upload fails' wait_until 90 logs_are .failing 1
like 'away: nmctl shows the reason' "$(logs_status '.applications[] | select(.state == "failing") | .error')" 'refused|connect|name node'
check 'away: the node is still connected to the ResourceManager' upstream_is running
check 'away: the local logs are still there' test -s "$(log_of "$(ids_of away)")"
hdfs_server namenode.NameNode >>"$dir/nn.log" 2>&1 &
nn1_pid=$!
shell_ends away
aggregated away "$away"
same_logs away alice "$away"

# ---- removal of the local logs ----

nmd_node_stop 1
need 'nmd starts with the removal of uploaded logs' node_begin yarn.log-aggregation.enable-local-cleanup=true
shell_begin removed -num_containers 2 -shell_command 'seq 1 1000'
ends_well removed
removed=$(app_of removed)
aggregated removed "$removed"
check 'removed: the local logs are removed after their upload' wait_until 30 local_is_gone "$removed"
output=" stdout 3893 $(seq 1 1000 | sha256sum | cut -d ' ' -f 1)"
is 'removed: yarn logs prints the output of both containers' "$(printed alice "$removed" | grep -c "$output")" 2
check 'plain: logs that were kept before are still there' test -n "$(local_logs "$plain")"
done_testing
