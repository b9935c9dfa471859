# SPDX-License-Identifier: Apache-2.0
"""Starts and ends of containers: their latency, one at a time and in groups, and their number per second, if the next container is
requested as soon as the call for the last one is answered. Each container has links to four files that are cached."""
from yarn_node import daemon

PROPERTIES = {}
RESOURCES, TOGETHER = 4, 8


def per_second(node, count):
    """Returns the number of containers per second, from the first call until the command of the last container begins. The requests
    are prepared before, since the program that makes them uses the node's CPUs."""
    calls = [node.prepare("exec FIRST") for _ in range(count)]
    begun = [node.send(request) for _, request in calls]
    firsts = node.wait([n for numbers, _ in calls for n in numbers], 300)
    return count / ((max(firsts) - begun[0]) / 1e9)


def measure(node, counts):
    node.starts(counts["warm"])  # the first container fetches the files; Java compiles
    times = {"start": node.starts(counts["starts"]), "report": node.reports(counts["reports"], 1),
             "together": node.reports(counts["reports"], TOGETHER)}
    figures = {f"{name}-p{p}": daemon.percentile(values, p) for name, values in times.items() for p in (50, 99)}
    return {**figures, "rate": per_second(node, counts["at_once"])}
