#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
# beside: others
#
# Several nmds on one host, and a restarted nmd: each nmd has its own containers, and these containers keep running.
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

# ---- a second nmd ----
other=nmdtest$$b.slice
at_exit 'nmd_clean_slice "$other"'
"$NMD" --config "$nmd_conf" --socket "$dir/other.sock" --state-dir "$dir/other-state" \
    --runtime-dir "$dir/other-run" --slice "$other" --backend direct --node-proc "$node_proc" \
    >"$dir/nmd-other.log" 2>&1 &
# shellcheck disable=SC2034 # it is used when the suite ends
other_pid=$!
at_exit 'kill "$other_pid" 2>/dev/null; wait "$other_pid"'
check "a second nmd with its own directories and slice starts beside the first nmd" wait_until 10 nmctl --socket "$dir/other.sock" status
is "the second nmd does not see the containers of the first" "$(nmctl --socket "$dir/other.sock" list --all --json | jq length)" 0
nmctl --socket "$dir/other.sock" run --detach --name theirs -m 100M -c 0.1 -- sleep 300 >/dev/null
is "the first nmd does not see the containers of the second" "$(nmctl list --json | jq -c '[.[].name]')" '["mine"]'
check "the second nmd runs its container to the end" wait_until 10 bash -c \
    "'$NMCTL' --socket '$dir/other.sock' list --json | jq -e '.[0].state == \"RUNNING\"'"

# ---- resources that two nmds can't share: a refused start changes no state -------
hog paused --opportunistic -m 100M -c 0.4 -- 20 --spin
wait_until 20 burns paused 100
node_cpu 1950
check "a container of the first nmd is paused" wait_until 20 in_state paused PAUSED
traces() { # lists cgroups with processes and freeze state, files and the socket
    local cg
    for cg in "$(cgroup_of mine)" "$(cgroup_of paused)"; do
        echo "$cg $(stat -c %i "$cg") $(sort "$cg/cgroup.procs" | tr '\n' ' ') $(cat "$cg/cgroup.freeze")"
    done
    find "$dir/state" "$dir/run" ! -name '*-wal' ! -name '*-shm' -printf '%i %y %p\n' | sort
    stat -c '%i %U %a' "$NMD_SOCKET"
}
another() { # NAME WHAT OPTION...: nmd refuses to start, names the process that uses WHAT, and says what to do
    local name=$1 what=$2 before
    shift 2
    before=$(traces)
    try timeout 20 "$NMD" --config "$nmd_conf" --backend direct --node-proc "$node_proc" --runtime-dir "$dir/run3" \
        --state-dir "$dir/state3" --socket "$dir/third.sock" --slice "nmdtest$$c.slice" "$@"
    is "$name: nmd refuses to start" "$status" 1
    like "$name: the error names the process that uses the resource" \
        "$err" "another nmd \(pid $nmd_pid\) uses the $what; stop that nmd, or give this one its own"
    like "$name: an earlier message says what nmd waits for" \
        "${err%%stop that*}" "another nmd \\(pid $nmd_pid\\) uses the $what: waiting 2 s"
    is "$name: cgroups, files and socket are unchanged" "$(traces)" "$before"
    is "$name: the paused container stays paused" "$(field_of paused .state)" PAUSED
}
another "a state directory in use" "state directory $dir/state" --state-dir "$dir/state"
another "a runtime directory in use" "runtime directory $dir/run" --runtime-dir "$dir/run"
another "a slice in use" "slice $slice" --slice "$slice"
another "a socket in use" "socket $NMD_SOCKET" --socket "$NMD_SOCKET"
another "all resources in use" "state directory $dir/state" --slice "$slice" --socket "$NMD_SOCKET" --state-dir "$dir/state" \
    --runtime-dir "$dir/run"
another "a slice in use with another backend" "slice $slice" --slice "$slice" --backend systemd
python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); time.sleep(60)' "$dir/foreign.sock" &
foreign=$!
at_exit 'kill "$foreign" 2>/dev/null'
wait_until 10 test -S "$dir/foreign.sock"
before=$(traces)
try timeout 20 "$NMD" --config "$nmd_conf" --backend direct --node-proc "$node_proc" --runtime-dir "$dir/run3" \
    --state-dir "$dir/state3" --socket "$dir/foreign.sock" --slice "nmdtest$$c.slice"
like "the error names the other program that uses the socket" \
    "$err" "$dir/foreign.sock in use by process $foreign; stop it or choose another"
is "cgroups and files are unchanged, and the other program's socket still exists" \
    "$(traces) $(test -S "$dir/foreign.sock" && echo there)" "$before there"
node_cpu 0
check "the first nmd can still resume its paused container" wait_until 20 in_state paused RUNNING
check "the first nmd still responds" nmctl status
nmctl kill --now --wait paused >/dev/null

# ---- a restart --------------
pid=$(field_of mine .pid)
started=$(field_of mine .started_usec)
status=0
nmd_stop || status=$?
is "nmd ends with exit status 0 after SIGTERM" "$status" 0
is "the container keeps running after nmd has ended" "$(gone "$pid" || echo there)" there
is "nmd has removed its socket" "$([ -S "$NMD_SOCKET" ] || echo gone)" gone
nmd_start
is "a restarted nmd adopts the container" "$(field_of mine '"\(.state) \(.pid) \(.started_usec)"')" "RUNNING $pid $started"
check "the restarted nmd measures the adopted container" wait_until 5 bash -c "[ $(field_of mine .memory_used_bytes) -gt 0 ]"
check "the restarted nmd can kill the adopted container" nmctl kill --now --wait mine
submit short -m 100M -c 0.1 -- sh -c "until [ -e $dir/go ]; do sleep 0.05; done; exit 9"
submit waits --opportunistic -m 1000M -c 0.1 -- sleep 300
wait_until 10 in_state short RUNNING
nmd_kill
touch "$dir/go"
wait_until 10 bash -c "grep -qs . '$dir'/state/containers/*/* && ! pgrep -f '$dir/go'"
nmd_start
check "a container that ended while nmd was stopped is shown as ended" wait_until 5 in_state short COMPLETED
is "a container that ended while nmd was stopped has its exit code" "$(field_of short '"\(.exit_reason) \(.exit_code)"')" "exited 9"
check "a container that was queued when nmd was stopped runs after the restart" wait_until 10 in_state waits RUNNING

# ---- a start of a container that was interrupted after the fork ----
# In a frozen slice, a shim is frozen immediately after the fork. It is then still a copy of nmd with all of nmd's sockets. nmd forks
# the shim of a user whose account it does not know, and it looks accounts up again after a change of /etc/group.
forget_accounts() { chmod --reference=/etc/group /etc/group; }
nmctl kill --now --wait waits >/dev/null
forget_accounts
echo 1 >"$(slice_dir)/cgroup.freeze"
submit caught -m 100M -c 0.1 -- sleep 300
copies() {
    local p
    cat "$(slice_dir)"/*/cgroup.procs 2>/dev/null | while read -r p; do
        [ "$(readlink "/proc/$p/exe")" != "$(readlink -f "$NMD")" ] || echo "$p"
    done
}
has_copy() { [ -n "$(copies)" ]; }
check "the slice has a frozen copy of nmd, which has not executed nm-shim yet" wait_until 10 has_copy
copy=$(copies)
# A container of root may have any file open, and a program of any name. It has executed a program, so it is not a copy of nmd.
mkdir "$dir/bin"
cp "$(command -v sleep)" "$dir/bin/nmd"
echo 0 >"$(slice_dir)/cgroup.freeze"
wait_until 10 in_state caught RUNNING
submit likeness -m 50M -c 0.1 -- sh -c "exec 3<'$dir/state/lock'; exec '$dir/bin/nmd' 300"
check "a program with the name nmd has nmd's lock file open" wait_until 10 bash -c "pgrep -f '$dir/bin/nmd 300'"
nmctl kill --now --wait caught >/dev/null
forget_accounts
echo 1 >"$(slice_dir)/cgroup.freeze"
submit caught -m 100M -c 0.1 -- sleep 300
check "the slice has a frozen copy of nmd beside this program" wait_until 10 has_copy
copy=$(copies)
nmd_kill
nmd_start
check "nmd can start again although a frozen copy of the former nmd has its sockets" nmctl status
is "the new nmd has killed the frozen copy" "$(copies | grep -x "$copy")" ""
like "nmd's log reports the killed copy" \
    "$(cat "$dir"/*.log)" "process $copy is a copy of an earlier nmd that had not yet started its program"
echo 0 >"$(slice_dir)/cgroup.freeze"
check "the container whose start was interrupted starts" wait_until 20 in_state caught RUNNING
is "the container whose start was interrupted starts only once" "$(nmctl list --json | jq '[.[] | select(.name == "caught")] | length')" 1
is "the program with the name nmd is not killed" "$(field_of likeness .state)" RUNNING
# nmd knows the account now, so the spawner creates the next shim. A frozen copy of the spawner has no descriptor of nmd.
nmctl kill --now --wait caught >/dev/null
submit caught -m 100M -c 0.1 -- sleep 300
wait_until 10 in_state caught RUNNING
nmctl kill --now --wait caught >/dev/null
echo 1 >"$(slice_dir)/cgroup.freeze"
submit caught -m 100M -c 0.1 -- sleep 300
has_spawned() { grep -qs . "$(slice_dir)"/*-"$(field_of caught .id)".scope/cgroup.procs && ! has_copy; }
check "the slice has a frozen shim that is no copy of nmd" wait_until 10 has_spawned
check "nmd answers while the shim is frozen" nmctl status
nmd_kill
nmd_start
check "nmd can start again although a frozen shim has not executed its program" nmctl status
echo 0 >"$(slice_dir)/cgroup.freeze"
check "the container whose shim was frozen starts" wait_until 20 in_state caught RUNNING
is "the container whose shim was frozen starts only once" "$(nmctl list --json | jq '[.[] | select(.name == "caught")] | length')" 1
# The next nmd may run from another file, or may have another slice or state directory.
shim=$(dirname "$NMD")/nm-shim
cp "$NMD" "$dir/bin/nmd-2"
first_nmd=$NMD
nmctl kill --now --wait caught >/dev/null
for change in "another program file" "another slice|--slice|other$slice" "another state directory|--state-dir|$dir/state-2"; do
    IFS='|' read -ra words <<<"$change"
    forget_accounts
    echo 1 >"$(slice_dir)/cgroup.freeze"
    submit caught -m 100M -c 0.1 -- sleep 300
    check "the slice has another frozen copy of nmd" wait_until 10 has_copy
    copy=$(copies)
    nmd_kill
    [ "${words[0]}" != 'another program file' ] || NMD=$dir/bin/nmd-2
    nmd_start --shim "$shim" "${words[@]:1}"
    check "with ${words[0]}, nmd can start although a frozen copy exists" nmctl status
    NMD=$first_nmd
    check "with ${words[0]}, nmd kills the frozen copy" wait_until 5 bash -c "! kill -0 $copy"
    echo 0 >"$(slice_dir)/cgroup.freeze"
    if [ "${words[0]}" = 'another state directory' ]; then # a new state directory has no data about the container
        nmd_kill
        nmd_start
    fi
    check "with ${words[0]}, the container whose start was interrupted starts" wait_until 20 in_state caught RUNNING
    nmctl kill --now --wait caught >/dev/null
    nmd_kill
    nmd_start
done
nmd_clean_slice "other$slice"
nmd_alive || not_ok "nmd still runs"
done_testing
