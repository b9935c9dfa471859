#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# beside: all
#
# Hadoop's own client for NodeManagers with the server of rpc/hadoop/: SASL with an NMToken, calls, exceptions, refusals.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/../packing/lib.sh"

mkdir -p "$conf"
write_conf "$conf/core-site.xml" fs.defaultFS=file:///
printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$dir/hosts"
printf 'log4j.rootLogger=OFF\n' >"$conf/log4j.properties"

mkfifo "$dir/hold"
"$NMD_TEST_BUILD/rpc-containers" 8letters <"$dir/hold" >"$dir/server.out" 2>&1 &
server=$!
exec 3>"$dir/hold"
at_exit 'end_process "$server"'
listens() { [ -s "$dir/server.out" ]; }
need 'the server listens' wait_until 10 listens
port=$(head -n 1 "$dir/server.out")

client() { hadoop_java "$(dirname "$0")/TokenClient.java" "$port" "$@" 2>"$dir/client.log"; } # KEY KEY-ID
is "Hadoop's client can call the server, and understands its responses and exceptions" "$(client 8letters 1)" \
    "container_e02_1700000000000_0007_01_000001 RUNNING -1000 all is well
container_1700000000000_0007_01_1099511627775 RUNNING -1000 all is well
org.apache.hadoop.yarn.exceptions.InvalidContainerException: Nothing is stopped here."
is "the server gets the caller's application attempt from the token" \
    "$(tail -n +2 "$dir/server.out")" 'appattempt_1700000000000_0007_000001 asks for 2'
like 'a token that is signed with a wrong key is refused' "$(client 7letters 1)" '^refused: .*DIGEST-MD5'
like "a token that names an unknown key is refused with nmd's message" "$(client 8letters 9)" '^refused: .*generated illegally'
is 'no call with a refused token has reached a method' "$(wc -l <"$dir/server.out")" 2
is 'a request by HTTP gets a response in plain text' "$(curl -s -o /dev/null -w '%{http_code} %{content_type}' "http://127.0.0.1:$port/")" \
    '404 text/plain'

exec 3>&-
wait "$server"
is 'the server ends with exit status 0' "$?" 0
server=''
done_testing
