# SPDX-License-Identifier: Apache-2.0
"""The unit of work of the demo's services and jobs, and how many of them this machine does in a second of CPU time."""
import hashlib
import os
import time

# For tests: 4 makes each unit four times the work, as if the machine were a fourth as fast; 0.25 the other way round.
BURDEN = float(os.environ.get("NMD_DEMO_BURDEN", "1"))
BLOCK = b"x" * max(1, int(65536 * BURDEN))
CALIBRATION_SECONDS = 0.5


def one_unit():
    hashlib.sha256(BLOCK).digest()


def calibrate(seconds=CALIBRATION_SECONDS, clock=time.process_time, unit=one_unit):
    """Units per second. CPU time, so that other work on the machine doesn't make it look slower than it is; and no longer than
    ten times the seconds, where there is hardly any CPU to be had."""
    units, begun, give_up = 0, clock(), time.monotonic() + 10 * seconds
    while (used := clock() - begun) < seconds and time.monotonic() < give_up:
        unit()
        units += 1
    return units / max(used, 1e-6)
