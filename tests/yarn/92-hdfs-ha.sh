#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# The default file system is a name service of two name nodes. The active name node is killed twice while jobs run, and until
# an administrator makes the other one active, none is active. Resources that are fetched meanwhile and logs that are uploaded meanwhile
# wait, and no container fails. The name nodes share their edits in a directory.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
# shellcheck source=tests/yarn/faults.sh
. "$(dirname "$0")/faults.sh"

jobs_fs=service job_deadline=300 node_mb=5120
printer=$(realpath "$(dirname "$0")/printed-logs.py")
join() { nmd_node_start "$1" && wait_until 60 node_is "$1" RUNNING; } # N

# ---- applications --------------------------------------------------------------------------------------

# Submits an application whose master is a shell command with a file of HDFS. It needs neither a client nor a JVM, so it can be
# submitted while no name node is active.
declare -A ids=()
submit() { # NAME COMMAND FILE
    local id time=${modified[$3]} size=$bytes
    id=$(curl -sSf -X POST "$rm_web/ws/v1/cluster/apps/new-application?user.name=$job_user" | jq -r '."application-id"') &&
        jq -n --arg id "$id" --arg name "$1" --arg command "$2" --arg uri "$hdfs_fs/tmp/$3" --argjson size "$size" \
            --argjson time "$time" '{"application-id": $id, "application-name": $name, "max-app-attempts": 1,
            "am-container-spec": {commands: {command: $command}, "local-resources": {entry: [{key: "words", value: {resource: $uri,
                type: "FILE", visibility: "PRIVATE", size: $size, timestamp: $time}}]}}, resource: {memory: 128, vCores: 1}}' |
        curl -sSf -X POST -H 'Content-Type: application/json' -d @- "$rm_web/ws/v1/cluster/apps?user.name=$job_user" || return
    ids[$1]=$id
}
app() { rm_get "apps/${ids[$1]}" | jq -r ".app | $2"; }            # NAME JQ-EXPRESSION
app_is() { [ "$(app "$1" "$2")" = "$3" ]; }                        # NAME JQ-EXPRESSION VALUE: for wait_until
container_of() { # NAME: prints the state of its container, and its exit code after its end
    local n
    for n in 1 2; do
        use_node "$n"
        nmctl list --all --json
    done | jq -rs --arg app "${ids[$1]}" \
        'add | .[] | select(.app == $app) | .state + if .state == "COMPLETED" then " \(.exit_code)" else "" end'
}
waits() { [[ $(container_of "$1") =~ ^(NEW|LOCALIZING)$ ]]; } # NAME: for wait_until
keeps_waiting() { # NAME: for longer than the pauses after the first two attempts, which are one and two seconds
    local end=$((SECONDS + 5))
    while [ "$SECONDS" -lt "$end" ]; do
        waits "$1" || return
        sleep 0.3
    done
}
container_is() { [ "$(container_of "$1")" = "$2" ]; }              # NAME STATE: for wait_until
# Prints what stock "yarn logs" prints of the output of the launch script, to which the command writes.
printed() { # NAME
    hadoop_java org.apache.hadoop.yarn.client.cli.LogsCLI -applicationId "${ids[$1]}" -appOwner "$job_user" \
        >"$dir/printed-$1" 2>"$dir/client-$1.log" || { cat "$dir/client-$1.log"; return 1; }
    python3 "$printer" --joined <"$dir/printed-$1" 2>&1 | sed -n 's/^[^ ]* prelaunch.out //p'
}
upload() { # LINES NAME...: their uploads have succeeded, and have what each container printed
    local name lines=$1 pids=()
    shift
    for name; do
        check "$name: its logs are uploaded" wait_until 120 app_is "$name" .logAggregationStatus SUCCEEDED ||
            diag "$(nmctl status --json | jq .upstream.logs)" "$(tail -n 20 "$dir"/nmd?.log)"
        printed "$name" >"$dir/$name.printed" &
        pids+=("$!")
    done
    wait "${pids[@]}"
    for name; do
        is "$name: yarn logs prints what the container printed" "$(cat "$dir/$name.printed")" \
            "$(wc -c <<<"$lines") $(sha256sum <<<"$lines" | cut -d ' ' -f 1)"
        saw "$name" 'its logs are complete in HDFS'
    done
}
status_of_logs() { # prints how many uploads have been given up
    local n
    for n in 1 2; do use_node "$n"; status_of .upstream.logs.given_up; done | paste -sd ' '
}

# A streaming job whose maps wait for a file. Its mapper and a file are in HDFS.
maps=3
held_begin() { # NAME
    local n
    mkdir -p "$shared/work/$1-in"
    for ((n = 1; n <= maps; n++)); do echo "line $n" >"$shared/work/$1-in/$n"; done
    printf '%s\n' 'read -r line n' "echo \"\$n\" >>$shared/work/runs-$1" "until [ -e $shared/work/go-$1 ]; do sleep 0.1; done" \
        'echo "$line $n $(cat words)"' >"$shared/work/$1.sh"
    job_begin "$1" org.apache.hadoop.streaming.HadoopStreaming -Dmapreduce.job.reduces=1 -files "$hdfs_fs/tmp/words" \
        -input "file://$shared/work/$1-in" -output "/tmp/$1-out" -mapper "/bin/sh $shared/work/$1.sh" -reducer /bin/cat
    aside "$1"
}
maps_run() { [ "$(wc -l <"$shared/work/runs-$1")" -ge "$maps" ]; } # NAME: for wait_until
held_ends() { # NAME
    succeeds "$1"
    is "$1: the result in HDFS is right" "$(hdfs_rest "/tmp/$1-out/part-00000?op=OPEN" -fL | sed 's/\s*$//' | sort | paste -sd ' ')" \
        'line 1 few words line 2 few words line 3 few words'
    is "$1: each map ran once" "$(sort "$shared/work/runs-$1" | paste -sd ' ')" '1 2 3'
    is "$1: the master counts no failed and no killed attempt" "$(counters "$1" | grep -E '^(Failed|Killed) (map|reduce)')" ''
    saw "$1" 'each map and the reducer ran once, the result is right'
}

# ---- the name nodes ------------------------------------------------------------------------------------

# Kills the active name node, and makes the other one active only after COMMAND has succeeded.
fail_over() { # FROM TO COMMAND...
    local pid=$1_pid web=$2_web
    fault "the active name node $1 is killed (SIGKILL), $2 is on standby"
    end_process "${!pid}" KILL
    printf -v "$pid" ''
    hdfs_active=${!web}
    "${@:3}"
    fault "an administrator makes $2 active"
    check "an administrator makes $2 active" hdfs_admin -failover "$1" "$2"
}
# While no name node is active: an application ends whose logs must be uploaded, and another one needs a file.
meanwhile() { # N
    touch "$shared/work/go-ends-$1"
    check "ends-$1: its container ends while no name node is active" wait_until 30 container_is "ends-$1" 'COMPLETED 0'
    need "begins-$1: an application is submitted while no name node is active" submit "begins-$1" "cat words; exec sleep 0.1" "late-$1"
    check "begins-$1: its container waits for its file" wait_until 30 waits "begins-$1"
    check "ends-$1: the upload of its logs fails" wait_until 90 upload_fails "ends-$1"
    saw "ends-$1" "its container has ended, the upload fails: $(upload_error "ends-$1")"
    check "begins-$1: its container still waits after the third attempt to fetch the file" keeps_waiting "begins-$1"
    saw "begins-$1" "its container is $(container_of "begins-$1")"
}
upload_error() { # NAME
    local n
    for n in 1 2; do use_node "$n"; status_of .upstream.logs.applications; done |
        jq -r --arg app "${ids[$1]}" '.[] | select(.application == $app and .state == "failing") | .error' | head -c 90
}
upload_fails() { [ -n "$(upload_error "$1")" ]; } # NAME: for wait_until

# ---- the suite -----------------------------------------------------------------------------------------

need 'a cluster with two name nodes can be configured' jobs_configure "nmd.log-aggregation.uploads=4"
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
need 'one node of nmd joins' join 1
need 'a second node of nmd joins' join 2
echo 'few words' >"$dir/words"
declare -A modified=()
bytes=$(stat -c %s "$dir/words")
put() { # FILE
    hdfs_put "$dir/words" "/tmp/$1" && hdfs_rest "/tmp/$1?op=SETPERMISSION&permission=644" -f -X PUT &&
        modified[$1]=$(hdfs_rest "/tmp/$1?op=GETFILESTATUS" | jq .FileStatus.modificationTime)
}
for file in words late-1 late-2; do need "the file $file is written to HDFS" put "$file"; done
like 'the first name node in the configuration is on standby' "$(curl -s "$nn1_web/webhdfs/v1/?op=GETFILESTATUS")" StandbyException

begin() { # N: what runs when a name node is killed
    held_begin "held-$1"
    need "ends-$1: an application is submitted" submit "ends-$1" "cat words; until [ -e $shared/work/go-ends-$1 ]; do sleep 0.1; done" words
}
runs() { # N
    check "ends-$1: its container runs with a file from HDFS" wait_until 60 container_is "ends-$1" RUNNING
    check "held-$1: all maps of a job run" wait_until 120 maps_run "held-$1"
}
# After the failover: what waited goes on, and all ends well.
ends() { # N
    check "begins-$1: its container gets the file, and ends with exit code 0" wait_until 60 container_is "begins-$1" 'COMPLETED 0' ||
        diag "$(app "begins-$1" .diagnostics)"
    saw "begins-$1" "its container is $(container_of "begins-$1")"
    upload 'few words' "ends-$1" "begins-$1"
    held_ends "held-$1"
}
begin 1
runs 1
fail_over nn2 nn1 meanwhile 1
touch "$shared/work/go-held-1"
fault 'the name node nn2 starts again, on standby'
name_node nn2 &
export nn2_pid=$!
begin 2
ends 1
runs 2
need 'the killed name node is on standby again' wait_until 60 hdfs_standby "$nn2_web"
fail_over nn1 nn2 meanwhile 2
touch "$shared/work/go-held-2"
ends 2
is 'no upload was given up' "$(status_of_logs)" '0 0'
nothing_left() { [ -z "$(find "$shared"/node?/local -path '*appcache/*' -print -quit)" ]; }
check 'nmd removes the local files of the applications' wait_until 30 nothing_left
faults_table
done_testing
