#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
#
# Checks the properties of the machine on which the other suites depend. If this suite fails, the results of the others mean nothing.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

is "systemd is PID 1" "$(cat /proc/1/comm)" systemd
is "cgroup v2 is all there is" "$(stat -fc %T $cg)" cgroup2fs
for controller in cpu cpuset io memory pids; do
    like "the $controller controller is there" "$(cat $cg/cgroup.controllers)" "\\b$controller\\b"
done
check "pressure is measured" grep -q '^some avg10=' /proc/pressure/memory
at_least "there are two CPUs" "$(nproc)" 2
at_least "there is memory for over-subscription (MiB)" \
    "$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)" 1800
at_least "there is swap (MiB)" "$(awk '/^SwapTotal/ { print int($2 / 1024) }' /proc/meminfo)" 500

systemd-run -q --scope --slice=nm-probe.slice -p MemoryMax=64M sleep 60 &
at_exit "kill $!"
wait_until 20 systemctl -q is-active nm-probe.slice
check "a scope can be made below a slice" systemctl -q is-active nm-probe.slice
scope=$(echo $cg/nm.slice/nm-probe.slice/run-*.scope)
is "its memory limit is the kernel's" "$(cat "$scope/memory.max")" $((64 << 20))
echo 1 >"$scope/cgroup.freeze"
check "it can be frozen" wait_until 10 grep -qx 'frozen 1' "$scope/cgroup.events"
echo 1 >"$scope/cgroup.kill"
check "it can be killed while frozen" wait_until 10 test ! -d "$scope"

# A unit that fails in a bare guest is an error of the image, which would be hard to find among later failures.
is "no unit has failed" "$(systemctl --failed --plain --no-legend | awk '{ print $1 }')" ""
done_testing
