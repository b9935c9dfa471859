#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 500
# beside: all
#
# nmd dies at each step at which it saves what it has lent: before and after each save, from the registration of a master to the end of
# its application. The calls to the ResourceManager and to nodes are between two saves. In each case the master gets what it asked
# for as guaranteed containers, the promotion reaches the node, the ends are translated, and each container is counted once. The
# ResourceManager and the masters are those of lending.py.
# shellcheck source=tests/yarn/lent-books.sh
. "$(dirname "$0")/lent-books.sh"

grep -qs 'define NM_FAULT_INJECTION' "$NMD_TEST_BUILD/config.h" ||
    skip_all 'this build has no fault steps: configure --enable-fault-injection'
books_run steps
nmd_stop
is 'nmd ends with exit status 0' "$?" 0
kill_all 2>/dev/null
done_testing
