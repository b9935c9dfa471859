#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
#
# The links to logs that real programs hand out: Spark's UI, the ResourceManager's pages and web services, `yarn container -list`,
# and the JobHistory server. Each link is followed to the text, for running and finished jobs of MapReduce and Spark, whose logs
# are on the node first and then in HDFS, as TFile and as IndexedFile. Stock `yarn logs` prints the same bytes.
# shellcheck disable=SC2154 # history/lib.sh sets some variables
jobs_of=(spark history)
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
# shellcheck source=tests/yarn/job-logs.sh
. "$(dirname "$0")/job-logs.sh"

follower=$(realpath "$(dirname "$0")/page-logs.py")
node_mb=5120 own=$shared/node1 web=http://node01:7103 on_node=http://node01:7103/node/containerlogs
controller=yarn.log-aggregation.file-controller
packages=org.apache.hadoop.yarn.logaggregation.filecontroller
need 'a cluster can be configured' jobs_configure yarn.log-aggregation.file-formats=TFile,IFile \
    "$controller.TFile.class=$packages.tfile.LogAggregationTFileController" \
    "$controller.IFile.class=$packages.ifile.LogAggregationIndexedFileController" yarn.log-aggregation.enable-local-cleanup=true
in_history=$history_web/jobhistory/logs
need 'PySpark is available' spark_install
need 'the JobHistory server starts' history_start
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 8
cd "$shared/work" || exit
seq 1 200 | sed 's/.*/word & of many/' >"$dir/words"
need 'the input of Spark is written to HDFS' hdfs_put "$dir/words" /tmp/words
node_begin() { # FORMATS
    nmd_node_start 1 "${history_of_nodes[@]}" "yarn.log-aggregation.file-formats=$1" && wait_until 30 node_is 1 RUNNING
}

# ---- links ------------------------------------------------------------------------------------------------------------------

# Follows a link to the text of a log file, and checks that the text has the pattern, and that the last page is at the address.
leads_to() { # NAME LINK FILE PATTERN ADDRESS
    local text
    text=$(python3 "$follower" "$2" "$3" 2>"$dir/followed")
    like "$1: the link leads to the text" "$text" "$4" || diag "the link: $2" "$(tail -n 5 "$dir/followed")"
    like "$1: the text is at $5" "$(tail -n 1 "$dir/followed")" "^$5/"
}
# Prints the links to logs in an HTML page of the ResourceManager or the JobHistory server.
links_in() { curl -sS "$1" | grep -oE "https?://[^\"'\\ ]*/containerlogs/[^\"'\\ ]*|/jobhistory/logs/[^\"'\\ ]*" | sort -u; } # ADDRESS
attempt_of() { echo "${1/application/appattempt}_000001"; } # APPLICATION-ID
# Checks the links of the ResourceManager to the logs of an application's master.
rm_links() { # NAME APPLICATION-ID FILE PATTERN ADDRESS
    local link
    leads_to "$1, amContainerLogs" "$(rm_get "apps/$2" | jq -r .app.amContainerLogs)" "${@:3}"
    leads_to "$1, logsLink of the attempt" "$(rm_get "apps/$2/appattempts" | jq -r '.appAttempts.appAttempt[0].logsLink')" "${@:3}"
    link=$(links_in "$rm_web/cluster/app/$2" | head -n 1)
    leads_to "$1, the page of the application" "$link" "${@:3}"
}

# ---- Spark ------------------------------------------------------------------------------------------------------------------

# Prints the executors as Spark's UI shows them, by way of the ResourceManager's proxy. The cookie confirms the proxy's warning.
executors() { # APPLICATION-ID
    curl -sSL -b "checked_$1=true" "$rm_web/proxy/$1/api/v1/applications/$1/executors" | jq -c '[.[] | select(.id != "driver")]'
}
has_executors() { [ "$(executors "$1" 2>/dev/null | jq length)" = 2 ]; } # APPLICATION-ID: for wait_until
container_list() { hadoop_java org.apache.hadoop.yarn.client.cli.ApplicationCLI container -list "$1" 2>/dev/null; } # ATTEMPT-ID
spark_running() { # NAME
    local name=$1 id link stderr n=0
    spark_begin "$name" spark.submit.deployMode=client spark.executor.instances=2 spark.ui.enabled=true -- \
        "until=$shared/work/go-$name"
    check "$name: Spark's application is submitted" wait_until 90 has_application "$name"
    id=$(application_of "$name")
    check "$name: Spark's UI shows two executors" wait_until 90 has_executors "$id" || diag "$(tail -n 20 "$dir/$name.log")"
    while read -r link; do
        n=$((n + 1))
        leads_to "$name, stderr of executor $n in Spark's UI" "$link" stderr 'CoarseGrainedExecutorBackend|Executor' "$on_node"
    done < <(executors "$id" | jq -r '.[].executorLogs.stderr')
    is "$name: Spark's UI has links to stdout" \
        "$(executors "$id" | jq '[.[].executorLogs.stdout | select(contains("/stdout?"))] | length')" 2
    link=$(executors "$id" | jq -r '.[0].executorLogs.stdout')
    is "$name: the link to stdout has an answer" "$(curl -sS -o /dev/null -w '%{http_code}' "$link")" 200
    rm_links "$name is running" "$id" stderr ApplicationMaster "$on_node"
    n=0
    while read -r link; do
        n=$((n + 1))
        leads_to "$name, LOG-URL $n of yarn container -list" "$link" stderr 'INFO|WARN' "$on_node"
    done < <(container_list "$(attempt_of "$id")" | grep -oE 'https?://\S*/containerlogs/\S*')
    is "$name: yarn container -list has a LOG-URL for each container" "$n" 3
    stderr=$(executors "$id" | jq -r '.[0].executorLogs.stderr | split("/containerlogs/")[1] | split("/")[0]')
    same_beginning "$name" alice "$id" "$stderr" stderr
}
has_application() { [ -n "$(application_of "$1")" ]; } # NAME: for wait_until
local_is_gone() { [ -z "$(compgen -G "$own/logs/*/$1")" ]; } # APPLICATION-ID: for wait_until
spark_finished() { # NAME
    local status=0 id
    id=$(application_of "$1")
    touch "go-$1"
    wait "${begun[$1]}" || status=$?
    is "$1: the job succeeds" "$status" 0 || diag "$(tail -n 25 "$dir/$1.log")"
    aggregated "$1" "$id"
    check "$1: the local logs are removed" wait_until 30 local_is_gone "$id"
    same_logs "$1" alice "$id"
    rm_links "$1 is finished" "$id" stderr ApplicationMaster "$in_history"
}

# ---- MapReduce --------------------------------------------------------------------------------------------------------------

has_history() { [ "$(history_get "$1" | jq -r .job.state)" = SUCCEEDED ]; } # JOB-ID: for wait_until
kept() { cat "$own"/logs/*/kept/"$1/$2/$3"; } # APPLICATION-ID CONTAINER-ID FILE
map_reduce() { # NAME
    local name=$1 id job attempt container link
    pi_begin "$name" 0 2
    succeeds "$name"
    id=application_$(job_id "$name") job=job_$(job_id "$name")
    aggregated "$name" "$id"
    check "$name: the local logs are removed" wait_until 30 local_is_gone "$id"
    same_logs "$name" alice "$id"
    check "$name: the JobHistory server has the job" wait_until 60 has_history "$job"
    rm_links "$name is finished" "$id" syslog MRAppMaster "$in_history"
    leads_to "$name, logsLink of the JobHistory server" \
        "$(history_get "$job/jobattempts" | jq -r '.jobAttempts.jobAttempt[0].logsLink')" syslog MRAppMaster "$in_history"
    link=$(links_in "$history_web/jobhistory/attempts/$job/m/SUCCESSFUL" | head -n 1)
    leads_to "$name, the page of the map attempts" "$history_web$link" syslog 'mapred\.(MapTask|Task)' "$in_history"

    # the whole syslog of a map, by a page and by the web services
    attempt=$(history_get "$job/tasks/task_${job#job_}_m_000000/attempts" | jq -c '.taskAttempts.taskAttempt[0]')
    container=$(jq -r .assignedContainerId <<<"$attempt")
    kept "$id" "$container" syslog >"$dir/kept"
    at_least "$name: the map has written a log" "$(stat -c %s "$dir/kept")" 1000
    python3 "$follower" "$history_web/jobhistory/logs/node01:7101/$container/$(jq -r .id <<<"$attempt")/alice/syslog?start=0" \
        2>"$dir/followed" | sed -e '/./,$!d' >"$dir/page"
    check "$name: the page of the JobHistory server has the whole log" cmp <(sed -e '/./,$!d' "$dir/kept"; echo) "$dir/page" ||
        diag "$(cat "$dir/followed")" "$(diff "$dir/kept" "$dir/page" | head -n 5)"
    is "$name: the node's list of a finished container comes from the JobHistory server" \
        "$(curl -sSL "$web/ws/v1/node/containers/$container/logs" | jq -r '[.. | .fileName? // empty] | sort | unique | join(" ")')" \
        "$(cd "$own/logs" && find ./*/kept/"$id/$container" -type f -printf '%f\n' | sort | xargs)"
    # The server ends the text with a newline of its own.
    check "$name: the node's web service of a finished log is that of the JobHistory server" \
        cmp <(curl -sSL "$web/ws/v1/node/containers/$container/logs/syslog" | cut_log) <(cat "$dir/kept"; echo)
}

for format in TFile IFile; do
    other=$([ "$format" = TFile ] && echo IFile || echo TFile)
    need "nmd starts and uploads as $format" node_begin "$format,$other"
    [ -n "$kept_in" ] || keep_logs 1
    spark_running "spark-$format"
    map_reduce "pi-$format"
    spark_finished "spark-$format"
    is "$format: the logs of both jobs are in its directories" \
        "$(hdfs_rest '/tmp/logs/alice?op=LISTSTATUS' | jq -r '[.FileStatuses.FileStatus[].pathSuffix] | sort | join(" ")')" \
        "$([ "$format" = TFile ] && echo bucket-logs-tfile || echo bucket-logs-ifile bucket-logs-tfile)"
    is "$format: no upload has failed" "$(nmctl status --json | jq -c '.upstream.logs | [.failures, .given_up]')" '[0,0]'
    nmd_node_stop 1
done
done_testing
