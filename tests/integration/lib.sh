# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2120 # much of it is for those who source it
#
# For the suites in this folder: . "$(dirname "$0")/lib.sh". Gives them a private nmd (own socket,
# state, slice), nmctl that talks to it, and the end of everything when the suite ends. See
# tests/tap.sh for ok, check, is, wait_until and the rest.
# shellcheck source=tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
# shellcheck source=tests/ask.sh
. "$(dirname "${BASH_SOURCE[0]}")/../ask.sh"

: "${NMD_TEST_BUILD:?run me with tests/integration/run --build DIR}"
NMD=$NMD_TEST_BUILD/nmd/nmd
NMCTL=$NMD_TEST_BUILD/nmctl/nmctl
[ -x "$NMCTL" ] || NMCTL=$NMD_TEST_BUILD/nmctl
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${NMD_TEST_DIR:-$(mktemp -d /tmp/nmd-test.XXXXXX)}
# Several suites, and other people's, may run at once: nothing is shared but the cgroup mount.
slice=nmdtest$$.slice
export NMD_SOCKET=$dir/run/nmd.sock
nmd_pid=
nmd_conf=$dir/nmd.conf

# A sanitizer's finding ends the program; that must not pass as an ordinary exit.
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1:log_path=$dir/asan
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:log_path=$dir/ubsan

umask 022 # nmd refuses directories that a group may write to
nmctl() { "$NMCTL" "$@"; }

# Settings for tests that want to see something happen soon; more lines come on stdin, and win.
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

# A directory in $place where others may come (as far as nmd lets them): the suite's own would hide everything.
open_place() {
    place=$(mktemp -d /tmp/nmd-place.XXXXXX)
    chmod 755 "$place"
    at_exit 'rm -rf "$place"'
}

# Starts nmd and waits until it answers. More options may follow.
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

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# Ends nmd as a service manager would, and tells its exit status.
nmd_stop() {
    local status=0
    [ -n "$nmd_pid" ] || return 0
    kill -TERM "$nmd_pid" 2>/dev/null
    wait "$nmd_pid" || status=$?
    nmd_pid=
    return "$status"
}

nmd_kill() { # as a crash would
    # one that counts for gcov writes its counts before it does that to itself (tests/coverage/hooks.c)
    ! counts_coverage || { kill -s RTMIN+7 "$nmd_pid" && wait_until 5 gone "$nmd_pid"; }
    kill -KILL "$nmd_pid" 2>/dev/null
    wait "$nmd_pid" 2>/dev/null
    nmd_pid=
}

# Where the containers' cgroups are: the unified mount, wherever this host has it.
nmd_cgroup_root() {
    awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts
}

# ---- the node's own figures ------------------------------------------------------------------------------------

# Node-level figures that are the suite's own (this machine is busy with other things), for nmd's
# --node-proc; containers are measured for real all the same. Call before nmd_start, which passes
# it on. 1000 MiB and 2 CPUs, all idle and free, until node_memory and node_cpu say otherwise.
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

# In place and in one write of constant length: nmd has the file open, and reads at any moment.
node_memory() { # MIB in use [MIB in pools of huge pages]
    printf 'MemTotal: %12d kB\nMemAvailable: %12d kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nHugetlb: %12d kB\n' \
        "$node_kib" $((node_kib - ($1 + ${2:-0}) * 1024)) $((${2:-0} * 1024)) 1<>"$node_proc/meminfo"
}
node_memory_gone() { : >"$node_proc/meminfo"; }
node_cpu() { # MILLICORES busy
    printf '%8d\n' "$1" 1<>"$node_proc/busy"
}
# How many are online from now on.
node_cpus() { # CPUS
    printf '%8d\n' "$1" >"$node_proc/cpus"
}
# The machine's own figure: utilization is over a threshold by a warm-up's reservation, too.
node_cpu_seen() { # MILLICORES: as node_cpu, and waits until a whole sample shows them
    node_cpu "$1"
    wait_until 5 status_is ".node.machine.cpu_busy_millicores | . > $1 - 10 and . < $1 + 10" true
}

# A build with sanitizers is several times as slow, and keeps what was freed.
sanitized() { grep -q __asan_init "$NMD_TEST_BUILD/nmd/nmd"; }
counts_coverage() { grep -q __gcov_dump "$NMD_TEST_BUILD/nmd/nmd"; }

# ---- requests ---------------------------------------------------------------------------------------------------

# For requests without nmctl, which else does it: root has to name the user, itself included.
me="\"user\":\"$(id -un)\""

# What a command prints and returns, taken apart: $out, $err, $status. Never fails itself.
try() { # COMMAND...
    status=0
    out=$("$@" 2>"$dir/try.err" </dev/null) || status=$?
    err=$(cat "$dir/try.err")
}

# One request as curl makes it: $api_status and $api_body.
api() { # METHOD PATH [BODY]
    api_status=$(curl -sS --max-time 20 --unix-socket "$NMD_SOCKET" -X "$1" -o "$dir/api.body" \
        -w '%{http_code}' ${3+-H 'Content-Type: application/json' --data-binary "$3"} "http://nmd$2")
    api_body=$(cat "$dir/api.body")
}

# Starts a container and tells its id in $id. Options go before --.
submit() { # NAME RUN-OPTION... -- COMMAND...
    local name=$1
    shift
    id=$(nmctl run --detach --name "$name" "$@") || return
}
hog() { # NAME RUN-OPTION... -- HOG-ARGUMENT...: see hog.py
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    submit "$name" "${options[@]}" -- /usr/bin/python3 "$here/hog.py" "$@"
}
grow() { # NAME: see hog.py
    kill -USR1 "$(field_of "$1" .pid)"
}

# ---- what there is to see ---------------------------------------------------------------------------------------

worked() { # NAME MSEC: has had so much CPU time since its start
    [ "$(field_of "$1" .cpu_time_usec)" -ge $(($2 * 1000)) ]
}
burns() { # NAME MILLICORES
    [ "$(field_of "$1" .cpu_used_millicores)" -ge "$2" ]
}

hold_is() { [ "$(field_of "$1" .hold)" = "$2" ]; } # NAME REASON: for wait_until
settled() { # NAME...: out of warm-up, for wait_until; with the lib's settings soon
    local name
    for name in "$@"; do
        [ "$(field_of "$name" '.state == "RUNNING" and
            now - .started_usec / 1000000 > '"${warmup:-0.6}")" = true ] || return 1
    done
}
samples() { # N: waits until nmd has taken so many more, which is how to see that something does not happen
    local now
    now=$(status_of .counters.samples)
    wait_until 20 status_is ".counters.samples >= $((now + $1))" true
}
reconfigure() { # SECTION KEY VALUE: in the configuration file, and in force
    sed -i "/^$2 = /d; s|^\\[$1\\]\$|&\\n$2 = $3|" "$nmd_conf" "$nmd_conf.d/50-suite.conf"
    nmctl config --reload >/dev/null
}
kill_all() { # and wait until they are gone
    local ids
    mapfile -t ids < <(nmctl list --json | jq -r '.[].id')
    [ "${#ids[@]}" -eq 0 ] || nmctl kill --now --wait "${ids[@]}" >/dev/null
}

slice_dir() { find "$(nmd_cgroup_root)" -maxdepth 2 -type d -name "$slice" 2>/dev/null | head -n 1; }
logged() { grep -q -- "$1" "$dir/nmd.log"; } # REGEX: nmd has said it
gone() { ! kill -0 "$1" 2>/dev/null; } # PID
cgroup_of() { find "$(slice_dir)" -maxdepth 1 -name "*$(field_of "$1" .id)*" | head -n 1; }
frozen() { # NAME: what the kernel says
    grep -qx 'frozen 1' "$(cgroup_of "$1")/cgroup.events"
}

# ---- containers that note each of their runs, by name ----

runs=$dir/runs
noting() { # NAME RUN-OPTION... -- SHELL-COMMANDS
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    mkdir -p "$runs"
    submit "$name" "${options[@]}" -- sh -c "echo \$\$ >>$runs/$name; $2"
}
runs_of() { grep -c . "$runs/$1" 2>/dev/null || echo 0; }
shim() { awk '/^PPid/ { print $2 }' "/proc/$(pid_of "$1")/status"; } # NAME: its PID
pid_of() { field_of "$1" .pid; }
end_of() { field_of "$1" '"\(.state) \(.exit_code) \(.exit_reason)"'; }
ended_as() { [ "$(end_of "$1")" = "COMPLETED $2" ]; }
over() { # PID; PID 1 takes its time to reap some
    ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status"
}

# Containers outlive nmd; here they end with the suite, from the leaves up.
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
        not_ok "the sanitizers have nothing to say" "$(head -qn 60 "$dir"/asan* "$dir"/ubsan*)"
        exit 1
    fi
    [ -n "${NMD_TEST_NAME:-}" ] || rm -rf "$dir"
}
at_exit nmd_clean_up
