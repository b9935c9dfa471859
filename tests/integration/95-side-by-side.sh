#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
#
# Several nmd on one host, and one that ends and comes back: containers are their own, and go on.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
END
nmd_start
submit mine -m 100M -c 0.1 -- sleep 300
wait_until 10 in_state mine RUNNING

# ---- another one ----
other=nmdtest$$b.slice
at_exit 'nmd_clean_slice "$other"'
"$NMD" --config "$nmd_conf" --socket "$dir/other.sock" --state-dir "$dir/other-state" \
    --runtime-dir "$dir/other-run" --slice "$other" --backend direct --node-proc "$node_proc" \
    >"$dir/nmd-other.log" 2>&1 &
# shellcheck disable=SC2034 # it is used when the suite ends
other_pid=$!
at_exit 'kill "$other_pid" 2>/dev/null; wait "$other_pid"'
check "two side by side" wait_until 10 nmctl --socket "$dir/other.sock" status
is "the other one doesn't see these containers" "$(nmctl --socket "$dir/other.sock" list --all --json | jq length)" 0
nmctl --socket "$dir/other.sock" run --detach --name theirs -m 100M -c 0.1 -- sleep 300 >/dev/null
is "nor the other way round" "$(nmctl list --json | jq -c '[.[].name]')" '["mine"]'
check "it runs its own" wait_until 10 bash -c \
    "'$NMCTL' --socket '$dir/other.sock' list --json | jq -e '.[0].state == \"RUNNING\"'"

# ---- what can't be shared ----
another() { # WORDS NAME OPTION...: refuses to start, and says why
    local words=$1 name=$2
    shift 2
    try timeout 10 "$NMD" --config "$nmd_conf" --backend direct --node-proc "$node_proc" "$@"
    is "$name: it doesn't start" "$status" 1
    like "$name: says why" "$err" "$words"
}
another "another nmd uses the state directory $dir/state" "a state directory in use" \
    --state-dir "$dir/state" --runtime-dir "$dir/run3" --socket "$dir/third.sock" --slice "$other"
another "$NMD_SOCKET" "a socket in use" --state-dir "$dir/state3" --runtime-dir "$dir/run3" \
    --socket "$NMD_SOCKET" --slice "$other"
check "and the first goes on" nmctl status

# ---- ends and comes back ----
pid=$(field_of mine .pid)
started=$(field_of mine .started_usec)
status=0
nmd_stop || status=$?
is "SIGTERM: nmd ends well" "$status" 0
is "the container runs on" "$(gone "$pid" || echo there)" there
is "the socket is gone" "$([ -S "$NMD_SOCKET" ] || echo gone)" gone
nmd_start
is "it is adopted" "$(field_of mine '"\(.state) \(.pid) \(.started_usec)"')" "RUNNING $pid $started"
check "measured" wait_until 5 bash -c "[ $(field_of mine .memory_used_bytes) -gt 0 ]"
check "and can be ended" nmctl kill --now --wait mine
submit short -m 100M -c 0.1 -- sh -c "until [ -e $dir/go ]; do sleep 0.05; done; exit 9"
submit waits --opportunistic -m 1000M -c 0.1 -- sleep 300
wait_until 10 in_state short RUNNING
nmd_kill
touch "$dir/go"
wait_until 10 bash -c "grep -qs . '$dir'/state/containers/*/* && ! pgrep -f '$dir/go'"
nmd_start
check "what ended meanwhile is known to have" wait_until 5 in_state short COMPLETED
is "with its exit code" "$(field_of short '"\(.exit_reason) \(.exit_code)"')" "exited 9"
check "what waited goes on to wait, or to run" wait_until 10 in_state waits RUNNING
nmd_alive || not_ok "nmd is still there"
done_testing
