#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
# beside: all
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
    "$checker.disk-utilization-watermark-low-per-disk-percentage=70" "$checker.min-free-space-per-disk-mb=6" \
    "$checker.min-free-space-per-disk-watermark-high-mb=9"
need 'a stock ResourceManager answers' rm_again
need "the host's memory can be simulated" node_proc_start 16384 16
local_mib=64 log_mib=24
make_disks() { # N
    local disk
    for disk in "${disks[@]}"; do disk_make "$shared/node$1/local/$disk" "$local_mib" || return; done
    for disk in "${log_disks[@]}"; do disk_make "$shared/node$1/logs/$disk" "$log_mib" || return; done
}
need 'disks are made for both nodes' eval 'make_disks 2 && make_disks 4'
java_node_start 4 yarn.nodemanager.resource.memory-mb=128 # too little for a map
# The first node has room for a master and two maps, the second node for four maps.
join() { nmd_node_start "$@" && wait_until 30 node_is "$1" RUNNING; } # N [NAME=VALUE...]
keeps=(yarn.nodemanager.resource.memory-mb=1024 yarn.nodemanager.delete.debug-delay-sec=12 yarn.nodemanager.log.retain-seconds=30
    yarn.log-aggregation-enable=false)
need 'the first node joins' join 1 yarn.nodemanager.resource.memory-mb=768
need 'the second node joins' join 2 "${keeps[@]}"
java_joins() { wait_until 90 node_is 4 RUNNING || { grep -v '^\s*at ' "$dir/java4.log" | tail -n 20; return 1; }; }
need 'a Java NodeManager joins' java_joins

own=$shared/node2
raw_report_of() { # N: the node's health and report, with the same names of directories for all nodes
    rm_get nodes | jq -r --arg n "node0$1" '[.nodes.node[] | select(.nodeHostName == $n)] | last |
        "\(.state == "UNHEALTHY" | not) \(.healthReport)"' | sed -E "s|$shared/node$1/||g"
}
report_of() { raw_report_of "$1" | sed -E "s/ \([^)]*\)//g"; } # N: without the figures of nmd
report_has() { [[ $(report_of "$1") == *"$2"* ]]; } # N WORDS
figures_are() { [[ $(raw_report_of 2) =~ $1 ]]; } # REGEX
report_is_empty() { [ "$(report_of "$1")" = 'true ' ]; } # N
reports_empty() { report_is_empty 2 && report_is_empty 4; }
same_report() { [ "$(report_of 2)" = "$(report_of 4)" ]; }
same_reports() { check 'a Java NodeManager has the same report' wait_until 20 same_report || diag "$(report_of 2)" "$(report_of 4)"; }
# Breaks the same directories on both kinds of nodes.
both() { # FUNCTION DIRECTORY ARG...
    "$1" "$own/$2" "${@:3}"
    "$1" "$shared/node4/$2" "${@:3}" >/dev/null
    sed -i '$d' "$faults_file" # the table has the node of nmd only
}
is_event() { use_node 2; nmctl events --json | grep -q -- "$1"; } # REGEX
# A map that is still starting needs its local directories, and would fail with them.
have_begun() { [ "$(pgrep -fc "^/bin/sh $shared/work/$1/map.sh")" = "$2" ]; } # NAME N: for wait_until
begin() { # NAME MAPS RUNNING [OPTION...]: submits a job, of whose maps RUNNING can run at the same time
    need "job $1 is submitted" held_begin "$1" "$2" -Dmapreduce.job.am.strict-locality=node01 -Dmapreduce.map.maxattempts=8 "${@:4}"
    need "$3 maps of job $1 run, some on the second node" wait_until 60 eval "held_runs $1 $3 1 2 && held_runs_some $1 2 2"
    need "the maps of job $1 have begun" wait_until 60 have_begun "$1" "$3"
    saw "$1" "$(held_running "$1" 2) maps run on node02, $(held_running "$1" 1) on node01"
}
is 'no directory is reported as bad at first' "$(report_of 2)" 'true '
echo words >"$shared/of-job"
chmod 644 "$shared/of-job"
begin disks 12 6 -files "file://$shared/of-job"

# ---- directories fill -------------------------------------------------------------------------------------

both disk_fill local/1
both disk_fill logs/2 5
check 'the report names the full local directory, and the node is healthy' \
    wait_until 20 report_has 2 'true 1/3 local-dirs usable space is below'
check 'the report names the log directory too' wait_until 20 report_has 2 '1/2 log-dirs usable space is below'
same_reports
check 'an event reports the full local directory' \
    is_event "New containers don't use the local directory $own/local/1 any more: used space above threshold of 90.0%"
check 'an event reports the log directory with too little free space' \
    is_event "New containers don't use the log directory $own/logs/2 any more: free space below limit of 6MB"
is 'all maps run on' "$(held_running disks 1 2)" 6
saw disks 'all maps run on'

# New maps need the job's files while the directory in which they are is full. So the maps that run use two copies.
copies() { find "$own"/local/[123] -path '*/filecache/*/of-job' 2>/dev/null | sort; }
has_copies() { [ "$(copies | wc -l)" -ge "$1" ]; } # N
links_of() { # prints the targets of the links in the work directories of the maps that run on the second node
    local map
    NMD_SOCKET=$dir/nmd2/nmd.sock nmctl list --json | jq -r --arg id "$(job_id disks)" \
        '.[] | select((.id | contains($id)) and .state == "RUNNING") | .id' | while read -r map; do
        find "$own"/local/[123]/usercache/*/appcache/*/"$map" -maxdepth 1 -type l -printf '%l\n' 2>/dev/null
    done | sort -u
}
dirs_of_links() { links_of | sed -nE "s|^$own/(local/.)/.*|\1|p" | sort -u | wc -l; }
dangling() { links_of | while read -r target; do [ -e "$target" ] || echo "$target"; done; }
held_go disks 3 # at least one of them runs on the second node, and another map starts there
check 'a map that starts meanwhile gets the file of the job in another directory' wait_until 30 has_copies 2
need 'six maps run again' wait_until 30 held_runs disks 6 1 2
at_least 'the maps use files in several directories' "$(dirs_of_links)" 2

both disk_release local/1 14 # between the two limits
both disk_release logs/2 3
check 'a local directory between the two limits is still full' \
    wait_until 20 figures_are 'local/1 : used space above threshold of 70\.0% \(7[0-9] % of'
check 'a log directory between the two limits is still full' \
    wait_until 20 figures_are 'logs/2 : free space below limit of 9MB \([78] MiB of'
same_reports
both disk_empty local/1
both disk_empty logs/2
check 'the reports are empty when the directories have room again' wait_until 20 reports_empty

# nmd is killed, and the next one may keep nothing that no container uses.
# Makes a resource that no container uses, and that was used last: a copy of another one and of nmd's note, with another name.
make_unused() {
    local copy top note
    copy=$(copies | tail -n 1)
    top=$own/local/$(cut -d / -f 2 <<<"${copy#"$own"/}")
    note=$(find "$dir/nmd2/state" -path "*/local-$(cat "$top/.nmd-id")/$(basename "${copy%/*}")")
    unused=${copy%/*/*}/99
    cp -a "${copy%/*}" "$unused" && mv "$unused/of-job" "$unused/of-none" && sed s/of-job/of-none/ "$note" >"${note%/*}/99" &&
        touch -d "@$(cut -d . -f 1 /proc/uptime)" "${note%/*}/99"
}
unused_is_gone() { [ ! -e "$unused" ]; }
fault_nmd 2 KILL
need 'a resource is made that no container uses' make_unused
need 'nmd starts again, and may cache nothing' fault_nmd_back 2 "${keeps[@]}" yarn.nodemanager.localizer.cache.target-size-mb=0
check 'it removes the resource that no container uses' wait_until 30 unused_is_gone
at_least 'maps run on with links to the file of the job' "$(links_of | grep -c of-job)" 1
is 'the files of the maps that run stay in all directories' "$(dangling)" ''
saw disks 'all maps run on with their files'

# ---- a log directory turns read-only, and a local directory fails -------------------------------------------

disk_read_only "$own/logs/1"
check 'the report names the read-only log directory' wait_until 20 report_has 2 'true 1/2 log-dirs have errors:  [ logs/1 : '
is 'all maps run on' "$(held_running disks 1 2)" 6
saw disks 'all maps run on'
disk_fail "$own/local/2"
check 'the report names the failed directory too' wait_until 20 report_has 2 'true 1/3 local-dirs have errors:  [ local/2 : '
touch "$dir/failed"
dirs_of_new() { # VARIABLE: prints the directories of the containers that have started since the second failure
    find "$own"/local/[13]/usercache/*/appcache/"application_$(job_id disks)" -name launch_container.sh -newer "$dir/failed" \
        -exec sed -nE "s/^export $1=//p" {} + | tr -d "\"'" | sed "s|$own/||g; s|/usercache[^,]*||g; s|/application[^,]*||g" | sort -u
}
has_new() { [ -n "$(dirs_of_new LOCAL_DIRS)" ]; }
held_go disks 3 # at least one of them runs on the second node, and another map starts there
check 'a map starts on the second node when others end' wait_until 30 has_new
is 'new containers do not use the failed directory' "$(dirs_of_new LOCAL_DIRS)" local/1,local/3
is 'new containers do not use the read-only log directory' "$(dirs_of_new LOG_DIRS)" logs/2
saw disks 'new maps use the other directories'
held_all disks
ends_right disks 12

# ---- files that are kept for a while ------------------------------------------------------------------------

app=application_$(job_id disks)
find_app() { find "$own/local" "$own/logs" -path "*/$app*" -prune -print 2>/dev/null | grep "$1"; } # REGEX
work_left() { find_app appcache; }
logs_left() { find "$own"/logs/* -maxdepth 1 -name "$app" 2>/dev/null | grep .; }
is_noted() { [ -n "$(find "$dir/nmd2/state" -path "*/ended/$app")" ]; }
need 'nmd has noted the end of the application' wait_until 30 is_noted
check 'the files of the application are kept after its end' work_left
need 'the disk of the log directory can be unmounted and repaired' disk_back "$own/logs/1"
need 'the failed disk can be unmounted and repaired' disk_back "$own/local/2"
check 'both directories are good again when their disks are mounted again' wait_until 20 report_is_empty 2
check 'an event reports that the directory is good again' is_event "local directory $own/local/2 is good again"
fault_nmd 2 KILL
need 'nmd starts again' fault_nmd_back 2 "${keeps[@]}"
check 'the files are still kept' work_left
gone_work() { ! work_left; }
gone_logs() { ! logs_left; }

# ---- too many directories are bad --------------------------------------------------------------------------

begin second 4 4
check 'nmd removes the files after delete.debug-delay-sec, also after it was killed' wait_until 30 gone_work
check 'the logs are kept longer' logs_left
disk_gone "$own/local/1"
disk_fail "$own/local/3"
check 'nmd removes the logs after log.retain-seconds' wait_until 40 gone_logs
check 'the node is UNHEALTHY when too few directories are good' wait_until 60 node_is 2 UNHEALTHY
like 'the report names both directories' "$(report_of 2)" '^false 2/3 local-dirs have errors:  \[ local/1 : .* , local/3 : '
check 'maps run only on the first node' wait_until 30 eval 'held_runs second 0 2 && held_runs second 2 1'
saw second 'the maps of node02 were killed; node01 runs as many as it can'
need 'the disk that was unmounted is mounted again' disk_back "$own/local/1"
disk_new "$own/local/3" "$local_mib"
check 'the node is RUNNING when its disks are mounted again, one of them new' wait_until 30 node_is 2 RUNNING
check 'the report is empty' wait_until 20 report_is_empty 2
check 'all maps run again' wait_until 60 eval 'held_runs second 4 1 2 && held_runs_some second 2 2'
held_all second
ends_right second 4
fault_nmd 2 KILL # before the files are removed
is 'no map of the second job has failed' "$(maps_of second Failed)" 0 || diag "$(grep -A 12 FAILED "$dir/second.log")"

# ---- a disk is away when nmd starts, and when files are due to be removed -------------------------------------

node_disks() { :; } # the start of the node must not mount another disk
left() { find "$own"/local/[123] -path '*/appcache/application_*' -print -quit | grep .; }
none_left() { ! left; }
check 'the disks have files of the job' left
disk_gone "$own/local/1"
need 'nmd starts while a disk is away' fault_nmd_back 2 "${keeps[@]}"
check 'the report names the directory whose disk is away' \
    wait_until 20 report_has 2 "true 1/3 local-dirs have errors:  [ local/1 : its disk isn't mounted"
is 'nmd makes nothing below the mount point' "$(ls -A "$own/local/1")" ''
check 'nmd removes the files of the job from the other disks' wait_until 40 none_left
need 'the disk is mounted again' disk_back "$own/local/1"
check 'the report is empty again' wait_until 20 report_is_empty 2 || diag "$(report_of 2)"
check 'nmd removes the files of the job from this disk, too' wait_until 60 none_left
java_node_stop 4
faults_table
done_testing
