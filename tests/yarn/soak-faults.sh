# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the suite and its libraries
#
# The kinds of faults of 99-soak.sh, which sources this file after faults.sh. Each kind has these functions:
#
#   soak_KIND_break N SECONDS    breaks something of node N
#   soak_KIND_over N SECONDS     returns whether it has been broken for long enough; by default after SECONDS
#   soak_KIND_heal N             repairs it
#
# None of them waits for long. After a repair the suite waits until the cluster is well. soak_broken_for is the time since the
# break, in seconds.

# What a kind of fault breaks, for the watch: the node, the ResourceManager (rm), or nothing.
declare -A fault_hits=([rm_killed]=rm [rm_away]=rm [surge]='')
# Kinds that may make a job fail. All others may only slow it down: Hadoop does not count what a lost node, a lost ResourceManager or
# a lost network costs as failures of the job. When a disk fails, a master or a task fails by itself, as with Hadoop's NodeManager.
declare -A fault_explains=([local_full]=1 [local_broken]=1 [log_full]=1)
# Kinds by which the ResourceManager may lose a node with its containers. The attempt of a master there fails. The ResourceManager
# starts another attempt, unless the application has only one: then the application FAILED, also if it was being killed (RMAppImpl,
# AttemptFailedTransition: with one attempt, each failed attempt counts). The NodeManager has no part in that.
declare -A fault_loses=([nmd_lost]=1 [net_dropped]=1 [decommissioned]=1 [drained]=1 [unhealthy]=1)

soak_node_states() { rm_get nodes | jq -r '.nodes.node[] | "\(.nodeHostName) \(.state)"' | paste -sd ' '; }

# ---- nmd ---------------------------------------------------------------------------------------------------

soak_node_start() { # N
    local NMD=$NMD
    [ "$1" != 3 ] || NMD=$third_nmd
    # the masters of the distributed shell get the variable from the node
    JAVA_TOOL_OPTIONS=$small net_start "$1" "$proxy.address=node0$1:8049" "$scheduler_address=rmhost:8049" \
        yarn.nodemanager.recovery.supervised=true "yarn.nodemanager.health-checker.script.path=$shared/health$1" \
        yarn.nodemanager.health-checker.interval-ms=1000
    local status=$?
    soak_pids
    return "$status"
}
soak_pids() { # for the watch
    local n
    for n in "${!nmd_nodes[@]}"; do [ -z "${nmd_nodes[$n]}" ] || echo "$n ${nmd_nodes[$n]}"; done >"$soak_dir/pids"
}
soak_back() { # N
    fault "nmd of node0$1 starts again"
    soak_node_start "$1" || soak_breach restart "nmd of node0$1 does not start again"
}
soak_nmd_killed_break() {
    local found
    fault_nmd "$1" KILL
    nmd_nodes[$1]=''
    soak_pids
    found=$(/usr/bin/python3 "$soak_py" journal "$dir/nmd$1/state")
    journals=$((journals + 1))
    [ -z "$found" ] || soak_breach journal "node0$1, killed: $found"
}
soak_nmd_killed_heal() { soak_back "$1"; }
# An ordinary stop and start, as for an upgrade. nmd reports what it has not freed.
soak_nmd_end() { # N
    local status=0
    kill -TERM "${nmd_nodes[$1]}"
    wait "${nmd_nodes[$1]}" || status=$?
    nmd_nodes[$1]=''
    soak_pids
    stops=$((stops + 1))
    [ "$status" = 0 ] || soak_breach stop "nmd of node0$1 ends with status $status"
}
soak_nmd_restarted_break() {
    fault "nmd of node0$1 is stopped (SIGTERM)"
    soak_nmd_end "$1"
}
soak_nmd_restarted_heal() { soak_back "$1"; }
soak_nmd_paused_break() { fault_nmd "$1" STOP; }
soak_nmd_paused_heal() { fault_nmd "$1" CONT; }
soak_nmd_lost_break() { fault_nmd "$1" STOP; }
soak_nmd_lost_over() { node_is "$1" LOST || [ "$soak_broken_for" -ge 60 ]; }
soak_nmd_lost_heal() { fault_nmd "$1" CONT; }

# ---- the ResourceManager -------------------------------------------------------------------------------------

soak_rm_killed_break() { fault_rm KILL; }
soak_rm_killed_over() { true; }
soak_rm_killed_heal() {
    fault 'the ResourceManager starts again'
    rm_launch
}
soak_rm_away_break() { fault_rm KILL; }
soak_rm_away_over() { [ "$soak_broken_for" -ge $((15 + 2 * $2)) ]; }
soak_rm_away_heal() { soak_rm_killed_heal; }

# rmadmin is a JVM, and runs aside.
admin_pid=''
soak_refresh() { # [OPTION...]
    rm_admin -refreshNodes "$@" >>"$dir/admin.log" 2>&1 &
    admin_pid=$!
}
soak_decommission() { # N WHAT [OPTION...]
    fault "node0$1 is decommissioned $2"
    echo "node0$1" >"$dir/exclude"
    soak_refresh "${@:3}"
}
soak_decommissioned_break() { soak_decommission "$1" 'at once'; }
soak_drained_break() { soak_decommission "$1" 'gracefully, within ten seconds' -g 10 -server; }
soak_left() { # N: it has left, and nmd knows it
    node_is "$1" DECOMMISSIONED && use_node "$1" && status_is .upstream.state stopped || [ "$soak_broken_for" -ge 90 ]
}
soak_decommissioned_over() { soak_left "$1"; }
soak_drained_over() { soak_left "$1"; }
# The node may come back. nmd registers again only when it is restarted.
soak_decommissioned_heal() {
    wait "$admin_pid"
    : >"$dir/exclude"
    rm_admin -refreshNodes >>"$dir/admin.log" 2>&1
    soak_nmd_end "$1"
    soak_back "$1"
}
soak_drained_heal() { soak_decommissioned_heal "$1"; }

# ---- the host --------------------------------------------------------------------------------------------------

soak_health_script() { # N
    printf '#!/bin/sh\n[ ! -e %s ] || echo "ERROR this node is sick"\n' "$shared/sick$1" >"$shared/health$1"
    chmod 755 "$shared/health$1"
}
soak_unhealthy_break() {
    fault "the health script of node0$1 finds an error"
    : >"$shared/sick$1"
}
soak_unhealthy_over() { node_is "$1" UNHEALTHY || [ "$soak_broken_for" -ge 90 ]; }
soak_unhealthy_heal() {
    fault "the health script of node0$1 finds no error"
    rm "$shared/sick$1"
}
soak_surge_break() {
    fault "the memory of all hosts is nearly used up"
    node_memory 16300
}
soak_surge_heal() {
    fault "the memory of all hosts is free again"
    node_memory 0
}

# Two directories of each node are disks that can fail.
soak_disks() { disk_make "$shared/node$1/local/2" 256 && disk_make "$shared/node$1/logs/2" 64; } # N
soak_disk_over() { [ "$soak_broken_for" -ge $((8 + 2 * $1)) ]; }                                  # SECONDS
soak_local_full_break() { disk_fill "$shared/node$1/local/2"; }
soak_local_full_over() { soak_disk_over "$2"; }
soak_local_full_heal() { disk_empty "$shared/node$1/local/2"; }
soak_log_full_break() { disk_fill "$shared/node$1/logs/2"; }
soak_log_full_over() { soak_disk_over "$2"; }
soak_log_full_heal() { disk_empty "$shared/node$1/logs/2"; }
soak_local_broken_break() { # the disk turns read-only, or fails
    if [ $(($2 % 2)) = 0 ]; then disk_read_only "$shared/node$1/local/2"; else disk_fail "$shared/node$1/local/2"; fi
}
soak_local_broken_over() { soak_disk_over "$2"; }
soak_local_broken_heal() { # a disk that containers still use is replaced by a new one
    local disk=$shared/node$1/local/2
    umount -l "$disk"
    if wait_until 1 disk_is_free "$disk"; then disk_back "$disk"; else disk_new "$disk" 256; fi ||
        soak_breach recovery "the disk of node0$1 is not mounted again"
}

# ---- the network -------------------------------------------------------------------------------------------------

soak_net_dropped_break() { net_link_is "$1" drop; }
soak_net_dropped_over() { [ "$soak_broken_for" -ge $((2 + 2 * $2)) ]; } # some last longer than the expiry of nodes
soak_net_dropped_heal() { net_link_is "$1" ok; }
soak_net_delayed_break() { net_link_is "$1" delay $((100 + 100 * $2)); }
soak_net_delayed_over() { [ "$soak_broken_for" -ge $((8 + $2)) ]; }
soak_net_delayed_heal() { net_link_is "$1" ok; }
