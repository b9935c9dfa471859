#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# beside: all
#
# nm-shuffle compared with Hadoop's own ShuffleHandler. Both serve the same map outputs, which Hadoop wrote, to Hadoop's own
# fetcher. Their responses must be the same. The two files of a map are in different directories, except for the first map.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/../packing/lib.sh"
stock_build || { not_ok 'the class path of MapReduce is available'; done_testing; }
own_network # Hadoop's handler listens on all addresses

mkdir -p "$conf" "$dir/local" "$dir/other" "$dir/empty"
write_conf "$conf/core-site.xml" fs.defaultFS=file:///
printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$dir/hosts"
printf 'log4j.rootLogger=OFF\n' >"$conf/log4j.properties"
NMD_TEST_CLASSPATH=$stock_classpath

mkfifo "$dir/ask" "$dir/control"
hadoop_java "$(dirname "$0")/Shuffle.java" "$dir/local" "$dir/other" root <"$dir/ask" >"$dir/java.out" 2>"$dir/java.log" &
# shellcheck disable=SC2034 # read at the exit
java_pid=$!
exec 3>"$dir/ask"
at_exit 'end_process "$java_pid"'
"$NMD_TEST_BUILD/nm-shuffle" --listen=127.0.0.1:0 --user=nobody "$dir/empty" "$dir/no-such" "$dir/local" "$dir/other" \
    <"$dir/control" >"$dir/nm.out" &
nm_pid=$!
exec 4>"$dir/control"
at_exit 'end_process "$nm_pid"'
both_listen() { [ -s "$dir/java.out" ] && [ -s "$dir/nm.out" ]; }
need "Hadoop's shuffle and nm-shuffle listen" wait_until 60 both_listen
java_port=$(head -n 1 "$dir/java.out")
nm_port=$(jq -r .listening <"$dir/nm.out")

# Sends a line to nm-shuffle, and waits for its answer.
send() { # LINE
    local lines
    lines=$(wc -l <"$dir/nm.out")
    echo "$1" >&4
    answered() { [ "$(wc -l <"$dir/nm.out")" -gt "$lines" ]; }
    wait_until 10 answered && tail -n 1 "$dir/nm.out"
}
secret=$(printf 8letters | od -An -tx1 | tr -d ' ')
is 'nm-shuffle accepts a job' "$(send "$(jq -cn --arg key "$secret" \
    '{add: {job: "job_1410901177871_0001", user: "root", uid: 0, key: $key}}')")" '{"ok": {}}'

# Prints the response to a request: the text after the earlier responses. Each response ends with a dot.
fetch() { # PORT KEY TARGET
    local before
    before=$(wc -l <"$dir/java.out")
    echo "$*" >&3
    answered() { tail -n +"$((before + 1))" "$dir/java.out" | grep -qx '\.'; }
    wait_until 30 answered && tail -n +"$((before + 1))" "$dir/java.out" | head -n -1
}
job=job_1410901177871_0001
map() { echo "attempt_1410901177871_0001_m_00000${1}_0"; }
for reduce in 0 1 2; do
    target="/mapOutput?job=$job&reduce=$reduce&map=$(map 0),$(map 1),$(map 2)"
    theirs=$(fetch "$java_port" 8letters "$target")
    like "Hadoop serves the output for reducer $reduce" "$theirs" '^200 name mapreduce version 1.0.0'
    is "nm-shuffle sends the same bytes for reducer $reduce" "$(fetch "$nm_port" 8letters "$target")" "$theirs"
done
is 'one request can name a map twice' "$(fetch "$nm_port" 8letters "/mapOutput?job=$job&reduce=0&map=$(map 2),$(map 2)")" \
    "$(fetch "$java_port" 8letters "/mapOutput?job=$job&reduce=0&map=$(map 2),$(map 2)")"
tez=attempt_1410901177871_0001_1_00_000000_0_10003 # an output of Tez, and an output that does not exist
mkdir -p "$dir/other/usercache/root/appcache/application_${job#job_}/output"
cp -r "$dir/local/usercache/root/appcache/application_${job#job_}/output/$(map 0)" \
    "$dir/other/usercache/root/appcache/application_${job#job_}/output/$tez"
for target in "/mapOutput?job=$job&dag=1&reduce=0&map=$tez" "/any/path?job=$job&vertex=1&reduce=2&map=$tez,$(map 1),"; do
    theirs=$(fetch "$java_port" 8letters "$target")
    like "Hadoop serves $target" "$theirs" '^200 name mapreduce version 1.0.0'
    is "nm-shuffle sends the same bytes for $target" "$(fetch "$nm_port" 8letters "$target")" "$theirs"
done
# Hadoop's handler does not support a range of reducers. Only Tez' handler does. The parts must be the same as in single
# requests.
range="/mapOutput?job=$job&dag=1&reduce=0-2&map=$(map 0),$(map 1),$(map 2)"
one_by_one=$(for reduce in 0 1 2; do fetch "$java_port" 8letters "${range/0-2/$reduce}"; done | grep '^attempt_' | sort)
like 'Hadoop refuses a range of reducers' "$(fetch "$java_port" 8letters "$range")" '^[45][0-9][0-9] '
like 'nm-shuffle serves a range of reducers' "$(fetch "$nm_port" 8letters "$range")" '^200 name mapreduce version 1.0.0'
is 'the response to the range has the parts that Hadoop sends for single requests' \
    "$(fetch "$nm_port" 8letters "$range" | grep '^attempt_')" "$one_by_one"
for what in "an unknown job|8letters|/mapOutput?job=job_1410901177871_0002&reduce=0&map=$(map 0)" \
    "another key|7letters|/mapOutput?job=$job&reduce=0&map=$(map 0)" \
    "a missing output of Tez|8letters|/mapOutput?job=$job&dag=1&reduce=0&map=${tez}_1" \
    "a range that ends before it begins|8letters|/mapOutput?job=$job&dag=1&reduce=1-0&map=$tez" \
    "a missing map|8letters|/mapOutput?job=$job&reduce=0&map=$(map 0),$(map 7)" \
    "no map|8letters|/mapOutput?job=$job&reduce=0" \
    "no reducer|8letters|/mapOutput?job=$job&map=$(map 0)" \
    "two reducers|8letters|/mapOutput?job=$job&reduce=0&reduce=1&map=$(map 0)" \
    "a reducer that isn't a number|8letters|/mapOutput?job=$job&reduce=x&map=$(map 0)"; do
    IFS='|' read -r name key target <<<"$what"
    theirs=$(fetch "$java_port" "$key" "$target")
    like "Hadoop refuses $name" "$theirs" '^[45][0-9][0-9] '
    is "nm-shuffle refuses $name with the same status" "$(fetch "$nm_port" "$key" "$target" | cut -d' ' -f1)" "${theirs%% *}"
done

# Prints the first line of a response.
status_of() { # PORT METHOD HEADER...
    local port=$1 method=$2
    shift 2
    curl -s -i -m 10 -X "$method" "${@/#/-H}" "http://127.0.0.1:$port/mapOutput?job=$job&reduce=0&map=$(map 0)" | tr -d '\r' | head -n 1
}
for request in "GET" "GET|name: mapreduce|version: 2.0.0" "GET|name: mapreduce|version: 1.0.0" "PUT|name: mapreduce|version: 1.0.0"; do
    IFS='|' read -ra words <<<"$request"
    is "the request $request has the same status from nm-shuffle and from Hadoop" \
        "$(status_of "$nm_port" "${words[@]}")" "$(status_of "$java_port" "${words[@]}")"
done

is 'nm-shuffle counts refused requests, outputs and bytes' "$(send '{"count": {}}' | jq -c '.ok | [.refused, .outputs_ok, .sent_bytes]')" \
    "[0,20,$((3 * (5 + 70000 + 0 + 1 + 3000000 + 128) + 2 * 70000 + 5 + 3000000))]"
is 'nm-shuffle removes a job' "$(send "{\"remove\": {\"job\": \"$job\"}}")" '{"ok": {}}'
like 'nm-shuffle refuses outputs of the removed job' "$(fetch "$nm_port" 8letters "/mapOutput?job=$job&reduce=0&map=$(map 0)")" '^401 '
is "nm-shuffle does not run as root, and can only read files" \
    "$(awk '/^(Uid|CapEff)/ { print $1, $3 ? $3 : $2 }' "/proc/$nm_pid/status" | paste -sd' ')" \
    "Uid: $(id -u nobody) CapEff: 0000000000000004"
exec 4>&-
wait "$nm_pid"
is 'nm-shuffle ends when its input ends' "$?" 0
nm_pid=''
exec 3>&-
done_testing
