#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
#
# If the node has swap, nmd moves a part of a running container's memory to swap before it kills the container.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

poll_seconds=0.5 # faster polling would leave no CPU time for containers in an emulated guest
roomy_nmd
kills=$(status_of .preemptions.killed)
crowd o "an opportunistic container holds memory that it hardly looks at" 680
check "memory use over the threshold moves a part of the running container's memory to swap" wait_until 90 swapped "$o" 5 ||
    diag "$(nmctl explain "$o")"
check "the decision record names the reclaim of running memory" wait_until 30 decided_is "$o" reclaim running-memory "done"
like "explain describes the reclaim" "$(nmctl explain "$o")" 'can go to swap in time, which slows it down but avoids a kill'
is "the container is still running after the reclaim" "$(state_of "$o")" RUNNING
is "no container is killed" "$(($(status_of .preemptions.killed) - kills))" 0
at_least "status counts the reclaim" "$(status_of .preemptions.running_reclaims)" 1
check "the guaranteed container gets its memory after the reclaim" wait_until 30 uses "$big" 670
nmctl kill --now --wait "$big" "$o" >/dev/null

swapoff -a
at_exit 'swapon -a'
roomy_nmd
crowd o "the same without swap" 680
check "the container is killed when memory use grows again" wait_until 30 in_state "$o" COMPLETED
is "the killed container has the exit reason preempted" "$(field_of "$o" .exit_reason)" preempted
nmctl kill --now --wait "$big" >/dev/null
done_testing
