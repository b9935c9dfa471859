#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses as much memory as a file requests, works on this memory, and prints the speed of growth and work.

grower.py FILE

FILE has a number of MiB, a multiple of four, and is read repeatedly. Missing memory is filled as fast as
possible. Otherwise the process works on pieces of the memory for a quarter of the time. Prints these lines, with times in ms:

    at MIB TIME                 wall-clock time at which the process uses this much memory
    grown FROM TO WALL OWN      duration of a growth; OWN is without the time that the process waited for a CPU
    rate MIB PIECES             pieces per second of its own CPU time, while it used this much memory
"""
import hashlib
import mmap
import sys
import time

CHUNK = 4 << 20
PIECE = 128 << 10
WORK, REST = 0.01, 0.03
RATE_AFTER = 0.05  # the part of the time in which it works
held = []


def waited():
    """Returns the seconds in which the process was ready to run and had no CPU."""
    with open("/proc/self/schedstat") as f:
        return int(f.read().split()[1]) / 1e9


def own():
    return time.monotonic() - waited()


def print_line(*words):
    print(*words, flush=True)


def mib():
    return len(held) * CHUNK >> 20


def grow(wanted):
    before, wall, without = mib(), time.monotonic(), own()
    while mib() < wanted:
        held.append(mmap.mmap(-1, CHUNK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE))
        print_line("at", mib(), int(time.time() * 1000))
    print_line("grown", before, mib(), round(1000 * (time.monotonic() - wall)), round(1000 * (own() - without)))


def shrink(wanted):
    while mib() > wanted:
        held.pop().close()
    print_line("at", mib(), int(time.time() * 1000))


worked, pieces, position = 0.0, 0, 0


def work():
    global worked, pieces, position
    since, end = own(), time.monotonic() + WORK
    while time.monotonic() < end:
        chunk = held[position % len(held)]
        at = position * PIECE % CHUNK
        hashlib.sha256(memoryview(chunk)[at:at + PIECE]).digest()
        pieces += 1
        position += 1
    worked += own() - since
    if worked >= RATE_AFTER:
        print_line("rate", mib(), round(pieces / worked))
        worked, pieces = 0.0, 0


while True:
    with open(sys.argv[1]) as f:
        goal = int(f.read() or mib())
    if goal != mib():
        (grow if goal > mib() else shrink)(goal)
        worked, pieces = 0.0, 0
    work()
    time.sleep(REST)
