#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses as much memory as FILE says in MiB, and follows changes of FILE.

hog.py FILE [SPINNERS]
"""
import os
import sys
import time

path = sys.argv[1]
for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 0):
    if os.fork() == 0:
        while True:
            pass
held = []
while True:
    try:
        wanted = int(open(path).read())
    except (OSError, ValueError):
        wanted = len(held)
    while len(held) < wanted:
        held.append(os.urandom(4096) * 256)
    del held[wanted:]
    # Accesses the memory repeatedly, so that the kernel moves only idle memory to swap first.
    for block in held:
        block[0]
    time.sleep(0.1)
