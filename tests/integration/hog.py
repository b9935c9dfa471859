#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Really holds memory and burns CPU: hog.py MIB [GROWN_MIB] [--spin]

Holds MIB of memory; SIGUSR1 makes it GROWN_MIB. --spin burns 0.3 of a CPU, SIGUSR2 turns that on
and off. Prints a line when it holds what it should.
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
    # Written to, or the kernel would hand out one page of zeros again and again.
    while len(held) < mib:
        held.append(b"\x5a" * MIB)
    print(f"holds {len(held)} MiB", flush=True)


def toggle(*_):
    global spin
    spin = not spin


def not_in_the_background():
    # nmd makes opportunistic work idle-class here, which gets nothing on a machine that is busy
    # with other things. What is tested is what nmd does about CPU that is used.
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pass


signal.signal(signal.SIGUSR1, lambda *_: hold(sizes[-1]))
signal.signal(signal.SIGUSR2, toggle)
not_in_the_background()  # before the memory is touched, which costs CPU, too
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
