#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An opportunistic job like most batch jobs: it holds memory, waits for data most of the time, and computes a little.

job.py ROUNDS WAIT UNITS MIB: each round sleeps for WAIT seconds and does UNITS units of work (work.py). The job holds MIB.
"""
import sys
import time

sys.dont_write_bytecode = True
from work import one_unit  # noqa: E402


def main():
    rounds, wait, units, mib = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    held = [bytearray(b"\x01" * (1 << 20)) for _ in range(mib)]
    for _ in range(rounds):
        time.sleep(wait)
        for _ in range(units):
            one_unit()
    print(f"{rounds * units} units, {len(held)} MiB held")


if __name__ == "__main__":
    main()
