# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # much of it is for those who source it
#
# Jobs that run with each supported version of the ResourceManager. Suites set NMD_TEST_HADOOP and source this file. The jobs
# are Terasort with its validation, streaming with files and archives of another user, and pi with opportunistic maps. They run
# on two nodes of nmd. They run at the same time, unless one needs the output of another.
#
#   core_cluster  starts HDFS, ResourceManager and nodes; and sets $conf to the configuration's directory
#   core_jobs     runs the jobs
#   core_logs     reads the logs of a running and finished job with `yarn logs`
#   core_end      checks the nodes after all jobs have ended, and prints the summary
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "${BASH_SOURCE[0]}")/jobs.sh"
# shellcheck source=tests/yarn/job-logs.sh
. "$(dirname "${BASH_SOURCE[0]}")/job-logs.sh"

join() { nmd_node_start "$1" && wait_until 60 node_is "$1" RUNNING; } # N
hdfs_cat() { hdfs_rest "$1?op=OPEN" -fL; }                            # PATH
run_as() { # NAME: prints the users that owned the processes' directories
    find "$shared"/node?/logs/*/"application_$(job_id "$1")" -maxdepth 1 -name 'container_*' -printf '%u\n' | sort -u
}

queue_of() { rm_get "apps/application_$(job_id "$1")" | jq -r '.app.queue | ltrimstr("root.")'; } # NAME: without "root."

job_deadline=300 # opportunistic maps run in the idle class, and wait for all other processes of the machine
node_mb=4096

core_cluster() {
    need 'a cluster can be configured' jobs_configure
    need 'a stock ResourceManager answers' rm_again
    [ -z "${NMD_TEST_HADOOP:-}" ] ||
        is 'the requested version of Hadoop is used' "$(rm_get info | jq -r .clusterInfo.resourceManagerVersion)" "$NMD_TEST_HADOOP"
    need "the host's memory can be simulated" node_proc_start 16384 16
    need 'one node of nmd joins' join 1
    need 'a second node of nmd joins' join 2
    core_names
}

# ---- configuration -------------------------------------------------------------------------------------

# Prints the names of a node's properties in this version of YarnConfiguration. Omits names that are only prefixes of others.
names_of_node() {
    javap -constants -cp "$NMD_TEST_CLASSPATH" org.apache.hadoop.yarn.conf.YarnConfiguration |
        sed -nE 's/.*String [A-Z0-9_]+ = "(yarn\.nodemanager\.[^"]*[^".])";.*/\1/p' | sed 's/%s/x/g' | sort -u | awk '
            { name[NR] = $0 }
            END { for (i = 1; i <= NR; i++) if (index(name[i + 1], name[i] ".") != 1) print name[i] }'
}
core_names() {
    local name
    names_of_node >"$dir/names"
    at_least 'YarnConfiguration of this version has properties for a node' "$(wc -l <"$dir/names")" 200
    mkdir "$dir/all-names"
    {
        echo '<configuration>'
        while read -r name; do echo "<property><name>$name</name><value></value></property>"; done <"$dir/names"
        echo '<property><name>yarn.nodemanager.no-such-name</name><value></value></property></configuration>'
    } >"$dir/all-names/yarn-site.xml"
    "$NMD" --check-config --config "$nmd_conf" --yarn-conf "$dir/all-names" --backend direct --state-dir "$dir/names-state" \
        --runtime-dir "$dir/names-run" >"$dir/names.out" 2>&1
    is 'nmd knows all properties of a node in YarnConfiguration' \
        "$(grep -oE 'yarn\.nodemanager\.[^ :]*: unknown property' "$dir/names.out")" \
        'yarn.nodemanager.no-such-name: unknown property' || diag "$(tail -n 5 "$dir/names.out")"
}

# ---- files for streaming -----------------------------------------------------------------------------

other=${users[1]}
hdfs_home=/user/$(jq -rn --arg user "$other" '$user | @uri')
other_home=$(jq -rn --arg path "$(home_of "$other")" '$path | split("/") | map(@uri) | join("/")')
# A name that needs escaping, without spaces and %, because MapReduce's client loses their escapes.
keep="keep(these)+'those'&.txt"
streaming_files() {
    # A virtual environment as venv-pack makes it: its interpreter is a link to a file outside the archive. One file has a name
    # that is not ASCII.
    mkdir -p "$dir/environment/bin" "$dir/environment/lib"
    ln -s /usr/bin/python3 "$dir/environment/bin/python3"
    ln -s ../lib/../lib "$dir/environment/bin/lib"
    echo 7 >"$dir/environment/lib/größe.txt"
    tar -C "$dir/environment" -czf "$dir/environment.tar.gz" bin lib
    printf 'many\nof\n' >"$dir/keep"
    cat >"$(home_of "$other")/map.py" <<'END'
import os, sys
keep = set(open("words+to+keep").read().split())
factor = int(open(os.path.join("environment", "lib", "größe.txt"), encoding="utf-8").read())
for line in sys.stdin:
    for word in line.split():
        if word in keep:
            print(word, factor, sep="\t")
END
    cat >"$(home_of "$other")/sum.py" <<'END'
import sys
sums = {}
for line in sys.stdin:
    word, n = line.split("\t")
    sums[word] = sums.get(word, 0) + int(n)
for word, n in sums.items():
    print(word, n, sep="\t")
END
    seq 1 1000 | sed 's/.*/word & of many/' >"$dir/input"
}
stage() {
    hdfs_rest "$hdfs_home?op=MKDIRS&permission=755" -f -X PUT &&
        hdfs_put "$dir/input" "$hdfs_home/in%20put/part%20100%25" && hdfs_put "$dir/keep" "$hdfs_home/$keep" &&
        hdfs_put "$dir/environment.tar.gz" "$hdfs_home/environment.tar.gz" &&
        hdfs_rest "$hdfs_home?op=SETOWNER&owner=${hdfs_home#/user/}" -f -X PUT
}
streaming_begin() {
    local job_user=$other
    job_begin streaming org.apache.hadoop.streaming.HadoopStreaming -Dmapreduce.job.reduces=2 -Dmapreduce.job.maps=2 \
        "-Dmapreduce.job.name=it's \"a job\" of 100%" "-Dmapreduce.job.queuename=$jobs_queue" \
        -files "file:$other_home/map.py,file:$other_home/sum.py,$hdfs_fs$hdfs_home/$keep#words+to+keep" \
        -archives "$hdfs_fs$hdfs_home/environment.tar.gz#environment" \
        -cmdenv PYTHONIOENCODING=utf-8 -input "/user/$other/in put" -output "/user/$other/out put" \
        -mapper 'environment/bin/python3 map.py' -reducer 'environment/bin/python3 sum.py'
}

# ---- jobs ----------------------------------------------------------------------------------------------

watch_outputs() { # records the outputs repeatedly, because they exist only until their application ends
    while :; do
        outputs_apart
        sleep 0.2
    done >"$dir/apart" &
    at_exit "end_process $!"
}

core_jobs() {
    local report part
    watch_outputs
    streaming_files
    need 'the files of the other user are written to HDFS' stage
    example teragen teragen -Dmapreduce.job.maps=4 40000 /tmp/generated
    aside teragen
    pi_begin pi 40 3
    aside pi
    succeeds teragen
    # Maps that spill once leave data and index in one directory. A merge of several spills puts data and index into any
    # directories.
    example terasort terasort -Dmapreduce.job.reduces=3 -Dmapreduce.task.io.sort.mb=1 /tmp/generated /tmp/sorted
    aside terasort
    succeeds pi
    like 'pi prints its result' "$(counters pi)" '^Estimated value of Pi is 3\.'
    streaming_begin
    aside streaming
    succeeds terasort
    like 'no fetch of a map output has failed in Terasort' "$(counters terasort)" 'Failed Shuffles=0'
    example teravalidate teravalidate /tmp/sorted /tmp/validated
    aside teravalidate
    succeeds streaming
    succeeds teravalidate
    at_least 'some map outputs of Terasort had data and index on different disks' \
        "$(sort -u "$dir/apart" | grep -c "^attempt_$(job_id terasort)_m_")" 1
    report=$(hdfs_cat /tmp/validated/part-r-00000)
    like 'the validation of Terasort finds the rows in order, with a checksum' "$report" '^checksum'
    is 'the validation of Terasort reports no error' "$(grep -vc '^checksum' <<<"$report")" 0
    is 'streaming has counted the words' \
        "$(for part in 0 1; do hdfs_cat "$hdfs_home/out%20put/part-0000$part"; done | sort | tr '\t\n' '  ')" 'many 7000 of 7000 '
    is 'streaming ran in the queue whose name needs escaping' "$(queue_of streaming)" "$jobs_queue"
    is 'streaming ran as the user who submitted it' "$(run_as streaming)" "$other"
    is 'Terasort ran as the user who submitted it' "$(run_as terasort)" "$job_user"
}

# ---- logs ----------------------------------------------------------------------------------------------

master_of() { rm_get "apps/$1/appattempts" | jq -r '.appAttempts.appAttempt[0].containerId'; } # APPLICATION-ID
has_begun() { [ -n "$(job_id "$1")" ] && [ -n "$(compgen -G "$shared/node?/logs/*/application_$(job_id "$1")/*/syslog")" ]; } # NAME
core_logs() {
    local id
    pi_begin logged 0 2 40000000
    aside logged
    check 'logged: the master of pi is running' wait_until 60 has_begun logged
    id=application_$(job_id logged)
    same_beginning logged "$job_user" "$id" "$(master_of "$id")" syslog
    succeeds logged
    aggregated logged "$id"
    same_logs logged "$job_user" "$id"
    aggregated terasort "application_$(job_id terasort)"
    same_logs terasort "$job_user" "application_$(job_id terasort)"
}

# ---- after the jobs ------------------------------------------------------------------------------------

nothing_left() { [ -z "$(find "$shared"/node?/local -path '*appcache/*' -print -quit)" ]; }
core_end() {
    local n
    check 'nmd removes the local files of the jobs' wait_until 30 nothing_left
    for n in 1 2; do
        use_node "$n"
        is "no heartbeat of node $n has failed" "$(status_of .upstream.failures)" 0
    done
    done_testing
}
