# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # much of it is for those who source it
#
# Two stock ResourceManagers, rm1 and rm2, with their state in ZooKeeper, for suites that source this file after jobs.sh (or a
# library that sources it) and faults.sh. All programs get the cluster's configuration with both; rm_get asks the active one.
#
#   ha_configure NAME=VALUE...    like jobs_configure
#   ha_start manual|automatic     starts ZooKeeper and both ResourceManagers. With manual, an administrator chooses the active
#                                 one (ha_admin); with automatic, they elect it through ZooKeeper
#   ha_signal N STOP|CONT|KILL    sends a signal to one ResourceManager, and records it as a fault

ha_pids=() ha_webs=() zk_pid='' zk_port=''
ha_end() {
    local pid
    for pid in "${ha_pids[@]}"; do kill -CONT "$pid" 2>/dev/null; done
    for pid in "${ha_pids[@]}" "$zk_pid"; do end_process "$pid" KILL; done
}
at_exit ha_end

ha_configure() { # NAME=VALUE...
    local n i name rm=yarn.resourcemanager site=() ports=()
    read -r -a ports < <(free_ports 11)
    zk_port=${ports[10]} i=0
    for name in address scheduler.address resource-tracker.address admin.address webapp.address; do
        site+=("$rm.$name=") # the names of a single ResourceManager
        for n in 1 2; do
            site+=("$rm.$name.rm$n=127.0.0.1:${ports[i]}")
            [ "$name" != webapp.address ] || ha_webs[n]=http://127.0.0.1:${ports[i]}
            i=$((i + 1))
        done
    done
    # A session of ZooKeeper ends after three seconds, and not after ten. Clients and masters look for the active one until it is found.
    jobs_configure "${site[@]}" "$rm.ha.enabled=true" "$rm.ha.rm-ids=rm1,rm2" "$rm.cluster-id=nmd" \
        "hadoop.zk.address=127.0.0.1:$zk_port" hadoop.zk.timeout-ms=3000 "$rm.recovery.enabled=true" \
        "$rm.store.class=org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore" \
        "$rm.work-preserving-recovery.scheduling-wait-ms=1000" "$rm.connect.max-wait.ms=180000" \
        "$rm.connect.retry-interval.ms=200" yarn.am.liveness-monitor.expiry-interval-ms=600000 "$@"
}

zk_start() {
    printf '%s\n' tickTime=500 "dataDir=$dir/zk" "clientPort=$zk_port" clientPortAddress=127.0.0.1 >"$dir/zoo.cfg"
    java "${java_options[@]}" "${class_options[@]}" -Dzookeeper.admin.enableServer=false -cp "$(hadoop_classpath)" \
        org.apache.zookeeper.server.ZooKeeperServerMain "$dir/zoo.cfg" </dev/null >>"$dir/zk.log" 2>&1 &
    zk_pid=$!
    patient_until 'ZooKeeper does not listen' "$zk_pid=$dir/zk.log" -- bash -c ": </dev/tcp/127.0.0.1/$zk_port"
}

ha_automatic=true
ha_launch() { # N: starts a ResourceManager and does not wait until it responds
    java "${java_options[@]}" "${class_options[@]}" -cp "$(hadoop_classpath)" \
        org.apache.hadoop.yarn.server.resourcemanager.ResourceManager "-Dyarn.resourcemanager.ha.id=rm$1" \
        "-Dyarn.resourcemanager.ha.automatic-failover.enabled=$ha_automatic" </dev/null >>"$dir/rm$1.log" 2>&1 &
    ha_pids[$1]=$!
}
ha_state() { curl -sf -m 5 "${ha_webs[$1]}/ws/v1/cluster/info" | jq -r .clusterInfo.haState; } # N
ha_is() { [ "$(ha_state "$1")" = "$2" ]; }                                                  # N ACTIVE|STANDBY: for wait_until
ha_active() { # prints the number of the active ResourceManager
    local n
    for n in 1 2; do ! ha_is "$n" ACTIVE || { echo "$n"; return; }; done
    return 1
}
ha_wait() { # N STATE
    patient_until "rm$1 is not in the state $2" "${ha_pids[$1]}=$dir/rm$1.log" -- ha_is "$1" "$2"
}
ha_start() { # manual|automatic
    local n
    ha_automatic=false
    [ "$1" = manual ] || ha_automatic=true
    [ -n "$zk_pid" ] || zk_start || return
    for n in 1 2; do ha_launch "$n"; done
    if [ "$1" = manual ]; then
        ha_wait 1 STANDBY && ha_wait 2 STANDBY && ha_admin -transitionToActive rm1 && ha_wait 1 ACTIVE
    else
        patient_until 'no ResourceManager becomes active' "${ha_pids[1]}=$dir/rm1.log" -- ha_active &&
            wait_until 60 ha_is $((3 - $(ha_active))) STANDBY
    fi
}
ha_stop() { # both at the same time
    local pid
    kill -TERM "${ha_pids[@]}"
    for pid in "${ha_pids[@]}"; do end_process "$pid"; done
    ha_pids=()
}
# The administrator's commands refuse to work where the configuration has automatic failover.
ha_admin() { rm_admin -Dyarn.resourcemanager.ha.automatic-failover.enabled=false "$@"; }
rm_get() { # PATH: replaces the function for a single ResourceManager
    local n
    n=$(ha_active) && curl -sf "${ha_webs[n]}/ws/v1/cluster/$1"
}
ha_signal() { # N STOP|CONT|KILL
    fault "rm$1 (${ha_role[$1]:-standby}) ${signal_does[$2]} (SIG$2)"
    if [ "$2" = KILL ]; then
        end_process "${ha_pids[$1]}" KILL
        unset "ha_pids[$1]"
    else
        kill "-$2" "${ha_pids[$1]}"
    fi
}
ha_role=() # of each ResourceManager, for the table of faults
ha_note_roles() { # prints nothing; sets ha_role
    local n
    for n in 1 2; do ha_role[n]=$(ha_state "$n" | tr A-Z a-z); done
}
