#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
#
# One application, Hadoop's distributed shell with opportunistic containers that the node places, continues across rolls of the proxy's
# keys every second, a roll of the ResourceManager's keys, and deaths of nmd. In addition the suite tests all kinds of wrong tokens of
# masters, and a master that bypasses the proxy.
# shellcheck source=tests/yarn/proxied.sh
. "$(dirname "$0")/proxied.sh"

roll=yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs
expiry=yarn.am.liveness-monitor.expiry-interval-ms
own=$place/node1
# The proxy's keys roll as often as the node's configuration allows. The ResourceManager's keys roll as often as possible for a master
# that must start before its token expires. With the ResourceManager's recovery the only difference is that keys are kept.
node() {
    export JAVA_TOOL_OPTIONS=$small # for the masters: the node's own environment is what it may inherit
    local status=0
    nmd_node_start 1 yarn.nodemanager.amrmproxy.address=node01:8049 "$roll=1" "$expiry=300" || status=$?
    unset JAVA_TOOL_OPTIONS
    return "$status"
}
# Creates a configuration for the shell's master, in which the address of the ResourceManager is the proxy's.
master_conf() {
    cp -r "$conf" "$place/master-conf" || return
    sed -i '/<\/configuration>/d' "$place/master-conf/yarn-site.xml"
    { property yarn.resourcemanager.scheduler.address node01:8049; echo '</configuration>'; } >>"$place/master-conf/yarn-site.xml"
    chmod -R a+rX "$place/master-conf"
}

need 'a cluster can be configured' jobs_configure "$distributed=true" "$roll=37" "$expiry=12000" \
    "yarn.application.classpath=$place/master-conf,$place/lib/*" "yarn.nodemanager.env-whitelist=JAVA_HOME,PATH,JAVA_TOOL_OPTIONS" \
    yarn.resourcemanager.connect.max-wait.ms=60000 yarn.resourcemanager.connect.retry-interval.ms=200 \
    yarn.resourcemanager.am.max-attempts=1
need 'the master has its own configuration' master_conf
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 6000 4
need 'nmd starts' node
need 'nmd registers' wait_until 30 node_is 1 RUNNING
cd "$place/work" || exit

# ---- opportunistic containers that the node places ----

python3 "$(dirname "$0")/proxy-tokens.py" watch 8049 "$dir/told" &
at_exit "end_process $!"
first_key=$(key_now)
shell_begin shell -num_containers 2 -container_type OPPORTUNISTIC -shell_command "$(until_file go)"
need 'two containers run' wait_until 60 run_now shell 2
app=$(app_of shell) id=${app#application_}
is 'the node has numbered the containers' "$(own_numbers "$id")" '1099511627774 1099511627775'
mapfile -t containers < <(ids_of shell)
is 'the containers are opportunistic' "$(field_of "${containers[0]}" .execution_type) $(field_of "${containers[1]}" .execution_type)" \
    'OPPORTUNISTIC OPPORTUNISTIC'
web() { curl -sS "http://node01:7103/ws/v1/node$1"; } # PATH: its web services
is 'the web services know a container by its number' \
    "$(web "/containers/${containers[0]}" | jq -r '.container | "\(.id) \(.state) \(.executionType)"')" \
    "${containers[0]} RUNNING OPPORTUNISTIC" || diag "$(web "/containers/${containers[0]}")"
is 'the web services list the container with its application' \
    "$(web "/apps/$app" | jq --arg id "${containers[0]}" '.app.containerids | index($id) != null')" true
is 'the ResourceManager knows the container as one of the application' "$(rm_get nodes | jq '.nodes.node[0].numRunningOpportContainers')" 2
is 'no further container is requested' "$(pipeline_of "$id" '"\(.state) \(.outstanding)"')" 'running 0'
processes=$(field_of "${containers[0]}" .pid)' '$(field_of "${containers[1]}" .pid)
master=$(masters_of shell)
tokens=$(find "$own/local" -path "*/$master/container_tokens")
kept=$(find "$dir/nmd1/run/masters" -type f)
theirs=$(proxy_tokens bearer "$kept")

# ---- invalid tokens ----------

check "the proxy's key has been rolled four times since the master's start" wait_until 20 rolled $((first_key + 4))
proxy_tokens forged node01:8049 "127.0.0.1:${rm_ports[1]}" "$tokens" "$kept" >"$dir/forged" 2>"$dir/forged.err"
facts "$dir/forged"
is 'the call with an invalid token got its answer' "$(cat "$dir/forged.err")" ''
is 'no call with an invalid token reached the master or its requests' "$(pipeline_of "$id" '"\(.state) \(.outstanding)"')" 'running 0'

# ---- a master that sleeps while keys roll and nmd dies ----

asked_after() { [ "$(pipeline_of "$id" '.last_allocate_usec // 0')" -gt "$1" ]; } # USEC: for wait_until
now_usec() { date +%s%6N; }
kill -STOP "$(field_of "$master" .pid)"
key=$(key_now)
end_process "${nmd_nodes[1]}" KILL
need 'nmd is killed while the master is stopped, and starts again' node
is "the restarted nmd has the master's pipeline" "$(pipeline_of "$id" .state)" running
check 'the restarted nmd continues to replace keys' wait_until 20 rolled $((key + 3))
awake=$(now_usec)
kill -CONT "$(field_of "$master" .pid)"
check 'the master continues, and its last token is accepted' wait_until 20 asked_after "$awake"
proxy_tokens stale node01:8049 "$tokens" >"$dir/stale" # after it has come with a newer one
facts "$dir/stale"

# ---- bypassing the proxy: a job that is not configured for it ----

job_begin past org.apache.hadoop.examples.ExampleDriver pi -Dmapreduce.am.max-attempts=1 2 10

# ---- the ResourceManager's own key ----

has_newer() { [ "$(proxy_tokens bearer "$kept")" -gt "$theirs" ]; }
check 'the ResourceManager replaces its key, and nmd keeps the new token' wait_until 60 has_newer
job_ends
is 'a master that bypasses the proxy fails' "$?" 1
like 'the token is not valid for the ResourceManager' \
    "$(grep -rhs InvalidToken "$own"/logs/*/"application_$(job_id past)" "$dir/past.log")" "InvalidToken.*appattempt_$(job_id past)_000001"
activated() { grep -q 'Activating next master key with id' "$rm_log"; }
check 'the former key is no longer accepted' wait_until 40 activated
proxy_tokens told "$dir/told" "$kept" >"$dir/facts"
facts "$dir/facts"
end_process "${nmd_nodes[1]}" KILL
again=$(now_usec)
need 'nmd starts again' node
check 'the master continues with a token of the proxy, and nmd with the new token' wait_until 20 asked_after "$again"

# ---- the end of the application ----

is 'the containers were not disturbed' "$(field_of "${containers[0]}" .pid) $(field_of "${containers[1]}" .pid)" "$processes"
let_go go
ends_well shell
for container in "${containers[@]}"; do
    is 'a container has run to its end, once' "$(cat "$(log_of "$container")") $(field_of "$container" .exit_code)" 'over 0'
done
is 'there were no other containers' "$(own_numbers "$id")" '1099511627774 1099511627775'
over() { [ -z "$(pipeline_of "$id")" ] && [ -z "$(ls -A "$dir/nmd1/run/masters")" ]; }
check 'the pipeline ends with the application' wait_until 30 over
done_testing
