#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# Guaranteed containers on a host with cpu.idle: high CPU thresholds, and the stall guard that makes high thresholds safe. Also
# the two resources that nmd only prioritizes: disks and the network.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

key() { nmctl config --json | jq -r ".[] | select(.section == \"$1\" and .key == \"cpu-threshold\") | .$2"; }

# ---- thresholds -----------------------------------------------------------------------------------

quick_nmd "[over-allocation]" "warmup-samples = 1"
is "the CPU thresholds are as high as the host permits" \
    "$(status_of '"\(.node.over_allocation_threshold.cpu) \(.node.preemption_threshold.cpu)"')" "0.99 1"
is "these CPU thresholds are the value of auto" "$(key over-allocation value): $(key over-allocation in_force)" "auto: 0.99"
like "the configuration gives the reason for this value of auto" "$(key preemption why)" "high: .*cpu.idle.*cpu.pressure"
like "nmctl config prints this reason" "$(nmctl config cpu-threshold)" "auto: 1 .*high"
like "status says which capabilities network priority needs" "$(nmctl status)" \
    "network priority.*CAP_BPF"

# ---- a guaranteed container is stalled ------------------------------------------------------------

spin='while :; do :; done'
go=/tmp/guard-go
at_exit 'rm -f "$go"'
# The opportunistic container starts on the idle node, because nmd would not admit it on a busy node. It starts to use CPU when
# $go exists.
o=$(nmctl run -D --opportunistic -m 32M -c 0.1 -- bash -c "until [ -e $go ]; do sleep 1; done; $spin & $spin & $spin & $spin")
check "an opportunistic container is running and does not use CPU yet" wait_until 60 in_state "$o" RUNNING
dir=$cg/nm.slice/nm-$o.scope
# The guaranteed container's request is small, so that no container is paused to start it.
g=$(nmctl run -D -m 32M -c 0.3 -- bash -c "$spin & $spin")
check "a guaranteed container uses both CPUs" wait_until 30 in_state "$g" RUNNING
# Gives nmd time to measure how long the container waits for CPU without the opportunistic one. Polling would disturb this,
# because each call uses CPU time.
sleep 15
touch "$go"
check "the opportunistic container has cpu.idle" wait_until 20 grep -qx 1 "$dir/cpu.idle"
sleep 4
is "an opportunistic container that delays no other container gets no CPU quota" "$(cut -d' ' -f1 "$dir/cpu.max")" max
# Another program repeatedly removes the settings that protect the guaranteed container, also after nmd has restored them.
taken_away() {
    echo 0 >"$dir/cpu.idle"
    echo 10000 >"$dir/cpu.weight"
    squeezed
}
squeezed() { nmctl explain --json | jq -e '.[] | select(.kind == "squeeze" and .reason == "guaranteed-stalled")'; }
check "an opportunistic container that delays the guaranteed one gets a CPU quota" wait_until 60 taken_away
record=$(squeezed | jq -s 'last')
[ -n "$record" ] || diag "cpu.pressure of the guaranteed container: $(paste -sd' ' "$cg/nm.slice/nm-$g.scope/cpu.pressure")"
is "the decision record names the delayed guaranteed container" "$(jq -r .on_behalf_of_id <<<"$record")" "$g"
at_least "the guaranteed container waited longer for CPU than without the other container (permille)" \
    "$(jq '(.stall - .stall_base) * 1000 | round' <<<"$record")" 100
like "explain says which guaranteed container waited for CPU, and for how much of the time" \
    "$(nmctl explain)" "$g, which is guaranteed, waited for a CPU .* of the time"
not_squeezed() { [ "$(status_of .node.squeeze_millicores)" = null ]; }
check "the squeeze ends when the guaranteed container does not use CPU" wait_until 60 not_squeezed
is "the CPU quota is removed when the squeeze ends" "$(cut -d' ' -f1 "$dir/cpu.max")" max
# nmd checks every few seconds whether other programs have changed limits.
check "nmd restores cpu.idle that another program removed" wait_until 30 grep -qx 1 "$dir/cpu.idle"
is "the squeeze has neither paused nor killed a container" "$(state_of "$g") $(state_of "$o")" "RUNNING RUNNING"
nmctl kill --now --wait "$g" "$o" >/dev/null

# ---- disks and the network ------------------------------------------------------------------------

mkdir -p /etc/systemd/system/nmd.service.d
printf '[Service]\nCapabilityBoundingSet=CAP_BPF CAP_NET_ADMIN\n' >/etc/systemd/system/nmd.service.d/net.conf
systemctl daemon-reload
at_exit 'rm -rf /etc/systemd/system/nmd.service.d/net.conf; systemctl daemon-reload'
quick_nmd "[over-allocation]" "warmup-samples = 1"
is "network priority is available if nmd has the capabilities" "$(status_of '.node.features.network_priority')" true
probe='import socket, time
while True:
    s = socket.socket()
    print(s.getsockopt(socket.SOL_SOCKET, 12), flush=True)
    time.sleep(0.2)'
o=$(nmctl run -D --opportunistic -m 64M -c 0.1 -- python3 -c "$probe")
check "an opportunistic container that opens sockets is running" wait_until 30 in_state "$o" RUNNING
dir=$cg/nm.slice/nm-$o.scope
priority_is() { [ "$(nmctl logs "$o" | tail -n 1)" = "$1" ]; }
check "the sockets of an opportunistic container have the priority of background traffic" wait_until 20 priority_is 2
is "an opportunistic container has the lowest disk weight" "$(head -n 1 "$dir/io.weight")" "default 1"
is "systemd has the same disk weight" "$(unit_prop "nm-$o.scope" IOWeight)" 1
check "promote succeeds" nmctl promote "$o"
check "new sockets of the promoted container have the normal priority" wait_until 20 priority_is 0
check "the promoted container has the normal disk weight" wait_until 10 grep -qx "default 100" "$dir/io.weight"
check "demote succeeds" nmctl demote "$o"
check "new sockets of the demoted container have the priority of background traffic" wait_until 20 priority_is 2
check "the demoted container has the lowest disk weight" wait_until 10 grep -qx "default 1" "$dir/io.weight"
systemctl restart nmd.service
wait_until 30 nmctl status
check "promote succeeds after nmd was restarted" nmctl promote "$o"
check "a restarted nmd removes the BPF program that the earlier nmd attached" wait_until 20 priority_is 0
echo "default 50" >"$dir/io.weight"
check "nmd restores a disk weight that another program changed" wait_until 60 grep -qx "default 100" "$dir/io.weight"
nmctl kill --now --wait "$o" >/dev/null
conf
done_testing
