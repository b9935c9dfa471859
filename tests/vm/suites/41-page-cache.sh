#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# nmd protects the memory that a guaranteed container uses. Other containers may use memory that holds page cache of the
# guaranteed container. This must harm neither the guaranteed container at its own limit nor the containers that use this
# memory.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

swapoff -a
at_exit 'swapon -a; rm -f /var/tmp/cache-*'
quick_nmd "[node]" "memory = 400M" "[preemption]" "cpu-samples = 100" "squeeze = no"
for i in g1 g2 g3 o1 o2 o3 o4 o5 o6; do
    truncate -s 75M "/var/tmp/cache-$i" # reading a hole also fills page cache, and needs no disk space
done
reader=(python3 "$NMD_VM_DATA/reader.py" 20 /tmp/cache-request)
stat_of() { field "$cg/nm.slice/nm-$1.scope/memory.stat" "$2"; }
has_read() { [ "$(cat /tmp/cache-request.done 2>/dev/null)" = "$1" ]; }

# ---- a guaranteed container at its own limit -----------------------------------------------------

rm -f /tmp/cache-request*
g=$(nmctl run -D -m 160M -c 0.5 -- "${reader[@]}" /var/tmp/cache-g{1,2,3})
check "a guaranteed container is running" wait_until 60 in_state "$g" RUNNING
for i in 1 2 3 4 5 6; do
    nmctl run --opportunistic -m 120M -c 0.1 -- dd "if=/var/tmp/cache-o$i" of=/dev/null bs=1M 2>/dev/null
done
at_least "opportunistic containers fill the slice with page cache" "$(cat $cg/nm.slice/memory.current)" $((380 << 20))
echo one >/tmp/cache-request
check "the guaranteed container reads more file data than its limit" wait_until 60 has_read one
is "the guaranteed container is still running" "$(state_of "$g")" RUNNING
is "the kernel's OOM killer has killed no process" "$(field $cg/nm.slice/memory.events oom_kill)" 0

# ---- memory that the guaranteed container uses only for page cache --------------------------------

rm -f /var/tmp/cache-o*
echo two >/tmp/cache-request
check "the guaranteed container reads its files again" wait_until 60 has_read two
before=$(stat_of "$g" file)
at_least "page cache of the guaranteed container fills its limit (MiB)" $((before >> 20)) 80
echo 38 >/tmp/cache-o
ids=()
for i in 1 2 3 4 5 6; do
    ids+=("$(nmctl run -D --opportunistic -m 56M -c 0.1 -- python3 "$NMD_VM_DATA/hog.py" /tmp/cache-o)")
done
all_full() {
    local id
    for id in "${ids[@]}"; do
        [ "$(stat_of "$id" anon)" -ge $((40 << 20)) ] || return 1
    done
}
check "opportunistic containers use the memory that holds this page cache" wait_until 90 all_full 2>/dev/null
is "neither the kernel nor nmd has killed a container" "$(field $cg/nm.slice/memory.events oom_kill) $(status_of .preemptions.killed)" "0 0"
diag "page cache of the guaranteed container: $((before >> 20)) MiB before, $(($(stat_of "$g" file) >> 20)) after"
check "page cache of the guaranteed container was reclaimed" [ "$(stat_of "$g" file)" -lt "$before" ]
nmctl kill --now --wait "${ids[@]}" >/dev/null
nmctl kill --now --wait "$g" >/dev/null
done_testing
