#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# A container's command must not escape the container's limits with the help of other processes: a lingering service manager of
# its user, logind, or its user's processes outside.
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
check "outside containers, a user's service manager runs the user's units" as_alice systemd-run -q --user --unit=allowed sleep 10000
manager=$(systemctl show --value -p MainPID "user@$uid.service")
check "outside containers, a user can see the file system of the service manager" \
    as_alice ls "/proc/$manager/root/run/user/$uid/systemd/private"

escape() { # BUS-PATH RUN-OPTION...: tries to start a unit outside the container, and prints the result
    local path=$1
    shift
    timeout 60 nmctl run -u alice -m 50M -c 0.1 -e "$run_dir" ${path:+-e "DBUS_SESSION_BUS_ADDRESS=unix:path=$path"} "$@" \
        -- systemd-run --user --unit=escaped sleep 10000 2>&1
}
has_escaped() { as_alice systemctl --user -q is-active escaped; }
stays_in() { # NAME PATH RUN-OPTION...
    local name=$1
    shift
    out=$(escape "$@") && status=0 || status=$?
    diag "$out"
    at_least "$name fails in a container" "$status" 1
    check "$name starts no process outside the container" eval '! has_escaped'
}
stays_in "systemd-run --user" ""
stays_in "systemd-run --user of an opportunistic container" "" --opportunistic
stays_in "systemd-run over the manager's bus" "/run/user/$uid/bus"
stays_in "systemd-run through the root directory of the service manager" "/proc/$manager/root/run/user/$uid/systemd/private"
stays_in "systemd-run through the root directory of another process" \
    "/proc/$(pgrep -u alice -x sleep | head -n 1)/root/run/user/$uid/systemd/private"
stays_in "systemd-run through the root directory of the shim" "/proc/self/root/../run/user/$uid/systemd/private"
like "logind starts no service manager for the user of a container" \
    "$(timeout 60 nmctl run -u alice -m 50M -c 0.1 -- loginctl enable-linger alice 2>&1)" "[Ff]ailed|No such file"

# The container sees all other file systems of the host, also file systems that are mounted later.
id=$(nmctl run --detach -u alice -m 50M -c 0.1 -- sh -c 'echo ready; while ! test -e /srv/later/file; do sleep .1; done
    ls -A /run/user /run/dbus; echo seen')
wait_until 20 eval '[ "$(nmctl logs "$id")" = ready ]'
mkdir -p /srv/later
mount -t tmpfs later /srv/later
at_exit '! mountpoint -q /srv/later || umount /srv/later'
systemctl start "user@$(id -u bob).service"
at_exit 'systemctl stop "user@$(id -u bob).service"'
check "the runtime directory of another user is mounted while the container runs" test -d "/run/user/$(id -u bob)"
touch /srv/later/file
check "the container sees a file system that the host mounts later" wait_until 20 in_state "$id" COMPLETED
is "the container does not see runtime directories of users" \
    "$(nmctl logs "$id" | paste -sd' ' | tr -s ' ')" "ready /run/dbus: /run/user: seen"
# Otherwise a failed disk could not be repaired while any container runs.
id=$(nmctl run --detach -u alice -m 50M -c 0.1 -- sh -c 'mountpoint -q /srv/later && echo ready
    while mountpoint -q /srv/later; do sleep .1; done')
wait_until 20 eval '[ "$(nmctl logs "$id")" = ready ]' || not_ok "the container sees the file system"
umount /srv/later
check "a file system that the host unmounts is unmounted for the container, too" wait_until 20 in_state "$id" COMPLETED

# ---- shared memory that a container leaves ----------------------------------------------------------------------

leave() { # allocates 60 MiB in /dev/shm, and 60 MiB in a System V segment
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
is "a container allocates shared memory" "$(leave)" left
gone() { [ "$(held)" -lt 20 ]; }
check "the shared memory of a container is freed when the container ends" wait_until 30 gone
check "the host does not see the shared memory of the container" test ! -e /dev/shm/left
conf "[containers]" "private-ipc = no"
nmctl config --reload >/dev/null
is "a container without an IPC namespace allocates shared memory" "$(leave)" left
at_least "shared memory of a container without an IPC namespace remains when the container ends" "$(held)" 110
reports_memory() { nmctl status | grep -q 'in nm.slice belong to no container'; }
check "status reports the remaining shared memory" wait_until 20 reports_memory
at_least "the remaining shared memory is counted as used" "$(status_of '.node.used_or_reserved.memory_bytes / 1048576 | floor')" 110
rm /dev/shm/left
ipcrm -M 0x6e6d
check "status no longer reports the shared memory after its removal" wait_until 20 eval '! reports_memory'

conf "[containers]" "confine = no"
nmctl config --reload >/dev/null
escape "" >/dev/null
check "if an administrator switches confinement off, a container can use the user's service manager" wait_until 20 has_escaped
as_alice systemctl --user stop escaped allowed
done_testing
