#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A service that answers requests and measures its own latency.

served.py TARGET LATENCIES [RATE MS [UNITS]]: RATE requests per second (default 20), each with MS milliseconds of work (default 10). Give
UNITS, the units of work per second of CPU time, to compare services: each would measure another number for itself. The file TARGET has
the number of MiB that the service holds, and is read repeatedly. A growth takes a second per 400 MiB. Each request is a line in the file
LATENCIES: the time of its arrival, and its latency in ms with the wait for a CPU.
"""
import os
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from work import calibrate, one_unit  # noqa: E402


def hold(target):
    held = []
    while True:
        try:
            with open(target) as f:
                wanted = int(f.read() or len(held))
        except (OSError, ValueError):
            wanted = len(held)
        del held[wanted:]
        for _ in range(min(20, wanted - len(held))):
            held.append(bytearray(b"\x01" * (1 << 20)))
        time.sleep(0.05)


def serve(path, rate, work_ms, units_per_sec=None):
    units = max(1, round((units_per_sec or calibrate()) * work_ms / 1000))
    begun, n = time.monotonic(), 0
    with open(path, "w", buffering=1) as out:
        while True:
            due = begun + n / rate
            time.sleep(max(0.0, due - time.monotonic()))
            for _ in range(units):
                one_unit()
            out.write(f"{time.time():.3f} {1000 * (time.monotonic() - due):.3f}\n")
            n += 1
            # requests that would arrive in a long pause are lost, and don't delay all later ones
            if time.monotonic() - due > 1:
                begun, n = time.monotonic(), 0


def main():
    numbers = [float(x) for x in sys.argv[3:6]] or [20, 10]
    threading.Thread(target=hold, args=(sys.argv[1],), daemon=True).start()
    serve(sys.argv[2], *numbers)


if __name__ == "__main__":
    main()
