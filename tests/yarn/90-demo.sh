#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 600
#
# ./demo yarn shows correct figures, with a smaller pi and also with --distributed. Ctrl-C removes everything that the demo has
# created. With NMD_TEST_LENDING=all also the demo of lending runs, which takes three minutes more.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/../packing/lib.sh"
# shellcheck source=tests/docs/tree.sh
. "$packing_here/../docs/tree.sh"

unshare --net --mount true 2>/dev/null || skip_all 'this suite needs its own namespaces: run it as root'
need 'the needed parts of Hadoop are available' "$packing_here/../demo/fetch-hadoop" "$NMD_TEST_BUILD/java"
check 'fetch-hadoop downloads nothing when it runs again' test -z "$("$packing_here/../demo/fetch-hadoop" "$NMD_TEST_BUILD/java" 2>&1)"
mkdir "$dir/tmp" "$dir/apart" && chmod 711 "$dir" # the user of the jobs can enter it
demo() { # runs ./demo yarn and returns its exit status
    TMPDIR=$dir/tmp exec unshare --net --mount python3 "$packing_here/../demo/yarn.py" --build "$NMD_TEST_BUILD" \
        --classpath "$(cat "$NMD_TEST_BUILD/java/stock/classpath")" --plain
}
built_tree "$dir/tree"
export NMD_DEMO_MAPS=4 # the only difference from the documents
left_behind() { find "$dir/tmp" -mindepth 1 -maxdepth 1; pgrep -f "$dir/tmp/nmd-demo-yarn"; }
# Finds the directory of the jobs' user, which is in the command line of the job.
shared=''
find_shared_dir() {
    shared=$(pgrep -af "nmd-shared.*$dir/tmp/nmd-demo-yarn" | grep -oE -m 1 '/tmp/nmd-shared\.[A-Za-z0-9]+' | head -n 1)
    [ -n "$shared" ]
}
nothing_left() { [ -z "$(left_behind)" ] && [ ! -e "${shared:-/none}" ]; }

(cd "$dir/tree" && TMPDIR=$dir/tmp ./demo yarn) >"$dir/out" 2>"$dir/err" </dev/null
is 'the demo runs to its end' $? 0 || diag "$(tail -n 20 "$dir/err" "$dir/out")"
like 'the demo prints the result of pi' "$(cat "$dir/out")" 'Estimated value of Pi is 3\.'
like 'the demo reports at least four opportunistic admissions' "$(cat "$dir/out")" '[4-9] opportunistic containers were admitted'
like 'the demo shows running opportunistic containers' "$(cat "$dir/out")" '[1-4] opportunistic run, '
columns() { grep "$1" "$dir/out" | grep -oE '[0-9]+( +[0-9]+){3}$'; }
is 'the demo prints three figures from the ResourceManager and three from nmctl' \
    "$(columns "YARN's RM" | wc -l) $(columns nmctl | wc -l)" '3 3'
is "the figures from the ResourceManager and from nmctl are equal" "$(columns "YARN's RM")" "$(columns nmctl)"
check 'the demo leaves no process or file behind' nothing_left

# HDFS can't start without its classes. The demo prints the last lines of HDFS's log.
mkdir -p "$dir/broken/java/hdfs"
ln -s "$NMD_TEST_BUILD"/* "$dir/broken" 2>/dev/null # except java
ln -s "$NMD_TEST_BUILD/java/stock" "$dir/broken/java"
echo /none >"$dir/broken/java/hdfs/classpath"
(NMD_TEST_BUILD=$dir/broken demo) >"$dir/out4" 2>&1 </dev/null
is "the demo ends if one of its servers can't start" $? 1
like 'the error names the server and the reason' "$(tr '\n' ' ' <"$dir/out4")" \
    'demo: HDFS did not come up; .* gave up after [0-9]+ s: HDFS is not formatted: .* nn\.log: .*Could not find or load main class'
check 'the failed demo leaves no process or file behind' nothing_left

# The demo of distributed scheduling continues while another demo is ended.
(cd "$dir/tree" && TMPDIR=$dir/apart ./demo yarn --distributed) >"$dir/out3" 2>"$dir/err3" </dev/null &
apart=$!
(demo) >"$dir/out2" 2>"$dir/err2" </dev/null &
pid=$!
need 'a second demo runs' wait_until 90 grep -q '1 guaranteed' "$dir/out2"
need "the directory of the second demo's jobs is known" find_shared_dir
kill -INT "$pid"
wait "$pid"
is 'Ctrl-C ends the second demo with status 130' $? 130
like 'the second demo reports the interrupt' "$(cat "$dir/out2")" 'ended early; everything it started is gone'
check 'the interrupted demo leaves no process or file behind' nothing_left

wait "$apart"
is 'the demo with --distributed runs to its end' $? 0 || diag "$(tail -n 20 "$dir/err3" "$dir/out3")"
like 'the demo with --distributed prints the result of pi' "$(cat "$dir/out3")" 'Estimated value of Pi is 3\.'
like 'the demo shows which program places the maps' \
    "$(cat "$dir/out3")" '; placed: [1-4] by the node, [1-9] by the ResourceManager; [0-4] wait for a place'
figures() { sed -nE "s/^  $1 +//p" "$dir/out3" | xargs; }
read -r own others < <(figures 'nmctl list, by their numbers')
at_least 'the node has placed at least four maps' "$own" 4
is 'nmctl status counts the maps that the node has placed' "$(figures 'nmctl status, counted')" "$own"
is 'the ResourceManager counts as many ends of containers that it has not allocated' \
    "$(figures 'the RM, ended without its allocation')" "$own"
at_least 'the ResourceManager has allocated the other containers' "$(figures 'the RM, allocated')" "$others"
like 'the demo shows the times until the first and the last map were placed' \
    "$(cat "$dir/out3")" 'had a place after [0-9.]+ m?s, the last after [0-9.]+ m?s'
check 'the demo with --distributed leaves no file behind' test -z "$(ls -A "$dir/apart")"

# The demo of lending fails if it doesn't show what it promises.
promised() { python3 -B - "$packing_here/../demo" "$@" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import lending
good = {"without": 0, "results": {"pi": (0, "Estimated value of Pi is 3.1"), "client": (0, "each word is counted")}, "lost": {1},
        "promoted": {1}, "before": [10, 10.2, 9.9] * 20, "after": [10.3] * 60}
good.update(eval(sys.argv[2]))
print(" ".join(lending.shortcomings(**good)))
END
}
is 'lending: nothing is reported if all is as promised' "$(promised '{}')" ''
like 'lending: a container without lending is reported' "$(promised '{"without": 1}')" '^Without lending, 1 containers [^.]*\.$'
like 'lending: a job that loses nothing is reported' "$(promised '{"lost": set()}')" '^No container was taken back for the service\.$'
like 'lending: a missing promotion is reported' "$(promised '{"promoted": set()}')" '^No container was promoted\.$'
like 'lending: a wrong result is reported' \
    "$(promised '{"results": {"pi": (0, "no result"), "client": (0, "each word is counted")}}')" '^The job pi .* result: no result$'
like 'lending: a slower service is reported' "$(promised '{"after": [10.7] * 60}')" 'latency has risen by 7\.0%\. At most 5% are promised'
is 'lending: the noise of the latency is no failure' "$(promised '{"before": [10] * 20 + [10.5] * 40, "after": [11] * 60}')" ''
like 'lending: missing latencies are reported' "$(promised '{"after": []}')" 'latency has risen by nan%'

if [ -n "${NMD_TEST_LENDING:-}" ]; then
    (cd "$dir/tree" && TMPDIR=$dir/apart ./demo yarn --lend) >"$dir/out5" 2>"$dir/err5" </dev/null
    is 'the demo with --lend runs to its end' $? 0 || diag "$(tail -n 30 "$dir/err5" "$dir/out5")"
    like 'without lending no container of the jobs runs' "$(cat "$dir/out5")" 'containers of the jobs that ran +0 +[4-9]'
    like 'containers are lent, taken back and promoted' "$(cat "$dir/out5")" \
        'containers lent: [0-9]+; taken back for the service: [1-9]; promoted when it ended: [1-9]'
    like 'pi has its result' "$(cat "$dir/out5")" 'pi: Estimated value of Pi is 3\.'
    like 'the job of Spark has its result' "$(cat "$dir/out5")" 'Spark: each word is counted'
    check 'the demo with --lend leaves no file behind' test -z "$(ls -A "$dir/apart")"
fi
done_testing
