#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program of a guaranteed container: requests much, uses little, and then ramps up.

service.py PLAN-FILE: lines "seconds cpus megabytes", carried out in order. Each CPU is a separate process that
works in units (work.py). In phases that need a whole CPU, it counts the completed units and the share of the time in which it
had the CPU. From these counts the demo knows whether the service got its guaranteed CPU.
"""
import json
import multiprocessing
import sys
import time

sys.dont_write_bytecode = True
from work import one_unit  # noqa: E402

BURST = 20  # units between two readings of the clock


def burst():
    for _ in range(BURST):
        one_unit()


def worker(index, plan, results):
    units, busy, got = 0, 0.0, 0.0
    for seconds, cpus, _ in plan:
        share = min(1.0, max(0.0, cpus - index))
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            if share >= 0.99:
                had = time.process_time()
                burst()
                units += BURST
                busy += time.monotonic() - now
                got += time.process_time() - had
            elif share > 0:
                burst()
                used = time.monotonic() - now
                time.sleep(max(0.0, min(end - time.monotonic(), used / share - used)))
            else:
                time.sleep(min(0.2, end - now))
    results.put((units, busy, got))


def hold_memory(plan):
    held = []
    for seconds, _, megabytes in plan:
        end = time.monotonic() + seconds
        while len(held) > megabytes:
            held.pop()
        # The memory grows as a ramp and not as a step: 400 MB per second, and each page is written.
        while len(held) < megabytes and time.monotonic() < end:
            held.append(bytearray(b"\x01" * (1 << 20)))
            if len(held) % 40 == 0:
                time.sleep(0.1)
        time.sleep(max(0.0, end - time.monotonic()))


def main():
    plan = [tuple(float(x) for x in line.split()) for line in open(sys.argv[1]) if line.strip()]
    results = multiprocessing.Queue()
    count = max(1, int(max(cpus for _, cpus, _ in plan) + 0.999))
    workers = [multiprocessing.Process(target=worker, args=(i, plan, results)) for i in range(count)]
    for w in workers:
        w.start()
    hold_memory(plan)
    got = [results.get() for _ in workers]
    for w in workers:
        w.join()
    print(json.dumps(dict(zip(("units", "busy", "got"), map(sum, zip(*got))))), flush=True)


if __name__ == "__main__":
    main()
