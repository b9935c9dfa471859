#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A task of a batch job that mostly waits for data: task.py RECORDS JOB TASK SECONDS. It works for a tenth of the time. It appends a
line to its own file in the directory RECORDS for each second, so that the work of a killed task is known: "begin", then "tick", then
"end", each with the time. Spark's tasks call work()."""
import os
import sys
import time
import uuid


def work(records, job, task, seconds):
    with open(os.path.join(records, f"{job}.{task}.{uuid.uuid4().hex}"), "w", buffering=1) as out:
        out.write(f"begin {time.time():.3f}\n")
        for _ in range(seconds):
            until = time.monotonic() + 1
            busy = time.process_time() + 0.1
            while time.process_time() < busy and time.monotonic() < until:
                pass
            time.sleep(max(0.0, until - time.monotonic()))
            out.write(f"tick {time.time():.3f}\n")
        out.write(f"end {time.time():.3f}\n")
    return seconds


if __name__ == "__main__":
    for line in sys.stdin if sys.argv[3] == "-" else [sys.argv[3]]:
        # a map of streaming gets the number of its task as a line
        number = line.split()[-1]
        print(number, work(sys.argv[1], sys.argv[2], number, int(sys.argv[4])), sep="\t", flush=True)
