#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# nmd as a service of systemd: the units, the socket, the confinement of the service and the rights of containers, reload,
# restart and the watchdog.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

check "nmd.service is active" wait_until 60 systemctl -q is-active nmd.service
# All further checks need an nmd that responds.
check "nmd responds to nmctl status" wait_until 30 nmctl status || done_testing
is "nmd.service and nmd.socket are enabled" "$(systemctl is-enabled nmd.service nmd.socket | paste -sd' ')" "enabled enabled"
is "nmd uses the systemd backend" "$(status_of .node.backend)" systemd
check "curl can send requests to nmd's socket" \
    curl -fsS --unix-socket /run/nmd/nmd.sock http://localhost/v1/version
is "the socket belongs to root and the group nmd" "$(stat -c '%U %G %a' /run/nmd/nmd.sock)" "root nmd 660"
is "only root can read the state directory" "$(stat -c '%U %a' /var/lib/nmd)" "root 700"
check "a user who is not in the group nmd can't use the socket" \
    bash -c '! su alice -c "curl -sS --unix-socket /run/nmd/nmd.sock http://localhost/v1/status"'
usermod -aG nmd alice
check "a user in the group nmd can use the socket" \
    su alice -c 'curl -fsS --unix-socket /run/nmd/nmd.sock http://localhost/v1/status'
gpasswd -d alice nmd >/dev/null

check "systemd-analyze security rates nmd.service at 5.0 or less" systemd-analyze security --threshold=50 nmd.service
check "systemd-analyze verify finds no mistakes in the units" systemd-analyze verify --man=no nmd.service nmd.socket nm.slice
is "memory.max of nm.slice is the node's capacity" "$(cat $cg/nm.slice/memory.max)" \
    "$(status_of .node.capacity.memory_bytes)"
is "nmd has no no_new_privs, which would disable setuid programs in containers" \
    "$(field "/proc/$(unit_prop nmd.service MainPID)/status" NoNewPrivs:)" 0

# ---- a container as systemd sees it -------------------------------------------------------------

id=$(timeout 60 nmctl run --detach -m 64M -c 0.5 --name sleeper sleep 300)
like "nmctl run --detach prints the container id" "$id" '^container_[0-9]+_[0-9]+$'
check "the container is running" wait_until 20 in_state "$id" RUNNING
scope=nm-$id.scope
is "the container's scope is active in systemd" "$(systemctl is-active "$scope")" active
like "systemctl status nm.slice shows the container" "$(systemctl status --no-pager nm.slice)" "$scope"
is "systemd has the container's memory limit" "$(unit_prop "$scope" MemoryMax)" $((64 << 20))
is "the kernel has the container's memory limit" "$(cat "$cg/nm.slice/$scope/memory.max")" $((64 << 20))
is "the kernel has the container's memory protection (memory.low)" "$(cat "$cg/nm.slice/$scope/memory.low")" $((64 << 20))
is "the kernel's OOM killer kills all processes of the container together" "$(cat "$cg/nm.slice/$scope/memory.oom.group")" 1
is "the command of nmctl exec runs in the container's scope" \
    "$(timeout 60 nmctl exec "$id" -- sed -n 's/^0:://p' /proc/self/cgroup)" "/nm.slice/$scope"
like "the journal has the container's events under its id" "$(journalctl -o cat NM_CONTAINER="$id")" "$id|sleeper"

out=$(timeout 60 nmctl run -u alice -e GREETING=hello -- sh -c 'echo $GREETING; exit 7') && status=0 || status=$?
is "nmctl run returns the exit status of the container's command" "$status" 7
is "nmctl run prints the output of the container's command" "$out" hello

# ---- the rights of containers despite the service's confinement ---------------------------------

# As user alice, this program prints its rights.
cat >/tmp/probe.sh <<'END'
id -un
touch /tmp/made-by-alice && echo tmp
touch ~/made-by-alice && echo home
[ -c /dev/fuse ] || [ -c /dev/kmsg ] && echo dev
head -c 1 /dev/urandom >/dev/null && echo urandom
grep -h NoNewPrivs /proc/self/status | tr -d '\t'
unshare -Ur true && echo userns
python3 -c 'import socket; socket.socket(socket.AF_INET6)' && echo inet6
python3 -c 'import ctypes, mmap; mmap.mmap(-1, 4096, prot=7)' && echo jit
cat /proc/self/oom_score_adj
ulimit -Sn
END
wanted="alice tmp home dev urandom NoNewPrivs:1 userns inet6 jit 0 1024"
is "a guaranteed container has the rights that jobs need" \
    "$(timeout 60 nmctl run -u alice bash /tmp/probe.sh 2>/dev/null | paste -sd' ')" "$wanted"
check "/tmp of a container is the host's /tmp" test -e /tmp/made-by-alice
is "a setuid program gets its rights if new privileges are permitted" \
    "$(timeout 60 nmctl run --allow-new-privs -u alice grep -h NoNewPrivs /proc/self/status | tr -d '\t')" \
    NoNewPrivs:0
like "a container can't load a kernel module, even as root" \
    "$(timeout 60 nmctl run -u root -- modprobe dummy 2>&1)" "not permitted|not found in directory"
like "a container can't set the clock, even as root" "$(timeout 60 nmctl run -u root -- date -s 2001-01-01 2>&1)" "not permitted"
check "a container can't write to /usr, even as root" bash -c '! timeout 60 nmctl run -u root -- touch /usr/made-by-container'

# ---- reload and restart -------------------------------------------------------------------------

pid=$(unit_prop nmd.service MainPID)
printf '%s\n' '#!/bin/sh' 'ps -o ni= -p $$ >/tmp/health.new; cat /proc/self/oom_score_adj >>/tmp/health.new' \
    'mv /tmp/health.new /tmp/health.ran' >/usr/local/bin/health
chmod 755 /usr/local/bin/health
conf "[queue]" "max-length = 3" "[health]" "script = /usr/local/bin/health" "period = 1s"
check "systemctl reload succeeds" systemctl reload nmd.service
check "the setting in the new file is in effect after systemctl reload" wait_until 20 status_is .queue.max_length 3
is "systemctl reload does not restart nmd" "$(unit_prop nmd.service MainPID)" "$pid"
check "the health script of the new file runs" wait_until 30 test -s /tmp/health.ran
is "the health script has the default nice value and session priority" "$(tr -d ' ' </tmp/health.ran | paste -sd' ')" "0 0"
conf "[queue]" "max-length = many"
systemctl reload nmd.service
check "a reload of a file with a mistake reports the line of the mistake" \
    wait_until 20 bash -c "journalctl -u nmd.service -o cat | grep -q 'max-length.*many'"
is "a reload of a file with a mistake changes no setting" "$(status_of .queue.max_length)" 3
conf

container_pid=$(field_of "$id" .pid)
check "systemctl restart succeeds" systemctl restart nmd.service
check "nmd responds after systemctl restart" wait_until 30 nmctl status
is "the container and its process keep running through systemctl restart" \
    "$(state_of "$id") $(field_of "$id" .pid)" "RUNNING $container_pid"
check "systemctl daemon-reload succeeds" systemctl daemon-reload
is "the container keeps its memory limit after systemctl daemon-reload" "$(cat "$cg/nm.slice/$scope/memory.max")" $((64 << 20))

mkdir -p /run/systemd/system/nmd.service.d
printf '[Service]\nWatchdogSec=3\n' >/run/systemd/system/nmd.service.d/watchdog.conf
at_exit 'rm -rf /run/systemd/system/nmd.service.d; systemctl daemon-reload'
systemctl daemon-reload
systemctl restart nmd.service
wait_until 30 nmctl status
pid=$(unit_prop nmd.service MainPID)
sleep 5
is "nmd is not restarted while it notifies the watchdog" "$(unit_prop nmd.service MainPID)" "$pid"
kill -STOP "$pid"
nmd_is_another() { [ "$(unit_prop nmd.service MainPID)" != "$pid" ] && nmctl status; }
check "systemd restarts an nmd that hangs" wait_until 60 nmd_is_another
is "the container keeps running when systemd restarts nmd" "$(state_of "$id") $(field_of "$id" .pid)" "RUNNING $container_pid"

nmctl kill --now --wait "$id" >/dev/null
check "the scope is removed when the container ends" \
    wait_until 20 bash -c "! systemctl -q is-active $scope"
is "the container's record says that a user killed it" "$(field_of "$id" .exit_reason)" killed
like "journalctl selects decisions by NM_DECISION" "$(journalctl -o cat NM_CONTAINER="$id" NM_DECISION=kill)" "killing $id"
is "each selected journal entry has the selected NM_DECISION" \
    "$(journalctl -o json NM_CONTAINER="$id" NM_DECISION=admit + NM_CONTAINER="$id" NM_DECISION=kill |
    jq -r .NM_DECISION | sort -u | xargs)" "admit kill"
like "journalctl -x prints the explanations of nmd's catalog" "$(journalctl -x -o short NM_CONTAINER="$id" | head -n 200)" \
    "A container has ended"
done_testing
