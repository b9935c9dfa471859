#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# With a swap device of 2 MiB per second, nmd reclaims a part of a running container's memory before it kills the container. The
# reclaim has a time limit that does not depend on the disk. A kill then frees the missing memory. Afterwards nmd does not wait
# for this disk again.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

decisions() { # ID: prints "kind outcome" of each decision, in order, without the admission
    nmctl explain --json "$1" | jq -r '[.[] | select(.kind == "reclaim" or .kind == "kill") | "\(.kind) \(.outcome)"] | join(", ")'
}
# Prints the time from the first reclaim to the following kill in milliseconds.
from_reclaim_to_kill() {
    nmctl explain --json "$1" | jq '(map(select(.kind == "kill"))[0].decided_usec
        - map(select(.kind == "reclaim"))[0].decided_usec) / 1000 | floor'
}

# Measures the longest time that the creation and removal of a cgroup take during the reclaim, in milliseconds.
watch_cgroups() {
    local begun most=0 took
    while [ ! -e "$NMD_VM_STATE/watched" ]; do
        begun=$(date +%s%3N)
        mkdir "$cg/slow-swap-probe" && rmdir "$cg/slow-swap-probe"
        took=$(($(date +%s%3N) - begun))
        most=$((took > most ? took : most))
        echo "$most" >"$NMD_VM_STATE/most"
        sleep 0.1
    done
}
rm -f "$NMD_VM_STATE/watched"
watch_cgroups &
at_exit 'touch "$NMD_VM_STATE/watched"'

swapoff -a
at_exit 'swapoff -a; swapon -a'
check "the guest has a slow swap device" swapon -L nmd-slow

roomy_nmd
crowd o "an opportunistic container holds memory that it hardly looks at" 740
check "the container is killed if memory is needed faster than the swap device can write" wait_until 60 in_state "$o" COMPLETED
diag "$(nmctl explain "$o")"
like "a reclaim of a part of the memory comes before the kill" "$(decisions "$o")" '^reclaim (done|failed), kill done$'
like "explain says that swap was too slow" "$(nmctl explain "$o")" 'swap is too slow: .* of .* in |really regained'
took=$(from_reclaim_to_kill "$o")
check "the kill comes at most one second after the time limit of the reclaim: after ${took} ms" test "$took" -lt 11000
took=$(nmctl explain --json "$o" | jq 'map(select(.kind == "kill"))[0] | (.effective_usec - .decided_usec) / 1000 | floor')
check "the container ends without waiting for the swap device: after ${took} ms" test "$took" -lt 8000
most=$(cat "$NMD_VM_STATE/most")
check "another process can create a cgroup without waiting for the swap device: at most ${most} ms" test "$most" -lt 8000
check "the guaranteed container gets its memory" wait_until 30 uses "$big" 730

grow big 50
given_back() { ! uses "$big" 100; }
wait_until 30 given_back
crowd o2 "another one" 690
check "a second container is killed when memory is needed" wait_until 60 in_state "$o" COMPLETED
diag "$(nmctl explain "$o")"
is "no reclaim is tried before the second kill, because swap is known to be too slow" "$(decisions "$o")" "kill done"
nmctl kill --now --wait "$big" >/dev/null
done_testing
