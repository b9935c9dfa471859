# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # what stands in its sourcer and is for it
#
# Tez, as Maven has it, for suites that have sourced jobs.sh.

tez_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Where the class path isn't known yet, Maven fetches what is on it. Its jars come to where the jobs' user reads them.
tez_find() {
    local tez=$NMD_TEST_BUILD/java/tez jar
    local -a jars
    mkdir -p "$tez" "$place/tez"
    (
        flock 9
        [ "$tez/classpath" -nt "$tez_here/pom.xml" ] ||
            mvn -q -B -f "$tez_here/pom.xml" package "-DbuildDirectory=$tez" </dev/null
    ) 9>"$tez/lock" || return
    IFS=: read -r -a jars <"$tez/classpath"
    for jar in "${jars[@]}"; do
        cp -n "$jar" "$place/tez/" || return
    done
    chmod -R a+rX "$place/tez"
}

# Outputs are fetched from the shuffle of the node, not read from its disks, and tasks have to spill.
tez_configure() {
    local opens=--add-opens=java.base/java.lang=ALL-UNNAMED # for the Guice of its web service
    local staging_uri=/tmp/tez-staging
    write_conf "$conf/tez-site.xml" tez.ignore.lib.uris=true "tez.cluster.additional.classpath.prefix=$conf:$place/tez/*" \
        "tez.staging-dir=$staging_uri" tez.am.resource.memory.mb=384 tez.task.resource.memory.mb=256 \
        "tez.am.launch.cmd-opts=-Xmx192m $small $opens" "tez.task.launch.cmd-opts=-Xmx160m $small $opens" \
        tez.runtime.optimize.local.fetch=false tez.runtime.io.sort.mb=8 tez.am.am-rm.heartbeat.interval-ms.max=250 \
        tez.am.log.level=INFO tez.task.log.level=INFO
    chmod a+r "$conf/tez-site.xml"
}
