# SPDX-License-Identifier: Apache-2.0
"""For yarn.py --distributed: who placed which containers, how long they waited for a place, and what calls cost."""
import http.client
import json
import re
import socket
import urllib.parse
import urllib.request


def number_of(container):
    """The last part of its id. The ResourceManager's go up from 1; nodes' down from -1, which is printed in 40 bits."""
    return int(container.rsplit("_", 1)[1])


def is_nodes_own(container):
    return number_of(container) >= 1 << 39


def age_of(container):
    """For an order: the first one first, of either kind."""
    number = number_of(container)
    return (1 << 40) - number if is_nodes_own(container) else number


def name_of(container):
    """An id that fits beside the rest: there is one application only, and all of its ids begin alike."""
    number = number_of(container)
    return f"{number - (1 << 40)} by nmd" if is_nodes_own(container) else f"{number} by the RM"


def from_nmd(path, text):
    """An answer on nmd's socket; None: it has none."""
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
    """Figures of the ResourceManager's own, from what it shows to monitoring; None for each that it doesn't tell now."""
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

    def look(self, cluster, status, containers):
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
        """Two, for the picture."""
        waits = self.waits()
        found = f"a place takes {brief(waits[0])}, at most {brief(waits[1])}" if waits else "none has been placed yet"
        costs = f"; a call {brief(self.call)}, {brief(self.added)} of it in nmd" if self.call and self.added else ""
        return [f"  placed: {self.counted} by the node, {self.by_rm()} by the ResourceManager; {self.waiting} wait for a place",
                f"  {found}{costs}"]

    def table(self, cluster):
        """Both sides' own figures."""
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
