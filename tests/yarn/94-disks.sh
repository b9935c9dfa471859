#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
# beside: others
#
# Disks that fill, turn read-only, fail and come back while jobs run, and the report of the disk checker. The second node of nmd and
# a Java NodeManager have three local directories and two log directories on ext4 file systems. The first node has the masters. The
# same faults on both kinds of nodes must have the same report.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
# shellcheck source=tests/yarn/faults.sh
. "$(dirname "$0")/faults.sh"
disks_available || skip_all 'this machine has no loop devices'

jobs_fs=local job_deadline=300
checker=yarn.nodemanager.disk-health-checker
need 'a cluster can be configured' jobs_configure "$checker.interval-ms=1000" "$checker.min-healthy-disks=0.5" \
    "$checker.max-disk-utilization-per-disk-percentage=90" \
    "$checker.disk-utilization-watermark-low-per-disk-percentage=70"
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
local_mib=64 log_mib=24
make_disks() { # N
    local disk
    for disk in "${disks[@]}"; do disk_make "$shared/node$1/local/$disk" "$local_mib" || return; done
    for disk in "${log_disks[@]}"; do disk_make "$shared/node$1/logs/$disk" "$log_mib" || return; done
}
small_mb=768
join() { nmd_node_start "$@" && wait_until 30 node_is "$1" RUNNING; } # N [NAME=VALUE...]
keeps=(yarn.nodemanager.delete.debug-delay-sec=12 yarn.nodemanager.log.retain-seconds=25 yarn.log-aggregation-enable=false)
need 'disks are made for both nodes' eval 'make_disks 2 && make_disks 4'
need 'the first node joins' join 1 yarn.nodemanager.resource.memory-mb=$small_mb
need 'the second node joins' join 2 "${keeps[@]}"
java_node_start 4 yarn.nodemanager.resource.memory-mb=128 # too little for a map
java_joins() { wait_until 90 node_is 4 RUNNING || { grep -v '^\s*at ' "$dir/java4.log" | tail -n 20; return 1; }; }
need 'a Java NodeManager joins' java_joins

own=$shared/node2
report_of() { # N: the node's health and report, with the same name for its directories, and without the figures of nmd
    rm_get nodes | jq -r --arg n "node0$1" '[.nodes.node[] | select(.nodeHostName == $n)] | last |
        "\(.state == "UNHEALTHY" | not) \(.healthReport)"' | sed -E "s|$shared/node$1/||g; s/ \([^)]*\)//g"
}
report_has() { [[ $(report_of "$1") == *"$2"* ]]; } # N WORDS
reports_empty() { [ "$(report_of 2)$(report_of 4)" = 'true true ' ]; }
same_report() { [ "$(report_of 2)" = "$(report_of 4)" ]; }
# Breaks the same directories on both kinds of nodes.
both() { # FUNCTION DIRECTORY ARG...
    "$1" "$own/$2" "${@:3}"
    "$1" "$shared/node4/$2" "${@:3}" >/dev/null
    sed -i '$d' "$faults_file" # the table has the node of nmd only
}
is_event() { use_node 2; nmctl events --json | grep -q -- "$1"; } # REGEX
dirs_of_new() { # NAME: prints the local directories that the newest containers of the job have got
    sed -nE 's/^export LOCAL_DIRS=//p' "$own"/local/*/usercache/*/appcache/"application_$(job_id "$1")"/*/launch_container.sh |
        tr -d "\"'" | sed "s|$own/||g; s|/usercache[^,]*||g" | sort -u
}
begin() { # NAME MAPS
    need "job $1 is submitted" held_begin "$1" "$2" -Dmapreduce.job.am.strict-locality=node01 -Dmapreduce.map.maxattempts=8
    need "all maps of job $1 run, some on the second node" wait_until 60 eval "held_runs $1 $2 1 2 && held_runs_some $1 2 2"
    saw "$1" "$(held_running "$1" 2) maps run on node02, $(held_running "$1" 1) on node01"
}
is 'no directory is reported as bad at first' "$(report_of 2)" 'true '
begin disks 6

# ---- a local directory fills ------------------------------------------------------------------------------

both disk_fill local/1
check 'the report names the full directory, and the node is healthy' wait_until 20 report_has 2 'true 1/3 local-dirs usable space is below'
check 'a Java NodeManager has the same report' wait_until 20 same_report || diag "$(report_of 2)" "$(report_of 4)"
check 'an event reports the full directory' \
    is_event "New containers don't use the local directory $own/local/1 any more: used space above threshold of 90.0%"
is 'all maps run on' "$(held_running disks 1 2)" 6
saw disks 'all maps run on'
both disk_release local/1 14 # between the two limits
check 'a directory between the two limits is still full' wait_until 20 report_has 2 'local/1 : used space above threshold of 70.0%'
check 'a Java NodeManager has the same report' wait_until 20 same_report || diag "$(report_of 2)" "$(report_of 4)"
both disk_empty local/1
check 'the report is empty when the directory has room again' wait_until 20 reports_empty

# ---- a log directory turns read-only ----------------------------------------------------------------------

disk_read_only "$own/logs/1"
check 'the report names the read-only log directory' wait_until 20 report_has 2 'true 1/2 log-dirs have errors:  [ logs/1 : '
held_go disks 2
check 'two maps end although one log directory is read-only' wait_until 20 held_runs disks 4 1 2
saw disks 'two maps end well'

# ---- a local directory fails -------------------------------------------------------------------------------

disk_fail "$own/local/2"
check 'the report names the failed directory' wait_until 20 report_has 2 'true 1/3 local-dirs have errors:  [ local/2 : '
held_all disks
ends_right disks 6
need 'the disk of the log directory can be unmounted and repaired' disk_back "$own/logs/1"
log_is_good() { [[ $(report_of 2) != *log-dirs* ]]; }
check 'the log directory is good when its disk is mounted again' wait_until 20 log_is_good
begin second 6
is 'new containers do not use the failed directory' "$(dirs_of_new second LOCAL_DIRS)" local/1,local/3
need 'the failed disk can be unmounted and repaired' disk_back "$own/local/2"
check 'the directory is good again when its disk is mounted again' wait_until 20 eval '[ "$(report_of 2)" = "true " ]'
check 'an event reports that the directory is good again' is_event "local directory $own/local/2 is good again"

# ---- too many directories are bad --------------------------------------------------------------------------

disk_gone "$own/local/1"
disk_fail "$own/local/3"
check 'the node is UNHEALTHY when too few directories are good' wait_until 60 node_is 2 UNHEALTHY
like 'the report names both directories' "$(report_of 2)" '^false 2/3 local-dirs have errors:  \[ local/1 : .* , local/3 : '
check 'maps run only on the first node' wait_until 30 eval 'held_runs second 0 2 && held_runs second 2 1'
saw second 'the maps of node02 were killed; node01 runs as many as it can'
need 'the disk that was unmounted is mounted again' disk_back "$own/local/1"
disk_new "$own/local/3" "$local_mib"
check 'the node is RUNNING when its disks are mounted again, one of them new' wait_until 30 node_is 2 RUNNING
check 'the report is empty' wait_until 20 eval '[ "$(report_of 2)" = "true " ]'
check 'all maps run again' wait_until 60 eval 'held_runs second 6 1 2 && held_runs_some second 2 2'
held_all second
ends_right second 6
is 'no map of the second job has failed' "$(maps_of second Failed)" 0

# ---- files that are kept for a while ------------------------------------------------------------------------

app=application_$(job_id second)
find_app() { find "$own/local" "$own/logs" -path "*/$app*" -prune -print 2>/dev/null | grep "$1"; } # REGEX
work_left() { find_app appcache; }
logs_left() { find "$own"/logs/* -maxdepth 1 -name "$app" 2>/dev/null | grep .; }
check 'the files of the application are kept after its end' work_left
fault_nmd 2 KILL
need 'nmd starts again' fault_nmd_back 2 "${keeps[@]}"
check 'the files are still kept' work_left
gone_work() { ! work_left; }
gone_logs() { ! logs_left; }
check 'nmd removes the files after delete.debug-delay-sec, also after it was killed' wait_until 30 gone_work
check 'the logs are kept longer' logs_left
check 'nmd removes the logs after log.retain-seconds' wait_until 40 gone_logs
java_node_stop 4
faults_table
done_testing
