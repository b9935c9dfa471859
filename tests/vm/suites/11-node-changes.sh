#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# Changes of the node by the kernel while nmd runs: a pool of huge pages, a CPU that goes offline, and blocks of memory that go offline
# (like a hypervisor's balloon or hot-unplug). nmd adjusts the capacity `auto`, and the slice with it. The suite is one of the first,
# because soon after the boot the kernel has little to move: it takes 10 s here, and 170 s after the suites that fill the memory.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

# Swap is off, because the kernel would move pages there, which takes long on an emulated machine.
at_exit 'swapon -a'
swapoff -a
quick_nmd "[node]" "system-reserved-memory = 128M"

mib_of() { status_of "$1 / 1048576 | floor"; }
capacity_mib() { mib_of .node.capacity.memory_bytes; }
capacity_between() { # FROM TO, in MiB
    local now
    now=$(capacity_mib)
    [ "$now" -ge "$1" ] && [ "$now" -le "$2" ]
}
vcores_are() { status_is .node.capacity.vcores "$1"; }
slice_is_capacity() {
    [ "$(cat "$cg/nm.slice/memory.max")" = "$(status_of '.node.capacity.memory_bytes / 4096 | floor * 4096')" ]
}
mem_total_mib() { awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo; }

before=$(capacity_mib)
is "the capacity is the node's memory less the reserve" "$((before - $(mem_total_mib) + 128))" 0
check "the slice has this limit" wait_until 10 slice_is_capacity

# ---- huge pages ---------------------------------------------------------------------------------

at_exit 'echo 0 >/proc/sys/vm/nr_hugepages'
echo 3 >/proc/sys/vm/drop_caches
echo 64 >/proc/sys/vm/nr_hugepages
got=$(($(awk '/^Hugetlb:/ { print $2 }' /proc/meminfo) / 1024))
at_least "the kernel has made a pool of huge pages (MiB)" "$got" 64
check "the pool of huge pages is not in the capacity" wait_until 20 capacity_between $((before - got - 1)) $((before - got))
is "status reports the memory in the pool" "$(mib_of .node.machine.hugetlb_bytes)" "$got"
check "the limit of the slice shrinks" wait_until 10 slice_is_capacity
echo 0 >/proc/sys/vm/nr_hugepages
check "the capacity grows when the pool is released" wait_until 20 capacity_between $((before - 1)) "$before"

# ---- CPUs ---------------------------------------------------------------------------------------

at_exit 'echo 1 >/sys/devices/system/cpu/cpu1/online'
id=$(nmctl run -D -m 32M -c 1 sleep 1000)
check "a guaranteed container runs" wait_until 30 in_state "$id" RUNNING
echo 0 >/sys/devices/system/cpu/cpu1/online
check "a CPU goes offline, and one vcore is left" wait_until 20 vcores_are 1
out=$(nmctl run -D -m 32M -c 2 true 2>&1) && status=0 || status=$?
is "a request for two vcores is refused" "$status" 125
like "the refusal has both amounts" "$out" "2.00 vcores.* offers .* 1.00 vcores?"
check "a container's weight is its share of the remaining vcores" \
    wait_until 20 grep -qx 10000 "$cg/nm.slice/nm-$id.scope/cpu.weight"
echo 1 >/sys/devices/system/cpu/cpu1/online
check "the CPU comes online" wait_until 20 vcores_are 2
check "the weight is half of the scale again" \
    wait_until 20 grep -qx 5000 "$cg/nm.slice/nm-$id.scope/cpu.weight"

# ---- memory -------------------------------------------------------------------------------------

# Takes the highest memory block that can go offline. The kernel refuses blocks with pages that it can't move.
take_memory() {
    local block
    for block in $(find /sys/devices/system/memory -maxdepth 1 -name 'memory[0-9]*' | sort -rV); do
        [ "$(cat "$block/state")" = online ] || continue
        echo offline >"$block/state" 2>/dev/null || continue
        echo "$block"
        return 0
    done
    return 1
}
at_exit '[ -z "$taken" ] || echo online_movable >"$taken/state" || echo online >"$taken/state"'
total=$(mem_total_mib)
taken=$(take_memory)
like "a block of memory goes offline" "$taken" /memory
gone=$((total - $(mem_total_mib)))
at_least "the node has less memory ($gone MiB)" "$gone" 64
check "the capacity shrinks" wait_until 30 capacity_between $((before - gone - 2)) $((before - gone + 2))
check "the limit of the slice shrinks with the capacity" wait_until 10 slice_is_capacity
check "the block comes online" bash -c 'echo online >"$1/state"' - "$taken"
diag "$taken is $(cat "$taken/state"), the node has $(mem_total_mib) of $total MiB"
taken=
check "the capacity grows with the block" wait_until 30 capacity_between $((before - 2)) "$before"
diag "capacity $(capacity_mib) of $before MiB"
is "the container has run all the time" "$(state_of "$id")" RUNNING
done_testing
