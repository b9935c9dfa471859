# SPDX-License-Identifier: Apache-2.0
"""A restart with 50 running containers: the node is killed and started again. The time ends when the node has registered with all of
them, and has answered an application master that asks for their statuses."""
import statistics
import time

from yarn_node import RUNNING, running, within
from wire import Refused, every, fields

PROPERTIES = {"yarn.nodemanager.recovery.enabled": "true", "yarn.nodemanager.recovery.supervised": "true"}
CONTAINERS = 50


def registered(node, numbers):
    known = node.master.cluster.known
    return all(known.get(n) == RUNNING for n in numbers)


def answers(node, numbers):
    body = b"".join(node.master.message(1, node.master.container(n)) for n in numbers)
    try:
        node.connect()
        statuses = every(node.client.call("getContainerStatuses", body), 1)
    except (OSError, EOFError, Refused):
        return False
    return sum(fields(status)[2] == RUNNING for status in statuses) == len(numbers)


def restart(node, numbers):
    """Returns the time in ms."""
    processes, cluster = running(node.held), node.master.cluster
    node.node.kill()
    cluster.known = {}
    begun = time.monotonic()
    node.node.start()
    if not within(60, lambda: registered(node, numbers) and answers(node, numbers)):
        raise SystemExit(f"the node has not registered with its {len(numbers)} containers, but with {len(cluster.known)}: {node.log_end()}")
    took = time.monotonic() - begun
    if running(node.held) != processes:
        raise SystemExit("containers have ended with the node")
    return took * 1000


def measure(node, counts):
    node.hold(CONTAINERS)
    return {"restart": statistics.median(restart(node, range(1, CONTAINERS + 1)) for _ in range(counts["restarts"]))}
