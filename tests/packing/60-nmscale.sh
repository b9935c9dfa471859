#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
# beside: others
#
# nmscale on a stock ResourceManager with light nodes: the nodes that it names and the reasons of the others, giving nodes back, and
# putting nodes back for each possible reason.
# shellcheck source=tests/packing/nmscale.sh
. "$(dirname "$0")/nmscale.sh"

need 'the ResourceManager starts with the policy' rm_start "$pack_policy.pack.high-threshold=80"
need 'ten light nodes register' cluster_start 10 10240:10

# ---- the nodes that nmscale names ----
like 'an empty cluster can be removed except for the minimum' "$(nms --min-nodes 5)" \
    '^5 of 10 running nodes can be given back\. .*5 kept by --min-nodes'
is 'the nodes are in order of their names' "$(given --at-most 3)" 'node01 node02 node03'
is 'no node has been empty for an hour' "$(reason node01 --idle-for 1h)" idle-short
need '20 containers are placed' ask_and_settle 20
check 'the seven empty nodes can be removed' wait_until 20 eval '[ "$(given | wc -w)" = 7 ]'
is 'the named nodes are empty for the ResourceManager' "$(given | tr ' ' '\n' | sort)" \
    "$(nodes_json | jq -r '.[] | select(.containers == 0) | .name' | sort)"
used=$(nodes_json | jq -r '[.[] | select(.containers == 4) | .name][0]')
is 'a node with containers stays' "$(reason "$used")" in-use
like 'the reason names the containers' "$(nms --all)" "$used:.*in use: 4 containers, 4096 of 10240 MB"

as_documented() { # by docs/packing.md; what it remembers is not this host's
    local apart=(env)
    [ "$(id -u)" != 0 ] || apart=(unshare --mount --propagation private)
    # shellcheck disable=SC2016 # the shell inside expands it
    "${apart[@]}" env RM="$rm_web" XDG_STATE_HOME="$dir" PATH="${nmscale%/*}:$PATH" bash -c '
        [ "$(id -u)" != 0 ] || mount -t tmpfs tmpfs /var/lib
        nmscale --rm "$RM" --all'
}
like 'the documented command has the same result' "$(as_documented)" "$used:.*in use: 4 containers"

# ---- data of applications ----
app=$(light apps | jq -r '.[0].id')
need 'one node is emptied while its application runs' eval "release 100 1 host=$used && settle"
is 'the node stays because of its data' "$(reason "$used")" has-data
is 'the reason names the application' "$(nms --json --all | jq -r '.nodes[] | select(.host == "'"$used"'") | .application')" "$app"
forget
is 'an nmscale without a history does not know the data of a running application' "$(given)" ''
is 'the reason says that the data is unknown' "$(reason "$used")" unknown-data
is 'nodes with unknown data can be left to the ResourceManager' "$(given --trust-rm | wc -w)" 8
is 'a node that does not answer about its data stays' "$(reason "$used" --ask-nodes --trust-rm)" node-silent
nms >/dev/null
sleep 1.2 # longer than the gap: that is the fact that is needed
is 'an observation of long ago counts as a new one' "$(reason "$used" --max-gap 1s --trust-rm --idle-for 1s)" idle-short

# ---- giving back ----
printf 'admins-own # since May\n' >"$exclude"
chmod 640 "$exclude"
need 'the application ends' light finish
check 'all ten nodes can be removed' wait_until 20 eval '[ "$(given | wc -w)" = 10 ]'
forget # so that all have been empty since one look, and go by their names
out=$(apply --at-most 2 --json 2>"$dir/err")
is 'two nodes are removed' "$? $(jq -r '[.applied.nodes[] | .host + " " + .outcome] | join(", ")' <<<"$out")" \
    '0 node01 decommissioned, node02 decommissioned'
is 'the ResourceManager reports the decommissioned nodes' "$(rm_nodes DECOMMISSIONED | tr '\n' ' ')" 'node01 node02 '
is 'the ResourceManager has shut down the nodes' \
    "$(nodes_json | jq -r '[.[] | select(.state == "SHUTDOWN") | .name] | join(" ")')" 'node01 node02'
is 'the exclude file keeps other lines, and has marked lines for the nodes' "$(cat "$exclude")" \
    $'admins-own # since May\nnode01 # nmscale\nnode02 # nmscale'
is 'the exclude file keeps its mode' "$(stat -c %a "$exclude")" 640
is 'rmadmin was called once, gracefully' "$(cat "$dir/rmadmin.calls")" '-refreshNodes -g -server'
is 'the removed nodes are no longer in the list' "$(reason node01)" not-running

# ---- readmission of nodes ----
"$nmscale" --rm "$rm_web" --readmit node01 --readmit admins-own -x "$exclude" --rmadmin "$dir/rmadmin" 2>"$dir/err"
is 'nodes that others have excluded are not readmitted' "$?: $(cut -d: -f2 "$dir/err")" '1:  admins-own'
check 'a node is readmitted' "$nmscale" --rm "$rm_web" --readmit node01 -x "$exclude" --rmadmin "$dir/rmadmin"
light 'revive?node=node01' >/dev/null
check 'the readmitted node runs again' wait_until 30 is_state node01 RUNNING

# ---- putting back ----
# An application's containers have ended on all nodes. The ResourceManager waits for the application's end, which REST doesn't show.
hold() { release_all && ask_and_settle 80 && release 80 1 && settle; }
need 'an application leaves data everywhere' hold
forget
before=$(cat "$exclude")
out=$(apply --trust-rm --at-most 1 --timeout 3s 2>"$dir/err")
is 'a node that is not decommissioned in time is readmitted' "$? $(tail -n 1 <<<"$out" | xargs)" '5 node01:20000 put-back'
like 'a message reports the readmitted node' "$(tail -n 1 "$dir/err")" 'not decommissioned after 3s: .* data of running applications'
is 'the readmitted node is running' "$(state node01)" RUNNING
is 'the exclude file is as before' "$(cat "$exclude")" "$before"
is 'the node is not tried again immediately' "$(reason node01 --trust-rm --idle-for 30s)" idle-short

need 'nodes are being decommissioned' begin_apply 5 --trust-rm
apply --trust-rm 2>"$dir/err"
is 'a second nmscale reports that the first one runs' \
    "$?: $(cat "$dir/err")" "6: nmscale: another nmscale is running: $exclude.lock is locked"
ask 60
apply_ends
is 'nodes are readmitted when demand returns' "$? $(grep -c 'put-back$' "$dir/apply.out")" '4 5'
like 'a message reports the demand' "$(tail -n 1 "$dir/apply.err")" 'containers wait, and the other nodes have no room for them'
check 'all waiting requests are placed' settle
is 'only the nodes that others excluded remain excluded' "$(cat "$exclude")" "$before"
release_all

need 'a node is being decommissioned' begin_apply 1 --trust-rm
kill -INT "$apply_pid"
apply_ends
is 'Ctrl-C readmits the node' "$? $(state "$leaving")" '130 RUNNING'
is 'Ctrl-C removes the node from the exclude file' "$(cat "$exclude")" "$before"

need 'a node is being decommissioned again' begin_apply 1 --trust-rm
kill -KILL "$apply_pid"
apply_ends
is 'a killed nmscale leaves the node in the exclude file' "$(state "$leaving")" DECOMMISSIONING
light finish >/dev/null
check 'the next nmscale continues with the node' apply --min-nodes 20
check 'the node is decommissioned' is_state "$leaving" DECOMMISSIONED

before=$(cat "$exclude")
apply --rmadmin "false" --at-most 1 >"$dir/out" 2>"$dir/err"
is 'a failing rmadmin is an error' "$? $(rm_nodes | wc -l)" '1 8'
like 'a message reports the failing rmadmin' "$(cat "$dir/err")" 'false failed \(exit status 1\)'
is 'the exclude file is as before the failing rmadmin' "$(cat "$exclude")" "$before"
apply -x "$dir/other" --at-most 1 --timeout 2s >"$dir/out" 2>"$dir/err"
is 'a file that the ResourceManager does not read is an error' "$?" 1
like 'the error names the property' "$(cat "$dir/err")" 'yarn.resourcemanager.nodes.exclude-path'
is 'no node was removed' "$(rm_nodes | wc -l)" 8

# ---- watching ----
"$nmscale" --rm "$rm_web" --state "$dir/state.json" --min-nodes 0 --idle-for 1s --interval 200ms --watch --json >"$dir/watch" &
watcher=$!
at_exit 'end_process "$watcher"'
check 'nmscale --watch names the nodes when their time has come' wait_until 30 \
    eval 'tail -n 1 "$dir/watch" | jq -e ".give == 8" >/dev/null'
kill -TERM "$watcher"
wait "$watcher"
is 'nmscale --watch ends on SIGTERM' "$?" 0
done_testing
