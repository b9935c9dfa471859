# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # much of it is for those who source it
#
# Library for suites that break a cluster while jobs run: source it after jobs.sh (or proxied.sh, lent.sh). A suite calls one of
# the injectors below, each of which records the fault. The suite records with `saw` how each job fares, and ends with
# faults_table, which prints a table of all faults, with the time of each since the start of the suite:
#
#   fault WHAT        records a fault, a repair or another change that is not made by an injector
#   saw JOB WHAT      records what a job saw of the latest fault
#   faults_table      prints the table
#
# The records are in a file, so that functions can be called by check and wait_until, which run them in subshells.

faults_begun=$EPOCHREALTIME
faults_file=$dir/faults

faults_add() { # JOB WHAT
    awk -v begun="$faults_begun" -v now="$EPOCHREALTIME" -v job="$1" -v what="$2" \
        'BEGIN { printf "%.1f\t%s\t%s\n", now - begun, job, what }' >>"$faults_file"
}
fault() { faults_add '' "$1"; }  # WHAT
saw() { faults_add "$1" "$2"; }  # JOB WHAT
faults_table() {
    [ -s "$faults_file" ] || return 0
    awk -F '\t' '
        { at[NR] = $1 " s"; job[NR] = $2; what[NR] = $3 }
        length($2) > width { width = length($2) }
        END {
            if (width < 3) width = 3
            printf "%9s  %-*s  %s\n", "time", width, "job", "what was broken or repaired (no job), or what the job saw"
            for (i = 1; i <= NR; i++)
                printf "%9s  %-*s  %s\n", at[i], width, job[i], what[i]
        }' "$faults_file" | sed 's/^/# /'
}

# ---- processes ----------------------------------------------------------------------------------------

declare -A signal_does=([STOP]='is paused' [CONT]='runs on' [KILL]='is killed' [TERM]='is stopped')
# Sends a signal to the nmd of node N, and waits for its end if it ends. nmd_node_start starts it again.
fault_nmd() { # N STOP|CONT|KILL|TERM
    fault "nmd of node0$1 ${signal_does[$2]} (SIG$2)"
    case $2 in
        STOP | CONT) kill "-$2" "${nmd_nodes[$1]}" ;;
        *) end_process "${nmd_nodes[$1]}" "$2" ;;
    esac
}
fault_nmd_back() { # N [NAME=VALUE...]
    fault "nmd of node0$1 starts again"
    nmd_node_start "$@"
}
# Sends a signal to the ResourceManager, and waits for its end if it ends. fault_rm_back starts it again.
fault_rm() { # STOP|CONT|KILL|TERM
    fault "the ResourceManager ${signal_does[$1]} (SIG$1)"
    case $1 in
        STOP | CONT) kill "-$1" "$rm_pid" ;;
        *) end_process "$rm_pid" "$1"; rm_pid='' ;;
    esac
}
fault_rm_back() {
    fault 'the ResourceManager starts again'
    rm_again
}
# A paused process could not end by SIGTERM, with which the libraries end it.
faults_continue() {
    local pid
    for pid in "${nmd_nodes[@]}" $rm_pid; do kill -CONT "$pid" 2>/dev/null; done
    return 0
}
at_exit faults_continue

# ---- clocks ---------------------------------------------------------------------------------------------

# The clock of the nmds that are started after clock_simulate can be stepped. The steps are simulated, since the machine has only
# one clock (util/fault.h).
clock_simulate() { export NMD_STEPPED=$dir/stepped; }
clock_step() { # SECONDS: relative to the real time
    fault "the clock of the nodes is stepped to $1 s beside the time"
    echo "${1}000000" >"$dir/stepped.new"
    mv "$dir/stepped.new" "$dir/stepped"
}

# ---- jobs -----------------------------------------------------------------------------------------------

# Submits a job whose maps wait until held_go or held_all lets them end. Each map copies its input of one line.
held_begin() { # NAME MAPS [OPTION...]
    local own=$shared/work/$1 n
    install -d -o "$job_user" "$own" "$own/in" "$own/go" "$own/gone"
    for ((n = 1; n <= $2; n++)); do echo "line $n" >"$own/in/$n"; done
    cat >"$own/map.sh" <<-END
	read -r line
	until [ -e $own/all ] || mv "\$(ls -d $own/go/* 2>/dev/null | head -n 1)" $own/gone/ 2>/dev/null; do sleep 0.1; done
	echo "\$line"
	END
    chmod 644 "$own/map.sh"
    job_begin "$1" org.apache.hadoop.streaming.HadoopStreaming -Dmapreduce.job.reduces=0 "-Dmapreduce.job.name=$1" "${@:3}" \
        -input "file://$own/in" -output "file://$own/out" -mapper "/bin/sh $own/map.sh"
    aside "$1"
    wait_until 60 held_is_submitted "$1"
}
held_is_submitted() { [ -n "$(job_id "$1")" ]; }                      # NAME
held_go() { seq "$2" | sed "s|^|$shared/work/$1/go/$EPOCHREALTIME.|" | xargs touch; } # NAME N: N maps end, now or later
held_all() { touch "$shared/work/$1/all"; }                           # NAME: all maps end
held_result() { cat "$shared/work/$1/out"/part-* | sed 's/\s*$//' | sort -V | paste -sd ' '; }   # NAME
held_lines() { seq -s ' ' "$1" | sed -E 's/[0-9]+/line &/g'; }         # N: prints the result of N maps
held_count() { # STATE NAME N...: prints how many maps of a job the nodes have in this state
    local n state=$1 name=$2 sum=0
    for n in "${@:3}"; do
        sum=$((sum + $(NMD_SOCKET=$dir/nmd$n/nmd.sock nmctl list --all --json | jq --arg id "$(job_id "$name")" --arg state "$state" \
            '[.[] | select((.id | contains($id)) and .name != "master" and .state == $state)] | length')))
    done
    echo "$sum"
}
held_running() { held_count RUNNING "$@"; } # NAME N...
held_ended() { held_count COMPLETED "$@"; } # NAME N...
held_runs() { [ "$(held_running "$1" "${@:3}")" = "$2" ]; }            # NAME COUNT N...: for wait_until
held_runs_some() { [ "$(held_running "$1" "${@:3}")" -ge "$2" ]; }     # NAME COUNT N...: for wait_until
maps_of() { sed -nE "s/^\s*$2 map tasks=([0-9]+)/\1/p" "$dir/$1.log" | grep . || echo 0; } # NAME Launched|Failed|Killed
attempts_of() { rm_get "apps/application_$(job_id "$1")/appattempts" | jq '.appAttempts.appAttempt | length'; } # NAME
# Waits for the end of a job, which must succeed, and records it.
ends_right() { # NAME MAPS
    succeeds "$1"
    is "$1 has the right result" "$(held_result "$1")" "$(held_lines "$2")"
    saw "$1" "succeeds: $(maps_of "$1" Launched) maps launched, $(maps_of "$1" Failed) failed, $(maps_of "$1" Killed) killed; $(
        attempts_of "$1") attempts of its master"
}
has_attempts() { [ "$(attempts_of "$1")" = "$2" ]; } # NAME N: for wait_until

# ---- disks --------------------------------------------------------------------------------------------

# A disk is an ext4 file system in a file, because ext4 can fail as with a real disk. It is mounted on the directory. Later
# functions name the disk by this directory. All mounts are shared, as on a host with systemd: containers have mount namespaces
# of their own, and would otherwise keep a disk that is unmounted outside.
mount --make-rshared /
disk_image() { echo "$dir/disk.$(tr / _ <<<"$1")"; } # DIRECTORY
disks_available() { [ -e /dev/loop-control ] && command -v mkfs.ext4 >/dev/null; }
disk_mount() { mount -o loop,errors=remount-ro "$(disk_image "$1")" "$1"; } # DIRECTORY
disk_make() { # DIRECTORY MIB: makes an empty disk, and mounts it
    mkdir -p "$1" && rm -f "$(disk_image "$1")" && truncate -s "$2M" "$(disk_image "$1")" &&
        mkfs.ext4 -q -m 0 -O ^has_journal "$(disk_image "$1")" && disk_mount "$1" && chmod 755 "$1"
}
disk_name() { echo "${1#"$shared"/}"; } # DIRECTORY
disk_fill() { # DIRECTORY [MIB]: fills the disk until MIB (0) are free
    local free
    fault "$(disk_name "$1") fills${2:+ until $2 MiB are free}"
    free=$(df --output=avail -B1K "$1" | tail -n 1)
    head -c $(((free - ${2:-0} * 1024) * 1024)) /dev/zero >"$1/ballast" 2>/dev/null
    [ "${2:-0}" -gt 0 ] || cat /dev/zero >>"$1/ballast" 2>/dev/null
    sync -f "$1"
}
disk_release() { # DIRECTORY MIB: gives a part of the ballast's space back
    fault "$(disk_name "$1") has $2 MiB of room again"
    truncate -s "-$2M" "$1/ballast"
}
disk_empty() { # DIRECTORY
    fault "$(disk_name "$1") has room again"
    rm -f "$1/ballast"
}
# The kernel stops all writes to the file system, as after an error of the disk. A remount would be refused while a container has
# its log open.
disk_read_only() { # DIRECTORY
    fault "$(disk_name "$1") turns read-only"
    echo 1 >"/sys/fs/ext4/$(basename "$(findmnt -no SOURCE "$1")")/trigger_fs_error"
}
# All writes and all reads that are not in the page cache fail with EIO.
disk_fail() { # DIRECTORY
    fault "$(disk_name "$1") fails with input/output errors"
    python3 -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack("I", 2))' "$1" # EXT4_IOC_SHUTDOWN, without a flush
}
disk_gone() { # DIRECTORY: unmounts it; an empty directory is left
    fault "$(disk_name "$1") is unmounted"
    umount -l "$1"
}
# Mounts the disk again after the check that a boot makes. A disk that is mounted is unmounted first, which takes effect when no
# process has a file open there.
disk_is_free() { [ -z "$(losetup -j "$(disk_image "$1")")" ]; } # DIRECTORY
disk_users() { # DIRECTORY: prints the files of processes in which a disk that is not free is used
    local device path
    device=$(stat -c %Hr:%Lr "$(losetup -nO NAME -j "$(disk_image "$1")")") || return
    grep -ls " $device " /proc/[0-9]*/mountinfo
    for path in /proc/[0-9]*/{cwd,root,fd/*}; do
        [ "$(stat -Lc %Hd:%Ld "$path" 2>/dev/null)" != "$device" ] || echo "$path: $(readlink "$path")"
    done
}
disk_back() { # DIRECTORY
    fault "$(disk_name "$1") is repaired and mounted again"
    ! mountpoint -q "$1" || umount -l "$1" || return
    wait_until 30 disk_is_free "$1" || { disk_users "$1"; return 1; }
    e2fsck -fy "$(disk_image "$1")" >/dev/null 2>&1
    disk_mount "$1"
}
disk_new() { # DIRECTORY MIB: mounts a new, empty disk in place of a failed one
    fault "$(disk_name "$1") is replaced by a new disk"
    ! mountpoint -q "$1" || umount -l "$1" || return
    disk_make "$1" "$2"
}

# ---- the network --------------------------------------------------------------------------------------

# Node N can run in network and UTS namespaces of its own, with the address 10.77.N.2, a host name, and a link to the suite's
# namespace that can be broken (link.py). All other programs have the address 10.77.0.1. Call net_configure instead of
# jobs_configure, then net_of for each such node before the ResourceManager starts, and start the node with net_start.
net_configure() { # NAME=VALUE...
    local name i=0 site=(yarn.resourcemanager.hostname=rmhost yarn.resourcemanager.bind-host=0.0.0.0)
    read -r -a rm_ports < <(free_ports 5)
    rm_web=http://127.0.0.1:${rm_ports[4]}
    for name in address scheduler.address resource-tracker.address admin.address webapp.address; do
        site+=("yarn.resourcemanager.$name=rmhost:${rm_ports[i++]}")
    done
    jobs_configure "${site[@]}" "$@" && ip addr add 10.77.0.1/32 dev lo &&
        net_hosts 'NR == 1 { print "127.0.0.1 localhost"; next } { print "10.77.0.1", $2 }
            END { print "10.77.0.1 rmhost '"$(hostname)"'" }'
}
# Changes the names of hosts with an awk program. The file is mounted elsewhere, so it must stay the same file.
net_hosts() { # PROGRAM
    awk "$1" "$shared/hosts" >"$dir/hosts" && cat "$dir/hosts" >"$shared/hosts"
}
net_link=() net_holder=()
net_of() { # N: makes the namespaces and the link
    local n=$1
    net_hosts '{ print ($2 == "node0'"$n"'" ? "10.77.'"$n"'.2" : $1), $2, $3 }'
    echo ok >"$dir/link$n"
    unshare --net --uts sh -c "hostname node0$n; ip link set lo up; echo up; exec sleep infinity" >"$dir/holder$n" &
    net_holder[n]=$!
    at_exit "end_process ${net_holder[n]} KILL"
    wait_until 10 test -s "$dir/holder$n" || return
    python3 "$(dirname "${BASH_SOURCE[0]}")/link.py" "/proc/${net_holder[n]}/ns/net" "10.77.$n.1" "10.77.$n.2" "$dir/link$n" \
        >"$dir/link$n.log" 2>&1 &
    net_link[n]=$!
    at_exit "end_process ${net_link[n]}"
    wait_until 10 grep -qx up "$dir/link$n.log"
}
net_enter() { nsenter --net="/proc/${net_holder[$1]}/ns/net" --uts="/proc/${net_holder[$1]}/ns/uts" "${@:2}"; } # N COMMAND...
net_start() { # N [NAME=VALUE...]: like nmd_node_start
    local n=$1 NMD=$NMD
    printf '#!/bin/sh\nexec nsenter --net=/proc/%d/ns/net --uts=/proc/%d/ns/uts "%s" "$@"\n' \
        "${net_holder[n]}" "${net_holder[n]}" "$NMD" >"$dir/nmd-in-$n"
    chmod 755 "$dir/nmd-in-$n"
    NMD=$dir/nmd-in-$n
    nmd_node_start "$@"
}
declare -A net_does=([ok]='carries all packets again' [drop]='drops all packets' [drop-to]='drops all packets to the node'
    [drop-from]='drops all packets from the node' [delay]='delays each packet by %s ms' [loss]='loses %s %% of the packets')
net_link_is() { # N ok | drop | drop-to | drop-from | delay MSEC | loss PERCENT
    # shellcheck disable=SC2059 # the format is a constant
    fault "$(printf "the network of node0$1 ${net_does[$2]}" ${3:+"$3"})"
    echo "${*:2}" >"$dir/link$1.new"
    mv "$dir/link$1.new" "$dir/link$1"
}
# All connections of the node's programs to others fail at once, as with a firewall that rejects packets.
net_reject() { # N
    fault "the network of node0$1 rejects all packets from the node"
    net_enter "$1" ip rule add pref 10 unreachable
}
net_accept() { # N
    fault "the network of node0$1 rejects no packets any more"
    net_enter "$1" ip rule del pref 10
}
