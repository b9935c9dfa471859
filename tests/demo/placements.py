# SPDX-License-Identifier: Apache-2.0
"""For yarn.py --distributed: which side placed which containers, how long the containers waited, and how long calls took."""
import http.client
import json
import re
import socket
import urllib.parse
import urllib.request


def number_of(container):
    """Returns the last number of the id. The ResourceManager counts up from 1. Nodes count down from -1, which is printed in 40 bits."""
    return int(container.rsplit("_", 1)[1])


def is_nodes_own(container):
    return number_of(container) >= 1 << 39


def age_of(container):
    """Returns a sort key: the first container of either side comes first."""
    number = number_of(container)
    return (1 << 40) - number if is_nodes_own(container) else number


def name_of(container):
    """Returns a short id that fits on the line. All ids begin alike, because there is only one application."""
    number = number_of(container)
    return f"{number - (1 << 40)} by nmd" if is_nodes_own(container) else f"{number} by the RM"


def from_nmd(path, text):
    """Returns a response from nmd's socket, or None if nmd does not respond."""
    connection = http.client.HTTPConnection("nmd", timeout=20)
    connection.sock = socket.socket(socket.AF_UNIX)
    try:
        connection.sock.connect(path)
        connection.request("GET", text)
        answer = connection.getresponse()
        body = answer.read().decode()
        return body if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def from_rm(rm, bean, names):
    """Returns figures from the ResourceManager's monitoring interface, or None for each figure that it does not provide now."""
    try:
        with urllib.request.urlopen(f"{rm}/jmx?qry={urllib.parse.quote(bean)}", timeout=20) as answer:
            beans = json.load(answer)["beans"]
    except (OSError, http.client.HTTPException, ValueError):
        beans = []
    return [beans[0].get(name) if beans else None for name in names]


def brief(seconds):
    return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


class Placements:
    def __init__(self):
        self.ids = set()
        self.waited = {}
        self.counted = self.waiting = 0
        self.call = self.added = None

    def update(self, cluster, status, containers):
        self.ids |= {c["id"] for c in containers if c["id"].startswith("container_")}
        for container in [i for i in self.ids if is_nodes_own(i) and i not in self.waited]:
            found = from_nmd(cluster.socket, f"/v1/placements/{container}")
            if found:
                self.waited[container] = json.loads(found)["waited_usec"] / 1e6
        masters = status["upstream"].get("masters")
        if not masters:
            return
        self.counted, self.waiting = sum(masters["placed"].values()), masters["outstanding"]
        metrics = from_nmd(cluster.socket, "/metrics") or ""
        self.call, self.added = self.mean(metrics, "call"), self.mean(metrics, "added")

    @staticmethod
    def mean(metrics, name):
        pair = [re.search(rf'^nm_amrmproxy_{name}_seconds_{part}{{call="allocate"}} (\S+)$', metrics, re.M) for part in ("sum", "count")]
        return float(pair[0][1]) / float(pair[1][1]) if all(pair) and float(pair[1][1]) else None

    def by_rm(self):
        return sum(not is_nodes_own(i) for i in self.ids)

    def waits(self):
        waited = sorted(self.waited.values())
        return (waited[len(waited) // 2], waited[-1]) if waited else None

    def lines(self):
        """Returns two lines for the picture."""
        waits = self.waits()
        found = f"a place takes {brief(waits[0])}, at most {brief(waits[1])}" if waits else "none has been placed yet"
        costs = f"; a call {brief(self.call)}, {brief(self.added)} of it in nmd" if self.call and self.added else ""
        return [f"  placed: {self.counted} by the node, {self.by_rm()} by the ResourceManager; {self.waiting} wait for a place",
                f"  {found}{costs}"]

    def table(self, cluster):
        """Returns the figures of the ResourceManager and of nmd."""
        own = sum(is_nodes_own(i) for i in self.ids)
        allocated, = from_rm(cluster.rm, "Hadoop:service=ResourceManager,name=QueueMetrics,q0=root", ["AggregateContainersAllocated"])
        balance, = from_rm(cluster.rm, "Hadoop:service=ResourceManager,name=OpportunisticSchedulerMetrics", ["AllocatedOContainers"])
        lines = ["  containers placed by:                      the node  the RM",
                 f"  {'nmctl list, by their numbers':<38}{own:>13}{self.by_rm():>8}",
                 f"  {'nmctl status, counted':<38}{self.counted:>13}",
                 f"  {'the RM, allocated':<38}{'':>13}{allocated if allocated is not None else '?':>8}",
                 f"  {'the RM, ended without its allocation':<38}{-balance if balance is not None else '?':>13}"]
        waits = self.waits()
        if waits:
            lines += [f"  Half of those that nmd placed had a place after {brief(waits[0])}, the last after {brief(waits[1])}:",
                      "  a host gets one in each of the master's calls."]
        if self.call and self.added:
            lines.append(f"  A call took {brief(self.call)} in the mean, {brief(self.added)} of it in nmd and the rest in the RM.")
        return "\n".join(lines)
