#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
#
# The package leaves as it came: its containers end with it, and purging leaves nothing.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

quick_nmd
id=$(nmctl run -D -m 16M -c 0.1 sleep 1002)
check "a container runs" wait_until 30 in_state "$id" RUNNING
export DEBIAN_FRONTEND=noninteractive
check "the package can be removed" dpkg -r nmd
check "no container is left" none_runs 'sleep 1002'
check "no unit is left" bash -c '! systemctl -q is-active nmd.service nmd.socket nm.slice'
check "the configuration stays" test -e /etc/nmd/nmd.conf
check "so does the state" test -e /var/lib/nmd
check "it can be installed again" dpkg -i /mnt/nmd/deb/nmd.deb
check "and runs" wait_until 60 nmctl status
rm -r /etc/nmd/nmd.conf.d
check "it can be purged" dpkg -P nmd
is "nothing of it is left" \
    "$(ls -d /var/lib/nmd /etc/nmd /run/nmd /usr/libexec/nmd /lib/systemd/system/nm* 2>/dev/null)" ""
is "no unit has failed" "$(systemctl --failed --plain --no-legend | awk '{ print $1 }')" ""
done_testing
