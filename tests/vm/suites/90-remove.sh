#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
#
# Removal of the package ends all containers. A purge leaves no files.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

quick_nmd
id=$(nmctl run -D -m 16M -c 0.1 sleep 1002)
check "a container is running before the removal" wait_until 30 in_state "$id" RUNNING
export DEBIAN_FRONTEND=noninteractive
check "the package can be removed" dpkg -r nmd
check "the removal ends all containers" none_runs 'sleep 1002'
check "no unit of nmd is active after the removal" bash -c '! systemctl -q is-active nmd.service nmd.socket nm.slice'
check "the removal keeps the configuration" test -e /etc/nmd/nmd.conf
check "the removal keeps the state directory" test -e /var/lib/nmd
check "the package can be installed again" dpkg -i /mnt/nmd/deb/nmd.deb
check "nmd is running after the package was installed again" wait_until 60 nmctl status
rm -r /etc/nmd/nmd.conf.d
mkdir -p /srv/purge/conf /srv/purge/hadoop
chown alice /srv/purge/hadoop
chmod 2775 /srv/purge/hadoop
cat >/srv/purge/conf/yarn-site.xml <<'END'
<configuration>
<property><name>yarn.resourcemanager.hostname</name><value>127.0.0.1</value></property>
<property><name>yarn.nodemanager.local-dirs</name><value>/srv/purge/hadoop,/srv/purge/new/local</value></property>
<property><name>yarn.nodemanager.log-dirs</name><value>/srv/purge/new/logs</value></property>
</configuration>
END
check "nmd --yarn-setup makes the host a node of a cluster" nmd --yarn-setup /srv/purge/conf
is "the directories of the cluster belong to root after the setup" \
    "$(stat -c '%U %a' /srv/purge/hadoop /srv/purge/new/local /srv/purge/new/logs | sort -u)" "root 755"
out=$(dpkg -P nmd 2>&1) && status=0 || status=$?
is "the package can be purged" "$status" 0 || diag "$out"
like "the purge names the group and the users that it does not remove" \
    "$out" '^nmd: the group nmd and the users nmd-shuffle, nmd-aux and nmd-localizer stay'
is "the purge undoes the setup" "$(stat -c "%U %a" /srv/purge/hadoop) $(cd /srv/purge && echo *)" \
    "alice 2775 conf hadoop"
is "the purge leaves no file of nmd" \
    "$(ls -d /var/lib/nmd /etc/nmd /run/nmd /usr/libexec/nmd /lib/systemd/system/nm* /etc/systemd/system/nmd.service.d \
        /run/systemd/system.control/nm.slice.d 2>/dev/null)" ""
# Excludes files of the test machine itself, which have similar names.
is "no file is left whose name starts with nmd or nm-" \
    "$(find /etc /usr /var /srv -xdev \( -name 'nmd*' -o -name 'nm-*' -o -name 'nm.slice*' \
    -o -name 'nmctl*' -o -name 'nmsim*' -o -name '50-yarn.conf' \) ! -path '*nmd-vm*' ! -path '/etc/initramfs-tools/*')" ""
is "no systemd unit has failed" "$(systemctl --failed --plain --no-legend | awk '{ print $1 }')" ""
done_testing
