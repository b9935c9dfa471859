# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the suites in this folder: . "$(dirname "$0")/lib.sh". Gives them a private nmd (own socket,
# state, slice), nmctl that talks to it, and the end of everything when the suite ends. See
# tests/tap.sh for ok, check, is, wait_until and the rest.
# shellcheck source=tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"

: "${NMD_TEST_BUILD:?run me with tests/integration/run --build DIR}"
NMD=$NMD_TEST_BUILD/nmd
NMCTL=$NMD_TEST_BUILD/nmctl/nmctl
[ -x "$NMCTL" ] || NMCTL=$NMD_TEST_BUILD/nmctl
dir=${NMD_TEST_DIR:-$(mktemp -d /tmp/nmd-test.XXXXXX)}
# Several suites, and other people's, may run at once: nothing is shared but the cgroup mount.
slice=nmdtest$$.slice
export NMD_SOCKET=$dir/run/nmd.sock
nmd_pid=
nmd_conf=$dir/nmd.conf

# A sanitizer's finding ends the program; that must not pass as an ordinary exit.
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1:log_path=$dir/asan
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:log_path=$dir/ubsan

nmctl() { "$NMCTL" "$@"; }

# Settings for tests that want to see something happen soon; more lines come on stdin, and win.
nmd_configure() {
    mkdir -p "$dir/nmd.conf.d"
    cat >"$nmd_conf" <<-END
	[sampling]
	period = 200ms
	[over-allocation]
	warmup = 600ms
	END
    [ -t 0 ] || cat >"$nmd_conf.d/50-suite.conf"
}

# Starts nmd and waits until it answers. More options may follow.
nmd_start() {
    [ -e "$nmd_conf" ] || nmd_configure </dev/null
    mkdir -p "$dir/state" "$dir/run"
    "$NMD" --config "$nmd_conf" --socket "$NMD_SOCKET" --state-dir "$dir/state" \
        --runtime-dir "$dir/run" --slice "$slice" --backend direct "$@" \
        >>"$dir/nmd.log" 2>&1 &
    nmd_pid=$!
    if ! wait_until 20 nmctl status; then
        diag "nmd doesn't answer; its log:" "$(tail -n 20 "$dir/nmd.log")"
        return 1
    fi
}

nmd_alive() { [ -n "$nmd_pid" ] && kill -0 "$nmd_pid" 2>/dev/null; }

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
    kill -KILL "$nmd_pid"
    wait "$nmd_pid" 2>/dev/null
    nmd_pid=
}

# Where the containers' cgroups are: the unified mount, wherever this host has it.
nmd_cgroup_root() {
    awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts
}

# One field of a container: state_of ID, field_of ID .exit_code
field_of() { # ID JQ-EXPRESSION
    nmctl list --all --json | jq -r --arg id "$1" '.[] | select(.id == $id) | '"$2"
}
state_of() { field_of "$1" .state; }
in_state() { # ID STATE...: for wait_until
    local id=$1 state
    shift
    state=$(state_of "$id")
    [[ " $* " == *" $state "* ]]
}

nmd_clean_up() {
    local root cg
    nmd_stop
    root=$(nmd_cgroup_root)
    # Containers outlive nmd; here they end with the suite, from the leaves up.
    for cg in "$root"/"$slice" "$root"/*/"$slice"; do
        [ -d "$cg" ] || continue
        echo 1 >"$cg/cgroup.kill"
        wait_until 10 grep -qx 'populated 0' "$cg/cgroup.events"
        find "$cg" -depth -type d -exec rmdir {} \; 2>/dev/null
    done
    if ls "$dir"/asan* "$dir"/ubsan* >/dev/null 2>&1; then
        not_ok "the sanitizers have nothing to say" "$(head -qn 60 "$dir"/asan* "$dir"/ubsan*)"
        exit 1
    fi
    [ -n "${NMD_TEST_NAME:-}" ] || rm -rf "$dir"
}
at_exit nmd_clean_up
