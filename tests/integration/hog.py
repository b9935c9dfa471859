#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Really holds memory and burns CPU: hog.py MIB [GROWN_MIB] [--spin]

Holds MIB of memory; SIGUSR1 makes it GROWN_MIB. --spin burns CPU from the start, SIGUSR2 turns
that on and off. Prints a line when it holds what it should.
"""
import signal
import sys

MIB = 1 << 20
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


signal.signal(signal.SIGUSR1, lambda *_: hold(sizes[-1]))
signal.signal(signal.SIGUSR2, toggle)
hold(sizes[0])
while True:
    if spin:
        sum(range(20000))
    else:
        signal.pause()
