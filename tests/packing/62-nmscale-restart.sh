#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
# beside: others
#
# nmscale and a ResourceManager that ends while nodes are decommissioning. A new ResourceManager decommissions all nodes of the exclude
# file by force, so nmscale must remove them from the file before, and they are put back.
# shellcheck source=tests/packing/nmscale.sh
. "$(dirname "$0")/nmscale.sh"

need 'the ResourceManager starts with a state store' rm_start "${rm_remembers[@]}"
need 'ten light nodes register' cluster_start 10 10240:10
leave_data() { ask_and_settle 100 && release 100 1 && settle; }
need 'an application leaves data everywhere' leave_data
printf 'admins-own\n' >"$exclude"
need 'two nodes are being decommissioned' begin_apply 2 --trust-rm
is 'the nodes are in the exclude file' "$(wc -l <"$exclude")" 3
rm_kill
nobody_of_ours() { [ "$(cat "$exclude")" = admins-own ]; }
check 'the ResourceManager is killed, and the nodes are removed from the file' wait_until 20 nobody_of_ours
need 'the ResourceManager is started again' rm_again
apply_ends
is 'nmscale has readmitted the nodes' "$? $(grep -c 'put-back$' "$dir/apply.out")" '5 2'
like 'a message reports the restart' "$(tail -n 1 "$dir/apply.err")" 'the ResourceManager has ended'
check 'all ten nodes run' nodes_running 10
is 'the application has lost no container' "$(light apps | jq -c '.[0] | [.finished, .lost]')" '[false,0]'

# Shows that the removal from the file was necessary.
need 'an application leaves data again, which light nodes do not report when they register' leave_data
need 'a node is being decommissioned again' begin_apply 1 --trust-rm
kill -KILL "$apply_pid"
apply_ends
rm_kill
need 'nmscale is killed, and so is the ResourceManager, which starts again' rm_again
check 'a node in the file is decommissioned immediately although it has data' wait_until 30 is_state "$leaving" DECOMMISSIONED
done_testing
