#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An opportunistic job, as most batch jobs are: it holds memory, waits for data most of the time, and then computes a little.

job.py ROUNDS WAIT UNITS MIB: so many times it waits (by sleeping; seconds) and does so many units of work (work.py).
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
