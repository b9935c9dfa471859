#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds as many MiB as the file says that it is given, and follows it when it changes.

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
    # Touched again and again, as data in use is: only what really is idle goes to swap first.
    for block in held:
        block[0]
    time.sleep(0.1)
