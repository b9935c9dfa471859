# SPDX-License-Identifier: Apache-2.0
"""The plan of a run, from a seed: plan.py SECONDS JOBS prints lines "AT KIND NAME TASKS SECONDS-OF-A-TASK", by arrival. Most jobs of
an hour of a real cluster are short, and their arrivals are bursts, so gaps are exponential."""
import random
import sys

length, jobs = int(sys.argv[1]), int(sys.argv[2])
chance = random.Random(7)
gaps = [chance.expovariate(1) for _ in range(jobs)]
at = 0.0
for n, gap in enumerate(gaps):
    kind = ("mapreduce", "spark")[n % 2]
    print(int(at), kind, f"{kind}{n + 1}", chance.choice((4, 4, 6)), chance.choice((30, 40, 60)))
    at += gap * 0.8 * length / sum(gaps)
