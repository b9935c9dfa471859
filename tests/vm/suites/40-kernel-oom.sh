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
check "an opportunistic container runs in the unused memory of the guaranteed one" wait_until 60 in_state "$o" RUNNING
full() { [ "$(cat "$cg/nm.slice/nm-$o.scope/memory.current")" -ge $((390 << 20)) ]; }
check "the opportunistic container uses its memory" wait_until 60 full
pid=$(field_of "$g" .pid)

systemctl stop nmd.socket nmd.service
is "nmd is stopped" "$(systemctl is-active nmd.service)" inactive
is "the slice keeps its limit" "$(cat $cg/nm.slice/memory.max)" $((1 << 30))
echo 720 >/tmp/oom-g
check "the guaranteed container grows, and the kernel kills the whole opportunistic one" \
    wait_until 90 none_runs 'sleep 1001'
grown() { [ "$(cat "$cg/nm.slice/nm-$g.scope/memory.current")" -ge $((700 << 20)) ]; }
check "the guaranteed container gets all its memory" wait_until 60 grown
check "the guaranteed container keeps running" kill -0 "$pid"

systemctl start nmd.socket nmd.service
check "nmd starts again" wait_until 30 nmctl status
is "nmd finds the guaranteed container running" "$(state_of "$g") $(field_of "$g" .pid)" "RUNNING $pid"
check "nmd finds the opportunistic container ended" wait_until 20 in_state "$o" COMPLETED
is "the record names a lack of memory" "$(field_of "$o" .exit_reason)" oom-killed
like "the record does not name the container's own limit" "$(field_of "$o" .message)" "because the slice or the node ran out of memory"
like "explain names the kernel" "$(nmctl explain "$o")" "the kernel's OOM killer ended it"
check "no opportunistic container is admitted for some time" [ "$(status_of .node.breaker_until_usec)" != null ]

# The same with an nmd that reacts too late: it is stopped in the meantime, and learns of the kill afterwards.
nmctl close-breaker >/dev/null
echo 200 >/tmp/oom-g
o=$(nmctl run -D --opportunistic -m 500M -c 0.1 -- \
    bash -c "sleep 1001 & exec python3 $NMD_VM_DATA/hog.py /tmp/oom-o")
check "another container runs after that time" wait_until 60 in_state "$o" RUNNING
check "the other container fills the memory" wait_until 60 full
late=$(nmctl run -D --opportunistic -m 600M -c 0.1 sleep 1002)
nmd=$(unit_prop nmd.service MainPID)
kill -STOP "$nmd"
echo 720 >/tmp/oom-g
check "the kernel kills the whole other container" wait_until 60 none_runs 'sleep 1001'
kill -CONT "$nmd"
check "nmd notices the kill" wait_until 60 in_state "$o" COMPLETED
held() { [ "$(field_of "$late" .hold)" = breaker ]; }
echo 200 >/tmp/oom-g
check "a queued container is held for the kill" wait_until 20 held
like "the record has the reason of the hold" "$(nmctl explain "$o")" "the kernel's OOM killer ended it"
check "the guaranteed container still runs" kill -0 "$pid"
nmctl kill --now --wait "$g" "$late" >/dev/null
done_testing
