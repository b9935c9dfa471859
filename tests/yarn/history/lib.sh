# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables that the sourcing suite sets and uses
#
# Hadoop's JobHistory server, for suites that source jobs.sh with history in jobs_of. It serves the pages of finished jobs of
# MapReduce, and the aggregated logs of all applications.

history_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
history_classpath=$NMD_TEST_BUILD/java/history/classpath
# Downloads the server with Maven, unless its class path is already known.
history_fetch() {
    mkdir -p "${history_classpath%/*}"
    (
        flock 9
        [ "$history_classpath" -nt "$history_here/pom.xml" ] ||
            mvn -q -B -f "$history_here/pom.xml" package "-DbuildDirectory=${history_classpath%/*}" </dev/null
    ) 9>"${history_classpath%/*}/lock"
}
history_web=http://localhost:19888
# The properties of nodes, for which the server is the log server.
history_of_nodes=("yarn.log.server.url=$history_web/jobhistory/logs" "yarn.log.server.web-service.url=$history_web/ws/v1/history")

# Starts the server after jobs_configure, which must have started HDFS. It looks for finished jobs every second.
history_start() {
    sed -i '/<\/configuration>/d' "$conf/mapred-site.xml"
    {
        property mapreduce.jobhistory.address localhost:10020
        property mapreduce.jobhistory.admin.address localhost:10033
        property mapreduce.jobhistory.webapp.address "${history_web#http://}"
        property mapreduce.jobhistory.move.interval-ms 1000
        property mapreduce.jobhistory.intermediate-done-dir /history/tmp
        property mapreduce.jobhistory.done-dir /history/done
        echo '</configuration>'
    } >>"$conf/mapred-site.xml"
    # the server would make this directory with the mode of done-dir, and masters could not enter it
    hdfs_rest '/history?op=MKDIRS&permission=755' -f -X PUT || return
    java "${java_options[@]}" "${class_options[@]}" -cp "$shared/lib/*:$(cat "$history_classpath"):$conf" \
        org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer </dev/null >>"$dir/history.log" 2>&1 &
    history_pid=$!
    at_exit 'end_process "$history_pid"'
    patient_until 'the JobHistory server does not answer' "$history_pid=$dir/history.log" -- \
        curl -sSf -o /dev/null "$history_web/ws/v1/history/info"
}
history_get() { curl -sS "$history_web/ws/v1/history/mapreduce/jobs/$1"; } # PATH
