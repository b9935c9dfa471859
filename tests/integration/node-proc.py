#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A /proc whose node-level figures are the test's own: node-proc.py DIR CPUS

Ages DIR/stat as a kernel would (a stat that stands still says nothing at all about CPU, and nmd
admits nothing on it), with as much busy time as DIR/busy asks for, in millicores. It writes in
place, for nmd keeps the file open. DIR/cpus, once it is there, says how many CPUs are online. DIR/meminfo is the suite's to write: see node_memory in lib.sh.
"""
import os
import sys
import time

folder, cpus = sys.argv[1], int(sys.argv[2])
TICKS = 1000  # more a step than real ones, so that the share is exact even over one step
busy = idle = 10**12
try:
    # Late on a busy machine, it would look like a node without CPU figures.
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
