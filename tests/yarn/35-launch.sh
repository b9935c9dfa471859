#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# beside: others
#
# nmd's launch script compared with the script that Hadoop's own NodeManager writes for the same container. Both scripts run
# here. Their commands must have the same environment, files and streams, and must end in the same way.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/../packing/lib.sh"
stock_build || { not_ok "the class path of Hadoop's NodeManager is available"; done_testing; }

mkdir -p "$conf"
need "the program that writes Hadoop's script compiles" javac -cp "$stock_classpath" -d "$dir/classes" "$(dirname "$0")/Launch.java"
printf 'log4j.rootLogger=OFF\n' >"$conf/log4j.properties"
NMD_TEST_CLASSPATH=$dir/classes:$stock_classpath
# The environment of the node for both scripts.
export NODE_A='of the node' NODE_B="the node's $HOME" NODE_C=unused
# Hadoop's NodeManager adds options for the Java version that runs the NodeManager. nmd's script gets the same options as an
# argument.
opens=$(hadoop_java --version | grep -qE '^openjdk (1[7-9]|[2-9])' && printf -- \
    '--add-opens=java.base/java.lang=ALL-UNNAMED --add-exports=java.base/sun.net.dns=ALL-UNNAMED %s' \
    '--add-exports=java.base/sun.net.util=ALL-UNNAMED')

# Writes both scripts for the container on standard input, and runs each of them in its own directory, with logs in logs/.
both() { # NAME
    local way
    mkdir -p "$dir/$1/hadoop/work/logs" "$dir/$1/nmd/work/logs"
    cat >"$dir/$1/asked"
    # both scripts run with the same paths, one after the other
    for way in hadoop nmd; do
        rm -f "$dir/now"
        ln -s "$dir/$1/$way/work" "$dir/now"
        if [ $way = hadoop ]; then
            hadoop_java Launch "$dir/$1/$way/work/launch_container.sh" "$dir/now/logs" <"$dir/$1/asked" 2>"$dir/$1/$way/err"
        else
            "$NMD_TEST_BUILD/launch-script" "$dir/now/logs" "$opens" <"$dir/$1/asked" >"$dir/$1/$way/work/launch_container.sh"
        fi || { cat "$dir/$1/$way/err"; return 1; }
        (cd "$dir/now" && exec env -i PATH="$PATH" HOME=/somewhere NODE_C=already bash "$dir/$1/$way/work/launch_container.sh")
        echo "$?" >"$dir/$1/$way/status"
        [ -e "$dir/now/logs/prelaunch.err" ] || return
    done
}
# Compares the output of a command in the two work directories, whose names differ in hadoop and nmd.
same() { # NAME WHAT COMMAND
    is "$1: $2" "$(cd "$dir/$1/nmd/work" && eval "$3" | sed s,/nmd/work,/WORK,g)" \
        "$(cd "$dir/$1/hadoop/work" && eval "$3" | sed s,/hadoop/work,/WORK,g)"
}
not_hadoops='grep -v -E "^(Setting up|Copying|Launching)"' # Hadoop's script prints its progress

# A container like those of MapReduce, with some more difficult values.
check 'both scripts run for a container like a map of MapReduce' both map <<'END'
inherit NODE_A
inherit NODE_B
inherit NODE_C
node CONTAINER_ID container_1410901177871_0001_01_000002
node USER alice
node PWD $PWD
asked CLASSPATH $PWD:$HADOOP_CONF/x<CPS>{{EXTRA}}/*<CPS>$PWD/job.jar
asked EXTRA ${BASE}/lib
asked BASE /opt/$CONTAINER_ID
asked HADOOP_CONF /etc/hadoop
asked NODE_B of the application
asked USER root
asked QUOTED say \"hello\" it's \$HOME
asked CIRCLE_A $CIRCLE_B
asked CIRCLE_B $CIRCLE_A
link /etc/hostname job.xml
link /etc/passwd jobSubmitDir/job.split
command env | grep -v ^PREL | sort; echo <ADD_OPENS>;
command readlink job.xml jobSubmitDir/job.split; echo oops >&2; echo {{EXTRA}} 1><LOG_DIR>/more; exit 3
END
same map 'what it found' "grep -v ^_= logs/prelaunch.out | $not_hadoops"
like 'the environment has the requested variables' "$(cat "$dir/map/nmd/work/logs/prelaunch.out")" \
    'CLASSPATH=[^:]*:/etc/hadoop/x:/opt/container_1410901177871_0001_01_000002/lib/\*:.*/job.jar'
same map 'its streams' 'cat logs/prelaunch.err logs/more'
is 'map: both scripts have the same exit status' "$(cat "$dir/map/nmd/status")" "$(cat "$dir/map/hadoop/status")"

for command in 'true' 'false | true' '/no/such/thing' 'kill -9 $$' 'exit 255' 'echo a b   c "quoted" \$HOME $HOME'; do
    name=end-$((++ends))
    check "both scripts run for the command: $command" both "$name" <<<"command $command"
    same "$name" 'its streams' "$not_hadoops logs/prelaunch.out; sed 's/.*line [0-9]*: //' logs/prelaunch.err"
    is "$name: both scripts have the same exit status" "$(cat "$dir/$name/nmd/status")" "$(cat "$dir/$name/hadoop/status")"
done

printf 'asked a.b x\ncommand true\n' | both bad >/dev/null 2>&1
is "a variable with a name that no shell accepts makes Hadoop's script fail at run time" "$(cat "$dir/bad/hadoop/status")" 1
like 'nmd refuses a variable with a name that no shell accepts before the start' \
    "$(printf 'asked a.b x\ncommand true\n' | "$NMD_TEST_BUILD/launch-script" /x '' 2>&1)" \
    "^The environment variable 'a.b' has an invalid name"
done_testing
