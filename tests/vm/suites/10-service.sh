#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# nmd as a service of systemd: the units, the socket, the confinement of the service and the rights of containers, reload, restart and the
# watchdog.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

check "nmd.service is active" wait_until 60 systemctl -q is-active nmd.service
# All checks below need an nmd that answers.
check "nmd answers" wait_until 30 nmctl status || done_testing
is "nmd.service is enabled" "$(systemctl is-enabled nmd.service nmd.socket | paste -sd' ')" "enabled enabled"
is "nmd uses the systemd backend" "$(status_of .node.backend)" systemd
check "curl can use the interface" \
    curl -fsS --unix-socket /run/nmd/nmd.sock http://localhost/v1/version
is "the socket belongs to root and the group nmd" "$(stat -c '%U %G %a' /run/nmd/nmd.sock)" "root nmd 660"
is "only root can read the state directory" "$(stat -c '%U %a' /var/lib/nmd)" "root 700"
check "another user can't use the socket" \
    bash -c '! su alice -c "curl -sS --unix-socket /run/nmd/nmd.sock http://localhost/v1/status"'
usermod -aG nmd alice
check "a member of the group can use the socket" \
    su alice -c 'curl -fsS --unix-socket /run/nmd/nmd.sock http://localhost/v1/status'
gpasswd -d alice nmd >/dev/null

check "the exposure of the unit is at most 5.0" systemd-analyze security --threshold=50 nmd.service
check "the units have no mistakes" systemd-analyze verify --man=no nmd.service nmd.socket nm.slice
is "the limit of the slice is the node's capacity" "$(cat $cg/nm.slice/memory.max)" \
    "$(status_of .node.capacity.memory_bytes)"
is "nmd has no NoNewPrivs, which would disable setuid programs in containers" \
    "$(field "/proc/$(unit_prop nmd.service MainPID)/status" NoNewPrivs:)" 0

# ---- a container as systemd sees it -------------------------------------------------------------

id=$(timeout 60 nmctl run --detach -m 64M -c 0.5 --name sleeper sleep 300)
like "a container has an id" "$id" '^container_[0-9]+_[0-9]+$'
check "the container runs" wait_until 20 in_state "$id" RUNNING
scope=nm-$id.scope
is "the container's scope is active" "$(systemctl is-active "$scope")" active
like "systemctl status nm.slice shows the container" "$(systemctl status --no-pager nm.slice)" "$scope"
is "systemd has the container's limit" "$(unit_prop "$scope" MemoryMax)" $((64 << 20))
is "the kernel has the container's limit" "$(cat "$cg/nm.slice/$scope/memory.max")" $((64 << 20))
is "the kernel has the container's protection" "$(cat "$cg/nm.slice/$scope/memory.low")" $((64 << 20))
is "the kernel kills the container as a whole" "$(cat "$cg/nm.slice/$scope/memory.oom.group")" 1
is "another command in the container is in its scope" \
    "$(timeout 60 nmctl exec "$id" -- sed -n 's/^0:://p' /proc/self/cgroup)" "/nm.slice/$scope"
like "the journal has the container's events" "$(journalctl -o cat NM_CONTAINER="$id")" "$id|sleeper"

out=$(timeout 60 nmctl run -u alice -e GREETING=hello -- sh -c 'echo $GREETING; exit 7') && status=0 || status=$?
is "nmctl returns the container's exit status" "$status" 7
is "nmctl prints the container's output" "$out" hello

# ---- the rights of containers despite the service's confinement ---------------------------------

# As user alice, the probe prints its rights.
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
is "a guaranteed container can do what jobs do" \
    "$(timeout 60 nmctl run -u alice bash /tmp/probe.sh 2>/dev/null | paste -sd' ')" "$wanted"
check "/tmp is that of the host" test -e /tmp/made-by-alice
is "the setuid bit of su works if new privileges are allowed" \
    "$(timeout 60 nmctl run --allow-new-privs -u alice grep -h NoNewPrivs /proc/self/status | tr -d '\t')" \
    NoNewPrivs:0
like "a container can't load a module, even as root" \
    "$(timeout 60 nmctl run -u root -- modprobe dummy 2>&1)" "not permitted|not found in directory"
like "a container can't set the clock" "$(timeout 60 nmctl run -u root -- date -s 2001-01-01 2>&1)" "not permitted"
check "a container can't write to /usr" bash -c '! timeout 60 nmctl run -u root -- touch /usr/made-by-container'

# ---- reload and restart -------------------------------------------------------------------------

pid=$(unit_prop nmd.service MainPID)
printf '%s\n' '#!/bin/sh' 'ps -o ni= -p $$ >/tmp/health.new; cat /proc/self/oom_score_adj >>/tmp/health.new' \
    'mv /tmp/health.new /tmp/health.ran' >/usr/local/bin/health
chmod 755 /usr/local/bin/health
conf "[queue]" "max-length = 3" "[health]" "script = /usr/local/bin/health" "period = 1s"
check "systemctl reload works" systemctl reload nmd.service
check "the new setting is in force" wait_until 20 status_is .queue.max_length 3
is "nmd was not restarted" "$(unit_prop nmd.service MainPID)" "$pid"
check "the health script runs" wait_until 30 test -s /tmp/health.ran
is "the health script has the default priority" "$(tr -d ' ' </tmp/health.ran | paste -sd' ')" "0 0"
conf "[queue]" "max-length = many"
systemctl reload nmd.service
check "a mistake in the file is reported with its line" \
    wait_until 20 bash -c "journalctl -u nmd.service -o cat | grep -q 'max-length.*many'"
is "a file with a mistake changes nothing" "$(status_of .queue.max_length)" 3
conf

container_pid=$(field_of "$id" .pid)
check "systemctl restart works" systemctl restart nmd.service
check "nmd answers after the restart" wait_until 30 nmctl status
is "the container keeps its process" "$(state_of "$id") $(field_of "$id" .pid)" "RUNNING $container_pid"
check "systemctl daemon-reload keeps the container running" systemctl daemon-reload
is "the container keeps its limit" "$(cat "$cg/nm.slice/$scope/memory.max")" $((64 << 20))

mkdir -p /run/systemd/system/nmd.service.d
printf '[Service]\nWatchdogSec=3\n' >/run/systemd/system/nmd.service.d/watchdog.conf
at_exit 'rm -rf /run/systemd/system/nmd.service.d; systemctl daemon-reload'
systemctl daemon-reload
systemctl restart nmd.service
wait_until 30 nmctl status
pid=$(unit_prop nmd.service MainPID)
sleep 5
is "nmd notifies its watchdog" "$(unit_prop nmd.service MainPID)" "$pid"
kill -STOP "$pid"
nmd_is_another() { [ "$(unit_prop nmd.service MainPID)" != "$pid" ] && nmctl status; }
check "a hung nmd is restarted" wait_until 60 nmd_is_another
is "the container still runs" "$(state_of "$id") $(field_of "$id" .pid)" "RUNNING $container_pid"

nmctl kill --now --wait "$id" >/dev/null
check "the scope is removed at the end of the container" \
    wait_until 20 bash -c "! systemctl -q is-active $scope"
is "the record names the user who ended the container" "$(field_of "$id" .exit_reason)" killed
like "decisions can be selected by kind" "$(journalctl -o cat NM_CONTAINER="$id" NM_DECISION=kill)" "killing $id"
is "each decision has the selected kind" "$(journalctl -o json NM_CONTAINER="$id" NM_DECISION=admit + NM_CONTAINER="$id" NM_DECISION=kill |
    jq -r .NM_DECISION | sort -u | xargs)" "admit kill"
like "journalctl -x prints explanations" "$(journalctl -x -o short NM_CONTAINER="$id" | head -n 200)" \
    "A container has ended"
done_testing
