#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# The limits of single containers on a kernel with all controllers: memory, CPU and processes. Also changes of these limits
# while the container runs.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

# nmd does not react to CPU use over the threshold, because this suite tests the kernel's CPU weights.
quick_nmd "[preemption]" "cpu-samples = 100" "squeeze = no"
# With swap, a container that exceeds its limit would become slow instead of being killed.
swapoff -a
at_exit 'swapon -a'

# ---- memory -------------------------------------------------------------------------------------

out=$(nmctl run --name glutton -m 64M -- python3 -c 'b = b"x" * (300 << 20)' 2>&1) && status=0 ||
    status=$?
is "a container that needs more memory than its limit is killed" "$status" 137
id=$(nmctl list --all --json | jq -r '.[] | select(.name == "glutton") | .id')
is "the exit reason of the killed container is oom-killed" "$(field_of "$id" .exit_reason)" oom-killed
peak=$(field_of "$id" .memory_peak_bytes)
like "the message of the killed container names its own limit" "$(field_of "$id" .message)" "^the kernel's OOM killer killed it; "
is "a container that exceeds its own limit does not stop the admission of others" "$(status_of .node.breaker_until_usec)" null
check "the container's peak of memory is at most its limit ($peak)" test "$peak" -gt $((56 << 20)) -a "$peak" -le $((64 << 20))

# The OOM killer kills all processes of the container, and not only the process that needed the memory.
id=$(nmctl run -D -m 64M -- bash -c 'sleep 1000 & exec python3 -c "b = b\"x\" * (300 << 20)"')
check "the container ends when one of its processes exceeds the limit" wait_until 30 in_state "$id" COMPLETED
is "a container that exceeds its memory limit has the exit reason oom-killed" "$(field_of "$id" .exit_reason)" oom-killed
check "the kernel also kills the other process of a container that exceeds its memory limit" none_runs 'sleep 1000'

# ---- CPU ----------------------------------------------------------------------------------------

spin='while :; do :; done'
guaranteed=$(nmctl run -D -m 32M -c 2 --name payer -- bash -c "$spin & $spin")
check "a guaranteed container that requests all vcores is running" wait_until 20 in_state "$guaranteed" RUNNING
cpu_of() { field "$cg/nm.slice/nm-$1.scope/cpu.stat" usage_usec; }
weight=$(cat "$cg/nm.slice/nm-$guaranteed.scope/cpu.weight")
is "the CPU weight of a container with all vcores is the maximum" "$weight" 10000

nmctl kill --now --wait "$guaranteed" >/dev/null
# The opportunistic container starts first, while the node is idle. Then a guaranteed container starts.
a=$(nmctl run -D --opportunistic -m 32M -c 0.1 -- bash -c "$spin & $spin & $spin & $spin")
check "an opportunistic container starts on an idle node" wait_until 60 in_state "$a" RUNNING
is "an opportunistic container has cpu.idle" "$(cat "$cg/nm.slice/nm-$a.scope/cpu.idle")" 1
# The guaranteed container's request is small, so that no container must be killed for it. Then the container uses all CPU time
# that it gets.
g=$(nmctl run -D -m 32M -c 0.1 -- bash -c "$spin & $spin")
check "a guaranteed container starts beside the opportunistic container" wait_until 60 in_state "$g" RUNNING
sleep 1
g0=$(cpu_of "$g") a0=$(cpu_of "$a")
sleep 6
g1=$(($(cpu_of "$g") - g0)) a1=$(($(cpu_of "$a") - a0))
diag "in 6 s: guaranteed $((g1 / 1000)) ms, opportunistic $((a1 / 1000)) ms"
at_least "two processes of a guaranteed container get nearly all CPU time beside four opportunistic ones (%)" \
    $((100 * g1 / (g1 + a1 + 1))) 95
nmctl kill --now --wait "$a" "$g" >/dev/null

# ---- processes ----------------------------------------------------------------------------------

quick_nmd "[containers]" "pids-max = 20"
out=$(nmctl run -m 64M -- bash -c 'for i in {1..40}; do sleep 5 & done; wait' 2>&1)
like "a container can't create more processes than its limit" "$out" "fork: (retry: )?Resource temporarily unavailable"

# ---- change in place ----------------------------------------------------------------------------

quick_nmd "[preemption]" "cpu-samples = 100"
id=$(nmctl run -D --opportunistic -m 64M -c 0.5 --name rising sleep 1000)
check "an opportunistic container is running" wait_until 60 in_state "$id" RUNNING
pid=$(field_of "$id" .pid)
dir=$cg/nm.slice/nm-$id.scope
is "the opportunistic container has cpu.idle, no memory.low and the highest OOM score" \
    "$(cat "$dir/cpu.idle" "$dir/memory.low" "/proc/$pid/oom_score_adj" | paste -sd' ')" "1 0 1000"
check "promote succeeds" nmctl promote "$id"
check "the promoted container has memory.low" wait_until 10 grep -qx $((64 << 20)) "$dir/memory.low"
slice_promises() { [ "$(cat "$cg/nm.slice/memory.low")" = $(($1 << 20)) ]; }
check "memory.low of the slice includes the promoted container" wait_until 10 slice_promises 64
is "the promoted container does not have cpu.idle" "$(cat "$dir/cpu.idle")" 0
is "the promoted container has a quarter of the node's CPU weight" "$(cat "$dir/cpu.weight")" 2500
check "the promoted container has a lower OOM score" test "$(cat "/proc/$pid/oom_score_adj")" -lt 1000
check "update succeeds" nmctl update -m 96M -c 1 "$id"
check "the kernel has the new memory limit after an update" wait_until 10 grep -qx $((96 << 20)) "$dir/memory.max"
check "memory.low of the slice grows with an update" wait_until 10 slice_promises 96
beside=$(nmctl run -D -m 32M -c 0.1 sleep 1000)
check "memory.low of the slice grows with a second guaranteed container" wait_until 20 slice_promises 128
systemctl kill -s KILL nmd.service
check "nmd is running again after kill -9" wait_until 60 nmctl status
check "memory.low of the slice is unchanged after kill -9 of nmd" wait_until 20 slice_promises 128
nmctl kill --now --wait "$beside" >/dev/null
check "memory.low of the slice shrinks when a guaranteed container ends" wait_until 20 slice_promises 96
is "the updated container has the CPU weight of its new vcores" "$(cat "$dir/cpu.weight")" 5000
is "systemd has the updated memory limit" "$(unit_prop "nm-$id.scope" MemoryMax)" $((96 << 20))
check "demote succeeds" nmctl demote "$id"
check "the demoted container has cpu.idle" wait_until 10 grep -qx 1 "$dir/cpu.idle"
is "the demoted container has no memory.low" "$(cat "$dir/memory.low")" 0
check "memory.low of the slice is 0 without guaranteed containers" wait_until 20 slice_promises 0 ||
    diag "memory.low: $(cat "$cg/nm.slice/memory.low")" "nmd's note: $(cat /run/nmd/slice-low)"
is "the container has had the same process during all changes" "$(state_of "$id") $(field_of "$id" .pid)" "RUNNING $pid"

# Another program changes files of the cgroup.
echo 100 >"$dir/cpu.max" 2>/dev/null
echo $((1 << 30)) >"$dir/memory.max"
echo $((1 << 29)) >"$dir/memory.low"
check "nmd restores a memory limit that another program changed" \
    wait_until 60 grep -qx $((96 << 20)) "$dir/memory.max"
check "nmd reports that it has restored the limit" \
    wait_until 10 bash -c "journalctl -u nmd.service -o cat NM_CONTAINER=$id | grep -q memory.max"
is "nmd restores memory.low of an opportunistic container to 0" "$(cat "$dir/memory.low")" 0
nmctl promote "$id" >/dev/null
check "memory.low of the slice is the request of the promoted container" wait_until 10 slice_promises 96
echo 0 >$cg/nm.slice/memory.low
check "nmd restores memory.low of the slice after another program changed it" wait_until 60 slice_promises 96
systemctl set-property --runtime nm.slice MemoryLow=300M
nmctl update -m 128M "$id" >/dev/null
check "nmd keeps a higher MemoryLow that an administrator has set on the slice" wait_until 10 slice_promises 300
nmctl update -m 400M "$id" >/dev/null
check "nmd sets memory.low of the slice if the guarantees exceed the administrator's value" wait_until 10 slice_promises 400
nmctl update -m 96M "$id" >/dev/null
check "the administrator's value is in effect again when the guarantees are smaller" wait_until 10 slice_promises 300
systemctl set-property --runtime nm.slice MemoryLow=0
nmctl update -m 97M "$id" >/dev/null
check "when the administrator's drop-in is removed, memory.low of the slice is nmd's value" wait_until 10 slice_promises 97
done_testing
