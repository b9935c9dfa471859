# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the suite and its libraries
#
# The kinds of jobs of 99-soak.sh, which sources this file after lent.sh. Each kind has these functions, of which only the first is
# needed:
#
#   soak_KIND_begin NAME     starts a job, and sets job_pid to its client, or to nothing if it has no client
#   soak_KIND_next NAME      starts the next stage after a stage has succeeded, or returns 1 if it was the last one
#   soak_KIND_result NAME    prints what a job that has succeeded must have computed: wanted_result[KIND]
#   soak_KIND_remove NAME    removes its files
#
# wanted_end has the end that each kind must have. The suite kills the jobs whose end must be KILLED.
declare -A wanted_result=() wanted_end=([pi]=SUCCEEDED [opportunistic]=SUCCEEDED [lent]=SUCCEEDED [terasort]=SUCCEEDED
    [spark]=SUCCEEDED [tez]=SUCCEEDED [shell]=SUCCEEDED [failing]=FAILED [killed]=KILLED [stubborn]=KILLED [service]=KILLED)
declare -A has_one_attempt=([stubborn]=1 [service]=1) # service_submit
job_deadline=420 spark_deadline=420
aside() { begun[$1]=$job_pid job_pid=''; } # NAME: replaces the function of jobs.sh: the suite ends all clients itself
master_attempts=4
job_uri=file://$shared/work

# ---- MapReduce ------------------------------------------------------------------------------------------

soak_example() { # NAME PROGRAM OPTION-OR-ARG...
    example "$1" "$2" -Dmapreduce.map.memory.mb=256 -Dmapreduce.reduce.memory.mb=256 "-Dmapreduce.am.max-attempts=$master_attempts" \
        "${@:3}"
}
soak_pi() { soak_example "$1" pi "${@:2}" 4 100; } # NAME OPTION...
pi_result() { grep -o '^Estimated value of Pi is .*' "$dir/$1.log"; }
pi_value='Estimated value of Pi is 3.17000000000000000000' # of 4 maps with 100 points each
wanted_result+=([pi]=$pi_value [opportunistic]=$pi_value [lent]=$pi_value)

soak_pi_begin() { soak_pi "$1"; }
soak_pi_result() { pi_result "$1"; }
soak_opportunistic_begin() { soak_pi "$1" -Dmapreduce.job.num-opportunistic-maps-percent=100; }
soak_opportunistic_result() { pi_result "$1"; }
soak_lent_begin() { soak_pi "$1" "-Dyarn.app.mapreduce.am.env=$rule=all"; }
soak_lent_result() { pi_result "$1"; }

# Each stage has its own log, NAME.STAGE.
declare -A terasort_stage=()
soak_terasort_begin() {
    terasort_stage[$1]=generate
    soak_example "$1" teragen -Dmapreduce.job.maps=2 20000 "$job_uri/$1-generated"
}
soak_terasort_next() {
    mv "$dir/$1.log" "$dir/$1.${terasort_stage[$1]}.log"
    case ${terasort_stage[$1]} in
        generate)
            terasort_stage[$1]=sort
            soak_example "$1" terasort -Dmapreduce.job.reduces=2 -Dmapreduce.terasort.simplepartitioner=true \
                -Dmapreduce.task.io.sort.mb=1 "$job_uri/$1-generated" "$job_uri/$1-sorted"
            ;;
        sort)
            terasort_stage[$1]=validate
            soak_example "$1" teravalidate "$job_uri/$1-sorted" "$job_uri/$1-validated"
            ;;
        *) mv "$dir/$1.validate.log" "$dir/$1.log" && return 1 ;;
    esac
}
soak_terasort_result() { cat "$shared/work/$1-validated"/part-r-* | tr '\t' ' '; }
soak_terasort_remove() { rm -rf "${shared:?}/work/$1"-{generated,sorted,validated}; }
wanted_result[terasort]='checksum 271f1b056e54' # of these rows, in any order

# ---- Spark and Tez ----------------------------------------------------------------------------------------

soak_spark_begin() {
    spark_begin "$1" spark.submit.deployMode=client spark.executor.instances=2 "${spark_master[@]}" \
        "spark.yarn.maxAppAttempts=$master_attempts" --
    job_pid=${begun[$1]}
}
soak_spark_result() { counted_words "$1"; }
soak_spark_remove() { rm -rf "${shared:?}/work/$1"; }
wanted_result[spark]=$spark_words

tez_input() {
    local file
    mkdir "$shared/work/text"
    for file in 1 2 3; do
        awk -v seed="$file" 'BEGIN { srand(seed); for (i = 0; i < 10000; i++) print "w" int(200 * rand()), "many" int(2000 * rand()) }' \
            >"$shared/work/text/$file"
    done
    wanted_result[tez]=$(cat "$shared"/work/text/* | counted | md5sum)
}
# The client of Tez resolves variables, and passes on the values, unless a variable has neither a value nor a default.
soak_tez_begin() {
    job_libs=$shared/tez job_begin "$1" org.apache.tez.examples.OrderedWordCount -Dtez.grouping.split-count=3 \
        "-D$scheduler_address=\${env.NM_HOST}:8049" "-Dtez.am.max.app.attempts=$master_attempts" "$job_uri/text" "$job_uri/$1-counted" 2
}
soak_tez_result() { cat "$shared/work/$1-counted"/part-* | sort | md5sum; }
soak_tez_remove() { rm -rf "${shared:?}/work/$1-counted"; }

# ---- the distributed shell, and applications without a client -------------------------------------------------

soak_shell() { # NAME CONTAINERS COMMAND
    shell_begin "$1" -num_containers "$2" -shell_command "$3"
    job_pid=${shells[$1]}
    unset "shells[$1]"
}
soak_shell_begin() { soak_shell "$1" 2 'sleep 6'; }
soak_failing_begin() { soak_shell "$1" 1 'sleep 2; exit 3'; }
soak_killed_begin() { soak_shell "$1" 2 'sleep 100000'; }

# An application that ends only by SIGKILL, with a process in another session.
soak_stubborn_begin() {
    job_pid=''
    service_submit "$1" 256 'trap "" TERM; setsid sleep 100000 & while :; do sleep 1; done'
}
# A service that uses almost nothing of its memory.
soak_service_begin() {
    job_pid=''
    service_submit "$1" 2560
}

# ---- the state of a job -----------------------------------------------------------------------------------------

# Prints the id of the job's application, once it is known.
soak_app() { # NAME
    if [ -n "${service_ids[$1]:-}" ]; then
        echo "${service_ids[$1]}"
    else
        grep -soE -m1 'application_[0-9]+_[0-9]+' "$dir/$1.log" | head -n 1
    fi
}
# Prints the name of the node on which the application's last master was.
soak_master_node() { rm_get "apps/$1" | jq -r '.app.amHostHttpAddress // "" | sub(":.*"; "")'; } # APPLICATION-ID
# Prints the end of an application ("" before it), and the number of its attempts.
soak_end() { # APPLICATION-ID
    local app attempts
    app=$(rm_get "apps/$1") || return
    attempts=$(rm_get "apps/$1/appattempts" | jq '.appAttempts.appAttempt | length')
    jq -r --arg attempts "${attempts:-?}" '.app | if .state == "FINISHED" then .finalStatus
        elif .state == "FAILED" or .state == "KILLED" then .state else "-" end | . + " " + $attempts' <<<"$app"
}
