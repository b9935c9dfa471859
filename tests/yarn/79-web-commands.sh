#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
# beside: all
#
# The stock commands about nodes and containers, with a node of nmd and a Java NodeManager in the same cluster: yarn node -status
# and -list, yarn container -list, -status and -signal, yarn top, and yarn application -kill. Each command prints the same for both
# nodes, and has the same effect on equal containers. The cluster is simpler than other clusters of jobs: it has no HDFS, and its
# applications have no master on a node.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
client=org.apache.hadoop.yarn.client.cli
# A command that takes too long ends with a dump of its threads.
cli() { # CLASS ARG...
    timeout -s QUIT -k 5 60 java "${java_options[@]}" "${class_options[@]}" -cp "$(hadoop_classpath)" "$client.$1" "${@:2}" \
        2>>"$dir/cli.err"
}
yarn_node() { cli NodeCLI "$@"; }
yarn_container() { cli ApplicationCLI container "$@"; }
yarn_application() { cli ApplicationCLI application "$@"; }

jobs_fs=local
need 'a cluster can be configured' jobs_configure yarn.resourcemanager.connect.max-wait.ms=60000
need "the host's memory can be simulated" node_proc_start 6000 8
cd "$shared/work" || exit

# ---- two nodes, each with an application of alice that has two containers ----

# All programs start at the same time, and the nodes wait for the ResourceManager.
options=(yarn.log-aggregation-enable=false)
rm_launch_early
node_mb=384 java_node_start 4 "${options[@]}" "$pausing=true"
node_mb=384 need 'nmd starts' nmd_node_start 1 "${options[@]}"
HADOOP_USER_NAME=alice need 'application masters can be registered' cluster_start 0
need 'a stock ResourceManager answers' rm_again
need 'a Java NodeManager registers' wait_until 60 node_is 4 RUNNING
need 'nmd registers' wait_until 60 node_is 1 RUNNING

# A container notes the signals that it gets. SIGQUIT is blocked in each child of a JVM, also in the containers of a Java
# NodeManager. Programs in Java unblock it, and so does this one.
cat >signals.py <<'END'
import os, signal, sys, time
def note(number, frame):
    with open(sys.argv[1] + ".signals", "a") as f:
        f.write(signal.Signals(number).name + "\n")
    if number == signal.SIGTERM:
        time.sleep(1)  # Java adds its message after it has sent the signal
        os._exit(143)
signal.signal(signal.SIGQUIT, note)
signal.signal(signal.SIGTERM, note)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGQUIT])
open(sys.argv[1] + ".ready", "w").close()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.1)
END
declare -A app=() ids=()
begin() { # NAME NODE N: starts the Nth container of an application
    light "ask?app=$1&n=1&mb=128&host=$2&strict&cmd=exec+python3+$PWD/signals.py+$PWD/go-$1-$3" | jq -r .app >"$dir/app.$1" &&
        wait_until 60 test -e "go-$1-$3.ready"
}
held() { light "containers?app=$1" | jq -r '.[] | select(.node) | .id' | sort; } # NAME
for n in 1 2; do
    check "container $n on the Java NodeManager runs" begin java node04 "$n"
    check "container $n on nmd runs" begin nmd node01 "$n"
done
for name in nmd java; do
    app[$name]=$(cat "$dir/app.$name")
    for n in 1 2; do ids[$name-$n]=$(held "$name" | sed -n "${n}p"); done
done
like 'nmd has the containers' "${ids[nmd-1]} ${ids[nmd-2]}" '^container_.*_000001 container_.*_000002$'

# Replaces what differs: ids, nodes, times, processes and measured use.
normal() {
    sed -E 's/application_[0-9]+_[0-9]+/APPLICATION/g; s/(container|appattempt)_(e[0-9]+_)?[0-9]+_[0-9]+/\1/g; s/node0[14]:7[14]0/NODE:70/g
        s/node0[14]/NODE/g; s/[A-Z][a-z]{2} [A-Z][a-z]{2} [0-9 :]+ [+-]?[A-Z0-9]+ [0-9]{4}/TIME/g
        s/\[[0-9]{4}-[0-9-]+ [0-9:.]+\]/[TIME]/g; s/ pid [0-9]+/ pid PID/g
        s/(by (Node|Containers) : ).*/\1USE/; s/^(\s*(Last-Health-Update|Start-Time) : ).*/\1TIME/' | tr -s ' \t' ' '
}
# Runs a command about nmd and about Java at the same time, and writes the outputs to $dir/NAME.nmd and $dir/NAME.java.
both() { # NAME NMD JAVA COMMAND...: @ in the arguments of the command stands for NMD or JAVA
    local name=$1 a=$2 b=$3 pid status=0
    shift 3
    "${@//@/$b}" >"$dir/$name.java" &
    pid=$!
    "${@//@/$a}" >"$dir/$name.nmd" || status=$?
    wait "$pid" || status=$?
    [ "$status" = 0 ] || { tail -n 99 "$dir/$name".{nmd,java}; return 1; }
}
# Compares the outputs as lists of lines, because the ResourceManager has no order of containers.
same() { is "$1 prints the same for nmd and Java" "$(normal <"$dir/$2.nmd" | sort)" "$(normal <"$dir/$2.java" | sort)"; } # NAME FILE

# ---- nodes and containers ----

check 'yarn node -status succeeds' both node node01:7101 node04:7401 yarn_node -status @
same 'yarn node -status' node
like 'it prints the size of the node' "$(cat "$dir/node.nmd")" 'Memory-Capacity : 384MB'
like 'it prints the containers of the node' "$(cat "$dir/node.nmd")" 'Containers : 2$'
check 'yarn container -list succeeds' both list "${app[nmd]/application/appattempt}_000001" "${app[java]/application/appattempt}_000001" \
    yarn_container -list @
same 'yarn container -list' list
is 'it prints both containers' "$(grep -c "RUNNING.*/node/containerlogs/container_" "$dir/list.nmd")" 2
check 'yarn container -status succeeds' both container "${ids[nmd-1]}" "${ids[java-1]}" yarn_container -status @
same 'yarn container -status' container
like 'it prints the state' "$(cat "$dir/container.nmd")" 'State : RUNNING'

# yarn top runs on a terminal until it is ended. Meanwhile yarn node -list runs.
top="exec java ${java_options[*]} ${class_options[*]} -cp '$(hadoop_classpath)' $client.TopCLI -cols 200 -rows 40 -delay 1"
TERM=xterm script -qefc "$top" /dev/null </dev/null >"$dir/top.raw" 2>&1 &
top_pid=$!
at_exit 'end_process "$top_pid"'
yarn_node -list >"$dir/nodes"
like 'yarn node -list has nmd' "$(tr -s ' \t' ' ' <"$dir/nodes")" 'node01:7101 RUNNING node01:7103 2$'
like 'yarn node -list has Java' "$(tr -s ' \t' ' ' <"$dir/nodes")" 'node04:7401 RUNNING node04:7403 2$'
top_line() { # NAME: the newest line of an application: user, type, queue, priority, containers, vcores
    sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' "$dir/top.raw" | tr -d '\r' |
        awk -v app="${app[$1]}" '$1 == app { s = $2 " " $3 " " $4 " " $5 " " $6 " " $8 } END { print s }'
}
top_has() { [ -n "$(top_line nmd)" ] && [ -n "$(top_line java)" ]; }
check 'yarn top has both applications' wait_until 40 top_has || diag "$(tail -c 3000 "$dir/top.raw")"
end_process "$top_pid"
top_pid=
like 'yarn top counts both nodes' "$(cat "$dir/top.raw")" 'NodeManager\(s\): 2 total, 2 active, 0 unhealthy'
is 'yarn top has the containers on nmd' "$(top_line nmd)" 'alice light root.default 0 2 2'
is 'yarn top has the same of the containers on Java' "$(top_line java)" "$(top_line nmd)"

# ---- signals ----

signals_are() { [ "$(paste -sd ' ' "go-nmd-1.signals") $(paste -sd ' ' "go-java-1.signals")" = "$1 $1" ]; } # SIGNALS
signal_both() { both signal "${ids[nmd-$1]}" "${ids[java-$1]}" yarn_container -signal @ "$2"; } # N COMMAND
check 'yarn container -signal requests thread dumps' signal_both 1 OUTPUT_THREAD_DUMP
same 'yarn container -signal' signal
check 'both containers get SIGQUIT' wait_until 30 signals_are SIGQUIT || diag "$(head go-*.signals)"
both forced "${ids[nmd-2]}" "${ids[java-2]}" yarn_container -signal @ FORCEFUL_SHUTDOWN &
check 'yarn container -signal requests graceful shutdowns' signal_both 1 GRACEFUL_SHUTDOWN
wait "$!"
is 'yarn container -signal requests forceful shutdowns' "$?" 0
check 'both containers get SIGTERM' wait_until 30 signals_are 'SIGQUIT SIGTERM' || diag "$(head go-*.signals)"
end_of() { light "containers?app=$1" | jq -r --arg id "${ids[$1-$2]}" '.[] | select(.id == $id) | .end // ""' | normal; } # NAME N
ended() { [ -n "$(end_of nmd "$1")" ] && [ -n "$(end_of java "$1")" ]; } # N
# The order of Java's messages about SIGKILL is not defined.
parts_of() { end_of "$1" "$2" | sed 's/ *\[TIME\]/\n/g; s/ *$//' | sort; } # NAME N
for n in 1 2; do
    check "container $n has ended on both nodes" wait_until 30 ended "$n"
    is "the master gets the same of container $n from both nodes" "$(parts_of nmd "$n")" "$(parts_of java "$n")"
done
like 'the end after SIGTERM is described, in order' "$(end_of nmd 1)" \
    '^143 \[TIME\]Sent signal OUTPUT_THREAD_DUMP .*\[TIME\]Sent signal GRACEFUL_SHUTDOWN .*\[TIME\]Killed by external signal $'

# ---- the end of an application ----

check 'another container on the Java NodeManager runs' begin java node04 3
check 'another container on nmd runs' begin nmd node01 3
check 'yarn application -kill succeeds' both kill "${app[nmd]}" "${app[java]}" yarn_application -kill @
same 'yarn application -kill' kill
final_of() { rm_get "apps/${app[$1]}" | jq -r '.app | .state + " " + .finalStatus + " " + .diagnostics' | normal; } # NAME
like 'the application on nmd is killed' "$(final_of nmd)" '^KILLED KILLED Application APPLICATION was killed by user root'
is 'the application on Java is killed in the same way' "$(final_of java)" "$(final_of nmd)"
empty() { ! curl -sS "$1/ws/v1/node/containers" | grep -q '"RUNNING"'; } # ADDRESS
check 'nmd has no container any more' wait_until 30 empty http://node01:7103
check 'Java has no container any more' wait_until 30 empty http://node04:7403
none_left() { ! pgrep -f "$PWD/signals.py" >/dev/null; }
check 'no process of the containers is left' wait_until 10 none_left
end_process "${java_nodes[4]}" KILL # otherwise it would wait for the removal of logs
unset 'java_nodes[4]'
done_testing
