#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 420
#
# Before nmd kills a running container for memory, it moves a part of its memory to swap, if the node has swap.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

poll_seconds=0.5 # an emulated guest that is asked all the time has no CPU left for containers
roomy_nmd
kills=$(status_of .preemptions.killed)
crowd o "an opportunistic container holds memory that it hardly looks at" 680
check "memory is over the threshold, and a part of the container's memory is reclaimed to swap" wait_until 90 swapped "$o" 5 ||
    diag "$(nmctl explain "$o")"
check "the decision names the reclaim" wait_until 30 decided_is "$o" reclaim running-memory "done"
like "explain describes the reclaim" "$(nmctl explain "$o")" 'can go to swap in time, which slows it down but avoids a kill'
is "the container keeps running" "$(state_of "$o")" RUNNING
is "no container was killed" "$(($(status_of .preemptions.killed) - kills))" 0
at_least "the reclaim is counted" "$(status_of .preemptions.running_reclaims)" 1
check "the guaranteed container gets its memory" wait_until 30 uses "$big" 670
nmctl kill --now --wait "$big" "$o" >/dev/null

swapoff -a
at_exit 'swapon -a'
roomy_nmd
crowd o "the same without swap" 680
check "the container is killed by a second surge" wait_until 30 in_state "$o" COMPLETED
is "the killed container was preempted" "$(field_of "$o" .exit_reason)" preempted
nmctl kill --now --wait "$big" >/dev/null
done_testing
