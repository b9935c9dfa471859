#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses MIB of memory, and reads the files from start to end each time that REQUEST has new contents. Writes these contents to
REQUEST.done afterwards.

reader.py MIB REQUEST FILE...
"""
import sys
import time

held = bytearray(int(sys.argv[1]) << 20)
held[::4096] = b"x" * len(range(0, len(held), 4096))
current = ""
while True:
    try:
        wanted = open(sys.argv[2]).read()
    except OSError:
        wanted = current
    if wanted != current:
        for path in sys.argv[3:]:
            with open(path, "rb", buffering=0) as f:
                while f.read(1 << 20):
                    pass
        current = wanted
        with open(sys.argv[2] + ".done", "w") as f:
            f.write(wanted)
    held[::4096] = b"y" * len(range(0, len(held), 4096))
    time.sleep(0.1)
