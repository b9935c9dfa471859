#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# A process hangs in the kernel, in a write to a frozen file system, so that SIGKILL has no effect. The container of the process
# must not end before the process does, and its resources must not be given to other containers. The node is unhealthy only
# during this time.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

quick_nmd
mkdir -p /mnt/hang
truncate -s 32M /var/tmp/hang.img
mkfs.ext4 -q /var/tmp/hang.img
check "a file system that can be frozen is mounted" mount -o loop /var/tmp/hang.img /mnt/hang
at_exit 'fsfreeze --unfreeze /mnt/hang 2>/dev/null; umount -l /mnt/hang; rm -f /var/tmp/hang.img'

id=$(nmctl run -D -m 64M -c 0.2 -- sh -c 'while :; do echo x >>/mnt/hang/file; sleep 0.1; done')
check "a container writes to this file system" wait_until 20 test -s /mnt/hang/file
check "the file system is frozen" fsfreeze --freeze /mnt/hang
hangs() { grep -q '^D' <(ps -o stat= -p "$(field_of "$id" .pid)"); }
check "the container's process hangs in a write" wait_until 20 hangs
allocated=$(status_of .node.allocated.guaranteed.memory_bytes)
nmctl kill --now "$id" >/dev/null
unhealthy() { [[ $(status_of '"\(.node.healthy) \(.node.health_reason)"') == "false 1 container can't be killed"* ]]; }
check "the node is unhealthy after ten seconds, and the reason names the container" wait_until 60 unhealthy
is "nmd does not report the end of the container" "$(state_of "$id")" KILLING
is "the container's request stays allocated" "$(status_of .node.allocated.guaranteed.memory_bytes)" "$allocated"
like "the journal says that the container can't be killed" "$(journalctl -o cat NM_CONTAINER="$id")" "$id can't be killed"
next=$(nmctl run -D -m 16M -c 0.1 -- true)
check "a new container waits because the node is unhealthy" wait_until 20 test "$(field_of "$next" .hold)" = unhealthy

# The next nmd also kills the container. After another ten seconds it also considers the container unkillable.
systemctl restart nmd.service
wait_until 30 nmctl status
check "the node is unhealthy after a restart of nmd too" wait_until 60 unhealthy
is "after a restart, nmd is still killing the container" "$(state_of "$id")" KILLING
next=$(nmctl run -D -m 16M -c 0.1 -- true)
check "after a restart, a new container waits because the node is unhealthy" wait_until 20 test "$(field_of "$next" .hold)" = unhealthy

fsfreeze --unfreeze /mnt/hang
check "the container ends when the file system is thawed" wait_until 30 in_state "$id" COMPLETED
is "the container has the exit reason killed" "$(field_of "$id" '"\(.exit_reason) \(.exit_code)"')" "killed 137"
check "the node is healthy when the container has ended" wait_until 20 status_is .node.healthy true
check "the queued container runs when the node is healthy" wait_until 20 in_state "$next" COMPLETED
is "the queued container exits with status 0" "$(field_of "$next" .exit_code)" 0
conf
done_testing
