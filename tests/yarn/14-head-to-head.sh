#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: others
#
# The benchmark tests/bench/yarn with one turn of one figure: it measures nmd and a Java NodeManager, prints both with their ratio, and
# leaves neither a process nor a cgroup. A figure that was not measured is a failure. The values of so short a run are not checked.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"

[ "$(id -u)" = 0 ] || skip_all 'the nodes need root'
bench=$(cd "$(dirname "$0")/../bench/yarn" && pwd)
figures=$NMD_TEST_DIR/figures samples=$NMD_TEST_DIR/samples
slices() { find "$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)" -maxdepth 1 -name 'nmbench*.slice'; }
held() { pgrep -fc '/nmd-bench\.[^/]*/held '; }
value='[0-9.]+ / [0-9.]+'
before=$(slices) held_before=$(held)
check 'a restart of nmd and of a Java NodeManager with running containers is measured' \
    env -u NMD_TEST_CLASSPATH -u NMD_TEST_DIR bash -c "'$bench/run' --quick --turns 1 '$NMD_TEST_BUILD' restart >'$figures'"
diag "$(cat "$figures")"
like 'the table has the values of both and their ratio' "$(cat "$figures")" \
    "^restart with 50 containers +ms +$value +$value +[0-9.]+ +no goal$"
is 'the benchmark removes its cgroups' "$(slices)" "$before"
is 'the benchmark ends its containers' "$(held)" "$held_before"

printf 'idle-pss\t%s\t%s\nidle-rss\t%s\t%s\n' nmd 5 nmd 5 >"$samples"
printf 'idle-pss\t%s\t%s\nidle-threads\t%s\t%s\n' java 400 java 90 >>"$samples"
printf 'rate\tnmd\t100\nrate\tjava\t20\n' >>"$samples"
status=0
table=$("$bench/table.py" "$samples" 1 memory launch 2>"$NMD_TEST_DIR/err") || status=$?
is 'a figure that was not measured is a failure' "$status" 1
like 'a figure of which one node has no value is not measured' "$table" '^idle: memory, Rss .*NOT MEASURED: 1 and 0 values of 1$'
like 'the message names the figure' "$(cat "$NMD_TEST_DIR/err")" 'not measured: idle: memory, Rss; '
like 'a goal that is met is shown' "$table" '^idle: memory, Pss .* 0\.0125 +goal <= 1/20: met$'
like 'a goal that is missed is shown' "$table" '^containers per second.* 5 +goal >= 10: MISSED$'
done_testing
