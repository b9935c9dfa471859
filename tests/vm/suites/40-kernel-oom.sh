#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# While nmd is stopped, the kernel alone keeps the promises: when the slice reaches its limit, the OOM killer kills all processes of an
# opportunistic container, and no other process.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

# With swap the kernel would not need to kill.
swapoff -a
at_exit 'swapon -a'
quick_nmd "[node]" "memory = 1G" "[preemption]" "cpu-samples = 100" "breaker = 5min"
echo 200 >/tmp/oom-g
echo 400 >/tmp/oom-o
g=$(nmctl run -D -m 800M -c 0.5 -- python3 "$NMD_VM_DATA/hog.py" /tmp/oom-g)
check "a guaranteed container runs" wait_until 60 in_state "$g" RUNNING
o=$(nmctl run -D --opportunistic -m 500M -c 0.1 -- \
    bash -c "sleep 1001 & exec python3 $NMD_VM_DATA/hog.py /tmp/oom-o")
check "and an opportunistic one in what it leaves unused" wait_until 60 in_state "$o" RUNNING
full() { [ "$(cat "$cg/nm.slice/nm-$o.scope/memory.current")" -ge $((390 << 20)) ]; }
check "which really uses it" wait_until 60 full
pid=$(field_of "$g" .pid)

systemctl stop nmd.socket nmd.service
is "nmd is stopped" "$(systemctl is-active nmd.service)" inactive
is "the slice still has its limit" "$(cat $cg/nm.slice/memory.max)" $((1 << 30))
echo 720 >/tmp/oom-g
check "the guaranteed one grows, and the kernel kills the opportunistic one, whole" \
    wait_until 90 none_runs 'sleep 1001'
grown() { [ "$(cat "$cg/nm.slice/nm-$g.scope/memory.current")" -ge $((700 << 20)) ]; }
check "the guaranteed one gets all it asked for" wait_until 60 grown
check "and lives" kill -0 "$pid"

systemctl start nmd.socket nmd.service
check "nmd comes back" wait_until 30 nmctl status
is "and finds the one alive" "$(state_of "$g") $(field_of "$g" .pid)" "RUNNING $pid"
check "and the other dead" wait_until 20 in_state "$o" COMPLETED
is "of lack of memory" "$(field_of "$o" .exit_reason)" oom-killed
like "not for its own limit" "$(field_of "$o" .message)" "because the slice or the node ran out of memory"
like "explain says who did it" "$(nmctl explain "$o")" "the kernel's OOM killer ended it"
check "nothing opportunistic is admitted for a while" [ "$(status_of .node.breaker_until_usec)" != null ]

# The same with an nmd that reacts too late: it is stopped in the meantime, and learns of the kill afterwards.
nmctl close-breaker >/dev/null
echo 200 >/tmp/oom-g
o=$(nmctl run -D --opportunistic -m 500M -c 0.1 -- \
    bash -c "sleep 1001 & exec python3 $NMD_VM_DATA/hog.py /tmp/oom-o")
check "when that is over, another one runs" wait_until 60 in_state "$o" RUNNING
check "and fills the room" wait_until 60 full
late=$(nmctl run -D --opportunistic -m 600M -c 0.1 sleep 1002)
nmd=$(unit_prop nmd.service MainPID)
kill -STOP "$nmd"
echo 720 >/tmp/oom-g
check "the kernel takes it, whole" wait_until 60 none_runs 'sleep 1001'
kill -CONT "$nmd"
check "nmd sees it" wait_until 60 in_state "$o" COMPLETED
held() { [ "$(field_of "$late" .hold)" = breaker ]; }
echo 200 >/tmp/oom-g
check "who waits is held for that" wait_until 20 held
like "and the record says so" "$(nmctl explain "$o")" "the kernel's OOM killer ended it"
check "the guaranteed one lives" kill -0 "$pid"
nmctl kill --now --wait "$g" "$late" >/dev/null
done_testing
