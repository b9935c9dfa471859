#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# Ways to escape a container's limits with the help of other processes: a lingering service manager of the user, logind, and the user's
# processes outside.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

quick_nmd
uid=$(id -u alice)
# sets the variable that libpam-systemd would set
mkdir -p /run/systemd/system/user@.service.d
printf '[Service]\nEnvironment=XDG_RUNTIME_DIR=/run/user/%%i\n' >/run/systemd/system/user@.service.d/suite.conf
undo() {
    loginctl disable-linger alice
    systemctl stop "user@$uid.service"
    rm -rf /run/systemd/system/user@.service.d
    systemctl daemon-reload
}
at_exit undo
systemctl daemon-reload
loginctl enable-linger alice
wait_until 60 systemctl -q is-active "user@$uid.service" || not_ok "alice's service manager runs" \
    "$(systemctl status --no-pager "user@$uid.service")"
run_dir=XDG_RUNTIME_DIR=/run/user/$uid
as_alice() { runuser -u alice -- env "$run_dir" "$@"; }
check "outside a user's service manager runs the user's units" as_alice systemd-run -q --user --unit=allowed sleep 10000
manager=$(systemctl show --value -p MainPID "user@$uid.service")
check "outside the file system of the service manager is visible to the user" \
    as_alice ls "/proc/$manager/root/run/user/$uid/systemd/private"

escape() { # BUS-PATH RUN-OPTION...: tries to have something started, and tells how it went
    local path=$1
    shift
    timeout 60 nmctl run -u alice -m 50M -c 0.1 -e "$run_dir" ${path:+-e "DBUS_SESSION_BUS_ADDRESS=unix:path=$path"} "$@" \
        -- systemd-run --user --unit=escaped sleep 10000 2>&1
}
is_out() { as_alice systemctl --user -q is-active escaped; }
stays_in() { # NAME PATH RUN-OPTION...
    local name=$1
    shift
    out=$(escape "$@") && status=0 || status=$?
    diag "$out"
    at_least "$name fails in a container" "$status" 1
    check "$name starts nothing outside" eval '! is_out'
}
stays_in "systemd-run --user" ""
stays_in "systemd-run --user of an opportunistic container" "" --opportunistic
stays_in "systemd-run over the manager's bus" "/run/user/$uid/bus"
stays_in "systemd-run through the manager's root" "/proc/$manager/root/run/user/$uid/systemd/private"
stays_in "systemd-run through another process's root" "/proc/$(pgrep -u alice -x sleep | head -n 1)/root/run/user/$uid/systemd/private"
stays_in "systemd-run through the shim's root" "/proc/self/root/../run/user/$uid/systemd/private"
like "logind starts no service manager for a container" \
    "$(timeout 60 nmctl run -u alice -m 50M -c 0.1 -- loginctl enable-linger alice 2>&1)" "[Ff]ailed|No such file"

# The container sees all other file systems of the host, also those that are mounted later.
id=$(nmctl run --detach -u alice -m 50M -c 0.1 -- sh -c 'echo ready; while ! test -e /srv/later/file; do sleep .1; done
    ls -A /run/user /run/dbus; echo seen')
wait_until 20 eval '[ "$(nmctl logs "$id")" = ready ]'
mkdir -p /srv/later
mount -t tmpfs later /srv/later
at_exit 'umount /srv/later'
systemctl start "user@$(id -u bob).service"
at_exit 'systemctl stop "user@$(id -u bob).service"'
check "another user's runtime directory is mounted meanwhile" test -d "/run/user/$(id -u bob)"
touch /srv/later/file
check "a later mount of the host is visible" wait_until 20 in_state "$id" COMPLETED
is "no runtime directory is visible" "$(nmctl logs "$id" | paste -sd' ' | tr -s ' ')" "ready /run/dbus: /run/user: seen"

# ---- memory that a container leaves -----------------------------------------------------------------------------

leave() { # with 60 MiB in /dev/shm, and as much in a System V segment
    timeout 60 nmctl run -u alice -m 200M -c 0.1 -- python3 -c '
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
n = 60 << 20
open("/dev/shm/left", "wb").write(b"x" * n)
ctypes.memset(libc.shmat(libc.shmget(0x6e6d, n, 0o1600), None, 0), 1, n)
print("left")'
}
held() { awk '$1 == "shmem" { print int($2 / 1048576) }' $cg/nm.slice/memory.stat; }
is "a container fills its shared memory" "$(leave)" left
gone() { [ "$(held)" -lt 20 ]; }
check "the shared memory is released with the container" wait_until 30 gone
check "the host has no such shared memory" test ! -e /dev/shm/left
conf "[containers]" "private-ipc = no"
nmctl config --reload >/dev/null
is "a container with shared IPC fills shared memory" "$(leave)" left
at_least "the shared memory remains after that container" "$(held)" 110
told() { nmctl status | grep -q 'in nm.slice belong to no container'; }
check "status reports the remaining shared memory" wait_until 20 told
at_least "the remaining shared memory counts as used" "$(status_of '.node.used_or_reserved.memory_bytes / 1048576 | floor')" 110
rm /dev/shm/left
ipcrm -M 0x6e6d
check "the shared memory is no longer reported after its removal" wait_until 20 eval '! told'

conf "[containers]" "confine = no"
nmctl config --reload >/dev/null
escape "" >/dev/null
check "an administrator can disable the namespaces, and then a container can use its user's manager" wait_until 20 is_out
as_alice systemctl --user stop escaped allowed
done_testing
