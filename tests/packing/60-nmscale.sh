#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
# beside: others
#
# nmscale on a stock ResourceManager with light nodes. Tests which nodes nmscale names and why it does not name the others, the
# removal of nodes, and the readmission of nodes for each possible reason.
# shellcheck source=tests/packing/nmscale.sh
. "$(dirname "$0")/nmscale.sh"

need 'the ResourceManager starts with the policy' rm_start "$pack_policy.pack.high-threshold=80"
need 'ten light nodes register' cluster_start 10 10240:10

# ---- the nodes that nmscale names ----
like 'in an empty cluster, nmscale names all nodes except for the minimum' "$(nms --min-nodes 5)" \
    '^5 of 10 running nodes can be given back\. .*5 kept by --min-nodes'
is 'nmscale names nodes in order of their names' "$(given --at-most 3)" 'node01 node02 node03'
is 'nmscale does not name a node that has not been empty for --idle-for' "$(reason node01 --idle-for 1h)" idle-short
need '20 containers are placed' ask_and_settle 20
check 'nmscale names the seven empty nodes' wait_until 20 eval '[ "$(given | wc -w)" = 7 ]'
is 'nmscale names exactly the nodes that are empty in the ResourceManager' "$(given | tr ' ' '\n' | sort)" \
    "$(nodes_json | jq -r '.[] | select(.containers == 0) | .name' | sort)"
used=$(nodes_json | jq -r '[.[] | select(.containers == 4) | .name][0]')
is 'nmscale does not name a node with containers' "$(reason "$used")" in-use
like 'nmscale prints the number and size of the containers on this node' "$(nms --all)" "$used:.*in use: 4 containers, 4096 of 10240 MiB"

as_documented() { # runs the command of docs/packing.md, without the state file of this host
    local apart=(env)
    [ "$(id -u)" != 0 ] || apart=(unshare --mount --propagation private)
    # shellcheck disable=SC2016 # the shell inside expands it
    "${apart[@]}" env RM="$rm_web" XDG_STATE_HOME="$dir" PATH="${nmscale%/*}:$PATH" bash -c '
        [ "$(id -u)" != 0 ] || mount -t tmpfs tmpfs /var/lib
        nmscale --rm "$RM" --all'
}
like 'the command of docs/packing.md has the same result' "$(as_documented)" "$used:.*in use: 4 containers"

# ---- data of applications ----
app=$(light apps | jq -r '.[0].id')
need 'a node is empty while its application is still running' eval "release 100 1 host=$used && settle"
is 'nmscale does not name an empty node that has data of a running application' "$(reason "$used")" has-data
is 'nmscale names the application that has data on the node' \
    "$(nms --json --all | jq -r '.nodes[] | select(.host == "'"$used"'") | .application')" "$app"
remove_state
is 'without its state file, nmscale names no node that may have data of running applications' "$(given)" ''
is 'the reason is unknown-data if nmscale does not know whether a node has data' "$(reason "$used")" unknown-data
is 'with --trust-rm, nmscale names nodes with unknown data' "$(given --trust-rm | wc -w)" 8
is 'with --ask-nodes, nmscale does not name a node that does not respond' "$(reason "$used" --ask-nodes --trust-rm)" node-silent
nms >/dev/null
sleep 1.2 # longer than --max-gap
is 'after a gap longer than --max-gap, the empty time of nodes starts again' \
    "$(reason "$used" --max-gap 1s --trust-rm --idle-for 1s)" idle-short

# ---- removal of nodes ----
printf 'admins-own # since May\n' >"$exclude"
chmod 640 "$exclude"
need 'the application ends' light finish
check 'nmscale names all ten nodes when the application has ended' wait_until 20 eval '[ "$(given | wc -w)" = 10 ]'
remove_state # so that all nodes are empty since the same observation, and nmscale sorts them by name
out=$(apply --at-most 2 --json 2>"$dir/err")
is 'nmscale --apply removes two nodes' "$? $(jq -r '[.applied.nodes[] | .host + " " + .outcome] | join(", ")' <<<"$out")" \
    '0 node01 decommissioned, node02 decommissioned'
is 'the ResourceManager reports the removed nodes as DECOMMISSIONED' "$(rm_nodes DECOMMISSIONED | tr '\n' ' ')" 'node01 node02 '
is 'the ResourceManager has shut down the removed nodes' \
    "$(nodes_json | jq -r '[.[] | select(.state == "SHUTDOWN") | .name] | join(" ")')" 'node01 node02'
is 'the exclude file keeps other lines, and has marked lines for the removed nodes' "$(cat "$exclude")" \
    $'admins-own # since May\nnode01 # nmscale\nnode02 # nmscale'
is 'the exclude file keeps its file mode' "$(stat -c %a "$exclude")" 640
is 'nmscale calls rmadmin once, with a graceful decommissioning' "$(cat "$dir/rmadmin.calls")" '-refreshNodes -g -server'
is 'nmscale does not list removed nodes' "$(reason node01)" not-running

# ---- readmission of nodes ----
"$nmscale" --rm "$rm_web" --readmit node01 --readmit admins-own -x "$exclude" --rmadmin "$dir/rmadmin" 2>"$dir/err"
is 'nmscale --readmit does not readmit nodes that an administrator has excluded' "$?: $(cut -d: -f2 "$dir/err")" '1:  admins-own'
check 'nmscale --readmit readmits a node that nmscale has excluded' \
    "$nmscale" --rm "$rm_web" --readmit node01 -x "$exclude" --rmadmin "$dir/rmadmin"
light 'revive?node=node01' >/dev/null
check 'the readmitted node is RUNNING again' wait_until 30 is_state node01 RUNNING

# ---- readmission after an incomplete removal ----
# The containers of an application have ended on all nodes. The ResourceManager waits for the end of the application, but its
# REST interface does not show this.
hold() { release_all && ask_and_settle 80 && release 80 1 && settle; }
need 'an application leaves data on all nodes' hold
remove_state
before=$(cat "$exclude")
out=$(apply --trust-rm --at-most 1 --timeout 3s 2>"$dir/err")
is 'a node that is not decommissioned in time is put back' "$? $(tail -n 1 <<<"$out" | xargs)" '5 node01:20000 put-back'
like 'a message says why the node was put back' "$(tail -n 1 "$dir/err")" 'not decommissioned after 3s: .* data of running applications'
is 'the node that was put back is RUNNING' "$(state node01)" RUNNING
is 'the exclude file has its earlier contents' "$(cat "$exclude")" "$before"
is 'nmscale does not immediately remove this node again' "$(reason node01 --trust-rm --idle-for 30s)" idle-short

need 'five nodes are DECOMMISSIONING' begin_apply 5 --trust-rm
apply --trust-rm 2>"$dir/err"
is 'a second nmscale reports that another nmscale is running' \
    "$?: $(cat "$dir/err")" "6: nmscale: another nmscale is running: $exclude.lock is locked"
ask 60
apply_ends
is 'nodes are put back when containers wait' "$? $(grep -c 'put-back$' "$dir/apply.out")" '4 5'
like 'a message says that containers wait' "$(tail -n 1 "$dir/apply.err")" 'containers wait, and the other nodes have no room for them'
check 'all waiting containers are placed on the nodes that were put back' settle
is 'only the nodes that the administrator excluded are in the exclude file' "$(cat "$exclude")" "$before"
release_all

need 'a node is DECOMMISSIONING' begin_apply 1 --trust-rm
kill -INT "$apply_pid"
apply_ends
is 'Ctrl-C puts the node back' "$? $(state "$leaving")" '130 RUNNING'
is 'Ctrl-C removes the node from the exclude file' "$(cat "$exclude")" "$before"

need 'another node is DECOMMISSIONING' begin_apply 1 --trust-rm
kill -KILL "$apply_pid"
apply_ends
is 'a killed nmscale leaves the node DECOMMISSIONING' "$(state "$leaving")" DECOMMISSIONING
light finish >/dev/null
check 'the next nmscale continues the removal' apply --min-nodes 20
check 'the node is DECOMMISSIONED by the next nmscale' is_state "$leaving" DECOMMISSIONED

before=$(cat "$exclude")
apply --rmadmin "false" --at-most 1 >"$dir/out" 2>"$dir/err"
is 'nmscale fails if rmadmin fails, and removes no node' "$? $(rm_nodes | wc -l)" '1 8'
like 'the error says that rmadmin failed' "$(cat "$dir/err")" 'false failed \(exit status 1\)'
is 'if rmadmin fails, the exclude file has its earlier contents' "$(cat "$exclude")" "$before"
apply -x "$dir/other" --at-most 1 --timeout 2s >"$dir/out" 2>"$dir/err"
is 'nmscale fails if the ResourceManager does not read the exclude file' "$?" 1
like 'the error names the property of the exclude file' "$(cat "$dir/err")" 'yarn.resourcemanager.nodes.exclude-path'
is 'if the ResourceManager does not read the exclude file, no node is removed' "$(rm_nodes | wc -l)" 8

# ---- nmscale --watch ----
"$nmscale" --rm "$rm_web" --state "$dir/state.json" --min-nodes 0 --idle-for 1s --interval 200ms --watch --json >"$dir/watch" &
watcher=$!
at_exit 'end_process "$watcher"'
check 'nmscale --watch names nodes when they have been empty for --idle-for' wait_until 30 \
    eval 'tail -n 1 "$dir/watch" | jq -e ".give == 8" >/dev/null'
kill -TERM "$watcher"
wait "$watcher"
is 'nmscale --watch ends with exit status 0 on SIGTERM' "$?" 0
done_testing
