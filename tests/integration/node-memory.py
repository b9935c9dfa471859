#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A meminfo of a machine on which nothing has memory but a slice's containers: node-memory.py FILE MIB SLICE_DIR

What their processes really hold is missing in MemAvailable, a hundredth of a second later; the file is written in
place, for nmd keeps it open. Ends with its parent.
"""
import os
import sys
import time

path, total_kib, slice_dir = sys.argv[1], int(sys.argv[2]) * 1024, sys.argv[3]
PAGE_KIB = os.sysconf("SC_PAGESIZE") // 1024


def anonymous_kib(pid):
    """Resident, less what is of files, which counts as free."""
    with open(f"/proc/{pid}/statm") as f:
        _, resident, shared = f.read().split()[:3]
    return (int(resident) - int(shared)) * PAGE_KIB


def held_kib():
    held = 0
    for folder, _, files in os.walk(slice_dir):
        if "cgroup.procs" not in files:
            continue
        try:
            with open(f"{folder}/cgroup.procs") as f:
                for pid in f.read().split():
                    held += anonymous_kib(pid)
        except (OSError, ValueError):
            pass  # it has just ended
    return min(held, total_kib)


fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
while os.getppid() != 1:
    figures = {"MemTotal": total_kib, "MemAvailable": total_kib - held_kib(), "SwapTotal": 0, "SwapFree": 0, "Hugetlb": 0}
    os.pwrite(fd, "".join(f"{name}: {kib:12d} kB\n" for name, kib in figures.items()).encode(), 0)
    time.sleep(0.01)
