#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
# beside: 12-outside-memory
#
# Tests the two real backends of cgroup/ with a real systemd and real controllers: runs tests/vm/cgroup-backend.c. "make check"
# (or "make vm-cgroup-backend") builds this program, and tests/vm/run --build DIR copies it to the guest.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

program=$NMD_VM_DATA/vm-cgroup-backend
[ -x "$program" ] || skip_all "vm-cgroup-backend isn't built"

# Converts the program's TAP lines to lines of this suite.
run_program() { # LABEL COMMAND...
    local label=$1 line
    shift
    while IFS= read -r line; do
        case $line in
            'ok '*) ok "$label: ${line#ok * - }" ;;
            'not ok '*) not_ok "$label: ${line#not ok * - }" ;;
            '#'*) printf '%s\n' "$line" ;;
        esac
    done < <("$@" || echo "not ok 0 - it exits with 0 (it was $?)")
}

run_program direct "$program" direct nmdirect.slice
run_program systemd "$program" systemd nmcgroup.slice
# uses systemd's own socket, like on a host without a bus
run_program socket env DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent "$program" systemd nmsocket.slice brief

# Runs the program as a user, in a service with a delegated cgroup, and with the user's own manager.
uid=1500
useradd -u $uid nmuser
at_exit "userdel nmuser"
copy=/usr/local/bin/vm-cgroup-backend # this user can't read the original, and /run is mounted noexec
install -m 755 "$program" $copy
at_exit "rm $copy"
run_program delegated systemd-run -q --pipe --wait -p User=nmuser -p Delegate=yes $copy direct nmdelegated.slice

# pam_systemd would set this variable, but a minimal guest does not have pam_systemd.
mkdir -p /run/systemd/system/user@$uid.service.d
printf '[Service]\nEnvironment=XDG_RUNTIME_DIR=/run/user/%s\n' $uid >/run/systemd/system/user@$uid.service.d/env.conf
systemctl daemon-reload
check "the service manager of a user starts" systemctl start user@$uid.service
at_exit "systemctl stop user@$uid.service; rm -r /run/systemd/system/user@$uid.service.d; systemctl daemon-reload"
run_program user setpriv --reuid=$uid --regid=$uid --clear-groups env XDG_RUNTIME_DIR=/run/user/$uid \
    $copy systemd nmuser.slice
done_testing
