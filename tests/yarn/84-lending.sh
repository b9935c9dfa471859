#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: all
#
# The books of lending at the real proxy, with a ResourceManager and application masters that are parts of the test. Repeated
# answers, grants that cross asks, rounded sizes, the application's own opportunistic asks, changes of the mode, promotion, and
# restarts of nmd: the master sees guaranteed containers only, and never more than it asked for. In the end a browser shows
# the table of what is lent. With NMD_TEST_KEEP=DIR the suite stores its picture in DIR.
# The cluster is the one of lib.sh, with only the local file system.
# shellcheck source=tests/yarn/lent-books.sh
. "$(dirname "$0")/lent-books.sh"

read -r -a only <<<"${NMD_TEST_BOOKS:-}" # names of tests, for a part of them
books_run "${only[@]}"
check 'nmd responds after all tests' nmctl status
curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics >"$dir/metrics"
check 'the queries of lending in the dashboard use existing metrics' \
    "$here/../integration/dashboard.py" "$here/../../packaging/nmd-dashboard.json" "$dir/metrics" nm_lending_
if chromium=$(command -v chromium); then
    [ -z "${NMD_TEST_KEEP:-}" ] || mkdir -p "$NMD_TEST_KEEP"
    page=$(timeout 60 /usr/bin/python3 -B "$(dirname "$0")/lending-page.py" "$chromium" "$dir" "http://127.0.0.1:$web_port/" "$NMCTL" \
        ${NMD_TEST_KEEP:+"$NMD_TEST_KEEP/lending.png"} 2>"$dir/page.err")
    is 'the browser runs to its end' "$? $(tail -n 5 "$dir/page.err")" '0 '
    while IFS=$'\t' read -r name got wanted; do is "$name" "$got" "$wanted"; done <<<"$page"
fi
nmd_stop
is 'nmd ends with exit status 0' "$?" 0
kill_all 2>/dev/null
done_testing
