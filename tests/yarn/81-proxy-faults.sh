#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 400
# beside: all
#
# Real jobs whose maps are placed by the node. nmd is killed during one job, the ResourceManager during another one, and the
# application master during a third one. Each time the job succeeds, no request is lost or satisfied twice, and no container
# number is used twice.
# shellcheck source=tests/yarn/proxied.sh
. "$(dirname "$0")/proxied.sh"

own=$shared/node1 job_deadline=200 # opportunistic maps get only the CPU time that other processes leave
# The proxy's keys are replaced every second, so that all these tests also include several replacements.
node() {
    nmd_node_start 1 yarn.nodemanager.amrmproxy.address=node01:8049 \
        yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs=1 yarn.am.liveness-monitor.expiry-interval-ms=300
}
placed() { own_numbers "$id" | wc -w; }
has_placed() { [ "$(placed)" -ge "$1" ]; } # N: for wait_until
outstanding() { pipeline_of "$id" .outstanding; }
begun() { id=$(job_id "$1"); [ -n "$id" ]; } # NAME: and sets id
log_of_master() { # ATTEMPT
    find "$own"/logs/*/"application_$id" -path "*_$1_*" -name syslog -exec grep -l MRAppMaster {} + | head -n 1
}
every_id() { nmctl list --all --json | jq -r --arg of "$1" '.[] | select(.id | contains($of)) | .id'; } # PART-OF-ID
fails() { masters '.calls.allocate.failed'; }
answers() { masters '.calls.allocate.answered'; }
job_is_whole() { # NAME MAPS
    local status=0
    job_ends || status=$?
    is "$1: the job succeeds after the deaths" "$status" 0 || job_trouble "$1"
    is "$1: each map ran once and did not fail" "$(counters "$1" | grep 'map tasks')" "Launched map tasks=$2"
    is "$1: no container number is used twice" "$(every_id "$id" | sort | uniq -d)" ''
}

need 'a cluster can be configured' jobs_configure "$distributed=true" "${rm_remembers[@]}" \
    yarn.resourcemanager.connect.max-wait.ms=60000 yarn.resourcemanager.connect.retry-interval.ms=200
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 6000 4
need 'nmd starts' node
need 'nmd registers' wait_until 30 node_is 1 RUNNING

# ---- nmd ----

# The job gets a container every two seconds, so that nmd can die during the job.
through+=(-Dyarn.app.mapreduce.am.scheduler.heartbeat.interval-ms=2000)
pi_begin_on 1 faults 100 6
need 'a job is submitted' wait_until 60 begun faults
need 'the node has placed two maps of the job' wait_until 60 has_placed 2
waiting=$(outstanding)
first=$(every_id "$id" | grep _1099511627775)
reasons=$(nmctl explain "$first" | grep '^It ')
end_process "${nmd_nodes[1]}" KILL
need 'nmd is killed, and starts again' node
is "the restarted nmd has the proxy's data about the job" \
    "$(masters '.calls.recover | "\(.answered) \(.failed)"') $(pipeline_of "$id" .state)" '1 0 running'
at_least 'the application master requests each missing container again, but only once' "$(outstanding)" 3
at_least 'the application master requests no more containers than before' "$waiting" "$(outstanding)"
is 'explain has the reason for the first placement after the restart' "$(nmctl explain "$first" | grep '^It ')" "$reasons"
need 'the restarted nmd places the next map' wait_until 30 has_placed 3

# ---- the ResourceManager ----

rm_kill
key=$(key_now)
check 'the proxy holds a call while the ResourceManager is down' wait_until 20 rolled $((key + 3))
was=$(answers) # all responses that were under way have arrived
check 'the proxy replaces its key while the ResourceManager is down' wait_until 20 rolled $((key + 6))
is 'no call is answered or refused while the ResourceManager is down' "$(answers) $(fails)" "$was 0"
took=$({ time -p nmctl status >/dev/null; } 2>&1 | awk '/^real/ { print int($2 * 1000) }')
at_least 'nmd responds within 2 s while the ResourceManager is down (ms)' 2000 "$took"
check 'containers of other users start while the ResourceManager is down' timeout 15 "$NMCTL" run -m 16M -c 0.1 -- true
need 'the ResourceManager is started again' rm_again
registered() { [ "$(masters .calls.register.answered)" = 1 ]; }
check 'the application master registers again with the restarted ResourceManager' wait_until 30 registered
job_is_whole faults 6
noticed=$(grep -hE ' (WARN|ERROR) .*(RMContainerAllocator|RMCommunicator)| out of sync ' "$(log_of_master 01)")
# A node reports the end of a container until the ResourceManager acknowledges it. A restarted ResourceManager has no
# acknowledgements. Therefore the application master may get the end of a container twice, also from a Java NodeManager.
repeated_lines() {
    local end
    sed -n 's/.*Container complete event for unknown container //p' <<<"$noticed" | while read -r end; do
        [ "$(grep -c "Received completed container $end" "$(log_of_master 01)")" -ne 2 ] || echo "unknown container $end\$"
    done
}
others=$(grep -v 'out of sync' <<<"$noticed" | grep -vf <(echo '^$'; repeated_lines))
is 'the application master logs only that it had to register again' "$(grep -c 'out of sync' <<<"$noticed") $others" '1 ' || diag "$noticed"

# ---- a call that the ResourceManager refuses ----

# A restarted ResourceManager notes the containers in the first call of a master before it refuses the call, because the master must
# register again. The master doesn't know these containers. The master is paused until the node has registered, since the
# ResourceManager ignores containers on a node that it doesn't know.
master_of() { nmctl list --all --json | jq -r --arg app "$id" --arg of "_$1_" \
    '[.[] | select(.name == "master" and (.id | contains($app) and contains($of)))][0] | '"${2:-.id}"; } # ATTEMPT [JQ-EXPRESSION]
strays() { # prints the containers that the ResourceManager shows as running, and that the node doesn't know
    rm_get "apps/application_$id/appattempts/appattempt_${id}_000001/containers" |
        jq -r '.container[] | select(.containerState == "RUNNING") | .containerId' | grep -vxFf <(every_id "$id")
}
running_app() { [ "$(rm_get "apps/application_$id" | jq -r .app.state)" = RUNNING ]; }
no_strays() { running_app && [ -z "$(strays)" ]; }
pi_begin_on 1 noted 100 7
need 'another job is submitted' wait_until 60 begun noted
need 'the node has placed two maps of the job' wait_until 60 has_placed 2
master_pid=$(master_of 01 .pid)
at_exit 'kill -CONT "$master_pid" 2>/dev/null'
kill -STOP "$master_pid"
rm_kill
need 'the ResourceManager is started again' rm_again
need 'the node registers again' wait_until 30 node_is 1 RUNNING
kill -CONT "$master_pid"
check 'the node places maps after the master has registered again' wait_until 30 has_placed 3
check 'the ResourceManager shows no container that no master knows' wait_until 8 no_strays || diag "$(strays)"
job_is_whole noted 7
numbers=$(own_numbers "${id}_01_")
at_least 'a number was given to a container of the refused call' 1099511627775 "$(($(wc -w <<<"$numbers") + ${numbers%% *}))"

# ---- the application master ----

pi_begin_on 1 second 100 4
need 'a second job is submitted' wait_until 60 begun second
need 'the node has placed two maps of the second job' wait_until 60 has_placed 2
masters=$dir/nmd1/run/masters
cp "$(find "$own/local" -path "*/$(master_of 01)/container_tokens")" "$dir/first-tokens"
python3 "$(dirname "$0")/proxy-tokens.py" gone node01:8049 "$dir/first-tokens" "$masters/appattempt_${id}_000002" \
    >"$dir/gone" 2>"$dir/gone.err" & # a function would make $! the number of a shell
gone=$!
at_exit 'end_process "$gone"'
check "another process has a copy of the first attempt's token" wait_until 20 test -s "$dir/gone"
kill -KILL "$(master_of 01 .pid)"
need 'the master is killed, and a second attempt starts' wait_until 60 test -e "$masters/appattempt_${id}_000002"
wait "$gone"
facts "$dir/gone"
is 'all three calls with the copied token were made' "$(grep -c . "$dir/gone") $(cat "$dir/gone.err")" '3 '
is "nmd removes the proxy's data about the first attempt" "$(pipeline_of "$id") $(cd "$masters" && echo appattempt_"$id"_*)" \
    "appattempt_${id}_000002 appattempt_${id}_000002"
of_first() { nmctl list --json | jq -r --arg app "${id}_01_" '.[] | select(.id | contains($app)) | .id'; }
none_of_first() { [ -z "$(of_first)" ]; }
check 'no container of the first attempt is running' wait_until 30 none_of_first
job_is_whole second 4
is 'the node places the maps of the second attempt with new numbers' "$(own_numbers "${id}_02_")" \
    '1099511627772 1099511627773 1099511627774 1099511627775'

# ---- after the jobs ----

nothing() { [ "$(masters '"\(.attempts) \(.outstanding)"') $(ls "$masters")" = '0 0 ' ]; }
check "nmd removes the proxy's data and files of all attempts" wait_until 30 nothing
done_testing
