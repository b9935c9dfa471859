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
like 'an empty cluster can go but for what must stay' "$(nms --min-nodes 5)" \
    '^5 of 10 running nodes can be given back\. .*5 kept by --min-nodes'
is 'in order of their names' "$(given --at-most 3)" 'node01 node02 node03'
is 'no node has been empty for an hour' "$(reason node01 --idle-for 1h)" idle-short
need '20 containers are placed' ask_and_settle 20
check 'the seven that are empty can go' wait_until 20 eval '[ "$(given | wc -w)" = 7 ]'
is 'and are the ones that the ResourceManager sees empty' "$(given | tr ' ' '\n' | sort)" \
    "$(nodes_json | jq -r '.[] | select(.containers == 0) | .name' | sort)"
used=$(nodes_json | jq -r '[.[] | select(.containers == 4) | .name][0]')
is 'one with containers stays' "$(reason "$used")" in-use
like 'and says what runs' "$(nms --all)" "$used:.*in use: 4 containers, 4096 of 10240 MB"

as_documented() { # by docs/packing.md; what it remembers is not this host's
    local apart=(env)
    [ "$(id -u)" != 0 ] || apart=(unshare --mount --propagation private)
    # shellcheck disable=SC2016 # the shell inside expands it
    "${apart[@]}" env RM="$rm_web" XDG_STATE_HOME="$dir" PATH="${nmscale%/*}:$PATH" bash -c '
        [ "$(id -u)" != 0 ] || mount -t tmpfs tmpfs /var/lib
        nmscale --rm "$RM" --all'
}
like 'and so it is by the command that the documents have' "$(as_documented)" "$used:.*in use: 4 containers"

# ---- data of applications ----
app=$(light apps | jq -r '.[0].id')
need 'one node is emptied while its application runs' eval "release 100 1 host=$used && settle"
is 'it stays, for its data' "$(reason "$used")" has-data
is 'and the application is named' "$(nms --json --all | jq -r '.nodes[] | select(.host == "'"$used"'") | .application')" "$app"
forget
is 'who never looked before knows nothing of an application that runs' "$(given)" ''
is 'and says so' "$(reason "$used")" unknown-data
is 'unless it is left to the ResourceManager' "$(given --trust-rm | wc -w)" 8
is 'a node that is asked and silent stays' "$(reason "$used" --ask-nodes --trust-rm)" node-silent
nms >/dev/null
sleep 1.2 # longer than the gap: that is the fact that is needed
is 'a look long ago starts anew' "$(reason "$used" --max-gap 1s --trust-rm --idle-for 1s)" idle-short

# ---- giving back ----
printf 'admins-own # since May\n' >"$exclude"
chmod 640 "$exclude"
need 'the application ends' light finish
check 'all ten can go' wait_until 20 eval '[ "$(given | wc -w)" = 10 ]'
forget # so that all have been empty since one look, and go by their names
out=$(apply --at-most 2 --json 2>"$dir/err")
is 'two are given back' "$? $(jq -r '[.applied.nodes[] | .host + " " + .outcome] | join(", ")' <<<"$out")" \
    '0 node01 decommissioned, node02 decommissioned'
is 'the ResourceManager says so' "$(rm_nodes DECOMMISSIONED | tr '\n' ' ')" 'node01 node02 '
is 'and told the nodes' "$(nodes_json | jq -r '[.[] | select(.state == "SHUTDOWN") | .name] | join(" ")')" 'node01 node02'
is 'the exclude file keeps what others wrote, and has ours marked' "$(cat "$exclude")" \
    $'admins-own # since May\nnode01 # nmscale\nnode02 # nmscale'
is 'and its mode' "$(stat -c %a "$exclude")" 640
is 'rmadmin was called once, gracefully' "$(cat "$dir/rmadmin.calls")" '-refreshNodes -g -server'
is 'what has gone is no longer a node' "$(reason node01)" not-running

# ---- readmission of nodes ----
"$nmscale" --rm "$rm_web" --readmit node01 --readmit admins-own -x "$exclude" --rmadmin "$dir/rmadmin" 2>"$dir/err"
is 'what others have excluded is not readmitted' "$?: $(cut -d: -f2 "$dir/err")" '1:  admins-own'
check 'a node is readmitted' "$nmscale" --rm "$rm_web" --readmit node01 -x "$exclude" --rmadmin "$dir/rmadmin"
light 'revive?node=node01' >/dev/null
check 'and comes back' wait_until 30 is_state node01 RUNNING

# ---- putting back ----
# An application's containers have ended on all nodes. The ResourceManager waits for the application's end, which REST doesn't show.
hold() { release_all && ask_and_settle 80 && release 80 1 && settle; }
need 'an application leaves data everywhere' hold
forget
before=$(cat "$exclude")
out=$(apply --trust-rm --at-most 1 --timeout 3s 2>"$dir/err")
is 'what is not decommissioned in time is put back' "$? $(tail -n 1 <<<"$out" | xargs)" '5 node01:20000 put-back'
like 'with a sentence' "$(tail -n 1 "$dir/err")" 'not decommissioned after 3s: .* data of running applications'
is 'it runs again' "$(state node01)" RUNNING
is 'and the exclude file is as it was' "$(cat "$exclude")" "$before"
is 'it is not tried again at once' "$(reason node01 --trust-rm --idle-for 30s)" idle-short

need 'nodes are on their way' begin_apply 5 --trust-rm
apply --trust-rm 2>"$dir/err"
is 'a second nmscale finds the first at work' "$?: $(cat "$dir/err")" "6: nmscale: another nmscale is running: $exclude.lock is locked"
ask 60
apply_ends
is 'demand comes back, and so do the nodes' "$? $(grep -c 'put-back$' "$dir/apply.out")" '4 5'
like 'with a sentence' "$(tail -n 1 "$dir/apply.err")" 'containers wait, and the other nodes have no room for them'
check 'and all that waited is placed' settle
is 'nobody is excluded any more but those before' "$(cat "$exclude")" "$before"
release_all

need 'a node is on its way' begin_apply 1 --trust-rm
kill -INT "$apply_pid"
apply_ends
is 'Ctrl-C puts it back' "$? $(state "$leaving")" '130 RUNNING'
is 'in the file, too' "$(cat "$exclude")" "$before"

need 'again a node is on its way' begin_apply 1 --trust-rm
kill -KILL "$apply_pid"
apply_ends
is 'a killed nmscale leaves it there' "$(state "$leaving")" DECOMMISSIONING
light finish >/dev/null
check 'the next one takes it over' apply --min-nodes 20
check 'and it is decommissioned' is_state "$leaving" DECOMMISSIONED

before=$(cat "$exclude")
apply --rmadmin "false" --at-most 1 >"$dir/out" 2>"$dir/err"
is 'an rmadmin that fails is an error' "$? $(rm_nodes | wc -l)" '1 8'
like 'with a sentence' "$(cat "$dir/err")" 'false failed \(exit status 1\)'
is 'and the exclude file is as it was' "$(cat "$exclude")" "$before"
apply -x "$dir/other" --at-most 1 --timeout 2s >"$dir/out" 2>"$dir/err"
is 'a file that the ResourceManager does not read is an error' "$?" 1
like 'that names the property' "$(cat "$dir/err")" 'yarn.resourcemanager.nodes.exclude-path'
is 'and no node has gone' "$(rm_nodes | wc -l)" 8

# ---- watching ----
"$nmscale" --rm "$rm_web" --state "$dir/state.json" --min-nodes 0 --idle-for 1s --interval 200ms --watch --json >"$dir/watch" &
watcher=$!
at_exit 'end_process "$watcher"'
check 'watching, it names them when their time has come' wait_until 30 \
    eval 'tail -n 1 "$dir/watch" | jq -e ".give == 8" >/dev/null'
kill -TERM "$watcher"
wait "$watcher"
is 'and ends when it is told to' "$?" 0
done_testing
