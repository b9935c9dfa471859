#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses MIB of memory, and reads the files from start to end each time that WISH has new contents. Writes these contents to
WISH.done afterwards.

reader.py MIB WISH FILE...
"""
import sys
import time

held = bytearray(int(sys.argv[1]) << 20)
held[::4096] = b"x" * len(range(0, len(held), 4096))
said = ""
while True:
    try:
        wish = open(sys.argv[2]).read()
    except OSError:
        wish = said
    if wish != said:
        for path in sys.argv[3:]:
            with open(path, "rb", buffering=0) as f:
                while f.read(1 << 20):
                    pass
        said = wish
        with open(sys.argv[2] + ".done", "w") as f:
            f.write(wish)
    held[::4096] = b"y" * len(range(0, len(held), 4096))
    time.sleep(0.1)
