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
check "a file system for the test is mounted" mount -o loop /var/tmp/hang.img /mnt/hang
at_exit 'fsfreeze --unfreeze /mnt/hang 2>/dev/null; umount -l /mnt/hang; rm -f /var/tmp/hang.img'

id=$(nmctl run -D -m 64M -c 0.2 -- sh -c 'while :; do echo x >>/mnt/hang/file; sleep 0.1; done')
check "a container writes to the file system" wait_until 20 test -s /mnt/hang/file
check "the file system is frozen" fsfreeze --freeze /mnt/hang
hangs() { grep -q '^D' <(ps -o stat= -p "$(field_of "$id" .pid)"); }
check "the container hangs" wait_until 20 hangs
allocated=$(status_of .node.allocated.guaranteed.memory_bytes)
nmctl kill --now "$id" >/dev/null
unhealthy() { [[ $(status_of '"\(.node.healthy) \(.node.health_reason)"') == "false 1 container can't be killed"* ]]; }
check "the node is unhealthy after ten seconds, with the reason" wait_until 60 unhealthy
is "the container is not reported as ended" "$(state_of "$id")" KILLING
is "the container's allocation stays in use" "$(status_of .node.allocated.guaranteed.memory_bytes)" "$allocated"
like "the journal names the container" "$(journalctl -o cat NM_CONTAINER="$id")" "$id can't be killed"
next=$(nmctl run -D -m 16M -c 0.1 -- true)
check "no new container is started" wait_until 20 test "$(field_of "$next" .hold)" = unhealthy

# The next nmd kills the container again, and after another ten seconds it also considers the container unkillable.
systemctl restart nmd.service
wait_until 30 nmctl status
check "the node is unhealthy after a restart too" wait_until 60 unhealthy
is "the container is still known" "$(state_of "$id")" KILLING
next=$(nmctl run -D -m 16M -c 0.1 -- true)
check "no new container is started after the restart" wait_until 20 test "$(field_of "$next" .hold)" = unhealthy

fsfreeze --unfreeze /mnt/hang
check "the container ends after the thaw" wait_until 30 in_state "$id" COMPLETED
is "the container ended as killed by a user" "$(field_of "$id" '"\(.exit_reason) \(.exit_code)"')" "killed 137"
check "the node is healthy again" wait_until 20 status_is .node.healthy true
check "the queued container starts" wait_until 20 in_state "$next" COMPLETED
is "the queued container runs" "$(field_of "$next" .exit_code)" 0
conf
done_testing
