#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# While nmd is stopped, the kernel alone protects guaranteed containers. When the slice reaches its limit, the OOM killer kills
# all processes of an opportunistic container, and no other process.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

# With swap, the kernel would not need to kill a process.
swapoff -a
at_exit 'swapon -a'
quick_nmd "[node]" "memory = 1G" "[preemption]" "cpu-samples = 100" "breaker = 5min"
echo 200 >/tmp/oom-g
echo 400 >/tmp/oom-o
g=$(nmctl run -D -m 800M -c 0.5 -- python3 "$NMD_VM_DATA/hog.py" /tmp/oom-g)
check "a guaranteed container is running" wait_until 60 in_state "$g" RUNNING
o=$(nmctl run -D --opportunistic -m 500M -c 0.1 -- \
    bash -c "sleep 1001 & exec python3 $NMD_VM_DATA/hog.py /tmp/oom-o")
check "an opportunistic container is running in memory that the guaranteed container does not use" wait_until 60 in_state "$o" RUNNING
full() { [ "$(cat "$cg/nm.slice/nm-$o.scope/memory.current")" -ge $((390 << 20)) ]; }
check "the opportunistic container allocates its memory" wait_until 60 full
pid=$(field_of "$g" .pid)

systemctl stop nmd.socket nmd.service
is "nmd is stopped" "$(systemctl is-active nmd.service)" inactive
is "memory.max of the slice is unchanged while nmd is stopped" "$(cat $cg/nm.slice/memory.max)" $((1 << 30))
echo 720 >/tmp/oom-g
check "the guaranteed container grows, and the kernel kills all processes of the opportunistic one" \
    wait_until 90 none_runs 'sleep 1001'
grown() { [ "$(cat "$cg/nm.slice/nm-$g.scope/memory.current")" -ge $((700 << 20)) ]; }
check "the guaranteed container gets all its memory" wait_until 60 grown
check "the guaranteed container is not killed" kill -0 "$pid"

systemctl start nmd.socket nmd.service
check "nmd can be started again" wait_until 30 nmctl status
is "nmd adopts the guaranteed container" "$(state_of "$g") $(field_of "$g" .pid)" "RUNNING $pid"
check "nmd reports the opportunistic container as ended" wait_until 20 in_state "$o" COMPLETED
is "the exit reason of the opportunistic container is oom-killed" "$(field_of "$o" .exit_reason)" oom-killed
like "the message of the opportunistic container does not name its own limit" \
    "$(field_of "$o" .message)" "because the slice or the node ran out of memory"
like "explain says that the kernel's OOM killer ended the container" "$(nmctl explain "$o")" "the kernel's OOM killer ended it"
check "the breaker stops the admission of opportunistic containers" [ "$(status_of .node.breaker_until_usec)" != null ]

# The same with an nmd that reacts too late: nmd is suspended during the kill, and notices the kill afterwards.
nmctl close-breaker >/dev/null
echo 200 >/tmp/oom-g
o=$(nmctl run -D --opportunistic -m 500M -c 0.1 -- \
    bash -c "sleep 1001 & exec python3 $NMD_VM_DATA/hog.py /tmp/oom-o")
check "another opportunistic container runs when the breaker has closed" wait_until 60 in_state "$o" RUNNING
check "this opportunistic container allocates its memory" wait_until 60 full
late=$(nmctl run -D --opportunistic -m 600M -c 0.1 sleep 1002)
nmd=$(unit_prop nmd.service MainPID)
kill -STOP "$nmd"
echo 720 >/tmp/oom-g
check "the kernel kills all processes of an opportunistic container while nmd is suspended" wait_until 60 none_runs 'sleep 1001'
kill -CONT "$nmd"
check "nmd notices the kill when it continues" wait_until 60 in_state "$o" COMPLETED
held() { [ "$(field_of "$late" .hold)" = breaker ]; }
echo 200 >/tmp/oom-g
check "the breaker stops the admission of a queued container after this kill" wait_until 20 held
like "explain says that the kernel's OOM killer ended the container while nmd was suspended" \
    "$(nmctl explain "$o")" "the kernel's OOM killer ended it"
check "the guaranteed container is still running" kill -0 "$pid"
nmctl kill --now --wait "$g" "$late" >/dev/null
done_testing
