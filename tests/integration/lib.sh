# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2120 # much of it is for those who source it
#
# Library for the suites of this folder. Load it with: . "$(dirname "$0")/lib.sh". It provides a private nmd (own socket, state
# and slice) and an nmctl for this nmd. It ends all processes when the suite ends. tests/tap.sh defines ok, check, is,
# wait_until and more.
# shellcheck source=tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
# shellcheck source=tests/query.sh
. "$(dirname "${BASH_SOURCE[0]}")/../query.sh"

: "${NMD_TEST_BUILD:?run me with tests/integration/run --build DIR}"
NMD=$NMD_TEST_BUILD/nmd/nmd
NMCTL=$NMD_TEST_BUILD/nmctl/nmctl
[ -x "$NMCTL" ] || NMCTL=$NMD_TEST_BUILD/nmctl
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${NMD_TEST_DIR:-$(mktemp -d /tmp/nmd-test.XXXXXX)}
# Several suites may run at the same time, also as different users. They share only the cgroup mount.
slice=nmdtest$$.slice
export NMD_SOCKET=$dir/run/nmd.sock
nmd_pid=
nmd_conf=$dir/nmd.conf

# A sanitizer's report aborts the program, so that the end does not look like an ordinary exit.
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1:log_path=$dir/asan
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:log_path=$dir/ubsan

umask 022 # nmd refuses directories that a group may write
nmctl() { "$NMCTL" "$@"; }

# Writes a configuration with short periods, so that tests see effects soon. Lines from stdin take precedence.
nmd_configure() {
    mkdir -p "$dir/nmd.conf.d"
    cat >"$nmd_conf" <<-END
	[sampling]
	period = 100ms
	[over-allocation]
	warmup = 300ms
	END
    [ -t 0 ] || cat >"$nmd_conf.d/50-suite.conf"
}

# Creates the directory $shared, which other users may enter. The suite's own directory $dir is closed to other users.
make_shared_dir() {
    shared=$(mktemp -d /tmp/nmd-shared.XXXXXX)
    chmod 755 "$shared"
    at_exit 'rm -rf "$shared"'
}

# Starts nmd and waits until it answers. The arguments are more options for nmd.
nmd_start() {
    [ -e "$nmd_conf" ] || nmd_configure </dev/null
    mkdir -p "$dir/state" "$dir/run"
    "$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --state-dir "$dir/state" \
        --runtime-dir "$dir/run" --slice "$slice" --backend direct \
        ${node_proc:+--node-proc "$node_proc"} "$@" \
        >>"$dir/nmd.log" 2>&1 &
    nmd_pid=$!
    if ! wait_until 20 nmctl status; then
        diag "nmd doesn't answer; its log:" "$(tail -n 20 "$dir/nmd.log")"
        return 1
    fi
}

nmd_alive() { [ -n "$nmd_pid" ] && kill -0 "$nmd_pid" 2>/dev/null; }

free_port() { # below the ports that the kernel gives to connections
    python3 -c '
import random, socket
while True:
    port = random.randrange(20000, 32768)
    try:
        socket.socket().bind(("127.0.0.1", port))
    except OSError:
        continue
    print(port)
    break'
}
# Ends nmd with SIGTERM, as a service manager does, and returns nmd's exit status.
nmd_stop() {
    local status=0
    [ -n "$nmd_pid" ] || return 0
    kill -TERM "$nmd_pid" 2>/dev/null
    wait "$nmd_pid" || status=$?
    nmd_pid=
    return "$status"
}

nmd_kill() { # kills nmd with SIGKILL, like a crash
    # with gcov, RTMIN+7 makes nmd write its counters and then kill itself (tests/coverage/hooks.c)
    ! counts_coverage || { kill -s RTMIN+7 "$nmd_pid" && wait_until 5 gone "$nmd_pid"; }
    kill -KILL "$nmd_pid" 2>/dev/null
    wait "$nmd_pid" 2>/dev/null
    nmd_pid=
}

# Prints the mount point of the unified hierarchy, which has the cgroups of the containers.
nmd_cgroup_root() {
    awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts
}

# ---- artificial figures of the node ----------------------------------------------------------------------------

# Creates a directory with figures of the node for nmd --node-proc, because other work on this machine would disturb the suite. Only
# the node's figures are artificial: containers are measured as usual. Call this before nmd_start, which passes the directory to nmd.
# The node has 1000 MiB and 2 CPUs, which are unused until node_memory and node_cpu set their use.
node_proc=
node_proc_start() { # [MIB [CPUS]]
    node_proc=$dir/proc
    node_kib=$((${1:-1000} * 1024))
    mkdir -p "$node_proc"
    node_memory 0
    node_cpu 0
    /usr/bin/python3 "$here/node-proc.py" "$node_proc" "${2:-2}" &
    node_proc_pid=$!
    at_exit 'kill "$node_proc_pid" 2>/dev/null'
    wait_until 10 test -s "$node_proc/stat"
}

# Writes the file in place, with one write of constant length, because nmd has the file open and may read it at any time.
node_memory() { # MIB in use [MIB in pools of huge pages]
    printf 'MemTotal: %12d kB\nMemAvailable: %12d kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nHugetlb: %12d kB\n' \
        "$node_kib" $((node_kib - ($1 + ${2:-0}) * 1024)) $((${2:-0} * 1024)) 1<>"$node_proc/meminfo"
}
node_memory_gone() { : >"$node_proc/meminfo"; }
node_cpu() { # MILLICORES busy
    printf '%8d\n' "$1" 1<>"$node_proc/busy"
}
# Sets the number of CPUs that are online.
node_cpus() { # CPUS
    printf '%8d\n' "$1" >"$node_proc/cpus"
}
# Checks the machine's own figure, because utilization also contains the reservation of warm-ups.
node_cpu_seen() { # MILLICORES: calls node_cpu, and waits until a whole sample shows this use
    node_cpu "$1"
    wait_until 5 status_is ".node.machine.cpu_busy_millicores | . > $1 - 10 and . < $1 + 10" true
}

# A build with sanitizers is several times slower than others, and keeps freed memory.
sanitized() { grep -q __asan_init "$NMD_TEST_BUILD/nmd/nmd"; }
counts_coverage() { grep -q __gcov_dump "$NMD_TEST_BUILD/nmd/nmd"; }

# ---- requests ---------------------------------------------------------------------------------------------------

# A member for requests that are sent without nmctl. nmctl adds it itself. root must name a user, even if the user is root.
me="\"user\":\"$(id -un)\""

# Runs a command, and sets $out, $err and $status to its stdout, stderr and exit status. try itself always succeeds.
try() { # COMMAND...
    status=0
    out=$("$@" 2>"$dir/try.err" </dev/null) || status=$?
    err=$(cat "$dir/try.err")
}

# Sends one request with curl, and sets $api_status and $api_body.
api() { # METHOD PATH [BODY]
    api_status=$(curl -sS --max-time 20 --unix-socket "$NMD_SOCKET" -X "$1" -o "$dir/api.body" \
        -w '%{http_code}' ${3+-H 'Content-Type: application/json' --data-binary "$3"} "http://nmd$2")
    api_body=$(cat "$dir/api.body")
}

# Starts a container and sets $id to its id. Options precede "--".
submit() { # NAME RUN-OPTION... -- COMMAND...
    local name=$1
    shift
    id=$(nmctl run --detach --name "$name" "$@") || return
}
hog() { # NAME RUN-OPTION... -- HOG-ARGUMENT...: starts hog.py in a container
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    submit "$name" "${options[@]}" -- /usr/bin/python3 "$here/hog.py" "$@"
}
grow() { # NAME: makes hog.py grow
    kill -USR1 "$(field_of "$1" .pid)"
}

# ---- checks of the state ----------------------------------------------------------------------------------------

worked() { # NAME MSEC: the container has used MSEC of CPU time since its start
    [ "$(field_of "$1" .cpu_time_usec)" -ge $(($2 * 1000)) ]
}
burns() { # NAME MILLICORES
    [ "$(field_of "$1" .cpu_used_millicores)" -ge "$2" ]
}

queue_reason_is() { [ "$(field_of "$1" .hold)" = "$2" ]; } # NAME REASON: for wait_until
settled() { # NAME...: the warm-up of these containers is over; lasts less than a second with the settings of this library
    local name
    for name in "$@"; do
        [ "$(field_of "$name" '.state == "RUNNING" and
            now - .started_usec / 1000000 > '"${warmup:-0.6}")" = true ] || return 1
    done
}
samples() { # N: waits until nmd has taken N more samples, to check that an event does not happen meanwhile
    local now
    now=$(status_of .counters.samples)
    wait_until 20 status_is ".counters.samples >= $((now + $1))" true
}
reconfigure() { # SECTION KEY VALUE: changes the key in the configuration file, and reloads the configuration
    sed -i "/^$2 = /d; s|^\\[$1\\]\$|&\\n$2 = $3|" "$nmd_conf" "$nmd_conf.d/50-suite.conf"
    nmctl config --reload >/dev/null
}
kill_all() { # kills all containers, and waits for their end
    local ids
    mapfile -t ids < <(nmctl list --json | jq -r '.[].id')
    [ "${#ids[@]}" -eq 0 ] || nmctl kill --now --wait "${ids[@]}" >/dev/null
}

slice_dir() { find "$(nmd_cgroup_root)" -maxdepth 2 -type d -name "$slice" 2>/dev/null | head -n 1; }
logged() { grep -q -- "$1" "$dir/nmd.log"; } # REGEX: nmd's log has a line that matches
gone() { ! kill -0 "$1" 2>/dev/null; } # PID
cgroup_of() { find "$(slice_dir)" -maxdepth 1 -name "*$(field_of "$1" .id)*" | head -n 1; }
frozen() { # NAME: the kernel reports that the container's cgroup is frozen
    grep -qx 'frozen 1' "$(cgroup_of "$1")/cgroup.events"
}

# ---- containers that record each of their runs under their name ----

runs=$dir/runs
noting() { # NAME RUN-OPTION... -- SHELL-COMMANDS
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    mkdir -p "$runs"
    submit "$name" "${options[@]}" -- sh -c "echo \$\$ >>$runs/$name; $2"
}
runs_of() { grep -c . "$runs/$1" 2>/dev/null || echo 0; }
shim() { awk '/^PPid/ { print $2 }' "/proc/$(pid_of "$1")/status"; } # NAME: prints the PID of the container's command
pid_of() { field_of "$1" .pid; }
end_of() { field_of "$1" '"\(.state) \(.exit_code) \(.exit_reason)"'; }
ended_as() { [ "$(end_of "$1")" = "COMPLETED $2" ]; }
over() { # PID: the process has ended; PID 1 may reap orphans late
    ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status"
}

# Kills the containers, because they keep running after the end of nmd. Removes the cgroups from the leaves up.
nmd_clean_slice() { # SLICE
    local root cg
    root=$(nmd_cgroup_root)
    for cg in "$root"/"$1" "$root"/*/"$1"; do
        [ -d "$cg" ] || continue
        echo 1 >"$cg/cgroup.kill"
        wait_until 10 grep -qx 'populated 0' "$cg/cgroup.events"
        find "$cg" -depth -type d -exec rmdir {} \; 2>/dev/null
    done
}

nmd_clean_up() {
    nmd_stop
    nmd_clean_slice "$slice"
    if ls "$dir"/asan* "$dir"/ubsan* >/dev/null 2>&1; then
        not_ok "the sanitizers report no error" "$(head -qn 60 "$dir"/asan* "$dir"/ubsan*)"
        exit 1
    fi
    [ -n "${NMD_TEST_NAME:-}" ] || rm -rf "$dir"
}
at_exit nmd_clean_up
