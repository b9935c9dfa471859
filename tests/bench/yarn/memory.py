# SPDX-License-Identifier: Apache-2.0
"""Resident memory and threads of a node: the JVM, or nmd with its helpers; and, in both cases, the processes that the node keeps
beside each container (nm-shim, or Java's shell). The containers' commands do not count."""
import os
import pathlib
import time

from yarn_node import below, parents, running

PROPERTIES = {"yarn.nodemanager.aux-services": "mapreduce_shuffle"}
CONTAINERS = 100


def own_processes(node):
    parent, commands = parents(), running(node.held)
    beside = {parent[pid] for pid in commands if pid in parent}
    return ({node.node.process.pid} | below(node.node.process.pid) | beside) - commands - {1, os.getpid()}


def taken(node, when):
    """Returns the sums over all processes, memory in MiB."""
    sums = {"Pss": 0, "Rss": 0, "Threads": 0}
    for pid in own_processes(node):
        try:
            lines = [pathlib.Path(f"/proc/{pid}/{name}").read_text().splitlines() for name in ("smaps_rollup", "status")]
        except OSError:  # it has just ended
            continue
        for line in sum(lines, []):
            name, _, rest = line.partition(":")
            if name in sums:
                sums[name] += int(rest.split()[0]) / (1 if name == "Threads" else 1024)
    return {f"{when}-{name.lower()}": value for name, value in sums.items()}


def measure(node, counts):
    time.sleep(counts["settle_s"])
    figures = taken(node, "idle")
    node.hold(CONTAINERS)
    time.sleep(counts["settle_s"])
    return {**figures, **taken(node, "hundred")}
