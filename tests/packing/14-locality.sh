#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
#
# One look-up of the policy passes all nodes. Each passed node counts as a missed opportunity, so that the scheduler's delay for
# locality ends immediately. With rack-locality-additional-delay the delay remains.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

need 'the ResourceManager starts' rm_start "$cs.rack-locality-additional-delay=10"
need 'ten light nodes register' cluster_start 10 10240:10
check 'the scheduler places four containers' ask_and_settle 4
target=$(nodes_json | jq -r '[.[] | select(.containers == 0)][0].name')
# The requests are sent one after the other, because each request has its own delay.
for _ in {1..8}; do
    ask_and_settle 1 "host=$target" || break
done
is 'all eight requests that prefer an empty node get that node' "$(containers_on "$target")" 8
is 'the other containers stay on their nodes' "$(containers_per_node)" '8 4 0 0 0 0 0 0 0 0'
check 'all containers can be released' release_all
check 'a request with strict locality is placed' ask_and_settle 1 "host=$target&strict"
is 'the container of the strict request is on the requested node' "$(containers_on "$target")" 1
done_testing
