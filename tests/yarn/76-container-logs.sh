#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 600
#
# The logs of containers at the NodeManager's web port: the web services, the pages, and `yarn logs` of the stock client. Each
# answer of nmd is compared with the answer of a Java NodeManager to the same request about an equal container in the same run.
# Also: who may read, redirects to the log server, hostile users, and the property that disables all of it.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"

yarn_cli() { hadoop_java org.apache.hadoop.yarn.client.cli.ApplicationCLI "$@"; }
yarn_logs() { hadoop_java org.apache.hadoop.yarn.client.cli.LogsCLI "$@" 2>"$dir/logs-cli.err"; }

need 'a cluster can be configured' jobs_configure "yarn.application.classpath=$conf,$shared/lib/*" yarn.resourcemanager.am.max-attempts=1
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 6000 4
cd "$shared/work" || exit
job_deadline=400

# ---- two equal containers: one on a Java NodeManager, one on nmd ----

cat >files.sh <<'END'
cd "${LOG_DIRS%%,*}" || exit
printf '0123456789\nabc\n' >plain.txt
: >empty
printf 'h\303\266\303\244 \360\237\230\200\n' >'uml ä😀.txt'
printf 'x\377y\001\n' >bin
echo q >'we"i<b>rd &name'
echo n >$'new\nline'
echo p >'100%'
echo pl >a+b
echo '<b>bold</b>&amp;"' >y.html
seq 1 20000 >big
touch -d @1700000000 plain.txt empty uml* bin we* new* 100% a+b y.html big
mkdir sub
echo inner >sub/inner
ln -s /etc/passwd link
ln -s plain.txt near
mkfifo fifo
echo u >$'bad\377name'
echo some out
echo some err >&2
echo ready >>"$1.ready"
until [ -e "$1" ]; do sleep 0.1; done
END
# The Java NodeManager is so small that the second application must run on nmd.
node_mb=384 java_node_start 4
need 'a Java NodeManager registers' wait_until 60 node_is 4 RUNNING
shell_begin java -localize_files "$shared/work/files.sh" -shell_args "$shared/work/go-java" -shell_command 'bash files.sh'
check 'the container on the Java NodeManager has written its files' wait_until 60 test -e go-java.ready
own=$shared/node1
need 'nmd starts' nmd_node_start 1 yarn.log.server.url= yarn.log.server.web-service.url=
need 'nmd registers' wait_until 30 node_is 1 RUNNING
shell_begin nmd -localize_files "$shared/work/files.sh" -shell_args "$shared/work/go-nmd" -shell_command 'bash files.sh'
check 'the container on nmd has written its files' wait_until 60 test -e go-nmd.ready

jweb=http://node04:7403 web=http://node01:7103
jid=$(curl -sS "$jweb/ws/v1/node/containers" | jq -r '.containers.container[].id' | grep '_000002$')
id=$(ids_of nmd)
app=$(app_of nmd)
like 'nmd has the container' "$id" '^container_.*_000002$'

# Prints the parts of an answer that must be the same: its status, its media type, and its body, without the ids, the nodes and the
# Java prefix of messages.
answer_of() { # ADDRESS ID PATH CURL-OPTION...
    local at=$1 of=$2 path=$3
    shift 3
    curl -sS --path-as-is -o "$dir/body" -w '%{http_code} %{content_type}\n' "$@" "$at${path//ID/$of}" | sed 's/; charset/;charset/'
    sed -E "s/${of//./\\.}/ID/g; s/node0[14]:7[0-9]*/NODE/g; s/java\.lang\.Exception: //g" "$dir/body"
}
same() { # NAME PATH CURL-OPTION...
    local name=$1 path=$2
    shift 2
    is "$name: nmd and Java answer the same" "$(answer_of "$web" "$id" "$path" "$@")" "$(answer_of "$jweb" "$jid" "$path" "$@")"
}
logs=/ws/v1/node/containers/ID/logs
for file in plain.txt empty uml%20%C3%A4%F0%9F%98%80.txt bin we%22i%3Cb%3Erd%20%26name new%0Aline 100%25 a+b a%2Bb y.html big; do
    same "$file" "$logs/$file"
    same "$file by the other path" "/ws/v1/node/containerlogs/ID/$file"
done
for size in 0 1 5 15 16 100000 -1 -5 -15 -16 -100000 '' 9223372036854775807; do same "size=$size" "$logs/plain.txt?size=$size"; done
same 'size of a large file' "$logs/big?size=-1000"
same 'format=text' "$logs/plain.txt?format=text"
same 'format=octet-stream' "$logs/bin?format=octet-stream"
same 'an unknown format' "$logs/plain.txt?format=json"
same 'a slash at the end' "$logs/plain.txt/"
same 'unknown parameters' "$logs/plain.txt?nm.id=node09:1&start=3"
same 'a file that does not exist' "$logs/missing"
same 'a file of an unknown container' /ws/v1/node/containers/container_1_0001_01_000001/logs/stdout
same 'Accept: text/plain' "$logs/plain.txt" -H 'Accept: text/plain'

# The list has other files on each node, because of the links and the files of the launch.
listed_of() { # ADDRESS ID CURL-OPTION...
    local at=$1 of=$2
    shift 2
    curl -sS "$@" "$at/ws/v1/node/containers/$of/logs"
}
list_of() { # ADDRESS ID
    listed_of "$1" "$2" | jq '.containerLogsInfo | del(.containerId, .nodeId) |
        .containerLogInfo |= (map(select((.lastModifiedTime | test(" 2023$")) and .fileName != "near")) | sort_by(.fileName))'
}
is 'the lists have the same names, sizes and times' "$(list_of "$web" "$id")" "$(list_of "$jweb" "$jid")"
is 'the list has all files of this container' "$(list_of "$web" "$id" | jq '.containerLogInfo | length')" 10
is 'the list names the container and the node' \
    "$(listed_of "$web" "$id" | jq -r '.containerLogsInfo | "\(.containerId) \(.nodeId)"')" "$id node01:7101"
kinds_of() { # ADDRESS ID: the elements of the list as XML, sorted
    listed_of "$1" "$2" -H 'Accept: application/xml' | python3 -c '
import sys, xml.etree.ElementTree as e
root = e.fromstring(sys.stdin.buffer.read())
print(root.tag, [c.tag for c in root])
print(sorted((f.findtext("fileName"), f.findtext("fileSize"), f.findtext("lastModifiedTime"))
             for f in root.iter("containerLogInfo")
             if f.findtext("lastModifiedTime").endswith(" 2023") and f.findtext("fileName") != "near"))
print(root.findtext(".//logAggregationType"), sorted(x.tag for x in root[0] if x.tag != "containerLogInfo"))'
}
is 'the lists are the same as XML' "$(kinds_of "$web" "$id")" "$(kinds_of "$jweb" "$jid")"

# ---- what differs, because nmd doesn't follow links and has other statuses for errors ----

status_of_path() { curl -sS --path-as-is -m 10 -o "$dir/body" -w '%{http_code}' "${@:2}" "$web${1//ID/$id}"; } # PATH CURL-OPTION...
for file in link near fifo sub sub/inner sub%2Finner .. %2e%2e . ..%2f..%2f..%2f..%2fetc%2fpasswd %2fetc%2fpasswd; do
    is "$file is not served" "$(status_of_path "$logs/$file") $(grep -c 'root:\|inner$' "$dir/body")" '404 0'
    is "$file is not served as a page" "$(status_of_path "/node/containerlogs/ID/alice/$file" | sed 's/307/404/')" 404
done
is 'NUL in a name is refused' "$(status_of_path "$logs/plain.txt%00")" 400
is 'a size that is no number is refused' "$(status_of_path "$logs/plain.txt?size=1.5")" 400
is 'an invalid id is refused' "$(status_of_path /ws/v1/node/containers/x/logs)" 400
unknown=/ws/v1/node/containers/container_1_0001_01_000001/logs
is 'the list of an unknown container of an unknown application is not found' "$(status_of_path "$unknown")" 404
is 'the error is in the format of the web services' "$(jq -r .RemoteException.exception "$dir/body")" NotFoundException
is 'the error is XML if the client prefers it' \
    "$(status_of_path "$unknown" -H 'Accept: application/xml') $(grep -c '<exception>NotFoundException<' "$dir/body")" '404 1'
is 'a name that is not UTF-8 is served' "$(status_of_path "$logs/bad%FFname") $(grep -c '^u$' "$dir/body")" '200 1'
is 'POST is refused' "$(status_of_path "$logs/plain.txt" -X POST)" 405
is 'HEAD has no body' "$(status_of_path "$logs/plain.txt" -I) $(grep -c 0123 "$dir/body")" '200 0'

# ---- pages ----

# Prints the addresses and texts of the links to files, or the text of a page's <pre>.
links_of() { # ADDRESS ID
    curl -sS "$1/node/containerlogs/$2/alice" | python3 -c '
import html.parser, sys, urllib.parse
class P(html.parser.HTMLParser):
    at = None
    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.at = urllib.parse.unquote(dict(attrs)["href"]).replace(sys.argv[1], "ID")
    def handle_data(self, data):
        if self.at and "start=-4096" in self.at and any(n in self.at for n in sys.argv[2].split("|")):
            print(repr(self.at), repr(data))
        self.at = None
P().feed(sys.stdin.buffer.read().decode("utf-8", "replace"))' "$2" 'plain.txt|empty|/bin/|a+b|y.html|big' | sort
}
is 'the pages have the same links' "$(links_of "$web" "$id")" "$(links_of "$jweb" "$jid")"
pre_of() { # ADDRESS ID FILE-AND-QUERY
    curl -sS "$1/node/containerlogs/$2/alice/$3" | python3 -c '
import html, re, sys
page = sys.stdin.buffer.read().decode("utf-8", "replace")
m = re.search("<pre>(.*)</pre>", page, re.S)
shown = re.search("Showing (\\d+) bytes", page)
print(shown and shown.group(1), repr(html.unescape(m.group(1)).lstrip("\n")) if m else re.search("(Invalid start[^<]*\\])", page).group(1))'
}
for part in plain.txt plain.txt/ 'plain.txt/?start=0' 'plain.txt/?start=-4' 'plain.txt/?start=3&end=5' 'plain.txt/?start=3&end=-2' \
    'plain.txt/?start=9&end=3' 'plain.txt/?start=99' 'plain.txt/?start=-99&end=99' big big/?start=-4096 'big/?start=0' empty y.html bin \
    uml%20%C3%A4%F0%9F%98%80.txt; do
    is "page of $part: nmd and Java show the same" "$(pre_of "$web" "$id" "$part")" "$(pre_of "$jweb" "$jid" "$part")"
done
like 'a page forbids scripts' "$(curl -sSI -X GET "$web/node/containerlogs/$id/alice/y.html")" "Content-Security-Policy: default-src 'none'"
is 'the names of files are escaped in the page' "$(curl -sS "$web/node/containerlogs/$id/alice" | grep -c '<b>')" 0
page=$(curl -sS "$web/node/containerlogs/$id/alice" | grep -o 'href="[^"]*bad[^"]*"' | cut -d '"' -f 2)
is 'the page links to the file whose name is not UTF-8' "$(curl -sS "$web$page" | grep -c '^u$')" 1

# ---- the links that others hand out ----

container() { curl -sS "$web/ws/v1/node/containers/$id" | jq -c ".container | $1"; } # JQ-EXPRESSION
is 'the container has the link' "$(container .containerLogsLink)" "\"$web/node/containerlogs/$id/alice\""
like 'the container has its files' "$(container .containerLogFiles)" '"plain.txt"'
link=$(yarn_cli container -list "${app/application/appattempt}_000001" 2>/dev/null |
    grep -o "http://node01:[0-9]*/node/containerlogs/$id/alice" | head -n 1)
is 'LOG-URL of yarn container -list is the page' \
    "$(curl -sS -o /dev/null -w '%{http_code}' "$link") $link" "200 $web/node/containerlogs/$id/alice"
is "the ResourceManager's amContainerLogs is a page" \
    "$(curl -sS "$(app_value nmd .amContainerLogs)" | grep -c 'AppMaster.stderr : Total file length')" 1

# ---- yarn logs ----

# Prints the output of yarn logs for the container's own files, with its ids replaced.
printed() { # ID OPTION...
    local of=$1
    shift
    yarn_logs "$@" | sed -E "s/${of//./\\.}/ID/g; s/node0[14]:7[0-9]*/NODE/g" | python3 -c '
import re, sys
text = sys.stdin.buffer.read()
parts = re.split(b"(?m)^(?=Container: )", text)
sys.stdout.buffer.write(b"".join(sorted(p for p in parts if b"Modified" not in p or b" 2023\n" in p and b"LogType:near\n" not in p)))'
}
printed "$id" -applicationId "$app" -containerId "$id" >"$dir/printed.nmd"
printed "$jid" -applicationId "$(app_of java)" -containerId "$jid" >"$dir/printed.java"
check 'yarn logs prints the same for nmd and Java' cmp "$dir/printed.nmd" "$dir/printed.java"
is 'yarn logs prints all files of the container' "$(grep -c '^LogType:' "$dir/printed.nmd")" 10
seq 1 20000 >"$dir/big"
sed -n '/^LogType:big$/,/^End of LogType:big/p' "$dir/printed.nmd" | sed '1,4d;$d' >"$dir/big.printed"
check 'yarn logs prints a file byte for byte' cmp "$dir/big.printed" "$dir/big"
yarn_logs -applicationId "$app" >"$dir/printed.all"
is 'yarn logs of the application prints the logs of both containers' \
    "$(sed -nE 's/^Container: (container_\S+) on node01.*/\1/p' "$dir/printed.all" | sort -u | paste -sd ' ')" "$(masters_of nmd) $id"
yarn_logs -applicationId "$app" -containerId "$id" -log_files plain.txt -size -4 >"$dir/printed.end"
is 'yarn logs -size prints the end of a file' "$(sed -n '/^LogContents/,/^End/p' "$dir/printed.end" | sed '$d')" $'LogContents:\nabc'
like 'yarn logs -show_container_log_info lists the files' \
    "$(yarn_logs -applicationId "$app" -show_container_log_info | tr -s ' \t' ' ')" ' big 108894 Tue Nov 14 22:13:20 .0000 2023 LOCAL'

# ---- who may read: the cluster has ACLs ----

ways=("$logs" "$logs/plain.txt" /node/containerlogs/ID/alice /node/containerlogs/ID/alice/plain.txt)
for path in "${ways[@]}"; do
    for user in bob:403 alice:200 root:200 :200; do
        is "$path: a request of '${user%:*}'" "$(status_of_path "$path?user.name=${user%:*}")" "${user#*:}"
    done
done
# Hadoop's clients send OPTIONS with their user, and then the cookie that they have got.
for user in bob:403 alice:200; do
    rm -f "$dir/cookies"
    is "OPTIONS by ${user%:*}" "$(status_of_path "$logs?user.name=${user%:*}" -X OPTIONS -c "$dir/cookies")" 200
    is "a request with the cookie of ${user%:*}" "$(status_of_path "$logs" -b "$dir/cookies")" "${user#*:}"
done
is 'a user without permission gets no names of files' \
    "$(curl -sS "$web/ws/v1/node/containers/$id?user.name=bob" | jq -c '.container | .containerLogFiles')" null
local_status() { # USER PATH
    setpriv --reuid "$1" --regid nogroup --clear-groups curl -sS -o /dev/null -w '%{http_code}' --unix-socket "$NMD_SOCKET" \
        "http://nmd${2//ID/$id}"
}
chmod 666 "$NMD_SOCKET"
chmod a+x "$dir" "$dir/nmd1"
for path in "${ways[@]}"; do
    is "$path over the socket: root may read, another user may not" \
        "$(local_status root "$path") $(local_status "o.neil\$" "$path")" '200 404'
done

# ---- after the end ----

touch go-java go-nmd
ends_well java
ends_well nmd
acknowledged() { ! curl -sS "$web/ws/v1/node/containers/$id" | grep -q '"DONE"'; }
check 'the container is no longer on the node' wait_until 30 acknowledged
for path in "$logs/plain.txt" "$logs/big?size=-1000" "$logs/empty"; do same "after the end, $path" "$path"; done
is 'after the end, the lists are the same' "$(list_of "$web" "$id")" "$(list_of "$jweb" "$jid")"
is 'after the end, a user without permission is refused' "$(status_of_path "$logs/plain.txt?user.name=bob")" 403
is 'after the end, the owner is permitted' "$(status_of_path "$logs/plain.txt?user.name=alice")" 200
java_node_stop 4

# ---- a hostile user ----

echo 'a secret of root' >"$shared/secret"
chmod 600 "$shared/secret"
cat >hostile.sh <<'END'
cd "${LOG_DIRS%%,*}" || exit
truncate -s 20G huge
printf end >>huge
{ while :; do echo "line $((n++))"; [ "$n" -lt 300000 ] || n=0 : >growing; done >>growing; } &
{ while :; do ln -sfT "$2" race; rm -f race; echo fine >race; done; } 2>/dev/null &
{ while :; do mkdir -p race2; rmdir race2; mkfifo race2; rm -f race2; echo fine >race2; done; } 2>/dev/null &
seq -f 'many-%.0f' 100000 | xargs touch
head -c 20000000 /dev/zero | tr '\0' '<' >large
echo ready >"$1.ready"
until [ -e "$1" ]; do sleep 0.1; done
kill $(jobs -p)
END
shell_begin hostile -localize_files "$shared/work/hostile.sh" -shell_args "$shared/work/go-hostile" "$shared/secret" \
    -shell_command 'bash hostile.sh'
check 'the hostile container has written its files' wait_until 120 test -e go-hostile.ready
id=$(ids_of hostile)
is 'the list of 100,000 files has at most 500' \
    "$(curl -sS -m 10 "$web${logs/ID/$id}" | jq -c '.containerLogsInfo | [(.containerLogInfo | length <= 500), .more]')" '[true,true]'
like 'the page says that there are more' "$(curl -sS -m 10 "$web/node/containerlogs/$id/alice")" 'There are more files'
curl -sS -m 10 "$web${logs/ID/$id}/huge?size=-3" >"$dir/huge.end"
is 'the end of a huge file is served' "$(sed -n '/^LogLength/,/^endEnd/p' "$dir/huge.end" | sed 's/\.This.*//')" \
    $'LogLength:21474836483\nLogContents:\nendEnd of LogType:huge'
served_whole() { # a growing file is served as long as its head says
    curl -sS -m 20 "$web${logs/ID/$id}/growing" | python3 -c '
import re, sys
m = re.match(b"(?s).*?LogLength:(\\d+)\nLogContents:\n(.*)End of LogType:growing", sys.stdin.buffer.read())
sys.exit(len(m.group(2)) > int(m.group(1)))'
}
check 'a growing file is served up to the announced length' served_whole
is 'a large file is escaped in the page' \
    "$(curl -sS -m 60 "$web/node/containerlogs/$id/alice/large?start=0" | grep -o '&lt;' | wc -l)" 20000000
end=$((SECONDS + 8)) answers='' n_answers=0
while [ "$SECONDS" -lt "$end" ]; do
    answers+=$(curl -sS -m 10 "$web${logs/ID/$id}/race"; curl -sS -m 10 "$web/node/containerlogs/$id/alice/race2")
    n_answers=$((n_answers + 1))
done
like 'a file that is replaced all the time is served now and then' "$answers" fine
is "a link to root's file is never followed (of $n_answers)" "$(grep -c 'secret of root' <<<"$answers")" 0
slowest() { # prints the longest time of ten requests for the status, in ms, while other clients read a large page and lists
    local i readers=()
    for i in 1 2 3 4; do curl -sS -m 60 "$web/node/containerlogs/$id/alice/large?start=0" >/dev/null & readers+=($!); done
    for i in 1 2 3 4; do curl -sS -m 60 "$web${logs/ID/$id}" >/dev/null & readers+=($!); done
    for i in 1 2 3 4 5 6 7 8 9 10; do curl -sS -o /dev/null -w '%{time_total}\n' --unix-socket "$NMD_SOCKET" http://nmd/healthz; done |
        sort -n | tail -n 1 | awk '{ print int($1 * 1000) }'
    wait "${readers[@]}"
}
ms=$(slowest)
check "nmd answers other requests meanwhile ($ms ms)" test "$ms" -lt 2000
touch go-hostile
shell_ends hostile

# ---- the log server, and the property that disables the logs ----

nmd_node_stop 1
need 'nmd restarts with a log server' nmd_node_start 1 yarn.log.server.url=http://logserver:19888/jobhistory/logs \
    yarn.log.server.web-service.url=http://logserver:19888/ws/v1/history
need 'nmd registers again' wait_until 30 node_is 1 RUNNING
id=$(ids_of nmd)
is 'after a restart, the logs of an ended application are served' "$(status_of_path "$logs/plain.txt")" 200
is 'after a restart, its owner is known' "$(status_of_path "$logs?user.name=alice") $(status_of_path "$logs?user.name=bob")" '200 403'
moved() { curl -sS -o /dev/null -w '%{http_code} %{redirect_url}' "$web$1"; } # PATH
gone=container_1_0001_01_000001
is 'a list that is not here is at the log server' "$(moved "/ws/v1/node/containers/$gone/logs")" \
    "307 http://logserver:19888/ws/v1/history/containers/$gone/logs?redirected_from_node=true"
is 'a file that is not here is at the log server' "$(moved "/ws/v1/node/containers/$gone/logs/a%20b?size=5")" \
    "307 http://logserver:19888/ws/v1/history/containerlogs/$gone/a%20b?size=5&redirected_from_node=true"
is 'a request from the log server is not redirected' "$(moved "/ws/v1/node/containers/$gone/logs?redirected_from_node=true")" '404 '
is 'a page that is not here is at the log server' "$(moved "/node/containerlogs/$gone/alice")" \
    "307 http://logserver:19888/jobhistory/logs/node01:7101/$gone/$gone/alice"
is 'a page of a file that is not here is at the log server' "$(moved "/node/containerlogs/$gone/alice/stdout?start=0")" \
    "307 http://logserver:19888/jobhistory/logs/node01:7101/$gone/$gone/alice/stdout?start=0"

nmd_node_stop 1
need 'nmd restarts without logs' nmd_node_start 1 nmd.web.container-logs=false
need 'nmd registers once more' wait_until 30 node_is 1 RUNNING
for path in "${ways[@]}"; do
    is "without logs, $path is refused over TCP" "$(status_of_path "$path")" 403
    is "without logs, $path is served over the socket" "$(local_status root "$path")" 200
done
is 'without logs, the web services are served' "$(status_of_path /ws/v1/node/info)" 200
done_testing
