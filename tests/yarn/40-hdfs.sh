#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# beside: others
#
# nm-localizer with a stock HDFS of two name nodes: it fetches staged files, whichever name node is active. It unpacks archives
# in the same way as stock Hadoop.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/../packing/lib.sh"
# shellcheck source=tests/yarn/hdfs/lib.sh
. "$(dirname "$0")/hdfs/lib.sh"

need 'Maven has the jars for HDFS' hdfs_find "$NMD_TEST_BUILD/java/hdfs"

python3 - "$dir" <<'EOF'
import io, os, sys, tarfile, zipfile
os.chdir(sys.argv[1])
names = ["a.txt", "a/x", "/abs/x", "a/../b.txt", "d/./e//f", "d\u00fc/\U0001f600.txt", "\u65e5\u672c", "lib/k", "LIB-\u212a",
         "] [", "^&&-"]
for name in "names.zip", "names.jar":
    with zipfile.ZipFile(name, "w") as z:
        for n in names: z.writestr(n, n)
S, L, D = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE
for name, form in ("venv.tar.gz", tarfile.PAX_FORMAT), ("venv.tar", tarfile.GNU_FORMAT):
    with tarfile.open(name, "w:gz" if name.endswith("gz") else "w", format=form) as t:
        for n, kind, link in (
            ("bin", D, ""), ("bin/python3", S, "/usr/bin/python3"), ("bin/python", S, "python3"), ("lib", D, ""),
            ("lib64", S, "lib"), ("lib64/through", None, ""), ("up", S, "../../outside"), ("twice", S, "bin/../lib"),
            ("/abs/x", None, ""), ("d\u00fc/\u65e5", None, ""), ("u\u0308", None, ""), ("x\udcff", None, ""),
            ("hard", L, "lib64/through"), ("other", L, "bin/python3")):
            i = tarfile.TarInfo(n)
            i.mode, i.linkname, i.type = 0o755, link, kind or tarfile.REGTYPE
            i.size = 0 if kind else len(n.encode(errors="surrogateescape"))
            t.addfile(i, io.BytesIO(n.encode(errors="surrogateescape")))
EOF
tree() { # DIR: lists the files in DIR with their properties
    (cd "$1" && LC_ALL=C find . -mindepth 1 ! -type d \( -type l -printf '%P -> %l\n' -o -exec cksum {} \; \) | LC_ALL=C sort)
}
unpacked() { # TARGET FILE [JSON]
    jq -n --arg uri "file://$dir/$2" --arg type ARCHIVE --argjson timestamp "$(date -r "$dir/$2" +%s%3N)" \
        --arg target "$dir/ours/$1" --argjson more "${3:-"{}"}" '$ARGS.named | del(.more) + $more' | jq -s '{resources: .}' |
        LC_ALL=C "$NMD_TEST_BUILD/nm-localizer" >>"$dir/said"
}
stock_unpack() { LC_ALL=C.UTF-8 hdfs_java "$(dirname "$0")/hdfs/Unpack.java" "$@" >>"$dir/unpack.log" 2>&1; }
for archive in names.zip names.jar venv.tar venv.tar.gz; do
    mkdir "$dir/stock-$archive"
    check "stock Hadoop unpacks $archive" stock_unpack "$dir/$archive" "$dir/stock-$archive"
    check "nm-localizer unpacks $archive" unpacked "$archive" "$archive"
    is "nm-localizer and stock Hadoop unpack the same files from $archive" \
        "$(tree "$dir/ours/$archive/$archive")" "$(tree "$dir/stock-$archive")"
done
cat >"$dir/patterns" <<'EOF'
[a-z&&[^b]].*
(?i)lib.[k-m]
.\.[\w&&[^\d]]{3}
\Q^&&\E-|[\]\[ ]+
d[ü[a-c]]/\x{1F600}\.\p{Lower}{3}
(?s:.)*[^\p{ASCII}]{2}
EOF
mkdir "$dir/stock-patterns"
check 'stock Hadoop unpacks the entries that match patterns' stock_unpack "$dir/names.jar" "$dir/stock-patterns" "$dir/patterns"
n=0
while read -r pattern; do
    unpacked "p$n" names.jar "$(jq -n --arg pattern "$pattern" '{type: "PATTERN", $pattern}')"
    rm "$dir/ours/p$n/names.jar/names.jar"
    is "the pattern $pattern matches the same entries in nm-localizer and stock Hadoop" \
        "$(tree "$dir/ours/p$n/names.jar")" "$(tree "$dir/stock-patterns/$n")"
    n=$((n + 1))
done <"$dir/patterns"
check 'nm-localizer unpacks a resource of type PATTERN without a pattern' unpacked all names.jar '{"type": "PATTERN"}'
rm "$dir/ours/all/names.jar/names.jar"
is 'without a pattern, all entries are unpacked' "$(tree "$dir/ours/all/names.jar")" "$(tree "$dir/stock-names.jar")"

need 'two name nodes and a data node start' hdfs_start

mkdir -p "$dir/jar/lib" "$dir/local"
head -c 3000000 /dev/urandom >"$dir/jar/lib/part"
echo text >"$dir/jar/README"
python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
    for name in "lib/part", "README": z.write(sys.argv[2] + "/" + name, name)' "$dir/job.jar" "$dir/jar"
tar -C "$dir/jar" -czf "$dir/lib.tar.gz" lib
stage() {
    hdfs_put "$dir/job.jar" '/stage/a%20b/job.jar' && hdfs_put "$dir/lib.tar.gz" /stage/lib.tar.gz &&
        hdfs_put /dev/null /stage/empty && hdfs_rest '/stage?op=SETPERMISSION&permission=755' -f -X PUT &&
        hdfs_rest '/stage/a%20b?op=SETPERMISSION&permission=700' -f -X PUT
}
need "the test's files are written to HDFS" stage

modified() { hdfs_rest "$1?op=GETFILESTATUS" | jq .FileStatus.modificationTime; } # PATH
resource() { # N URI-PATH TYPE [JSON]: prints a resource with a URI of the name service
    jq -n --arg uri "hdfs://cluster1$2" --arg type "$3" --argjson timestamp "$(modified "$2")" \
        --arg target "$dir/local/$1" --argjson more "${4:-"{}"}" '$ARGS.named | del(.more) + $more'
}
# RESOURCE...: fetches the resources. The name nodes have the addresses that hdfs-site.xml would have.
localize() {
    jq -s --arg user "$(id -un)" --arg nn1 "$nn1_web" --arg nn2 "$nn2_web" --argjson more "${work:-"{}"}" \
        '{user: $user, limits: {attempts: 2}, name_nodes: {cluster1: [$nn1, $nn2], "hdfs:": [$nn1, $nn2]}, resources: .}
            + $more' <<<"$*" |
        "$NMD_TEST_BUILD/nm-localizer" >"$dir/said"
}
fetched() { jq -r 'select(.state == "done") | .bytes' "$dir/said" | paste -sd ' '; }
complaint() { jq -r 'select(.state == "failed") | .error' "$dir/said"; }

like 'the first name node reports that it is on standby' "$(curl -s "$nn1_web/webhdfs/v1/?op=GETFILESTATUS")" StandbyException
check 'a file, an archive and a jar with a pattern are fetched from HDFS' localize \
    "$(resource 10 /stage/empty FILE)" "$(resource 11 /stage/lib.tar.gz ARCHIVE '{"public": true}')" \
    "$(resource 12 '/stage/a%20b/job.jar' PATTERN '{"pattern": "(?:classes/|lib/).*"}')"
is 'nm-localizer reports the sizes of the fetched resources' "$(fetched)" "0 3000000 $((3000000 + $(stat -c %s "$dir/job.jar")))"
check 'the fetched archive is complete' cmp "$dir/jar/lib/part" "$dir/local/11/lib.tar.gz/lib/part"
check 'the fetched jar is complete' cmp "$dir/job.jar" "$dir/local/12/job.jar/job.jar"
is 'only the matching entries of the jar are unpacked' "$(ls "$dir/local/12/job.jar")" "job.jar
lib"

check 'a URI without a host is fetched from the default file system' localize \
    "$(resource 18 /stage/lib.tar.gz FILE '{"uri": "hdfs:///stage/lib.tar.gz"}')"
check 'the file from the default file system is complete' cmp "$dir/lib.tar.gz" "$dir/local/18/lib.tar.gz"
localize "$(resource 13 /stage/lib.tar.gz FILE '{"uri": "webhdfs:///stage/lib.tar.gz"}')"
like 'a URI with a scheme that the default file system does not have is refused' "$(complaint)" 'fs.defaultFS\) has none for webhdfs:'

# A relay for IPv6, because the name node listens only on IPv4.
cat >"$dir/relay.py" <<'EOF'
import socket, sys, threading
s = socket.create_server(("::1", 0), family=socket.AF_INET6)
print(s.getsockname()[1], flush=True)
def pipe(a, b):
    while data := a.recv(65536): b.sendall(data)
    b.shutdown(socket.SHUT_WR)
while True:
    a = s.accept()[0]
    b = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    for pair in (a, b), (b, a): threading.Thread(target=pipe, args=pair, daemon=True).start()
EOF
python3 "$dir/relay.py" "${nn2_web##*:}" >"$dir/ipv6" &
at_exit "end_process '$!'"
need 'an IPv6 address reaches the name node' wait_until 10 test -s "$dir/ipv6"
check 'a file is fetched from an IPv6 address' localize \
    "$(resource 19 /stage/lib.tar.gz FILE "{\"uri\": \"webhdfs://[::1]:$(cat "$dir/ipv6")/stage/lib.tar.gz\"}")"
check 'the file from the IPv6 address is complete' cmp "$dir/lib.tar.gz" "$dir/local/19/lib.tar.gz"

# Uses TLS, with a certificate that is not signed by a CA of the system.
by_tls() { # TARGET [JSON]: requests the file from the name nodes over TLS, and reads it from the data node over TLS
    work=$(jq -n --arg nn "$nn2_tls" --argjson more "${2:-"{}"}" '{name_nodes: {cluster1: [$nn]}, webhdfs: ({https: true} + $more)}') \
        localize "$(resource "$1" /stage/lib.tar.gz FILE)"
}
check 'a file is fetched over TLS' by_tls 40 "$(jq -n --arg file "$dir/ca.pem" '{ca_file: $file}')"
check 'the file that was fetched over TLS is complete' cmp "$dir/lib.tar.gz" "$dir/local/40/lib.tar.gz"
by_tls 13
like 'a certificate of an unknown certificate authority is refused' "$(complaint)" '[Cc]ertificate'

as_user() { # USER NAME-NODE RESOURCE: fetches the resource in the name of this user
    work=$(jq -n --arg user "$1" --arg nn "$2" '{$user, name_nodes: {cluster1: [$nn]}}') localize "$3"
}
n=20
for user in 'x$' 1234 alice@corp; do
    check "the name node gets the user name $user" as_user "$user" "$nn2_web" "$(resource $n /stage/lib.tar.gz FILE)"
    n=$((n + 1))
done

# Hadoop's own client fetches resources of other schemes, with the limits that nmd sets for its worker.
write_conf "$conf/core-site.xml" fs.defaultFS=hdfs://cluster1 "hadoop.tmp.dir=$dir/tmp" \
    fs.viewfs.mounttable.all.link./stage=hdfs://cluster1/stage
printf '#!/bin/sh\nshift\nexec java %s -cp "$CLASSPATH_OF_TEST" org.apache.hadoop.fs.FsShell "$@"\n' "${java_options[*]}" \
    >"$dir/hadoop"
chmod +x "$dir/hadoop"
fetched_by_shell() {
    work=$(jq -n --arg hadoop "$dir/hadoop" --arg classpath "$hdfs_classpath" --arg conf "$conf" \
        '{commands: {viewfs: [$hadoop, "fs", "-get", "{uri}", "{target}"]},
            environment: {HADOOP_CONF_DIR: $conf, CLASSPATH_OF_TEST: $classpath}}')
    (ulimit -S -d $((512 * 1024)) && work=$work localize "$(resource 30 /stage/lib.tar.gz FILE \
        '{"uri": "viewfs://all/stage/lib.tar.gz"}')")
}
check "Hadoop's FsShell fetches a file of another scheme as a fetch command" fetched_by_shell
check 'the file that FsShell fetched is complete' cmp "$dir/lib.tar.gz" "$dir/local/30/lib.tar.gz"

localize "$(resource 13 /stage/lib.tar.gz FILE '{"timestamp": 1}')"
like 'a file whose modification time has changed is refused' "$(complaint)" 'changed after the job was submitted'
localize "$(resource 13 '/stage/a%20b/job.jar' FILE '{"public": true}')"
like "a public file in a directory that other users can't enter is refused" "$(complaint)" 'not all users may enter /stage/a b'
localize "$(resource 13 /stage/lib.tar.gz FILE '{"uri": "hdfs://cluster1/stage/none"}')"
like "the error for a missing file has HDFS's FileNotFoundException" "$(complaint)" 'FileNotFoundException'
check 'a directory is fetched with its contents' localize "$(resource 17 /stage FILE)"
is 'all files of the directory arrive' "$(cd "$dir/local/17/stage" && find . -type f | sort)" "./a b/job.jar
./empty
./lib.tar.gz"
check 'the files of the fetched directory are complete' cmp "$dir/job.jar" "$dir/local/17/stage/a b/job.jar"
localize "$(resource 13 /stage FILE '{"public": true}')"
like "a public directory with contents that other users can't read is refused" "$(complaint)" '/stage/a b: the resource is PUBLIC'

check 'an administrator makes the other name node active' hdfs_admin -failover nn2 nn1
hdfs_active=$nn1_web
check 'files are fetched from the new active name node' localize "$(resource 14 /stage/lib.tar.gz FILE)"
as_user alice@corp "$nn1_web" "$(resource 13 /stage/lib.tar.gz FILE)"
like 'the error names the property if the name node refuses a user name' \
    "$(complaint)" 'dfs.webhdfs.user.provider.user.pattern in hdfs-site.xml'
end_process "$nn2_pid" KILL
nn2_pid=''
check 'files are fetched if the standby name node is not running' localize "$(resource 15 /stage/lib.tar.gz FILE)"
end_process "$dn_pid" KILL
dn_pid=''
localize "$(resource 16 /stage/lib.tar.gz FILE)"
like 'without a data node, the fetch fails after a second attempt' "$(complaint)" '\(attempt 2\)'
is 'a failed fetch leaves no file' "$(find "$dir/local" -maxdepth 1 -name '16*' -o -maxdepth 1 -name '13*')" ''
done_testing
