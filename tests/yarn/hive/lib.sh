# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables that the sourcing suite sets and uses
#
# Hive on Tez from Maven's repository, for suites that source lent.sh with tez and hive in jobs_of. The client has HiveServer2 and
# the metastore in its own process, and the metastore has its tables in Derby, in the home of the jobs' user. As on a real cluster,
# masters and tasks have the libraries of Tez and Hive's jar, which the client uploads, and not all of Hive's libraries.

hive_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

hive_classpath=$NMD_TEST_BUILD/java/hive/classpath
# Downloads Hive with Maven, unless its class path is already known.
hive_fetch() {
    mkdir -p "${hive_classpath%/*}"
    (
        flock 9
        [ "$hive_classpath" -nt "$hive_here/pom.xml" ] ||
            mvn -q -B -f "$hive_here/pom.xml" package "-DbuildDirectory=${hive_classpath%/*}" </dev/null
    ) 9>"${hive_classpath%/*}/lock"
}
# Hive 4.0.1's operators need a library that came with Hadoop 3.3, but doesn't come with 3.4. Call it after tez_install.
hive_install() {
    mkdir -p "$shared/hive" && copy_jars "$(cat "$hive_classpath")" "$shared/hive" &&
        cp "$shared/hive"/commons-collections-3.*.jar "$shared/tez/" && install -m 644 "$hive_here/Query.java" "$shared/"
}

# What Hive's libraries read of the JDK. Its own scripts are for Java 8, which has no modules.
hive_opens=
for hive_package in lang net nio time util util.concurrent util.concurrent.atomic util.regex; do
    hive_opens+=" --add-opens=java.base/java.$hive_package=ALL-UNNAMED"
done
hive_configure() {
    write_conf "$conf/tez-site.xml" tez.ignore.lib.uris=true "tez.cluster.additional.classpath.prefix=$conf:$shared/tez/*" \
        tez.staging-dir=/tmp/tez-staging tez.am.resource.memory.mb=512 "tez.am.launch.cmd-opts=-Xmx320m $small $hive_opens" \
        tez.runtime.optimize.local.fetch=false tez.runtime.io.sort.mb=8 tez.am.am-rm.heartbeat.interval-ms.max=250
    write_conf "$conf/hive-site.xml" hive.execution.engine=tez hive.tez.container.size=512 \
        "hive.tez.java.opts=-Xmx320m $small $hive_opens" tez.am.resource.memory.mb=512 \
        "javax.jdo.option.ConnectionURL=jdbc:derby:;databaseName=$shared/work/metastore;create=true" \
        javax.jdo.option.ConnectionDriverName=org.apache.derby.jdbc.EmbeddedDriver \
        datanucleus.schema.autoCreateAll=true hive.metastore.schema.verification=false \
        "hive.metastore.warehouse.dir=file://$shared/work/warehouse" "hive.exec.scratchdir=file://$shared/work/scratch" \
        "hive.user.install.directory=file://$shared/work/install" "hive.exec.local.scratchdir=$shared/work/local-scratch" \
        hive.server2.enable.doAs=false hive.server2.webui.port=0 hive.fetch.task.conversion=none hive.stats.autogather=false
    chmod a+r "$conf/tez-site.xml" "$conf/hive-site.xml"
}
# Runs the statements of a file.
hive_begin() { # NAME FILE
    as_user timeout -k 5 "${job_deadline:-100}" java -Xmx640m "-Djava.io.tmpdir=$(home_of "$job_user")" $small $hive_opens \
        -cp "$conf:$shared/hive/*" "$shared/Query.java" "$job_user" "$2" </dev/null >"$dir/$1.log" 2>&1 &
    job_pid=$!
}
hive_application() { grep -oE 'application_[0-9]+_[0-9]+' "$dir/$1.log" | head -n 1; } # NAME
