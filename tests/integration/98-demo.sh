#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# ./demo promises to leave nothing behind, on Ctrl-C too: also on a second one, pressed while it tidies up, and when the
# terminal goes away.
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

demo=
for story in "one" "impatient"; do
    # A shell's background jobs ignore SIGINT, a terminal's don't; and they are a group of their own there.
    env --default-signal=INT setsid /usr/bin/python3 "$here/../demo/story.py" --build "$NMD_TEST_BUILD" --plain \
        >"$dir/demo.out" 2>&1 </dev/null &
    demo=$!
    wait_until 40 demo_runs || { not_ok "$story: the demo starts" "$(tail -n 20 "$dir/demo.out")"; exit 1; }
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
done_testing
