#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
# beside: others
#
# Stock Hadoop's client fetches a resource of a scheme that nmd doesn't support. The client is configured as a fetch command,
# gets its settings from its environment, and runs with the default limits. The cluster is the one of lib.sh. Its default file
# system is the local one, behind a mount table.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/yarn/hdfs/lib.sh
. "$(dirname "$0")/hdfs/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'only root can start containers as other users'
need "Maven has Hadoop's client" hdfs_find "$NMD_TEST_BUILD/java/hdfs"
make_shared_dir
set_node_dirs
chmod 755 "$dir"
# The user of the container must be able to read all of these files. The cluster's configuration comes first on the class path.
mkdir "$shared/lib" "$shared/bin" "$shared/stage"
IFS=: read -r -a jars <<<"${hdfs_classpath#*:}"
need 'the jars exist' cp "${jars[@]}" "$shared/lib/"
cat >"$shared/bin/hadoop" <<'END'
#!/bin/sh
[ -n "$JAVA_HOME" ] || { echo 'JAVA_HOME is not set' >&2; exit 1; }
[ "$1" = fs ] && shift
echo "$HADOOP_USER_NAME $HADOOP_CONF_DIR $(ulimit -d)" >"${0%/bin/*}/seen/by"
exec "$JAVA_HOME/bin/java" "-Xmx$HADOOP_HEAPSIZE_MAX" -cp "$HADOOP_CONF_DIR:${0%/bin/*}/lib/*" org.apache.hadoop.fs.FsShell "$@"
END
install -d -m 1777 "$shared/seen"
chmod 755 "$shared/bin/hadoop"
chmod -R a+rX "$shared"
echo 'what is behind the mount table' >"$shared/stage/text"
# names that a URI encodes, patterns of Hadoop's shell, and names that other programs would interpret as options or commands
names=('a=b+c' 'a b' 'ü' 'a%20b' 'x[1]' '{a,b}' 'a\b' 'a?*' 'a^]' 'a#b' '-rf' "\$(id)';")
for name in "${names[@]}"; do
    echo "this is $name" >"$shared/stage/$name"
done
echo 'this is another' >"$shared/stage/a1b"
JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")
export JAVA_HOME
unset HADOOP_CONF_DIR HADOOP_HEAPSIZE_MAX HADOOP_USER_NAME
rm_configure --stock "${node_site[@]}" "${node_dirs[@]}" \
    yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=100 \
    "nmd.fetch-command.viewfs=$shared/bin/hadoop fs -get {uri} {target}"
write_conf "$conf/core-site.xml" fs.defaultFS=file:/// "hadoop.tmp.dir=$shared/tmp" \
    "fs.viewfs.mounttable.all.link./stage=file://$shared/stage"
chmod -R a+rX "$conf"
need "the host's memory can be simulated" node_proc_start 4000 2
node_configure
need 'nmd starts' node_start
while IFS=$'\t' read -r name got wanted; do
    is "$name" "$got" "$wanted"
done < <(python3 "$(dirname "$0")/fetched.py" "${rm_ports[2]}" node07 "$node_port" viewfs all /stage/text \
    "${names[@]/#//stage/}" 2>"$dir/fetched.err")
is 'the application master has sent all its requests' "$(cat "$dir/fetched.err")" ''
c=$(nmctl list --all --json | jq -r '.[0].id')
is 'the container finds the fetched files unchanged' "$(nmctl logs "$c")" "what is behind the mount table
$(printf 'this is %s\n' "${names[@]}")"
is "the fetch command ran as the submitter, with the cluster's configuration and without a limit on memory" \
    "$(cat "$shared/seen/by")" "ada $conf unlimited"
nmd_stop
is 'nmd ends with exit status 0' "$?" 0
done_testing
