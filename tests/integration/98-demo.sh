#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# ./demo promises to leave nothing behind, on Ctrl-C too: also on a second one, pressed while it tidies up, and when the
# terminal goes away. It tells of jobs that fail, and calls nothing a result that other runs of the same kind differ by.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

export TMPDIR=$dir/tmp
mkdir -p "$TMPDIR"
demo_slice() { find "$(nmd_cgroup_root)" -maxdepth 2 -type d -name "nmdemo$demo.slice"; }
demo_runs() { [ "$(find "$(demo_slice)" -mindepth 1 -type d | wc -l)" -ge 2 ]; } # the two services
demo_processes() { pgrep -f "$TMPDIR/nmd-demo" | xargs; }
demo_gone() { ! kill -0 "$demo" 2>/dev/null; }
end_demo() { # nothing to do, if it does what it promises
    [ -n "$demo" ] || return 0
    kill -KILL "-$demo"
    demo_processes | xargs -r kill -KILL
    nmd_clean_slice "nmdemo$demo.slice"
} 2>/dev/null
at_exit end_demo

# A tree without sources, so that the job that compiles them fails; and a build named from where we are.
mkdir -p "$dir/tree/tests"
cp -r "$here/../demo" "$dir/tree/tests"
story_of() { # it tells of it before the first run ends
    case $1 in
        one) wait_until 40 grep -q 'compile-1 failed: exited, exit code 1 (.*)' "$dir/demo.out" ;;
        *) wait_until 40 demo_runs ;;
    esac
}
cd "$NMD_TEST_BUILD" || exit 1

demo=
for story in "one" "impatient"; do
    # A shell's background jobs ignore SIGINT, a terminal's don't; and they are a group of their own there.
    env --default-signal=INT setsid /usr/bin/python3 "$dir/tree/tests/demo/story.py" --build . --plain \
        >"$dir/demo.out" 2>&1 </dev/null &
    demo=$!
    story_of "$story" || { not_ok "$story: the demo starts" "$(tail -n 20 "$dir/demo.out")"; exit 1; }
    kill -INT "-$demo"
    if [ "$story" = impatient ]; then
        while kill -INT "-$demo" && kill -HUP "-$demo"; do sleep 0.05; done 2>/dev/null
    fi
    check "$story: it ends" wait_until 40 demo_gone
    status=0
    wait "$demo" || status=$?
    is "$story: with the status of Ctrl-C" "$status" 130
    is "$story: leaving no cgroup" "$(demo_slice)" ""
    is "$story: no process" "$(demo_processes)" ""
    is "$story: and no file" "$(ls "$TMPDIR")" ""
done

# ---- what is said at the end ----
says() { # NAME WORDS JOBS RATES FOREIGN: of two runs with over-allocation and two without
    like "$1" "$(PYTHONPATH=$here/../demo /usr/bin/python3 -B -c "import compare; print(*compare.tell($3, $4, $5))")" "$2"
}
quiet='[[0.02, 0.03], [0.02, 0.02]]'
same='[[1000, 1010], [1005, 1015]]'
says "twice as many jobs: a result" '10\.5 batch jobs instead of 5 were done \(110% more\)' '[[10, 11], [5, 5]]' "$same" "$quiet"
says "as many as runs of the same kind differ by: none" 'no result\. 8 batch jobs instead of 7 .* \(2\)' \
    '[[7, 9], [6, 8]]' "$same" "$quiet"
says "speed within the noise: no difference" 'Guaranteed work: no difference\. 0\.5% .* \(1\.0%\)' '[[9, 9], [5, 5]]' "$same" "$quiet"
says "slower by more than the noise: said" 'Guaranteed work: 10\.0% slower' '[[9, 9], [5, 5]]' '[[900, 900], [1000, 1000]]' "$quiet"
says "no figure: nothing is said of it" "guaranteed work was slowed can't be said" '[[9, 9], [5, 5]]' '[[900, None], [1, 2]]' "$quiet"
says "other work that changes: no result at all" 'No result: other work used 2% to 60%' '[[10, 11], [5, 5]]' "$same" \
    '[[0.02, 0.6], [0.3, 0.02]]'
done_testing
