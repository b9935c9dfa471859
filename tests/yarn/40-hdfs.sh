#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# beside: others
#
# nm-localizer and a stock HDFS of two name nodes: what is staged there arrives, whichever of them is active.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/../packing/lib.sh"
# shellcheck source=tests/yarn/hdfs/lib.sh
. "$(dirname "$0")/hdfs/lib.sh"

need 'Maven has what HDFS needs' hdfs_find "$NMD_TEST_BUILD/java/hdfs"
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
need 'files are staged' stage

modified() { hdfs_rest "$1?op=GETFILESTATUS" | jq .FileStatus.modificationTime; } # PATH
resource() { # N URI-PATH TYPE [JSON]: on the name service
    jq -n --arg uri "hdfs://cluster1$2" --arg type "$3" --argjson timestamp "$(modified "$2")" \
        --arg target "$dir/local/$1" --argjson more "${4:-"{}"}" '$ARGS.named | del(.more) + $more'
}
# RESOURCE...: the name nodes' addresses are what an hdfs-site.xml would say
localize() {
    jq -s --arg user "$(id -un)" --arg nn1 "$nn1_web" --arg nn2 "$nn2_web" \
        '{user: $user, limits: {attempts: 2}, name_nodes: {cluster1: [$nn1, $nn2]}, resources: .}' <<<"$*" |
        "$NMD_TEST_BUILD/nm-localizer" >"$dir/said"
}
fetched() { jq -r 'select(.state == "done") | .bytes' "$dir/said" | paste -sd ' '; }
complaint() { jq -r 'select(.state == "failed") | .error' "$dir/said"; }

like 'the first name node is on standby' "$(curl -s "$nn1_web/webhdfs/v1/?op=GETFILESTATUS")" StandbyException
check 'a file, an archive and a jar with a pattern arrive' localize \
    "$(resource 10 /stage/empty FILE)" "$(resource 11 /stage/lib.tar.gz ARCHIVE '{"public": true}')" \
    "$(resource 12 '/stage/a%20b/job.jar' PATTERN '{"pattern": "(?:classes/|lib/).*"}')"
is 'their sizes are said' "$(fetched)" "0 3000000 $((3000000 + $(stat -c %s "$dir/job.jar")))"
check 'the archive is whole' cmp "$dir/jar/lib/part" "$dir/local/11/lib.tar.gz/lib/part"
check 'so is the jar' cmp "$dir/job.jar" "$dir/local/12/job.jar/job.jar"
is 'and of its entries those are there that match' "$(ls "$dir/local/12/job.jar")" "job.jar
lib"

localize "$(resource 13 /stage/lib.tar.gz FILE '{"timestamp": 1}')"
like 'another time is refused' "$(complaint)" 'changed after the job was submitted'
localize "$(resource 13 '/stage/a%20b/job.jar' FILE '{"public": true}')"
like 'so is as public what not everybody may reach' "$(complaint)" 'not everybody may enter /stage/a b'
localize "$(resource 13 /stage/lib.tar.gz FILE '{"uri": "hdfs://cluster1/stage/none"}')"
like 'what is not there is said not to be' "$(complaint)" 'FileNotFoundException'
check 'a directory arrives with what is in it' localize "$(resource 17 /stage FILE)"
is 'all of it' "$(cd "$dir/local/17/stage" && find . -type f | sort)" "./a b/job.jar
./empty
./lib.tar.gz"
check 'and whole' cmp "$dir/job.jar" "$dir/local/17/stage/a b/job.jar"
localize "$(resource 13 /stage FILE '{"public": true}')"
like 'but not as public, where not everybody may read all' "$(complaint)" '/stage/a b: it is to be PUBLIC'

check 'the other name node becomes the active one' hdfs_admin -failover nn2 nn1
hdfs_active=$nn1_web
check 'and what is staged arrives as before' localize "$(resource 14 /stage/lib.tar.gz FILE)"
end_process "$nn2_pid" KILL
nn2_pid=''
check 'also when the one on standby is gone' localize "$(resource 15 /stage/lib.tar.gz FILE)"
end_process "$dn_pid" KILL
dn_pid=''
localize "$(resource 16 /stage/lib.tar.gz FILE)"
like 'without a data node it fails, after another attempt' "$(complaint)" '\(attempt 2\)'
is 'and leaves nothing' "$(find "$dir/local" -maxdepth 1 -name '16*' -o -maxdepth 1 -name '13*')" ''
done_testing
