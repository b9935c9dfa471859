#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# The host reboots, first after a power cut and then cleanly. Containers that were running are reported as lost, with the
# reason. nmd does not start them again, because only their owner may do this. Queued containers stay queued if it is certain
# that they have never run, which requires a clean stop of nmd.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

# Prints the whole memory of the node. A container that requests all of it waits as long as any other container exists.
whole_node() { echo "$(($(status_of .node.capacity.memory_bytes) >> 20))M"; }

if [ "$NMD_VM_PHASE" = 0 ]; then
    quick_nmd
    all=$(whole_node)
    id=$(nmctl run -D --name survivor -m 16M -c 0.1 -- bash -c 'echo run >>/root/runs; sleep 3000')
    check "a container is running before the power cut" wait_until 30 in_state "$id" RUNNING
    ended=$(nmctl run -D --name 'done' -m 16M -c 0.1 -- bash -c 'exit 9')
    check "another container has ended before the power cut" wait_until 30 in_state "$ended" COMPLETED
    queued=$(nmctl run -D --opportunistic -m "$all" -c 0.1 -- bash -c 'echo queued >>/root/runs')
    printf '%s\n' "$id" "$ended" "$queued" >"$NMD_VM_STATE/reboot-ids"
    sync /root/runs "$NMD_VM_STATE/reboot-ids"
    vm_reboot hard
fi

{ read -r id; read -r ended; read -r queued; } <"$NMD_VM_STATE/reboot-ids"
check "nmd is started at boot after the power cut" wait_until 60 systemctl -q is-active nmd.service
check "nmd responds after the power cut" wait_until 60 nmctl status
check "a container that was running at the power cut is shown as ended" wait_until 20 in_state "$id" COMPLETED
if [ "$NMD_VM_PHASE" = 1 ]; then
    is "a container that was running at the power cut is lost" "$(field_of "$id" .exit_reason)" lost
    like "the message of the lost container names the reboot" "$(field_of "$id" .message)" 'boot'
else # the shim may have recorded that systemd ended the command at the shutdown
    like "after a clean reboot, the record of the container names the reboot" \
        "$(field_of "$id" '"\(.exit_code) \(.exit_reason) \(.message)"')" \
        'lost the host was rebooted|^143 signaled|^143 stopped .*or shutdown of the host'
fi
is "a container that was running at the reboot is not started again" "$(cat /root/runs)" run

is "a container that ended before the reboot has its exit status" "$(field_of "$ended" '"\(.exit_code) \(.exit_reason)"')" "9 exited"
if [ "$NMD_VM_PHASE" = 1 ]; then
    is "a container that was queued at the power cut is lost" "$(field_of "$queued" '"\(.exit_reason) \(.message)"')" \
        "lost the host was rebooted while it waited in the queue"
    quick_nmd
    all=$(whole_node)
    id=$(nmctl run -D -m 16M -c 0.1 -- bash -c 'echo run >>/root/runs2; sleep 3000')
    check "a new container runs after the reboot" wait_until 30 in_state "$id" RUNNING
    is "a new container does not get the id of an earlier container" \
        "$(nmctl list --all --json | jq '[.[].id] | length - (unique | length)')" 0
    queued=$(nmctl run -D --opportunistic -m "$all" -c 0.1 -- bash -c 'echo queued >>/root/runs2; exit 5')
    printf '%s\n' "$id" "$ended" "$queued" >"$NMD_VM_STATE/reboot-ids"
    vm_reboot
fi

check "a container that was queued at a clean reboot starts after it" wait_until 60 in_state "$queued" COMPLETED
is "the container that was queued at the reboot exits with its own status" \
    "$(field_of "$queued" '"\(.exit_code) \(.exit_reason)"')" "5 exited"
is "the queued container ran once, and the container that was running did not run again" "$(sort /root/runs2 | paste -sd' ')" "queued run"
done_testing
