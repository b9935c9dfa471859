#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# README.md and docs/: runs the commands that need the package and systemd (runner "vm" of tests/docs/commands.py) exactly as
# the documents show them. They install, join and leave a cluster, configure, watch, upgrade, remove and purge. Checks that only
# the files remain that the documents mention.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"
# shellcheck source=tests/docs/run-commands.sh
. "${NMD_VM_LIB%/*}/documents/run-commands.sh"

# shellcheck disable=SC2034 # for play()
docs_commands=${NMD_VM_LIB%/*}/documents/commands.json
dir=$(mktemp -d)
tree=/srv/nmd-tree # apt reads packages as another user, who must be able to read this directory
export DEBIAN_FRONTEND=noninteractive
at_exit 'rm -rf "$dir" "$tree" /etc/hadoop /data/documents /etc/nmd/nmd.conf.d /etc/systemd/system/nmd.service.d; systemctl daemon-reload
    [ -x /usr/sbin/nmd ] || dpkg -i /mnt/nmd/deb/nmd.deb' # the command for the package file in this machine

dpkg -P nmd >/dev/null 2>&1
mkdir -p "$tree/build/package"
cd "$tree" || exit 1
cp "${NMD_VM_LIB%/*}/deb/nmd.deb" build/package/nmd_1_all.deb

# ---- README: installing, and joining a cluster -----------------------------------------------------------

# The cluster's ResourceManager is not running, so the node repeatedly tries to reach it. 70-yarn tests a running
# ResourceManager.
mkdir -p /etc/hadoop/conf /data/documents/{local,logs}
chown daemon: /data/documents/{local,logs} # the owner that another NodeManager's directories have
echo '<configuration></configuration>' >/etc/hadoop/conf/core-site.xml
cat >/etc/hadoop/conf/yarn-site.xml <<'END'
<configuration>
<property><name>yarn.resourcemanager.hostname</name><value>127.0.0.1</value></property>
<property><name>yarn.nodemanager.hostname</name><value>127.0.0.1</value></property>
<property><name>yarn.nodemanager.local-dirs</name><value>/data/documents/local</value></property>
<property><name>yarn.nodemanager.log-dirs</name><value>/data/documents/logs</value></property>
</configuration>
END
dropin=/etc/systemd/system/nmd.service.d/50-yarn.conf
after_command() {
    case $command in
        'apt install'*) check "nmd is running after the installation" wait_until 60 nmctl status ;;
        *--dry-run) check "the dry run of the setup writes no file" test ! -e $dropin ;;
        *--allow*) check "the setup writes the unit's drop-in" grep -qxF IPAddressAllow=10.1.0.0/16 $dropin ;;
        *--undo)
            check "the undo removes the unit's drop-in" test ! -e $dropin
            is "the undo restores the owner of the directories" "$(stat -c %U /data/documents/{local,logs} | xargs)" "daemon daemon"
            ;;
        'nmctl status') like "status reports the cluster" "$(cat "$dir/printed")" '^upstream' ;;
        'systemctl restart'* | 'systemctl start'*) check "nmd is running after a restart" wait_until 60 nmctl status ;;
    esac
}
play vm README.md
is "the node is not in a cluster after the undo" "$(status_of '.upstream // "none"')" none

# ---- settings, the page, the log ---------------------------------------------------------------------------

mkdir -p /etc/nmd/nmd.conf.d
printf '[over-allocation]\nmemory-threshold = 0.75\n[interface]\nhttp-address = 127.0.0.1:8042\n' >/etc/nmd/nmd.conf.d/90-documents.conf
after_command() {
    case $command in
        'nmctl config'*) like "the setting of the documents is in effect" "$(cat "$dir/printed")" 'memory-threshold.*0\.75' ;;
        'curl '*metrics) like "curl prints the metrics" "$(cat "$dir/printed")" '^nm_node_healthy 1' ;;
        'journalctl '*admit) like "journalctl prints a decision" "$(cat "$dir/printed")" 'admitting' ;;
    esac
}
nmctl run -m 16M -c 0.1 -- true # makes a decision that journalctl can find
play vm docs/configuration.md docs/monitoring.md docs/security.md
rm /etc/nmd/nmd.conf.d/90-documents.conf

# ---- upgrade, removal and purge ------------------------------------------------------------------------------

systemctl restart nmd.service
wait_until 60 nmctl status
id=$(nmctl run --detach -m 16M -c 0.1 sleep 1003)
check "a container is running before the upgrade" wait_until 30 in_state "$id" RUNNING
pid=$(field_of "$id" .pid)
cp "${NMD_VM_LIB%/*}/upgrade/nmd.deb" build/package/nmd_1_all.deb
echo '# mine' >/etc/nmd/nmd.conf.d/90-mine.conf
existing_paths() { # prints which of these files exist
    (for path in /run/nmd /etc/nmd/nmd.conf /var/lib/nmd /etc/nmd/nmd.conf.d/90-mine.conf /usr/bin/nmctl; do
        [ ! -e $path ] || echo "$path"; done) | xargs
}
after_command() {
    case $command in
        'apt install'*)
            check "nmd responds after the upgrade" wait_until 60 nmctl status
            like "the upgraded package is installed" "$(dpkg-query -W -f '${Version}' nmd)" '\+upgrade$'
            is "the container keeps running through the upgrade" "$(state_of "$id") $(field_of "$id" .pid)" "RUNNING $pid"
            ;;
        'apt remove'*)
            check "the removal ends the container" none_runs 'sleep 1003'
            is "the removal keeps the configuration and the state" \
                "$(existing_paths)" "/etc/nmd/nmd.conf /var/lib/nmd /etc/nmd/nmd.conf.d/90-mine.conf"
            ;;
        'apt purge'*)
            is "the purge keeps only a configuration file that an administrator has added" "$(existing_paths)" \
                /etc/nmd/nmd.conf.d/90-mine.conf
            is "the purge keeps the group and the users" "$(getent group nmd nmd-shuffle nmd-aux nmd-localizer | cut -d: -f1 | xargs)" \
                "nmd nmd-shuffle nmd-aux nmd-localizer"
            ;;
    esac
}
play vm docs/install.md
all_are_played vm
is "no systemd unit has failed" "$(systemctl --failed --plain --no-legend | awk '{ print $1 }')" ""
done_testing
