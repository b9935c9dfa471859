#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
#
# Checks the properties of the machine on which the other suites depend. If this suite fails, the results of the other suites
# are not valid.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

is "systemd is PID 1" "$(cat /proc/1/comm)" systemd
is "only cgroup v2 is mounted" "$(stat -fc %T $cg)" cgroup2fs
for controller in cpu cpuset io memory pids; do
    like "the cgroup controller $controller is available" "$(cat $cg/cgroup.controllers)" "\\b$controller\\b"
done
check "the kernel measures memory pressure" grep -q '^some avg10=' /proc/pressure/memory
at_least "the guest has two CPUs" "$(nproc)" 2
at_least "the guest has enough memory for over-subscription (MiB)" \
    "$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)" 1800
at_least "the guest has swap (MiB)" "$(awk '/^SwapTotal/ { print int($2 / 1024) }' /proc/meminfo)" 500

systemd-run -q --scope --slice=nm-probe.slice -p MemoryMax=64M sleep 60 &
at_exit "kill $!"
wait_until 20 systemctl -q is-active nm-probe.slice
check "a scope can be created below a slice" systemctl -q is-active nm-probe.slice
scope=$(echo $cg/nm.slice/nm-probe.slice/run-*.scope)
is "the kernel has the scope's memory limit" "$(cat "$scope/memory.max")" $((64 << 20))
echo 1 >"$scope/cgroup.freeze"
check "the scope can be frozen" wait_until 10 grep -qx 'frozen 1' "$scope/cgroup.events"
echo 1 >"$scope/cgroup.kill"
check "the frozen scope can be killed" wait_until 10 test ! -d "$scope"

# A unit that fails in a guest without nmd is an error of the image. This error would be hard to find among later failures.
is "no systemd unit has failed before nmd is installed" "$(systemctl --failed --plain --no-legend | awk '{ print $1 }')" ""
done_testing
