#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# A process hangs in the kernel, in a write to a frozen file system, and SIGKILL has no effect. Its container does not end before the
# process does, its resources are not given to other containers, and the node is unhealthy during this time only.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

quick_nmd
mkdir -p /mnt/hang
truncate -s 32M /var/tmp/hang.img
mkfs.ext4 -q /var/tmp/hang.img
check "a file system to freeze" mount -o loop /var/tmp/hang.img /mnt/hang
at_exit 'fsfreeze --unfreeze /mnt/hang 2>/dev/null; umount -l /mnt/hang; rm -f /var/tmp/hang.img'

id=$(nmctl run -D -m 64M -c 0.2 -- sh -c 'while :; do echo x >>/mnt/hang/file; sleep 0.1; done')
check "a container that writes" wait_until 20 test -s /mnt/hang/file
check "the file system is frozen" fsfreeze --freeze /mnt/hang
hangs() { grep -q '^D' <(ps -o stat= -p "$(field_of "$id" .pid)"); }
check "the container hangs" wait_until 20 hangs
allocated=$(status_of .node.allocated.guaranteed.memory_bytes)
nmctl kill --now "$id" >/dev/null
unhealthy() { [[ $(status_of '"\(.node.healthy) \(.node.health_reason)"') == "false 1 container can't be killed"* ]]; }
check "after ten seconds the node is unhealthy, and says why" wait_until 60 unhealthy
is "its container is not told gone" "$(state_of "$id")" KILLING
is "and what it holds stays taken" "$(status_of .node.allocated.guaranteed.memory_bytes)" "$allocated"
like "the journal names it" "$(journalctl -o cat NM_CONTAINER="$id")" "$id can't be killed"
next=$(nmctl run -D -m 16M -c 0.1 -- true)
check "nothing new is started" wait_until 20 test "$(field_of "$next" .hold)" = unhealthy

# The next nmd kills the container again, and after another ten seconds it also considers the container unkillable.
systemctl restart nmd.service
wait_until 30 nmctl status
check "after a restart, too" wait_until 60 unhealthy
is "it was not forgotten" "$(state_of "$id")" KILLING
next=$(nmctl run -D -m 16M -c 0.1 -- true)
check "again nothing new is started" wait_until 20 test "$(field_of "$next" .hold)" = unhealthy

fsfreeze --unfreeze /mnt/hang
check "thawed, it is gone" wait_until 30 in_state "$id" COMPLETED
is "killed by a person" "$(field_of "$id" '"\(.exit_reason) \(.exit_code)"')" "killed 137"
check "the node is well again" wait_until 20 status_is .node.healthy true
check "and starts what waited" wait_until 20 in_state "$next" COMPLETED
is "which runs" "$(field_of "$next" .exit_code)" 0
conf
done_testing
