#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
#
# ./demo packing shows correct figures. Ctrl-C removes everything that the demo has created.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/docs/tree.sh
. "$packing_here/../docs/tree.sh"

mkdir "$dir/tmp"
built_tree "$dir/tree"
demo() { # runs ./demo packing in the background
    TMPDIR=$dir/tmp exec python3 "$packing_here/../demo/packing.py" --build "$NMD_TEST_BUILD" --classpath "$NMD_TEST_CLASSPATH" --plain
}
left_behind() { find "$dir/tmp" -mindepth 1 -maxdepth 1 -name 'nmd-demo-packing*'; pgrep -f "$dir/tmp/nmd-demo-packing"; }
nothing_left() { [ -z "$(left_behind)" ]; }

(cd "$dir/tree" && TMPDIR=$dir/tmp ./demo packing) >"$dir/out" 2>"$dir/err" </dev/null # like the command in the documents
is 'the demo runs to its end' $? 0 || diag "$(tail -n 20 "$dir/err" "$dir/out")"
rounds=$(grep -cE '^  (round [1-8] of 8|20 containers are asked for): ' "$dir/out")
is 'each of the two runs shows the example and eight rounds' "$rounds" 18
like 'packing fills two nodes to the threshold' "$(cat "$dir/out")" '20 containers are asked for: +8 +8 +4 +0 +0 +0 +0 +0 +0 +0 +7 empty'
is 'packing keeps seven of ten nodes empty in every round' "$(sed -nE 's/^ {4}packing +//p' "$dir/out")" '7  7  7  7  7  7  7  7  7'
empties=$(sed -nE 's/^ {4}stock +//p' "$dir/out" | tr -s ' ' '\n' | sort -n | tail -n 1)
check "without packing, at most four nodes are empty ($empties)" test "${empties:-10}" -le 4
is 'the demo shows seven nodes that nmscale names' "$(grep -c 'can be given back$' "$dir/out")" 7
check 'the demo leaves no process or file behind' nothing_left

(demo) >"$dir/out2" 2>"$dir/err2" </dev/null &
pid=$!
need 'a second demo runs' wait_until 60 grep -q 'round 2 of 8' "$dir/out2"
kill -INT "$pid"
wait "$pid"
is 'Ctrl-C ends the demo with status 130' $? 130
like 'the demo reports the interrupt' "$(cat "$dir/out2")" 'ended early; everything it started is gone'
check 'the interrupted demo leaves no process or file behind' nothing_left
done_testing
