#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
# beside: all
#
# nm-log-uploader with a stock HDFS of two name nodes: layout, owners and modes, `yarn logs`, interrupted uploads, rolling, quotas,
# failed servers.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/../packing/lib.sh"
# shellcheck source=tests/yarn/hdfs/lib.sh
. "$(dirname "$0")/hdfs/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
grep -qs 'define NM_FAULT_INJECTION' "$NMD_TEST_BUILD/config.h" ||
    skip_all "this build has no fault steps: configure --enable-fault-injection"
need 'Maven has the jars for HDFS' hdfs_find "$NMD_TEST_BUILD/java/hdfs"
need "Hadoop's client is available" stock_build
export NMD_TEST_CLASSPATH=$stock_classpath
need 'two name nodes and a data node start' hdfs_start
package=org.apache.hadoop.yarn.logaggregation.filecontroller
write_conf "$conf/yarn-site.xml" yarn.log-aggregation-enable=true yarn.nodemanager.remote-app-log-dir=/tmp/logs \
    yarn.log-aggregation.file-formats=TFile,IFile \
    "yarn.log-aggregation.file-controller.TFile.class=$package.tfile.LogAggregationTFileController" \
    "yarn.log-aggregation.file-controller.IFile.class=$package.ifile.LogAggregationIndexedFileController" \
    yarn.resourcemanager.address=127.0.0.1:1 yarn.resourcemanager.connect.max-wait.ms=200 \
    yarn.resourcemanager.connect.retry-interval.ms=50 yarn.client.failover-retries=0 ipc.client.connect.max.retries=0

# Servers have begun to log to their standard output. Programs of the command line print results there.
printf '%s\n' log4j.rootLogger=WARN,err log4j.appender.err=org.apache.log4j.ConsoleAppender \
    log4j.appender.err.target=System.err log4j.appender.err.layout=org.apache.log4j.SimpleLayout >"$conf/log4j.properties"

# ---- helpers --------------------------------------------------------------------------------------------------------

me=$(id -un)
# Runs nm-log-uploader with the addresses that hdfs-site.xml would have.
uploader() { # JSON [FAULT]
    uploader_start "$@"
    wait "$uploader_pid" 2>/dev/null # the shell reports deaths by signals on stderr
}
uploader_start() { # JSON [FAULT]
    jq -n --arg nn1 "$nn1_web" --arg nn2 "$nn2_web" --argjson more "$1" '{remote: "hdfs://cluster1/tmp/logs",
        name_nodes: {cluster1: [$nn1, $nn2]}, limits: {seconds: 60, idle_seconds: 20}} + $more' >"$dir/work" || return
    NMD_FAULT=${2:-} "$NMD_TEST_BUILD/nm-log-uploader" <"$dir/work" >"$dir/said" 2>"$dir/said.err" &
    uploader_pid=$!
}
# Selects an application, whose number is N, and makes its log directories.
select_app() { # N USER
    app=application_1700000000000_$1 user=$2
    container=container_1700000000000_$1_01_000001
    logs=$dir/l1/$app/$container
    remote=/tmp/logs/$user/bucket-logs-tfile/$(printf '%04d' "$((10#$1 % 10000))")/$app
    mkdir -p "$logs" "$dir/l2/$app"
}
upload() { uploader "$(make_work "$1" "${2:-"{}"}")" "${3:-}"; } # MSEC [JSON] [FAULT]
make_work() { # MSEC JSON
    jq -n --arg application "$app" --arg user "$user" --arg l1 "$dir/l1" --arg l2 "$dir/l2" --arg id "$container" \
        --argjson msec "$1" --argjson more "$2" '{$application, $user, node: "node01:8041", format: "TFile",
            suffix: "logs-tfile", log_dirs: [$l1, $l2], containers: [{$id, running: false}], upload_msec: $msec} + $more'
}
rolling='{"rolling": true, "max_files": 30, "rolled_include": "."}'
said() { jq -r "select(.state == \"$1\") | $2" "$dir/said"; } # STATE FILTER
status() { hdfs_rest "$1?op=GETFILESTATUS" | jq -r '.FileStatus | "\(.permission) \(.owner) \(.group)"'; } # PATH
names() { hdfs_rest "$1?op=LISTSTATUS" | jq -r '.FileStatuses.FileStatus[].pathSuffix' | sort | xargs; } # PATH
yarn_logs() { # [ARG...]: what a user of the command line sees
    hadoop_java org.apache.hadoop.yarn.client.cli.LogsCLI -applicationId "$app" -appOwner "$user" "$@" 2>"$dir/client.log"
}
lines_of() { yarn_logs | grep -c "^$1\$"; } # LINE
admin() { hdfs_java org.apache.hadoop.hdfs.tools.DFSAdmin "$@" 2>>"$dir/admin.log"; }

# ---- the remote directory -------------------------------------------------------------------------------------------

hdfs_rest '/tmp?op=MKDIRS&permission=755' -f -X PUT >/dev/null
select_app 0001 alice
echo 'the first line' >"$logs/stdout"
: >"$logs/stderr"
upload 1
is 'an upload without a remote directory can be repeated' "$(said failed '"\(.temporary) \(.full)"')" 'true false'
uploader '{"prepare": true, "remote_owner": "yarn"}'
is "a user who may not make the remote directory is refused" "$(said failed .temporary)" false
uploader "$(jq -n --arg me "$me" '{prepare: true, remote_owner: $me, remote_group: "hadoop"}')"
is 'the remote directory is made' "$(said 'done' .files)$(said note .text)" 0
is 'the remote directory has its mode, owner and group' "$(status /tmp/logs)" "1777 $me hadoop"
uploader "$(jq -n --arg me "$me" '{prepare: true, remote_owner: $me}')"
is 'a remote directory with the right mode is accepted' "$(said 'done' .files)$(said note .text)" 0

# ---- one upload -----------------------------------------------------------------------------------------------------

check 'logs are uploaded although the first name node is on standby' upload 1
is 'the file has the name of the node' "$(said 'done' .name) $(names "$remote")" 'node01_8041 node01_8041'
is 'the file belongs to the user' "$(status "$remote/node01_8041")" '640 alice hadoop'
for path in "$remote" "${remote%/*}" "${remote%/*/*}" "${remote%/*/*/*}"; do
    is "$path belongs to the user" "$(status "$path")" '770 alice hadoop'
done
like 'yarn logs prints the log' "$(yarn_logs -log_files stdout)" 'LogLength:15
LogContents:
the first line
'
is 'an upload that is repeated is done once' "$(upload 1; said 'done' .name) $(names "$remote")" 'node01_8041 node01_8041'
echo 'a late line' >>"$logs/stdout"
hdfs_rest "$remote?op=SETPERMISSION&permission=700" -X PUT
upload 2
is 'a second file of the node has the time in its name' "$(names "$remote")" 'node01_8041 node01_8041_2'
is 'yarn logs prints each line once' "$(lines_of 'the first line') $(lines_of 'a late line')" '1 1'
is "the directory's mode is corrected" "$(status "$remote")" '770 alice hadoop'

select_app 0002 alice
head -c 3000000 /dev/urandom >"$logs/bytes"
check 'an IndexedFile is uploaded' upload 1 '{"format": "IndexedFile", "suffix": "logs-ifile"}'
is 'yarn logs prints the IndexedFile byte for byte' "$(yarn_logs >"$dir/printed"; python3 "$here/printed-logs.py" <"$dir/printed" |
    cut -d ' ' -f 3-)" "bytes 3000000 $(sha256sum <"$logs/bytes" | cut -d ' ' -f 1)"

select_app 0003 mallory
hdfs_rest '/tmp/logs/carol?op=MKDIRS&permission=777&user.name=mallory' -X PUT -o "$dir/made"
curl -s -X PUT "$hdfs_active/webhdfs/v1/tmp/logs/carol?op=SETOWNER&owner=mallory&user.name=$me"
user=carol
echo secret >"$logs/stdout"
upload 1
like "a user's directory that another user has made is refused" \
    "$(said failed '"\(.temporary) \(.error)"')" '^false .*/tmp/logs/carol is not'

# ---- interrupted uploads --------------------------------------------------------------------------------------------

select_app 0004 alice
msec=1000
for step in upload-dirs upload-written upload-pending upload-renamed upload-committed; do
    for more in '{"final": true}' "$rolling"; do
        msec=$((msec + 1))
        echo "line $msec" >>"$logs/stdout"
        upload "$msec" "$more" "$step"
        upload "$msec" "$more" "$step"
        check "an upload that died at $step is finished" upload "$msec" "$more"
    done
done
is 'after deaths at all steps, each line is uploaded once' "$(yarn_logs | grep '^line' | sort)" "$(sort "$logs/stdout")"
is 'no temporary file is left' "$(names "$remote" | grep -c tmp)" 0

select_app 0005 alice
head -c 100000000 /dev/zero | tr '\0' x >"$logs/large"
uploader_start "$(make_work 5 '{}')"
check 'an upload of 100 MB has begun' wait_until 30 grep -q uploading "$dir/said"
end_process "$uploader_pid" KILL
unlike() { ! grep -q "$1" <<<"$2"; }
check 'an upload that was killed has not finished' unlike '"done"' "$(cat "$dir/said")"
check 'an upload that was killed while it sent bytes is finished' upload 5
is 'the file is complete' "$(hdfs_rest "$remote/node01_8041?op=GETFILESTATUS" | jq .FileStatus.length)" "$(said 'done' .bytes)"
rm "$logs/large"

# ---- rolling --------------------------------------------------------------------------------------------------------

select_app 0006 alice
for n in 1 2 3 4 5; do
    echo "piece $n" >>"$logs/syslog"
    [ $n != 3 ] || mv "$logs/syslog" "$logs/syslog.1" # after a line that no upload has seen
    upload "$((n * 10))" "$rolling"
done
is 'each piece of a log that grows is uploaded once, in order' "$(yarn_logs | grep '^piece' | xargs)" \
    'piece 1 piece 2 piece 3 piece 4 piece 5'
is 'each upload is a file' "$(names "$remote")" \
    'node01_8041_10 node01_8041_20 node01_8041_30 node01_8041_40 node01_8041_50'
upload 60 "$rolling"
is 'an upload without new lines makes no file' "$(said 'done' .files) $(names "$remote" | wc -w)" '0 5'
echo 'piece 6' >>"$logs/syslog"
upload 70 '{"rolling": true, "max_files": 3, "rolled_include": "."}'
is 'the oldest files are removed as the user' "$(names "$remote")" 'node01_8041_40 node01_8041_50 node01_8041_70'

select_app 0009 alice
remote=${remote/tfile/ifile}
indexed=$(jq -n --argjson more "$rolling" '$more + {format: "IndexedFile", suffix: "logs-ifile"}')
msec=2000
for step in none upload-dirs upload-marked upload-written upload-pending upload-renamed upload-committed; do
    msec=$((msec + 1))
    echo "line $msec" >>"$logs/syslog"
    upload "$msec" "$indexed" "$step"
    [ "$step" != upload-written ] || is 'yarn logs prints the complete uploads of an IndexedFile' \
        "$(yarn_logs | grep '^line')" "$(head -n -1 "$logs/syslog")"
    check "an upload to an IndexedFile that died at $step is finished" upload "$msec" "$indexed"
done
is 'all uploads are in one IndexedFile' "$(names "$remote")" node01_8041_2001
is 'yarn logs prints each line of the IndexedFile once, in order' "$(yarn_logs | grep '^line')" "$(cat "$logs/syslog")"

# ---- space and servers ----------------------------------------------------------------------------------------------

select_app 0007 bob
echo 'bob is small' >"$logs/stdout"
check 'an upload makes the directory of a user' upload 1
check 'the administrator sets a quota of space' admin -setSpaceQuota 1m /tmp/logs/bob
echo 'no room' >>"$logs/stdout"
upload 2
is 'an exhausted quota of space can pass' "$(said failed '"\(.temporary) \(.full)"')" 'true true'
like 'the error names the quota' "$(said failed .error)" 'QuotaExceeded'
is 'a failed upload leaves no file' "$(names "$remote")" node01_8041
check 'the administrator removes the quota' admin -clrSpaceQuota /tmp/logs/bob
check 'the administrator sets a quota of names' admin -setQuota 5 /tmp/logs/bob
upload 2
is 'an exhausted quota of names can pass' "$(said failed '"\(.temporary) \(.full)"')" 'true true'
check 'the administrator removes the second quota' admin -clrQuota /tmp/logs/bob
check 'the upload is repeated when there is room' upload 2
is 'the line is uploaded once' "$(lines_of 'no room')" 1

# A proxy of the name node redirects one operation to two failing data nodes.
fail_writes() { # OPERATION
    python3 "$here/failing-datanodes.py" "$hdfs_active" "$1" >"$dir/writes-$1" &
    at_exit "end_process '$!'"
    need "a name node with data nodes that fail at $1 runs" wait_until 10 test -s "$dir/writes-$1"
    failing=$(jq -n --arg nn "http://127.0.0.1:$(head -n 1 "$dir/writes-$1")" '{name_nodes: {cluster1: [$nn]}}')
}
writes() { tail -n +2 "$dir/writes-$1" | xargs; } # OPERATION
select_app 0010 alice
seq 300000 >"$logs/stdout"
fail_writes CREATE
check 'a data node that fails is replaced, and the next one gets all bytes' upload 1 "$failing"
is 'failed data nodes are excluded one after the other' "$(writes CREATE)" \
    'op=CREATE op=CREATE 127.0.0.8 op=CREATE 127.0.0.8,127.0.0.9'
check 'the file is complete' cmp <(yarn_logs | grep -xE '[0-9]+') "$logs/stdout"
select_app 0011 alice
remote=${remote/tfile/ifile}
seq 300000 >"$logs/stdout"
upload 1 "$indexed"
seq 300001 600000 >>"$logs/stdout"
fail_writes APPEND
upload 2 "$(jq -n --argjson a "$indexed" --argjson b "$failing" '$a + $b')"
is 'a data node that fails at an append can pass' "$(said failed .temporary)" true
is 'bytes that may be stored partly are not sent to another data node' "$(writes APPEND)" op=APPEND
check 'the append is repeated' upload 2 "$indexed"
check 'the appended file is complete' cmp <(yarn_logs | grep -xE '[0-9]+') "$logs/stdout"
is 'the bytes are in one file' "$(names "$remote")" node01_8041_1

select_app 0008 alice
echo 'from the other name node' >"$logs/stdout"
check 'an administrator makes the other name node active' hdfs_admin -failover nn2 nn1
hdfs_active=$nn1_web
check 'logs are uploaded to the new active name node' upload 1
end_process "$nn2_pid" KILL
nn2_pid=''
echo 'with one name node' >>"$logs/stdout"
check 'logs are uploaded if the standby name node is not running' upload 2
end_process "$dn_pid" KILL
dn_pid=''
echo 'without a data node' >>"$logs/stdout"
upload 3
is 'a missing data node can pass' "$(said failed .temporary)" true
hdfs_server datanode.DataNode "-Ddfs.datanode.data.dir=file://$dir/dn" >>"$dir/dn.log" 2>&1 &
dn_pid=$!
repeated() { upload 3; }
check 'the upload is repeated when a data node runs' wait_until 60 repeated
is 'all lines are uploaded once' "$(lines_of 'from the other name node') $(lines_of 'with one name node')\
 $(lines_of 'without a data node')" '1 1 1'
end_process "$nn1_pid" KILL
nn1_pid=''
echo 'without a name node' >>"$logs/stdout"
upload 4
is 'missing name nodes can pass' "$(said failed .temporary)" true
done_testing
