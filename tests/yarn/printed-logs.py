# SPDX-License-Identifier: Apache-2.0
"""Reads what `yarn logs` prints, and prints a line for each log: container, file of the node, name, announced length, SHA-256 of
the contents. Fails if anything else is in the output."""
import hashlib
import re
import sys

head = re.compile(rb"Container: (\S+) on (\S+)\nLogAggregationType: AGGREGATED\n=+\n"
                  rb"LogType:([^\n]*)\nLogLastModifiedTime:[^\n]*\nLogLength:(\d+)\nLogContents:\n")
text = sys.stdin.buffer.read()
at = 0
while at < len(text):
    m = head.match(text, at)
    if not m:
        sys.exit(f"byte {at}: {text[at:at + 200]!r}")
    container, node, name, length = m.groups()
    # The length is that of the file, also if only a part of it is printed.
    end = re.compile(rb"\nEnd of LogType:" + re.escape(name) + rb"[^\n]*\n\*+\n\n")
    e = end.match(text, m.end() + int(length)) or end.search(text, m.end())
    if not e:
        sys.exit(f"no end of {name!r} after byte {m.end()}")
    line = b" ".join([container, node, name, length, hashlib.sha256(text[m.end():e.start()]).hexdigest().encode()])
    sys.stdout.buffer.write(line + b"\n")
    at = e.end()
