# SPDX-License-Identifier: Apache-2.0
"""The unit of work of the demo's services and jobs, and the number of units that this machine does per second of CPU time."""
import hashlib
import os
import time

# For tests: 4 makes each unit four times as much work, to simulate a machine of a fourth of the speed; 0.25 a faster one.
BURDEN = float(os.environ.get("NMD_DEMO_BURDEN", "1"))
BLOCK = b"x" * max(1, int(65536 * BURDEN))
CALIBRATION_SECONDS = 0.5


def one_unit():
    hashlib.sha256(BLOCK).digest()


def calibrate(seconds=CALIBRATION_SECONDS, clock=time.process_time, unit=one_unit):
    """Returns units per second of CPU time, which other work on the machine doesn't change. Takes at most ten times the seconds,
    in case that there is hardly any CPU time left."""
    units, begun, give_up = 0, clock(), time.monotonic() + 10 * seconds
    while (used := clock() - begun) < seconds and time.monotonic() < give_up:
        unit()
        units += 1
    return units / max(used, 1e-6)
