#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Uses real memory and CPU time: hog.py MIB [GROWN_MIB] [--spin]

Holds MIB of memory. SIGUSR1 changes this to GROWN_MIB. --spin uses 0.3 of a CPU, and SIGUSR2 switches this on
and off. Prints a line when it holds the memory.
"""
import os
import signal
import sys
import time

MIB = 1 << 20
BURN, REST = 0.009, 0.021
sizes = [int(a) for a in sys.argv[1:] if a.isdigit()]
spin = "--spin" in sys.argv
held = []


def hold(mib):
    # Writes to the memory, because otherwise the kernel would map one page of zeros again and again.
    while len(held) < mib:
        held.append(b"\x5a" * MIB)
    print(f"holds {len(held)} MiB", flush=True)


def toggle(*_):
    global spin
    spin = not spin


def not_in_the_background():
    # nmd gives opportunistic containers the idle scheduling class here. On a busy machine, this class gets no CPU time. The
    # tests are about nmd's reaction to used CPU, so the process raises its class.
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass


signal.signal(signal.SIGUSR1, lambda *_: hold(sizes[-1]))
signal.signal(signal.SIGUSR2, toggle)
not_in_the_background()  # before the memory is written, because this also needs CPU time
hold(sizes[0])
while True:
    if not spin:
        signal.pause()
        continue
    not_in_the_background()  # again: a promotion or demotion changes the class
    end = time.thread_time() + BURN
    while time.thread_time() < end:
        pass
    time.sleep(REST)
