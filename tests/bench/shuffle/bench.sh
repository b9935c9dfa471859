#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares nm-shuffle with Hadoop's own ShuffleHandler. `make bench-shuffle` runs this as root.
#
#   tests/bench/shuffle/bench.sh BUILD
#
# tests/bench/shuffle/compare.c describes the cases. Both servers run in their own network namespace, because Hadoop's handler
# listens on all addresses. The JVM has its default settings, and Hadoop's handler those of its configuration. TURNS (5), MIB (500;
# of the large outputs) and BENCH_DIR (/var/tmp; for the outputs) may be set in the environment.
bench_here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${NMD_TEST_BUILD:-}" ]; then
    NMD_TEST_BUILD=$(cd "${1:?where is it built?}" && pwd) || exit
    NMD_TEST_CLASSPATH=none # until stock_build has the real one
    NMD_TEST_DIR=$(mktemp -d "${BENCH_DIR:-/var/tmp}/nmd-shuffle-bench.XXXXXX") || exit
    export NMD_TEST_BUILD NMD_TEST_CLASSPATH NMD_TEST_DIR
fi
# shellcheck source=tests/packing/lib.sh
. "$bench_here/../../packing/lib.sh"
at_exit 'rm -rf "$NMD_TEST_DIR"'
tap_done=1 # this script prints figures, and no test results
stock_build || exit
own_network

mkdir -p "$conf" "$dir/local"
write_conf "$conf/core-site.xml" fs.defaultFS=file:///
printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$dir/hosts"
printf 'log4j.rootLogger=OFF\n' >"$conf/log4j.properties"
NMD_TEST_CLASSPATH=$stock_classpath
java_options=(-Xmx1g "-Djdk.net.hosts.file=$dir/hosts" -Djava.net.preferIPv4Stack=true
    --add-opens=java.base/java.lang=ALL-UNNAMED "-Dhadoop.log.dir=$dir" "-Djava.io.tmpdir=$dir")
printf -v server '%q ' "${java_options[@]}" "${class_options[@]}" -cp "$(hadoop_classpath)" "$bench_here/ShuffleServer.java" \
    "$dir/local" 64
cd "$NMD_TEST_BUILD" || exit
./shuffle-compare "$dir/local" "exec java $server 2>$dir/java.log" "${TURNS:-5}" "${MIB:-500}"
