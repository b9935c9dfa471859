#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# The limits of single containers on a kernel with all controllers: memory, CPU and processes, and changes of the limits in place.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

# nmd does not react to CPU use over the threshold, because this suite tests the kernel's CPU weights.
quick_nmd "[preemption]" "cpu-samples = 100" "squeeze = no"
# With swap, a container over its limit would become slow instead of being killed.
swapoff -a
at_exit 'swapon -a'

# ---- memory -------------------------------------------------------------------------------------

out=$(nmctl run --name glutton -m 64M -- python3 -c 'b = b"x" * (300 << 20)' 2>&1) && status=0 ||
    status=$?
is "a container that needs more than its limit is killed" "$status" 137
id=$(nmctl list --all --json | jq -r '.[] | select(.name == "glutton") | .id')
is "the record names memory" "$(field_of "$id" .exit_reason)" oom-killed
peak=$(field_of "$id" .memory_peak_bytes)
like "the record names the container's own limit" "$(field_of "$id" .message)" "^the kernel's OOM killer killed it; "
is "no other container is held up by this kill" "$(status_of .node.breaker_until_usec)" null
check "the peak of the container is its limit ($peak)" test "$peak" -gt $((56 << 20)) -a "$peak" -le $((64 << 20))

# All processes of the container are killed, not only the one that needed the memory.
id=$(nmctl run -D -m 64M -- bash -c 'sleep 1000 & exec python3 -c "b = b\"x\" * (300 << 20)"')
check "the kernel kills the whole container" wait_until 30 in_state "$id" COMPLETED
is "other containers keep running" "$(field_of "$id" .exit_reason)" oom-killed
check "no process of the container is left" none_runs 'sleep 1000'

# ---- CPU ----------------------------------------------------------------------------------------

spin='while :; do :; done'
guaranteed=$(nmctl run -D -m 32M -c 2 --name payer -- bash -c "$spin & $spin")
check "a guaranteed container runs" wait_until 20 in_state "$guaranteed" RUNNING
cpu_of() { field "$cg/nm.slice/nm-$1.scope/cpu.stat" usage_usec; }
weight=$(cat "$cg/nm.slice/nm-$guaranteed.scope/cpu.weight")
is "the weight of all vcores is the maximum" "$weight" 10000

nmctl kill --now --wait "$guaranteed" >/dev/null
# The opportunistic container starts first, while the node is idle. Then a guaranteed one starts.
a=$(nmctl run -D --opportunistic -m 32M -c 0.1 -- bash -c "$spin & $spin & $spin & $spin")
check "an opportunistic container starts on an idle node" wait_until 60 in_state "$a" RUNNING
is "an opportunistic container gets the idle CPU time" "$(cat "$cg/nm.slice/nm-$a.scope/cpu.idle")" 1
# Its request is small, so that no container must be killed for it. Then it uses all CPU time that it gets.
g=$(nmctl run -D -m 32M -c 0.1 -- bash -c "$spin & $spin")
check "a guaranteed container starts beside it" wait_until 60 in_state "$g" RUNNING
sleep 1
g0=$(cpu_of "$g") a0=$(cpu_of "$a")
sleep 6
g1=$(($(cpu_of "$g") - g0)) a1=$(($(cpu_of "$a") - a0))
diag "in 6 s: guaranteed $((g1 / 1000)) ms, opportunistic $((a1 / 1000)) ms"
at_least "two guaranteed containers get nearly all CPU time beside four opportunistic ones (%)" \
    $((100 * g1 / (g1 + a1 + 1))) 95
nmctl kill --now --wait "$a" "$g" >/dev/null

# ---- processes ----------------------------------------------------------------------------------

quick_nmd "[containers]" "pids-max = 20"
out=$(nmctl run -m 64M -- bash -c 'for i in {1..40}; do sleep 5 & done; wait' 2>&1)
like "a container can't fork without end" "$out" "fork: (retry: )?Resource temporarily unavailable"

# ---- change in place ----------------------------------------------------------------------------

quick_nmd "[preemption]" "cpu-samples = 100"
id=$(nmctl run -D --opportunistic -m 64M -c 0.5 --name rising sleep 1000)
check "an opportunistic container runs" wait_until 60 in_state "$id" RUNNING
pid=$(field_of "$id" .pid)
dir=$cg/nm.slice/nm-$id.scope
is "before the promotion the container is idle, unprotected and preferred by the OOM killer" \
    "$(cat "$dir/cpu.idle" "$dir/memory.low" "/proc/$pid/oom_score_adj" | paste -sd' ')" "1 0 1000"
check "promote succeeds" nmctl promote "$id"
check "after the promotion the container has a weight and protection" wait_until 10 grep -qx $((64 << 20)) "$dir/memory.low"
slice_promises() { [ "$(cat "$cg/nm.slice/memory.low")" = $(($1 << 20)) ]; }
check "the slice has the same protection" wait_until 10 slice_promises 64
is "the container is not idle any more" "$(cat "$dir/cpu.idle")" 0
is "the container has a quarter of the node's weight" "$(cat "$dir/cpu.weight")" 2500
check "the OOM killer no longer prefers the container" test "$(cat "/proc/$pid/oom_score_adj")" -lt 1000
check "update succeeds" nmctl update -m 96M -c 1 "$id"
check "the new limit is in force" wait_until 10 grep -qx $((96 << 20)) "$dir/memory.max"
check "the protection of the slice grows with the limit" wait_until 10 slice_promises 96
beside=$(nmctl run -D -m 32M -c 0.1 sleep 1000)
check "the protection of the slice grows with another container" wait_until 20 slice_promises 128
systemctl kill -s KILL nmd.service
check "nmd runs again after kill -9" wait_until 60 nmctl status
check "the protection is as before" wait_until 20 slice_promises 128
nmctl kill --now --wait "$beside" >/dev/null
check "the protection shrinks when a container ends" wait_until 20 slice_promises 96
is "the container has the new weight" "$(cat "$dir/cpu.weight")" 5000
is "systemd has the same values" "$(unit_prop "nm-$id.scope" MemoryMax)" $((96 << 20))
check "demote succeeds" nmctl demote "$id"
check "the container is idle again" wait_until 10 grep -qx 1 "$dir/cpu.idle"
is "the container is unprotected" "$(cat "$dir/memory.low")" 0
check "the slice has no protection any more" wait_until 20 slice_promises 0 ||
    diag "memory.low: $(cat "$cg/nm.slice/memory.low")" "nmd's note: $(cat /run/nmd/slice-low)"
is "the container has had the same process all the time" "$(state_of "$id") $(field_of "$id" .pid)" "RUNNING $pid"

# Another program changes the cgroup's files.
echo 100 >"$dir/cpu.max" 2>/dev/null
echo $((1 << 30)) >"$dir/memory.max"
echo $((1 << 29)) >"$dir/memory.low"
check "a limit that another program changed is restored" \
    wait_until 60 grep -qx $((96 << 20)) "$dir/memory.max"
check "the restored limit is reported" \
    wait_until 10 bash -c "journalctl -u nmd.service -o cat NM_CONTAINER=$id | grep -q memory.max"
is "the protection of an opportunistic container is restored to zero" "$(cat "$dir/memory.low")" 0
nmctl promote "$id" >/dev/null
check "the promoted container has protection" wait_until 10 slice_promises 96
echo 0 >$cg/nm.slice/memory.low
check "the protection of the slice is restored" wait_until 60 slice_promises 96
systemctl set-property --runtime nm.slice MemoryLow=300M
nmctl update -m 128M "$id" >/dev/null
check "an administrator's higher protection of the slice stays" wait_until 10 slice_promises 300
nmctl update -m 400M "$id" >/dev/null
check "a larger sum of guarantees replaces the administrator's protection" wait_until 10 slice_promises 400
nmctl update -m 96M "$id" >/dev/null
check "the administrator's protection returns afterwards" wait_until 10 slice_promises 300
systemctl set-property --runtime nm.slice MemoryLow=0
nmctl update -m 97M "$id" >/dev/null
check "a removed drop-in ends the administrator's protection" wait_until 10 slice_promises 97
done_testing
