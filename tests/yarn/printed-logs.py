# SPDX-License-Identifier: Apache-2.0
"""Reads what `yarn logs` prints, and prints a line for each log: container, file of the node, name, announced length, SHA-256 of
the contents. Fails if anything else is in the output. With --joined, the pieces of a log that was uploaded in several pieces are
joined, and a line has the container, the name, the length of all pieces and their SHA-256."""
import hashlib
import re
import sys

head = re.compile(rb"Container: (\S+) on (\S+)\nLogAggregationType: AGGREGATED\n=+\n"
                  rb"LogType:([^\n]*)\nLogLastModifiedTime:[^\n]*\nLogLength:(\d+)\nLogContents:\n")
text = sys.stdin.buffer.read()
joined = {} if sys.argv[1:] == ["--joined"] else None
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
    at = e.end()
    if joined is not None:
        joined[container, name] = joined.get((container, name), b"") + text[m.end():e.start()]
        continue
    line = b" ".join([container, node, name, length, hashlib.sha256(text[m.end():e.start()]).hexdigest().encode()])
    sys.stdout.buffer.write(line + b"\n")
for (container, name), contents in (joined or {}).items():
    print(container.decode(), name.decode(), len(contents), hashlib.sha256(contents).hexdigest())
