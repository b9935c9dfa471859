#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
# beside: all
#
# One application runs Hadoop's distributed shell with opportunistic containers that the node places. It continues while the
# proxy's keys are replaced every second, while the ResourceManager's keys are replaced, and while nmd is killed. The suite also
# tests all kinds of invalid tokens of application masters, and a master that bypasses the proxy.
# shellcheck source=tests/yarn/proxied.sh
. "$(dirname "$0")/proxied.sh"

roll=yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs
expiry=yarn.am.liveness-monitor.expiry-interval-ms
own=$shared/node1
# The proxy's keys are replaced as often as the node's configuration permits. The ResourceManager's keys are replaced as often
# as possible for a master that must start before its token expires. With the ResourceManager's recovery, the only difference is
# that keys are stored.
node() {
    export JAVA_TOOL_OPTIONS=$small # for the application masters, which inherit this variable from the node
    local status=0
    nmd_node_start 1 yarn.nodemanager.amrmproxy.address=node01:8049 "$roll=1" "$expiry=300" || status=$?
    unset JAVA_TOOL_OPTIONS
    return "$status"
}
# Creates a configuration for the shell's application master. In this configuration, the proxy's address replaces the
# ResourceManager's address.
master_conf() {
    cp -r "$conf" "$shared/master-conf" || return
    sed -i '/<\/configuration>/d' "$shared/master-conf/yarn-site.xml"
    { property yarn.resourcemanager.scheduler.address node01:8049; echo '</configuration>'; } >>"$shared/master-conf/yarn-site.xml"
    chmod -R a+rX "$shared/master-conf"
}

need 'a cluster can be configured' jobs_configure "$distributed=true" "$roll=37" "$expiry=12000" \
    "yarn.application.classpath=$shared/master-conf,$shared/lib/*" "yarn.nodemanager.env-whitelist=JAVA_HOME,PATH,JAVA_TOOL_OPTIONS" \
    yarn.resourcemanager.connect.max-wait.ms=60000 yarn.resourcemanager.connect.retry-interval.ms=200 \
    yarn.resourcemanager.am.max-attempts=1
need 'the application master has its own configuration' master_conf
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 6000 4
need 'nmd starts' node
need 'nmd registers' wait_until 30 node_is 1 RUNNING
cd "$shared/work" || exit

# ---- opportunistic containers that the node places ----

python3 "$(dirname "$0")/proxy-tokens.py" watch 8049 "$dir/watched" &
at_exit "end_process $!"
first_key=$(key_now)
shell_begin shell -num_containers 2 -container_type OPPORTUNISTIC -shell_command "$(until_file go)"
need 'two containers of the application are running' wait_until 60 run_now shell 2
app=$(app_of shell) id=${app#application_}
is 'the containers have ids from the node' "$(own_numbers "$id")" '1099511627774 1099511627775'
mapfile -t containers < <(ids_of shell)
is 'the containers run as opportunistic' "$(field_of "${containers[0]}" .execution_type) $(field_of "${containers[1]}" .execution_type)" \
    'OPPORTUNISTIC OPPORTUNISTIC'
web() { curl -sS "http://node01:7103/ws/v1/node$1"; } # PATH: reads the node's web services
is 'the web services accept the container id from the node' \
    "$(web "/containers/${containers[0]}" | jq -r '.container | "\(.id) \(.state) \(.executionType)"')" \
    "${containers[0]} RUNNING OPPORTUNISTIC" || diag "$(web "/containers/${containers[0]}")"
is 'the web services list the container with its application' \
    "$(web "/apps/$app" | jq --arg id "${containers[0]}" '.app.containerids | index($id) != null')" true
is 'the ResourceManager counts both containers as opportunistic' "$(rm_get nodes | jq '.nodes.node[0].numRunningOpportContainers')" 2
is 'no request for a container is pending' "$(pipeline_of "$id" '"\(.state) \(.outstanding)"')" 'running 0'
processes=$(field_of "${containers[0]}" .pid)' '$(field_of "${containers[1]}" .pid)
master=$(masters_of shell)
tokens=$(find "$own/local" -path "*/$master/container_tokens")
kept=$(find "$dir/nmd1/run/masters" -type f)
theirs=$(proxy_tokens bearer "$kept")

# ---- invalid tokens ----------

check "the proxy has replaced its key four times since the application master started" wait_until 20 rolled $((first_key + 4))
proxy_tokens forged node01:8049 "127.0.0.1:${rm_ports[1]}" "$tokens" "$kept" >"$dir/forged" 2>"$dir/forged.err"
facts "$dir/forged"
is 'all calls with an invalid token got a response' "$(cat "$dir/forged.err")" ''
is "calls with an invalid token do not change the application master's state or requests" \
    "$(pipeline_of "$id" '"\(.state) \(.outstanding)"')" 'running 0'

# ---- an application master is stopped while keys are replaced and nmd is killed ----

asked_after() { [ "$(pipeline_of "$id" '.last_allocate_usec // 0')" -gt "$1" ]; } # USEC: for wait_until
now_usec() { date +%s%6N; }
kill -STOP "$(field_of "$master" .pid)"
key=$(key_now)
end_process "${nmd_nodes[1]}" KILL
need 'nmd is killed while the master is stopped, and starts again' node
is "the restarted nmd has the proxy's data about the application master" "$(pipeline_of "$id" .state)" running
check "the restarted nmd continues to replace the proxy's key" wait_until 20 rolled $((key + 3))
awake=$(now_usec)
kill -CONT "$(field_of "$master" .pid)"
check 'the proxy accepts the last token of the application master when it continues' wait_until 20 asked_after "$awake"
proxy_tokens stale node01:8049 "$tokens" >"$dir/stale" # the application master has used a newer token since
facts "$dir/stale"

# ---- a job that bypasses the proxy, because it is not configured for the proxy ----

job_begin past org.apache.hadoop.examples.ExampleDriver pi -Dmapreduce.am.max-attempts=1 2 10

# ---- the ResourceManager's key ----

has_newer() { [ "$(proxy_tokens bearer "$kept")" -gt "$theirs" ]; }
check 'the ResourceManager replaces its key, and nmd stores the new token' wait_until 60 has_newer
job_ends
is 'an application master that bypasses the proxy fails' "$?" 1
like 'the ResourceManager refuses a token of the proxy' \
    "$(grep -rhs InvalidToken "$own"/logs/*/"application_$(job_id past)" "$dir/past.log")" "InvalidToken.*appattempt_$(job_id past)_000001"
activated() { grep -q 'Activating next master key with id' "$rm_log"; }
check 'the ResourceManager no longer accepts its former key' wait_until 40 activated
proxy_tokens content "$dir/watched" "$kept" >"$dir/facts"
facts "$dir/facts"
end_process "${nmd_nodes[1]}" KILL
again=$(now_usec)
need 'nmd starts again' node
check "after a restart of nmd, the application master's calls succeed with the proxy's and the new token" wait_until 20 asked_after "$again"

# ---- the end of the application ----

is 'the containers keep their processes until the application ends' \
    "$(field_of "${containers[0]}" .pid) $(field_of "${containers[1]}" .pid)" "$processes"
let_go go
ends_well shell
for container in "${containers[@]}"; do
    is 'a container has run once to its end' "$(cat "$(log_of "$container")") $(field_of "$container" .exit_code)" 'over 0'
done
is 'the application had no other containers' "$(own_numbers "$id")" '1099511627774 1099511627775'
over() { [ -z "$(pipeline_of "$id")" ] && [ -z "$(ls -A "$dir/nmd1/run/masters")" ]; }
check "nmd removes the proxy's data when the application ends" wait_until 30 over
done_testing
