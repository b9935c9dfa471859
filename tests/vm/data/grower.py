#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds as much memory as a file says, works on it, and tells how fast both go.

grower.py FILE

FILE has a number of MiB, a multiple of four, and is looked at again and again. What is missing is filled as fast as it
can be; in between, pieces of what is held are worked on, a quarter of the time. On standard output, in ms:

    at MIB TIME                 by the clock: it holds this much
    grown FROM TO WALL OWN      ms for a growth; OWN is without what it waited for a CPU
    rate MIB PIECES             so many pieces in a second of its own, while it held this much
"""
import hashlib
import mmap
import sys
import time

CHUNK = 4 << 20
PIECE = 128 << 10
WORK, REST = 0.01, 0.03
RATE_AFTER = 0.05  # of work
held = []


def waited():
    """Seconds in which it could have run, and had no CPU."""
    with open("/proc/self/schedstat") as f:
        return int(f.read().split()[1]) / 1e9


def own():
    return time.monotonic() - waited()


def say(*words):
    print(*words, flush=True)


def mib():
    return len(held) * CHUNK >> 20


def grow(wanted):
    before, wall, without = mib(), time.monotonic(), own()
    while mib() < wanted:
        held.append(mmap.mmap(-1, CHUNK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE))
        say("at", mib(), int(time.time() * 1000))
    say("grown", before, mib(), round(1000 * (time.monotonic() - wall)), round(1000 * (own() - without)))


def shrink(wanted):
    while mib() > wanted:
        held.pop().close()
    say("at", mib(), int(time.time() * 1000))


worked, pieces, place = 0.0, 0, 0


def work():
    global worked, pieces, place
    since, end = own(), time.monotonic() + WORK
    while time.monotonic() < end:
        chunk = held[place % len(held)]
        at = place * PIECE % CHUNK
        hashlib.sha256(memoryview(chunk)[at:at + PIECE]).digest()
        pieces += 1
        place += 1
    worked += own() - since
    if worked >= RATE_AFTER:
        say("rate", mib(), round(pieces / worked))
        worked, pieces = 0.0, 0


while True:
    with open(sys.argv[1]) as f:
        goal = int(f.read() or mib())
    if goal != mib():
        (grow if goal > mib() else shrink)(goal)
        worked, pieces = 0.0, 0
    work()
    time.sleep(REST)
