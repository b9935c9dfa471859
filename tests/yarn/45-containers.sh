#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# Containers of a stock ResourceManager and of an application master that uses Hadoop's own client for NodeManagers. The
# containers are started, reported, changed and ended, and the reports of nmd and of the ResourceManager are compared.
# The cluster is the one of lib.sh, with two local directories and one log directory. With two local directories it is known
# which directory is used after the other one has failed. The suite reads the contents of the log directory.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"

heartbeat_ms=200
web=$(free_port)
make_shared_dir # the user of the containers can enter it
# The first of the two local directories is on a disk that fails later.
mkdir "$shared/disk"
need 'a small disk is mounted' mount -t tmpfs -o size=64m,mode=0755 small "$shared/disk"
at_exit 'umount -l "$shared/disk"'
need 'a stock ResourceManager starts' rm_start --stock "${node_site[@]}" \
    yarn.resourcemanager.opportunistic-container-allocation.enabled=true yarn.scheduler.minimum-allocation-mb=16 \
    yarn.nodemanager.opportunistic-containers-max-queue-length=10 yarn.nodemanager.resource.cpu-vcores=8 \
    yarn.nodemanager.resource.memory-mb=2400 \
    "yarn.nodemanager.local-dirs=$shared/disk,$shared/local" yarn.nodemanager.disk-health-checker.interval-ms=1000 \
    "yarn.nodemanager.webapp.address=127.0.0.1:$web" \
    "yarn.nodemanager.log-dirs=$shared/logs" yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user=nobody
need 'an application master is registered' cluster_start 0
need "the host's memory can be simulated" node_proc_start 4000 8
node_configure
need 'nmd starts' node_start
need 'nmd is connected to the ResourceManager' wait_until 30 upstream_is running

held() { light containers | jq -r '.[] | select(.node) | .id' | sort; }
ended() { [ -n "$(end_of "$1")" ]; }
end_of() { light containers | jq -r --arg id "$1" '.[] | select(.id == $id) | .end // ""'; } # ID
# Includes ended containers, because a container that ends immediately may never be listed as running.
given() { light containers | jq -r '.[] | select(.node or .end) | .id' | sort; }
one_more() { # QUERY: requests one container, and prints its id
    local before
    before=$(given)
    light "ask?n=1&$1" >/dev/null && wait_until 30 one_not_in "$before" && not_in "$before"
}
not_in() { comm -13 <(printf '%s\n' "$1") <(given); }
one_not_in() { [ -n "$(not_in "$1")" ]; } # another container may have ended meanwhile
reported() { light "state?container=$1" | jq -r '"\(.state) \(.sub_state) \(.type) \(.mb) \(.exit)"'; } # ID: as its master gets it
state_is() { [ "$(reported "$1")" = "$2" ]; }
rm_counts() { [ "$(of_node '"\(.numContainers) \(.numRunningOpportContainers) \(.numQueuedContainers)"')" = "$1" ]; }

# ---- a guaranteed container -----------------------------------------------------------------------

g=$(one_more 'mb=64&cmd=echo+hello%3b+exec+sleep+1001')
like 'a container of the cluster has an id from YARN' "$g" '^container_[0-9]+_0001_01_000001$'
check 'a guaranteed container of the cluster is running' wait_until 30 in_state "$g" RUNNING
app=$(light apps | jq -r '.[0].id')
is "nmctl shows the application of the container" "$(field_of "$g" .app)" "$app"
is "the application master gets the container's state, type and memory" "$(reported "$g")" 'RUNNING RUNNING GUARANTEED 64 -1000'
check 'the ResourceManager counts the guaranteed container' wait_until 20 rm_counts '1 0 0'
is 'the container runs as the user from yarn-site.xml' "$(ps -o user= -p "$(field_of "$g" .pid)")" nobody
has_printed_hello() { [ "$(nmctl logs "$g")" = hello ]; }
check "nmctl logs prints the container's output" wait_until 20 has_printed_hello

# ---- the node's web services about the container ---------------------------------------------------

# Uses jq instead of gojq, because jq keeps the order of keys.
rest() { curl -sS "http://127.0.0.1:$web/ws/v1/node$1" | command jq -c "$2"; } # PATH JQ-EXPRESSION
is 'the web services have the node' \
    "$(rest '' '.nodeInfo | [.id, .nodeHealthy, .totalPmemAllocatedContainersMB, .totalVCoresAllocatedContainers]')" \
    "[\"node07:$node_port\",true,2400,8]"
is 'the web services have the container' \
    "$(rest "/containers/$g" '.container | [.id, .state, .exitCode, .totalMemoryNeededMB, .executionType, .user]')" \
    "[\"$g\",\"RUNNING\",-1000,64,\"GUARANTEED\",\"$(id -un)\"]"
is 'the web services have the application' "$(rest '/apps?state=RUNNING' '.apps.app')" \
    "[{\"id\":\"$app\",\"state\":\"RUNNING\",\"user\":\"$(id -un)\",\"containerids\":[\"$g\"]}]"
is 'the web services filter by user' \
    "$(rest "/apps?user=$(id -un)" '.apps.app | length') $(rest '/apps?user=x' '[.apps.app[]?] | length')" '1 0'
is 'the web services name the user over the socket' \
    "$(curl -sS --unix-socket "$NMD_SOCKET" "http://nmd/ws/v1/node/apps/$app" | jq -r .app.user)" "$(id -un)"
like 'the web services name the log files of the container' "$(curl -sS --unix-socket "$NMD_SOCKET" "http://nmd/ws/v1/node/containers/$g" |
    jq -r '.container.containerLogFiles[]')" '^stdout$'
is 'the web services refuse an unknown container and an invalid id' \
    "$(for id in "${g}1" x; do rest "/containers/$id" '.RemoteException | .exception'; done)" \
    $'"NotFoundException"\n"BadRequestException"'

# ---- an opportunistic container -------------------------------------------------------------------

o=$(one_more 'mb=64&type=OPPORTUNISTIC&cmd=exec+sleep+1002')
check 'an opportunistic container of the cluster is running' wait_until 30 in_state "$o" RUNNING
check 'the ResourceManager counts the opportunistic container separately' wait_until 20 rm_counts '1 1 0'
nmctl pause "$o" >/dev/null
check 'the application master gets the paused state of the container' wait_until 20 state_is "$o" 'RUNNING PAUSED OPPORTUNISTIC 64 -1000'
nmctl resume "$o" >/dev/null
check 'the application master gets the running state after the resume' wait_until 20 state_is "$o" 'RUNNING RUNNING OPPORTUNISTIC 64 -1000'
light "update?container=$o&type=GUARANTEED" >/dev/null
check 'the application master promotes the container' wait_until 30 state_is "$o" 'RUNNING RUNNING GUARANTEED 64 -1000'
is 'nmctl shows the promoted container as guaranteed' "$(field_of "$o" .execution_type)" GUARANTEED
is 'the decision record of the promotion names the owner' "$(decision_of "$o" promote .reason)" owner
check 'the ResourceManager counts the promoted container as guaranteed' wait_until 20 rm_counts '2 0 0'
light "update?container=$o&mb=96" >/dev/null
check "the application master increases the memory of the container" wait_until 30 state_is "$o" 'RUNNING RUNNING GUARANTEED 96 -1000'
is 'the decision record of the new amounts names the owner' "$(decision_of "$o" update .reason)" owner

# ---- the end of another application ---------------------------------------------------------------

light 'ask?app=kept&n=2&mb=16&type=OPPORTUNISTIC&cmd=exec+sleep+1005' >/dev/null
light 'ask?app=over&n=3&mb=16&cmd=trap+:+TERM%3b+while+:%3b+do+sleep+.1%3b+done' >/dev/null
of_app() { light "containers?app=$1" | jq -r '.[] | select(.node) | .id' | sort; } # APP
has_running() { # APP N
    [ "$(nmctl list --json | jq --arg ids "$(of_app "$1")" \
        '[.[] | select(.state == "RUNNING") | .id as $id | select($ids | contains($id))] | length')" = "$2" ]
}
check 'a second application has two running opportunistic containers' wait_until 30 has_running kept 2
check 'a third application has three running guaranteed containers' wait_until 30 has_running over 3
check 'the ResourceManager counts all containers of the three applications' wait_until 20 rm_counts '5 2 0'
kept=$(of_app kept)
over=$(of_app over)
killed_app=$(sed -E 's/container_([0-9]+_[0-9]+)_.*/application_\1/' <<<"$over" | sort -u)
check 'the third application is killed' curl -sf -X PUT -H 'Content-Type: application/json' -d '{"state":"KILLED"}' -o "$dir/killed" \
    "$rm_web/ws/v1/cluster/apps/$killed_app/state"
all_over() { for c in $over; do in_state "$c" COMPLETED || return 1; done; }
check 'the containers of the third application end when it is killed' wait_until 30 all_over
check 'the ResourceManager no longer counts the containers of the third application' wait_until 30 rm_counts '2 2 0'
is 'the ResourceManager does not end containers of the second application' \
    "$(light 'containers?app=kept' | jq -r '[.[] | .end // empty] | join("; ")')" ''
is 'the opportunistic containers of the second application keep running' \
    "$(for c in $kept; do field_of "$c" .state; done | sort -u)" RUNNING
light 'finish?app=kept' >/dev/null
check 'the opportunistic containers end when their own application ends' wait_until 30 rm_counts '2 0 0'

# ---- containers that can't start on this node -----------------------------------------------------

printf '[queue]\ngive-back = 3s\n' >"$nmd_conf.d/50-wait.conf"
kill -HUP "$nmd_pid"
node_cpu 8000 # CPU use of other processes
wait_until 20 status_is '.node.machine.cpu_busy_millicores > 7900' true
light 'ask?app=waits&n=1&mb=16&type=OPPORTUNISTIC&cmd=exec+sleep+1008' >/dev/null
submit own --opportunistic -m 16M -c 0.1 -- sleep 1009
given_back() { light 'containers?app=waits' | jq -r '.[].end // empty' | grep -q .; }
check "an opportunistic container that can't start in time is given back" wait_until 60 given_back
like 'the ResourceManager gets the given-back container as killed, with the reason' \
    "$(light 'containers?app=waits' | jq -r '.[].end // empty')" \
    '^-108 .*it has waited for as long as \[queue\] give-back allows'
w=$(nmctl list --all --json | jq -r '[.[] | select(.exit_cause == "waited-too-long")][0].id')
is 'the decision record of the given-back container has the reason waited-too-long' "$(decision_of "$w" shed .reason)" waited-too-long
like 'nmctl explain describes why the container was given back' "$(nmctl explain "$w")" 'the node has had no room for it meanwhile'
like 'the metrics count the given-back container' "$(curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics)" \
    '^nm_sheds_total\{reason="waited-too-long"\} [1-9]'
like 'an event reports that the container was given back' "$(nmctl events --json "$w" | jq -r .text)" 'waited for as long as'
is "a local container is not given back" "$(state_of own)" SCHEDULED
light 'finish?app=waits' >/dev/null
nmctl kill own >/dev/null
node_cpu 0
rm "$nmd_conf.d/50-wait.conf"
kill -HUP "$nmd_pid"

# ---- the ResourceManager changes the size of the node -----------------------------------------------

size_is() { [ "$(of_node '"\(.availMemoryMB + .usedMemoryMB) \(.availableVirtualCores + .usedVirtualCores)"')" = "$1" ]; }
check 'the ResourceManager has the size of yarn-site.xml' wait_until 20 size_is '2400 8'
rm_admin -updateNodeResource "node07:$node_port" 2300 6
counts_on() { [ "$(upstream_of '"\(.memory_bytes / 1048576) \(.vcores)"')" = "$1" ]; }
check 'nmd gets a new size of the node from the ResourceManager' wait_until 20 counts_on '2300 6'
is "nmctl status shows the ResourceManager's size beside the capacity" \
    "$(nmctl status | tr -s ' \n' ' ' | grep -o 'the cluster has set .* CPUs')" \
    'the cluster has set 2.2 GiB and 6 vcores for this node; configured are 2.3 GiB and 8 vcores; the host has 3.9 GiB and 8 CPUs'
# The next size is smaller than the running containers of 64 and 96 MiB.
rm_admin -updateNodeResource "node07:$node_port" 100 1
check 'the ResourceManager sets a size below the requests of running containers' wait_until 20 counts_on '100 1'
is 'the smaller size ends no container' "$(reported "$g"), $(reported "$o")" \
    'RUNNING RUNNING GUARANTEED 64 -1000, RUNNING RUNNING GUARANTEED 96 -1000'
is 'nmctl shows the size up to which containers are started' "$(nmctl status --json | jq -r \
    '.node | "\(.offered | .memory_bytes / 1048576) \(.offered.vcores) of \(.capacity.memory_bytes / 1048576)"')" '100 1 of 2400'
light 'ask?app=small&n=1&mb=16&cmd=true' >/dev/null
rm_admin -updateNodeResource "node07:$node_port" 2800 12
check 'the ResourceManager sets a size larger than in yarn-site.xml' wait_until 20 counts_on '2800 12'
is 'memory.max of the slice follows the larger size' "$(nmctl status --json | jq -r \
    '.node | "\(.capacity | .memory_bytes / 1048576) \(.capacity.vcores) of \(.configured.memory_bytes / 1048576)"')" '2800 12 of 2400'
small_ended() { light 'containers?app=small' | jq -r '.[].end // empty' | grep -q .; }
check 'containers that were requested with the smaller size run now' wait_until 30 small_ended
like 'containers that were requested with the smaller size did not fail' \
    "$(light 'containers?app=small' | jq -r '[.[].end // empty] | join("; ")')" '^0 [^;]*$'
light 'finish?app=small' >/dev/null
big=$(one_more 'mb=2500&cmd=exec+sleep+1006')
check 'a container larger than the size in yarn-site.xml is running' wait_until 30 in_state "$big" RUNNING
nmd_kill
need 'nmd starts after a crash' node_start
check 'nmd is connected to the ResourceManager after its restart' wait_until 30 upstream_is running
check 'the ResourceManager keeps the larger size when nmd restarts' wait_until 20 size_is '2800 12'
is 'nmd uses the larger size after its restart' "$(upstream_of '"\(.memory_bytes / 1048576) \(.vcores)"')" '2800 12'
light "end?container=$big" >/dev/null
check 'the large container ends when the master stops it' wait_until 30 ended "$big"
rm_admin -updateNodeResource "node07:$node_port" 9000 12
check 'the ResourceManager sets a size that the host does not have' wait_until 20 counts_on '9000 12'
like 'nmctl status reports that the host does not have the size' \
    "$(nmctl status --json | jq -r '.node.notes[]')" 'expects 8.8 GiB of memory here, but this host has 3.9 GiB'
light 'ask?app=huge&n=1&mb=8000&cmd=exec+sleep+1007' >/dev/null
refused() { light 'containers?app=huge' | jq -r '.[].end // empty' | grep -q .; }
check 'a guaranteed container that is too large for the host is refused' wait_until 30 refused
like 'the exit code of the refused container counts as a failure of the application' \
    "$(light 'containers?app=huge' | jq -r '.[].end // empty')" \
    '^-1000 .*larger than the node, which offers'
light 'finish?app=huge' >/dev/null
light 'ask?app=huger&n=1&mb=8000&type=OPPORTUNISTIC&cmd=exec+sleep+1007' >/dev/null
refused_too() { light 'containers?app=huger' | jq -r '.[].end // empty' | grep -q .; }
check 'an opportunistic container that is too large for the host is refused' wait_until 30 refused_too
like 'the refused opportunistic container has the same exit code, because a retry after -108 would follow immediately' \
    "$(light 'containers?app=huger' | jq -r '.[].end // empty')" '^-1000 .*larger than the node, which offers'
light 'finish?app=huger' >/dev/null
printf '[node]\nmemory = 2200M\n' >"$nmd_conf.d/60-size.conf"
kill -HUP "$nmd_pid"
check "the ResourceManager uses the size that nmd reports again" wait_until 20 size_is '2200 8'
is 'all changes of the size have left the containers running' "$(reported "$g"), $(reported "$o")" \
    'RUNNING RUNNING GUARANTEED 64 -1000, RUNNING RUNNING GUARANTEED 96 -1000'

# ---- a drain ----------------------------------------------------------------------------------------

try nmctl drain
like 'nmctl drain says what nmd reports to the ResourceManager' "$err" 'drain: nmd reports no free resources to the ResourceManager'
check 'the ResourceManager uses only the resources of running containers while nmd drains' wait_until 20 size_is '160 8'
light 'ask?app=later&n=1&mb=16&cmd=true' >/dev/null
is 'the ResourceManager reports the draining node as RUNNING' "$(of_node .state)" RUNNING
is 'the containers of the draining node keep running' "$(reported "$g"), $(reported "$o")" \
    'RUNNING RUNNING GUARANTEED 64 -1000, RUNNING RUNNING GUARANTEED 96 -1000'
nmctl undrain >/dev/null
check 'the ResourceManager uses the whole node after undrain' wait_until 20 size_is '2200 8'
later() { light 'containers?app=later' | jq -r '.[].end // empty' | grep -q .; }
check 'containers that were requested during the drain run after undrain' wait_until 30 later
like 'containers that were requested during the drain did not fail' \
    "$(light 'containers?app=later' | jq -r '[.[].end // empty] | join("; ")')" '^0 [^;]*$'
light 'finish?app=later' >/dev/null

# ---- nmd is killed while containers run --------------------------------------------------------------

once() { echo "mb=16&cmd=until+%5b+-e+$shared/$1+%5d%3b+do+sleep+.05%3b+done%3b+exit+$2"; } # FILE CODE: runs until FILE exists
# A server that sends a file to its clients only when the late container must end.
slow_port=$(free_port)
python3 - "$slow_port" "$shared/late" <<'END' &
import http.server, os, sys, time

class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        while not os.path.exists(sys.argv[2]):
            time.sleep(0.05)
        try:
            self.send_response(200)
            self.send_header("Content-Length", "8")
            self.end_headers()
            self.wfile.write(b"fetched\n")
        except OSError:  # the client was killed
            pass

    def log_message(self, *what):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Slow).serve_forever()
END
at_exit "end_process $!"
late=$(one_more "$(once late 0)")
away=$(one_more "$(once away 7)")
check 'another container is running before nmd is killed' wait_until 30 in_state "$away" RUNNING
wait_until 30 in_state "$late" RUNNING
slow=$(one_more "mb=16&cmd=cat+it%3b+exec+sleep+1004&url=http://127.0.0.1:$slow_port/it")
check 'a container is still fetching a file when nmd is killed' wait_until 30 in_state "$slow" LOCALIZING
process=$(field_of "$g" .pid)
nmd_kill
touch "$shared/away"
over() { ! pgrep -f "$shared/away" >/dev/null; }
check 'a container ends while nmd is stopped' wait_until 10 over
need 'nmd starts again' node_start
check 'nmd is connected to the ResourceManager after the kill' wait_until 30 upstream_is running
check 'the application master gets the end of the container that ended while nmd was stopped' wait_until 30 ended "$away"
like 'the application master gets the exit code of the container that ended while nmd was stopped' "$(end_of "$away")" '^7 '
is 'the running containers keep their processes' "$(field_of "$g" '"\(.pid) \(.state)"')" "$process RUNNING"
is 'the running containers keep their execution types' "$(reported "$o")" 'RUNNING RUNNING GUARANTEED 96 -1000'
is 'the container that was fetching a file fetches the file again' "$(state_of "$slow")" LOCALIZING
touch "$shared/late"
check 'a container that was started before the kill ends after the restart' wait_until 30 ended "$late"
like 'the container that was started before the kill ends with exit code 0' "$(end_of "$late")" '^0 '
has_it() { [ "$(nmctl logs "$slow")" = fetched ]; }
check 'the container that fetched a file again runs with this file' wait_until 30 has_it
is 'no container is reported as lost (-100)' "$(light containers | jq -r '[.[] | select(.end // "" | startswith("-100 "))] | length')" 0

# ---- many containers --------------------------------------------------------------------------------

light 'ask?n=47&mb=16&cmd=exec+sleep+1003' >/dev/null
run_now() { [ "$(nmctl list --json | jq '[.[] | select(.state == "RUNNING")] | length')" = "$1" ]; } # N
check 'fifty containers of the cluster are running' wait_until 60 run_now 50
is 'fifty containers have more vcores than the node, because the ResourceManager counts only memory' \
    "$(nmctl status --json | jq -r '.node | "\(.allocated.guaranteed.vcores) of \(.capacity.vcores)"')" '50 of 8'
at_least "nmd's resident memory is below 12 MiB with fifty containers" "$((12 << 20))" "$(status_of .node.own.rss_bytes)"

# ---- restart, re-initialization, roll back ----------------------------------------------------------

work_of() { dirname "$(ls "$shared"/{disk,local}/usercache/*/appcache/"$app/$1/launch_container.sh" 2>/dev/null)"; } # ID
runs() { { tr '\n' ' ' <"$(work_of "$r")/runs"; } 2>/dev/null; }
ran() { [ "$(runs)" = "$1" ] && [ "$(reported "$r")" = 'RUNNING RUNNING GUARANTEED 32 -1000' ]; } # WORDS
diagnostics() { light "state?container=$r" | jq -r .diagnostics; }
diagnostics_have() { [[ $(diagnostics) == *"$1"* ]]; } # WORDS
is_there() { [ "$(cat "$(work_of "$r")/$1" 2>/dev/null)" = "$2" ]; } # FILE CONTENT
echo two >"$shared/two"
echo more >"$shared/more"
chmod 644 "$shared/two" "$shared/more"
r=$(one_more 'mb=32&cmd=echo+one+%3e%3eruns%3b+exec+sleep+1021')
check 'a container that will be restarted is running' wait_until 30 ran 'one '
first=$(field_of "$r" .pid)
light "restart?container=$r" >/dev/null
check 'a restarted container runs the same command in the same directory' wait_until 30 ran 'one one '
check 'a restarted container has a new process' [ "$(field_of "$r" .pid)" != "$first" ]
like 'the application master gets the message about the restart' "$(diagnostics)" 'Container will be Restarted'
like 'nmctl shows the restart' "$(nmctl explain "$r")" 'run of'
light "localize?container=$r&file=$shared/more" >/dev/null
check 'the application master lets nmd fetch a file for a running container' wait_until 30 is_there more more
light "reinit?container=$r&cmd=cat+two+%3e%3eruns%3b+exec+sleep+1022&file=$shared/two" >/dev/null
check 'a re-initialized container runs the new command with the new file' wait_until 30 ran 'one one two '
light "rollback?container=$r" >/dev/null
check 'a roll back starts the former command again' wait_until 30 ran 'one one two one '
like 'a second roll back is refused' "$(light "rollback?container=$r" 2>&1)" 'Nothing to rollback to !!'
light "reinit?container=$r&cmd=echo+bad+%3e%3eruns%3b+exit+7" >/dev/null
check 'if the new command fails before the commit, nmd rolls back' wait_until 30 ran 'one one two one bad one '
like "the application master gets the message about nmd's roll back" "$(diagnostics)" 'Auto Rolled-Back'
light "reinit?container=$r&cmd=true&file=$shared/none" >/dev/null
check 'a re-initialization whose fetch fails is aborted' wait_until 30 diagnostics_have 'aborting re-initialization'
is 'the aborted re-initialization does not stop the container' "$(runs)" 'one one two one bad one '
light "reinit?container=$r&cmd=echo+three+%3e%3eruns%3b+exec+sleep+1023" >/dev/null
check 'another re-initialization succeeds' wait_until 30 ran 'one one two one bad one three '
light "commit?container=$r" >/dev/null
like 'a roll back after the commit is refused' "$(light "rollback?container=$r" 2>&1)" 'Nothing to rollback to !!'
light "end?container=$r" >/dev/null
check 'the application master stops the container' wait_until 30 ended "$r"

# ---- ends -------------------------------------------------------------------------------------------

# ---- one of two local directories fails -------------------------------------------------------------

on_disk() { # starts a container whose directory is on the disk that will fail
    b=$(one_more 'mb=32&cmd=pwd%3b+exec+sleep+1030') && wait_until 10 in_state "$b" RUNNING || return 1
    [[ $(nmctl logs "$b") == "$shared/disk/"* ]] || { light "end?container=$b" >/dev/null && wait_until 20 ended "$b" && false; }
}
need 'a container runs in the first of two directories' wait_until 60 on_disk
need 'the disk of that directory becomes read-only' mount -o remount,ro "$shared/disk"
for i in 1 2; do # nmd has not checked the disk yet, and one of the two containers gets it
    d=$(one_more "mb=32&cmd=pwd%3b+exec+sleep+103$i&file=$shared/more")
    check "container $i starts after the disk became read-only" wait_until 30 in_state "$d" RUNNING
    in_other() { [[ $(nmctl logs "$d") == "$shared/local/"* ]]; }
    check "container $i uses the directory on the other disk" wait_until 20 in_other
    light "end?container=$d" >/dev/null
    check "container $i ends" wait_until 30 ended "$d"
done
light "restart?container=$b" >/dev/null
moved() { [[ $(nmctl logs "$b" | tail -n 1) == "$shared/local/"* ]]; }
check 'a restart moves a container from the failed disk to the other directory' wait_until 30 moved
light "end?container=$b" >/dev/null
check 'the container that was moved ends' wait_until 30 ended "$b"
n_failed_dir_events() { nmctl events --json | grep -c "New containers don't use the local directory $shared/disk any more: .*read-only"; }
is 'an event reports the failed local directory' "$(n_failed_dir_events)" 1
is 'the ResourceManager reports the node as RUNNING with one failed directory' "$(of_node .state)" RUNNING
need 'the disk is writable again' mount -o remount,rw "$shared/disk"
in_first() { d=$(one_more 'mb=16&cmd=pwd') && wait_until 30 ended "$d" && [[ $(nmctl logs "$d") == "$shared/disk/"* ]]; }
check 'containers use the directory again when its disk is writable' wait_until 30 in_first
like 'an event reports that the local directory is good again' "$(nmctl events --json)" "local directory $shared/disk is good again"
is 'the event of the failed local directory is reported once' "$(n_failed_dir_events)" 1

# Four containers that fail at the same time. Each one has ten thousand files that look like its output.
crowded="cd $shared/logs/*/\$CONTAINER_ID && seq -f stderr%g 10000 | xargs touch; echo crowded >&2
    until [ -e $shared/crowd ]; do sleep .05; done; exit 5"
light "ask?app=crowd&n=4&mb=16&cmd=$(jq -rn --arg command "$crowded" '$command | @uri')" >/dev/null
crowded_dirs() { find "$shared"/logs/*/container_* -name stderr10000 2>/dev/null | wc -l; }
all_crowded() { [ "$(crowded_dirs)" = 4 ]; }
check 'each of four containers has created ten thousand files beside its logs' wait_until 60 all_crowded
crowd_ended() { [ "$(light 'containers?app=crowd' | jq '[.[] | select(.end)] | length')" = 4 ]; }
touch "$shared/crowd"
slowest=0
fails_on() { # for wait_until: sends a request to nmd, and measures the time of the response
    local asked took
    asked=$(date +%s%3N)
    nmctl status >/dev/null
    took=$(($(date +%s%3N) - asked))
    [ "$took" -le "$slowest" ] || slowest=$took
    crowd_ended
}
wait_until 30 fails_on || not_ok 'the four failing containers end'
at_least 'nmd responds within a second while four containers with many files fail' 1000 "$slowest"
like 'nmd reports the last output of these containers' \
    "$(light 'containers?app=crowd' | jq -r '.[0].end // empty')" '^5 .*exit code 5.*crowded'
light 'finish?app=crowd' >/dev/null

f=$(one_more 'mb=32&cmd=echo+it+is+broken+%3e%262%3b+exit+3')
check 'a container whose command fails ends' wait_until 30 ended "$f"
like 'the application master gets the exit code and the last output of the failed container' \
    "$(end_of "$f")" '^3 .*exit code 3.*it is broken'
light "end?container=$o" >/dev/null
check 'the application master stops an opportunistic container' wait_until 30 ended "$o"
like 'the application master gets the exit status of a container that it stopped' "$(end_of "$o")" '^-105 .*ApplicationMaster'

# ---- a user that container-executor.cfg bans -----------------------------------------------------------

printf 'min.user.id=1000\nbanned.users=hdfs,nobody\n' >"$conf/container-executor.cfg"
chmod 666 "$conf/container-executor.cfg"
nmd_kill
need 'nmd starts with a file that others can write' node_start
like 'nmd reports a log directory that other users can write' \
    "$(cat "$dir/nmd.log")" 'container-executor.cfg: ignored: users other than root can write'
chmod 644 "$conf/container-executor.cfg"
nmd_kill
need 'nmd starts with a file that is root'"'"'s' node_start
check 'nmd is connected to the ResourceManager' wait_until 30 upstream_is running
light 'ask?app=banned&n=1&mb=16&cmd=true' >/dev/null
banned() { light 'containers?app=banned' | jq -r '.[].end // empty' | grep -q .; }
check 'a container of a banned user is refused' wait_until 30 banned
like "the application master gets Hadoop's exit code for a banned user, with the reason" \
    "$(light 'containers?app=banned' | jq -r '.[].end // empty')" \
    '^-1000 .*the user nobody, but this user is banned on this node'
is 'nmctl config shows the banned users' \
    "$(nmctl config --json | jq -r '.[] | select(.key == "banned.users") | .value')" 'hdfs,nobody'
light 'finish?app=banned' >/dev/null
light finish >/dev/null
check 'the last container ends when its application ends' wait_until 30 in_state "$g" COMPLETED
like "the container's message names the ResourceManager" "$(field_of "$g" .message)" 'ResourceManager'
gone() { [ -z "$(find "$shared"/{disk,local}/usercache/*/appcache -mindepth 1 -print -quit)" ]; }
check 'nmd removes the local files of the ended application' wait_until 30 gone
is 'nmd does not remove the logs of the ended application' "$(cat "$shared/logs/$app/$g/stdout")" hello
check 'the ResourceManager counts no container on the node' wait_until 20 rm_counts '0 0 0'
nmctl drain >/dev/null 2>&1
check 'the ResourceManager reports an empty draining node as UNHEALTHY' wait_until 20 rm_state_is UNHEALTHY
like 'nmctl status shows that the node is reported as unhealthy' "$(nmctl status)" 'upstream .*yarn, running, reported as unhealthy: '
like 'the health report says that the node is draining' "$(of_node .healthReport)" '^draining: '
nmctl undrain >/dev/null
check 'the ResourceManager reports the node as RUNNING after undrain' wait_until 20 rm_state_is RUNNING
mv "$shared/logs" "$shared/away-logs"
# nmd reports this problem immediately. Other health problems must last half a minute before nmd reports them.
check 'the ResourceManager reports a node without a log directory as UNHEALTHY' wait_until 20 rm_state_is UNHEALTHY
like 'the health report names the log directories' "$(of_node .healthReport)" '^1/1 log-dirs have errors:  \[ '
mv "$shared/away-logs" "$shared/logs"
check 'the ResourceManager reports the node as RUNNING when the log directory exists again' wait_until 20 rm_state_is RUNNING
done_testing
