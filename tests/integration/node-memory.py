#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a meminfo of a machine on which only the containers of a slice use memory: node-memory.py FILE MIB SLICE_DIR

MemAvailable is MIB less the memory of the containers' processes, with a delay of at most 10 ms. Writes the file in
place, because nmd keeps it open. Exits when its parent has exited.
"""
import os
import sys
import time

path, total_kib, slice_dir = sys.argv[1], int(sys.argv[2]) * 1024, sys.argv[3]
PAGE_KIB = os.sysconf("SC_PAGESIZE") // 1024


def anonymous_kib(pid):
    """Returns the resident memory without pages of files, which count as free."""
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
            pass  # the process has just ended
    return min(held, total_kib)


fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
while os.getppid() != 1:
    figures = {"MemTotal": total_kib, "MemAvailable": total_kib - held_kib(), "SwapTotal": 0, "SwapFree": 0, "Hugetlb": 0}
    os.pwrite(fd, "".join(f"{name}: {kib:12d} kB\n" for name, kib in figures.items()).encode(), 0)
    time.sleep(0.01)
