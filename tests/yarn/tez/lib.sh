# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables that the sourcing suite sets and uses
#
# Tez from Maven's repository, for suites that source core.sh with tez in jobs_of.

tez_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

tez_classpath=$NMD_TEST_BUILD/java/tez/classpath
# Downloads Tez with Maven, unless its class path is already known.
tez_fetch() {
    mkdir -p "${tez_classpath%/*}"
    (
        flock 9
        [ "$tez_classpath" -nt "$tez_here/pom.xml" ] ||
            mvn -q -B -f "$tez_here/pom.xml" package "-DbuildDirectory=${tez_classpath%/*}" </dev/null
    ) 9>"${tez_classpath%/*}/lock"
}
tez_install() { mkdir -p "$shared/tez" && copy_jars "$(cat "$tez_classpath")" "$shared/tez"; }

# Configures Tez to fetch outputs from nm-shuffle instead of reading local disks, and to spill in tasks.
tez_configure() {
    local opens=--add-opens=java.base/java.lang=ALL-UNNAMED # the Guice version of its web service needs this
    local staging_uri=/tmp/tez-staging
    write_conf "$conf/tez-site.xml" tez.ignore.lib.uris=true "tez.cluster.additional.classpath.prefix=$conf:$shared/tez/*" \
        "tez.staging-dir=$staging_uri" tez.am.resource.memory.mb=384 tez.task.resource.memory.mb=256 \
        "tez.am.launch.cmd-opts=-Xmx192m $small $opens" "tez.task.launch.cmd-opts=-Xmx160m $small $opens" \
        tez.runtime.optimize.local.fetch=false tez.runtime.io.sort.mb=8 tez.am.am-rm.heartbeat.interval-ms.max=250 \
        tez.am.log.level=INFO tez.task.log.level=INFO
    chmod a+r "$conf/tez-site.xml"
}

tez_counter() { sed -nE "s/.*[[:space:]]$2=([0-9]+).*/\1/p" "$dir/$1.log" | tail -n 1; } # NAME COUNTER
counted() { tr -s ' ' '\n' | sort | uniq -c | awk '{ print $2 "\t" $1 }' | sort; }
# Starts OrderedWordCount unmodified. Its tasks spill, their outputs have data and index in different local directories, and
# a service serves the outputs.
tez_begin() { # NAME [OPTION...]
    local name=$1 file text=$shared/work/text
    shift
    if [ ! -e "$text" ]; then
        mkdir "$text"
        for file in 1 2 3; do
            awk -v seed="$file" 'BEGIN {
                srand(seed); for (i = 0; i < 60000; i++) print "w" int(200 * rand()), "many" int(20000 * rand()) }' >"$text/$file"
        done
    fi
    job_libs=$shared/tez job_begin "$name" org.apache.tez.examples.OrderedWordCount -counter -Dtez.grouping.split-count=3 "$@" \
        "file://$text" "file://$shared/work/counted-$name" 2
}
tez_is_right() { # NAME: checks the result of a job that has ended
    is "$1: the job counts the words" \
        "$(cat "$shared/work/counted-$1"/part-* | sort | md5sum)" "$(cat "$shared"/work/text/* | counted | md5sum)"
    check "$1: the result is sorted" sort -s -n -c -k 2,2 "$shared/work/counted-$1"/part-*
    at_least "$1: outputs are fetched over the network" "$(tez_counter "$1" SHUFFLE_BYTES)" 100000
    is "$1: no output is read from the local disk" "$(tez_counter "$1" SHUFFLE_BYTES_DISK_DIRECT)" 0
}
tez_job() { # [OPTION...]
    tez_begin tez "$@"
    while kill -0 "$job_pid" 2>/dev/null; do outputs_apart; sleep 0.2; done >"$dir/apart"
    job_ends
    is 'tez: the job succeeds' "$?" 0 || job_trouble tez
    tez_is_right tez
    is 'tez: no fetch has failed' "$(tez_counter tez NUM_FAILED_SHUFFLE_INPUTS)" 0
    at_least 'tez: some outputs had data and index on different disks' "$(sort -u "$dir/apart" | wc -l)" 1
}
