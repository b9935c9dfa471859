#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# Changes of the node by the kernel while nmd runs: a pool of huge pages, a CPU that goes offline, and blocks of memory that go
# offline (like a hypervisor's balloon or hot-unplug). nmd adjusts the capacity `auto` and the limit of the slice. The suite is
# one of the first. Soon after the boot the kernel has few pages to move, and the changes take 10 s. After the suites that fill
# the memory they would take 170 s.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

# Swap is off, because the kernel would move pages to swap, which takes long on an emulated machine.
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
is "the capacity is the node's memory minus the reserve" "$((before - $(mem_total_mib) + 128))" 0
check "memory.max of the slice is the capacity" wait_until 10 slice_is_capacity

# ---- huge pages ---------------------------------------------------------------------------------

at_exit 'echo 0 >/proc/sys/vm/nr_hugepages'
echo 3 >/proc/sys/vm/drop_caches
echo 64 >/proc/sys/vm/nr_hugepages
got=$(($(awk '/^Hugetlb:/ { print $2 }' /proc/meminfo) / 1024))
at_least "the kernel has made a pool of huge pages (MiB)" "$got" 64
check "the pool of huge pages is subtracted from the capacity" wait_until 20 capacity_between $((before - got - 1)) $((before - got))
is "status reports the memory in the pool of huge pages" "$(mib_of .node.machine.hugetlb_bytes)" "$got"
check "memory.max of the slice shrinks with the capacity" wait_until 10 slice_is_capacity
echo 0 >/proc/sys/vm/nr_hugepages
check "the capacity grows when the pool of huge pages is released" wait_until 20 capacity_between $((before - 1)) "$before"

# ---- CPUs ---------------------------------------------------------------------------------------

at_exit 'echo 1 >/sys/devices/system/cpu/cpu1/online'
id=$(nmctl run -D -m 32M -c 1 sleep 1000)
check "a guaranteed container is running" wait_until 30 in_state "$id" RUNNING
echo 0 >/sys/devices/system/cpu/cpu1/online
check "when a CPU goes offline, the node offers one vcore" wait_until 20 vcores_are 1
out=$(nmctl run -D -m 32M -c 2 true 2>&1) && status=0 || status=$?
is "with one CPU offline, a request for two vcores is refused" "$status" 125
like "the refusal names the requested and the offered vcores" "$out" "2.00 vcores.* offers .* 1.00 vcores?"
check "with one CPU offline, the container's CPU weight is its share of one vcore" \
    wait_until 20 grep -qx 10000 "$cg/nm.slice/nm-$id.scope/cpu.weight"
echo 1 >/sys/devices/system/cpu/cpu1/online
check "when the CPU is online again, the node offers two vcores" wait_until 20 vcores_are 2
check "when the CPU is online again, the container's CPU weight is half of the maximum" \
    wait_until 20 grep -qx 5000 "$cg/nm.slice/nm-$id.scope/cpu.weight"

# ---- memory -------------------------------------------------------------------------------------

# Selects the highest memory block that can go offline. The kernel refuses blocks with pages that it can't move.
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
like "a memory block can be set offline" "$taken" /memory
gone=$((total - $(mem_total_mib)))
at_least "the node has less memory without the block ($gone MiB)" "$gone" 64
check "the capacity shrinks by the size of the memory block" wait_until 30 capacity_between $((before - gone - 2)) $((before - gone + 2))
check "memory.max of the slice shrinks by the size of the memory block" wait_until 10 slice_is_capacity
check "the memory block can be set online again" bash -c 'echo online >"$1/state"' - "$taken"
diag "$taken is $(cat "$taken/state"), the node has $(mem_total_mib) of $total MiB"
taken=
check "the capacity grows when the memory block is online again" wait_until 30 capacity_between $((before - 2)) "$before"
diag "capacity $(capacity_mib) of $before MiB"
is "the container was running during all changes" "$(state_of "$id")" RUNNING
done_testing
