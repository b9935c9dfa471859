#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
# beside: others
#
# nmscale and a ResourceManager that is killed while nodes are DECOMMISSIONING. A new ResourceManager immediately decommissions
# all nodes of the exclude file. So nmscale must remove its nodes from the file before this, and put them back.
# shellcheck source=tests/packing/nmscale.sh
. "$(dirname "$0")/nmscale.sh"

need 'the ResourceManager starts with a state store' rm_start "${rm_remembers[@]}"
need 'ten light nodes register' cluster_start 10 10240:10
leave_data() { ask_and_settle 100 && release 100 1 && settle; }
need 'an application leaves data on all nodes' leave_data
printf 'admins-own\n' >"$exclude"
need 'two nodes are DECOMMISSIONING' begin_apply 2 --trust-rm
is 'the DECOMMISSIONING nodes are in the exclude file' "$(wc -l <"$exclude")" 3
rm_kill
nobody_of_ours() { [ "$(cat "$exclude")" = admins-own ]; }
check 'when the ResourceManager is killed, nmscale removes its nodes from the exclude file' wait_until 20 nobody_of_ours
need 'the ResourceManager is started again' rm_again
apply_ends
is 'nmscale has put the nodes back' "$? $(grep -c 'put-back$' "$dir/apply.out")" '5 2'
like 'a message says that the ResourceManager has ended' "$(tail -n 1 "$dir/apply.err")" 'the ResourceManager has ended'
check 'all ten nodes are RUNNING with the new ResourceManager' nodes_running 10
is 'the application has lost no container' "$(light apps | jq -c '.[0] | [.finished, .lost]')" '[false,0]'

# Shows that the removal from the exclude file was necessary.
need 'an application leaves data again; light nodes do not report data when they register' leave_data
need 'a node is DECOMMISSIONING' begin_apply 1 --trust-rm
kill -KILL "$apply_pid"
apply_ends
rm_kill
need 'nmscale and the ResourceManager are killed, and the ResourceManager starts again' rm_again
check 'the new ResourceManager immediately decommissions a node of the exclude file, although the node has data' \
    wait_until 30 is_state "$leaving" DECOMMISSIONED
done_testing
