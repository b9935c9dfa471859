# SPDX-License-Identifier: Apache-2.0
"""Localization: from the call startContainers to the first instruction of the command, if the container needs a file of 100 MB, or
2,000 small ones, that no container has needed before. The files are in the page cache. Java's NodeManager fetches public files
itself. For private files, DefaultContainerExecutor runs the localizer as threads of the NodeManager; with LinuxContainerExecutor it
would be a further JVM."""
from yarn_node import PRIVATE, PUBLIC

PROPERTIES = {}
LARGE = 100 * 1000 * 1000
SMALL = 1000
KINDS = {"public": PUBLIC, "private": PRIVATE}


def fetch(node, name, count, size, visibility):
    files = b"".join(node.file(f"{name}-{i}", size, visibility) for i in range(count))
    numbers, begun = node.start(f"FIRST; cat {name}-* | wc -c 1><LOG_DIR>/bytes", resources=files)
    first, = node.wait(numbers, 300)
    if (got := int(node.logged(numbers[0], "bytes"))) != count * size:
        raise SystemExit(f"the container has {got} bytes of its files instead of {count * size}")
    return (first - begun) / 1e6


def measure(node, counts):
    node.starts(counts["warm"])
    figures = {}
    for kind, visibility in KINDS.items():
        figures[f"large-{kind}"] = fetch(node, f"large-{kind}", 1, LARGE, visibility)
        figures[f"small-{kind}"] = fetch(node, f"small-{kind}", counts["small_files"], SMALL, visibility)
    return figures
