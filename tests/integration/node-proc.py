#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a /proc with artificial figures of the node: node-proc.py DIR CPUS

Advances the times in DIR/stat like a kernel (without progress in stat, nmd knows no CPU use and
admits no containers). DIR/busy has the busy time in millicores. Writes in place, because nmd keeps
the file open. DIR/cpus, if it exists, has the number of online CPUs. The suite writes DIR/meminfo (node_memory in lib.sh).
"""
import os
import sys
import time

folder, cpus = sys.argv[1], int(sys.argv[2])
TICKS = 1000  # more per step than the kernel has, so that the share is exact over a single step
busy = idle = 10**12
try:
    # On a busy machine the process would be late, and nmd would see a node without CPU figures.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except OSError:
    pass
control = os.open(f"{folder}/busy", os.O_RDONLY)
stat = os.open(f"{folder}/stat", os.O_RDWR | os.O_CREAT, 0o644)
while os.getppid() != 1:
    try:
        with open(f"{folder}/cpus") as f:
            online = int(f.read() or cpus)
    except (OSError, ValueError):
        online = cpus
    if online < cpus:
        os.ftruncate(stat, 0)
    cpus = online
    share = min(int(os.pread(control, 32, 0) or 0), cpus * 1000)
    busy += TICKS * share
    idle += TICKS * (cpus * 1000 - share)
    lines = [f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\n"]
    lines += [f"cpu{i} {busy} 0 0 {idle} 0 0 0 0 0 0\n" for i in range(cpus)]
    os.pwrite(stat, "".join(lines).encode(), 0)
    time.sleep(0.01)
