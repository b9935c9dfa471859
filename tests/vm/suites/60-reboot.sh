#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
#
# The host goes down as in a power cut. What ran before is reported lost, with the reason, and
# nothing of it is started again behind its owner's back.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

if [ "$NMD_VM_PHASE" = 0 ]; then
    quick_nmd
    id=$(nmctl run -D --name survivor -m 16M -c 0.1 -- bash -c 'echo run >>/root/runs; sleep 3000')
    check "a container runs" wait_until 30 in_state "$id" RUNNING
    ended=$(nmctl run -D --name 'done' -m 16M -c 0.1 -- bash -c 'exit 9')
    check "another has ended" wait_until 30 in_state "$ended" COMPLETED
    printf '%s\n' "$id" "$ended" >"$NMD_VM_STATE/reboot-ids"
    sync /root/runs "$NMD_VM_STATE/reboot-ids"
    vm_reboot hard
fi

{ read -r id; read -r ended; } <"$NMD_VM_STATE/reboot-ids"
check "nmd is started at boot" wait_until 60 systemctl -q is-active nmd.service
check "and answers" wait_until 60 nmctl status
check "what ran is over" wait_until 20 in_state "$id" COMPLETED
is "it is lost" "$(field_of "$id" .exit_reason)" lost
like "because of the reboot" "$(field_of "$id" .message)" 'boot'
is "it was not started again" "$(wc -l </root/runs)" 1
is "what had ended is still known" "$(field_of "$ended" '"\(.exit_code) \(.exit_reason)"')" "9 exited"
id=$(nmctl run -D -m 16M -c 0.1 sleep 1000)
check "new containers run" wait_until 30 in_state "$id" RUNNING
is "and their ids are new" "$(nmctl list --all --json | jq '[.[].id] | length - (unique | length)')" 0
nmctl kill --now --wait "$id" >/dev/null
done_testing
