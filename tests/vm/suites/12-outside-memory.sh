#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 860
#
# A process outside nm.slice uses up the node's memory. A guaranteed container keeps its memory because of the slice's
# protection (memory.low), and loses memory without this protection. Guaranteed memory that one container does not use protects
# no memory of other containers.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

# nmd does not react to the process outside, because this suite tests only the kernel's behaviour.
quick_nmd "[node]" "memory = 1G" "[over-allocation]" "shadow = yes"
at_exit 'systemctl stop outside-hog 2>/dev/null; rm -f /var/tmp/outside-*'
truncate -s 200M /var/tmp/outside-o
truncate -s 75M /var/tmp/outside-g
slice=$cg/nm.slice
mib_of() { echo $(($(field "$slice/nm-$1.scope/memory.stat" "$2") >> 20)); }
has_mib() { [ "$(mib_of "$1" "$2")" -ge "$3" ]; }
promised() { echo $(($(cat "$slice/memory.low") >> 20)); }
promises() { [ "$(promised)" -ge "$1" ] && [ "$(promised)" -le "$2" ]; }

# This process allocates all available memory and 150 MiB more. On request it allocates more.
hog='import time
available = int(next(l for l in open("/proc/meminfo") if l.startswith("MemAvailable")).split()[1]) >> 10
held = []
def take(n, mark):
    held.extend(b"%08d" % i * 131072 for i in range(n))
    open("/var/tmp/outside-" + mark, "w").write(str(len(held)))
take(available + 150, "full")
while True:
    try: n = int(open("/var/tmp/outside-more").read())
    except (OSError, ValueError): n = 0
    if n: break
    time.sleep(0.2)
take(n, "fuller")
time.sleep(10000)'
has_mark() { [ -s "/var/tmp/outside-$1" ]; }
# These containers read and allocate slowly. nmd protects as much memory again as a container's growth between two samples, and
# does so for a minute.
reads='import time
f = open("/var/tmp/outside-%s", "rb", buffering=0)
while f.read(1 << 20): time.sleep(0.02)
time.sleep(10000)'

idle=$(nmctl run -D -m 400M -c 0.1 -- python3 "$NMD_VM_DATA/hog.py" /tmp/outside-idle)
echo 1 >/tmp/outside-idle
check "a guaranteed container that uses hardly any memory is running" wait_until 60 in_state "$idle" RUNNING
g=$(nmctl run -D -m 300M -c 0.1 -- python3 -c "import time
held = []
for i in range(60): held.append(b'%08d' % i * 131072); time.sleep(0.02)
${reads/\%s/g}")
holds() { echo $(($(mib_of "$g" file) + $(mib_of "$g" anon))); }
holds_all() { [ "$(holds)" -ge 130 ]; }
check "a second guaranteed container uses memory and page cache" wait_until 60 holds_all
check "memory.low of the slice is first the sum of the guaranteed requests" wait_until 20 promises 700 700
o=$(nmctl run -D --opportunistic -m 300M -c 0.1 -- python3 -c "${reads/\%s/o}")
check "an opportunistic container has read files" wait_until 60 has_mib "$o" file 190
check "after a minute, memory.low of the slice is a little more than the used memory" wait_until 150 promises 140 210
diag "$(promised) MiB are protected, the second guaranteed container uses $(holds)"

check "the suite beside this one has ended, and its memory is free" wait_for_beside
# Most of the free memory is put into unused huge pages, because an emulated CPU can access only a limited number of small pages
# per minute.
echo 450 >/proc/sys/vm/nr_hugepages
at_exit 'echo 0 >/proc/sys/vm/nr_hugepages'
diag "$(cat /proc/sys/vm/nr_hugepages) huge pages of 2 MiB are reserved"
systemd-run -q --unit=outside-hog -p OOMScoreAdjust=900 python3 -c "$hog"
check "a process outside the slice takes all available memory" wait_until 150 has_mark full
kept=$(holds) cache=$(mib_of "$o" file)
diag "a hog outside has $(cat /var/tmp/outside-full) MiB; $cache MiB of idle page cache, $kept MiB of the guaranteed container's memory"
at_least "the guaranteed container keeps its memory (MiB)" "$kept" 125
check "idle page cache of the opportunistic container is reclaimed" [ "$cache" -le 100 ]
begun=$(date +%s%N)
echo 81 >/tmp/outside-idle
check "the guaranteed container that was idle can allocate its memory" wait_until 60 has_mib "$idle" anon 80
diag "the idle container grew by 80 MiB in $((($(date +%s%N) - begun) / 1000000)) ms"
# minimum: the memory of both containers; maximum: one sample saw all of the growth, and nmd expects as much growth again
check "memory.low of the slice grows with the memory of the container that was idle" \
    wait_until 20 promises 230 400 || diag "$(promised) MiB are protected"

systemctl stop nmd.service
systemctl set-property --runtime nm.slice MemoryLow=0
check "memory.low of the slice is 0" wait_until 20 promises 0 0
echo 250 >/var/tmp/outside-more
check "the process outside takes a little more memory" wait_until 150 has_mark fuller
diag "the guaranteed container uses $(holds) MiB, $(($(cat "$slice/nm-$g.scope/memory.swap.current") >> 20)) MiB are in swap"
check "without memory.low of the slice, the guaranteed container loses memory" [ "$(holds)" -le 90 ]
systemctl stop outside-hog
systemctl start nmd.service
check "nmd is running again" wait_until 60 nmctl status
nmctl kill --now --wait "$g" "$idle" "$o" >/dev/null
done_testing
