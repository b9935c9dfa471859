#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of 99-soak.sh that need more than a shell:

soak.py plan SEED        prints the order of jobs and faults, which depends on the seed only
soak.py watch FILE       asks the nodes and the ResourceManager, until it is ended, whether an invariant is broken, and samples
                         what could leak; FILE is JSON (class Watch)
soak.py journal DIR      checks the journal that a killed nmd has left in its state directory, and prints what is wrong
soak.py leaks FILE       compares samples, and prints a line for each figure: name, verdict, first, last, and how much is allowed
"""
import glob
import http.client
import json
import os
import random
import re
import shutil
import socket
import sqlite3
import statistics
import sys
import tempfile
import time
import urllib.request

# ---- the plan -----------------------------------------------------------------------------------------------------

# Kinds of jobs and of faults, with their numbers in each bag. All of a bag are taken before the next bag, so that a short run has
# all common kinds. soak-jobs.sh and soak-faults.sh describe them.
JOBS = {"pi": 2, "opportunistic": 3, "lent": 3, "terasort": 1, "spark": 1, "tez": 1, "shell": 2, "failing": 1, "killed": 1,
        "stubborn": 1, "service": 1}
FAULTS = {"nmd_killed": 2, "nmd_restarted": 1, "nmd_paused": 1, "nmd_lost": 1, "rm_killed": 1, "rm_away": 1, "decommissioned": 1,
          "drained": 1, "unhealthy": 1, "surge": 2, "local_full": 1, "local_broken": 1, "log_full": 1, "net_dropped": 1,
          "net_delayed": 1}
ENDING = ("nmd_killed", "nmd_restarted", "decommissioned", "drained")  # not on node 3, whose nmd runs until the end


def bags(rng, kinds):
    while True:
        bag = [kind for kind, n in kinds.items() for _ in range(n)]
        rng.shuffle(bag)
        yield from bag


def plan(seed):
    """Prints "job KIND SECONDS" and "fault KIND NODE SECONDS PAUSE", enough of each for a day. Jobs and faults have their own
    generators, so that neither order depends on how many of the others are used."""
    rng = random.Random(f"jobs {seed}")
    kinds = bags(rng, JOBS)
    for _ in range(20000):
        print("job", next(kinds), rng.randint(8, 25))
    rng = random.Random(f"faults {seed}")
    kinds = bags(rng, FAULTS)
    for _ in range(5000):
        kind = next(kinds)
        print("fault", kind, rng.randint(1, 2 if kind in ENDING else 3), rng.randint(0, 6), rng.randint(5, 14))


# ---- asking -------------------------------------------------------------------------------------------------------


class LocalConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("nmd", timeout=5)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask_node(path, target):
    """Returns the JSON of an answer, or None if nmd gives none."""
    connection = LocalConnection(path)
    try:
        connection.request("GET", target)
        answer = connection.getresponse()
        body = answer.read()
        return json.loads(body) if answer.status == 200 else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def containers_of(path):
    """Returns all containers of a node by id, also ended ones, or None."""
    found, after = {}, 0
    while True:
        part = ask_node(path, f"/v1/containers?all=true&limit=250&after={after}")
        if part is None:
            return None
        found.update((c["id"], c) for c in part)
        if len(part) < 250:
            return found
        after = part[-1]["number"]


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def count_files(top):
    """Counts files, links and directories below a directory."""
    return sum(len(dirs) + sum(name != "ballast" for name in files) for _, dirs, files in os.walk(top))


def processes():
    """Returns PID, parent, name and state of each process."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        name, _, rest = read(f"/proc/{pid}/stat").partition("(")[2].rpartition(")")
        rest = rest.split()
        if rest:
            found.append((int(pid), int(rest[1]), name, rest[0]))
    return found


# ---- the watch ----------------------------------------------------------------------------------------------------

UNKNOWN = 5       # s: several heartbeats
NEVER_STARTED = 90  # s: a master may take a while to start a container that it was given
ENDED = 8         # s until the cgroup of an ended container is empty and removed
SILENT = 15       # s without an answer of an nmd that should give one
ORPHANED = 30     # s for which a container may outlive its application
CALM = 10         # s after a fault, in which nodes and ResourceManager still exchange what they missed
OVERLOAD = ("preempted", "pause-deadline", "shed", "drained")
UNFINISHED = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"


class Watch:
    """FILE has: dir, the directory in which the suite and the watch exchange files; rm, the address of the ResourceManager's REST
    interface; suite, the suite's directory; shared, the prefix of the paths of containers; nodes, by number: socket, slice, state, local, logs.

    The suite writes: phase ("run", "settled N" or "over"); excused (the numbers of nodes that have a fault, and "rm"); pids (lines NODE PID).
    The watch writes: broken (lines INVARIANT, tab, what was found), checks (how often each invariant was asked), samples."""

    def __init__(self, file):
        with open(file, encoding="utf-8") as text:
            for key, value in json.load(text).items():
                setattr(self, key, value)
        self.since = {}      # when what is suspect now was first seen
        self.suspects = set()
        self.reported = set()
        self.checks = {}
        self.calm_at = {}    # by node or "rm": when its last fault is over
        self.seen = {}       # by node: the containers that were live there
        self.begun = time.monotonic()
        self.samples = open(f"{self.dir}/samples", "w", encoding="utf-8")

    def broken(self, invariant, what):
        if (invariant, what) not in self.reported:
            self.reported.add((invariant, what))
            with open(f"{self.dir}/broken", "a", encoding="utf-8") as file:
                print(invariant, f"{time.monotonic() - self.begun:.0f} s: {what}", sep="\t", file=file)

    def ask(self, invariant, holds, what, seconds=0):
        """Reports an invariant that doesn't hold, if it has not held for some time."""
        self.checks[invariant] = self.checks.get(invariant, 0) + 1
        if holds:
            return
        key = (invariant, what)
        self.suspects.add(key)
        first = self.since.setdefault(key, time.monotonic())
        if time.monotonic() - first >= seconds:
            self.broken(invariant, what)

    def rm_get(self, path):
        try:
            with urllib.request.urlopen(f"{self.rm}/ws/v1/cluster/{path}", timeout=5) as answer:
                return json.load(answer)
        except (OSError, ValueError, http.client.HTTPException):
            return None

    def calm(self, *names):
        """Returns whether none of these has a fault, or has had one lately."""
        return all(time.monotonic() >= self.calm_at.get(name, 0) for name in names)

    def round(self):
        self.suspects = set()
        for name in read(f"{self.dir}/excused").split():
            self.calm_at[name] = time.monotonic() + CALM
        pids = dict(line.split() for line in read(f"{self.dir}/pids").splitlines())
        phase = read(f"{self.dir}/phase").split() or ["run"]
        running = processes()
        found = {n: self.node(n, node, pids.get(n), phase, running) for n, node in self.nodes.items()}
        if self.calm("rm"):
            self.cluster(found)
        reports = glob.glob(f"{self.suite}/asan*") + glob.glob(f"{self.suite}/ubsan*")
        self.ask("sanitizers", not reports, " ".join(reports))
        if phase[0] == "settled":
            self.left_behind(running)
        self.since = {key: first for key, first in self.since.items() if key in self.suspects}
        with open(f"{self.dir}/checks.new", "w", encoding="utf-8") as file:
            for item in sorted(self.checks.items()):
                print(*item, sep="\t", file=file)
        os.rename(f"{self.dir}/checks.new", f"{self.dir}/checks")

    # what a node says of itself, and what it has left on the host
    def node(self, n, node, pid, phase, running):
        status = ask_node(node["socket"], "/v1/status")
        containers = containers_of(node["socket"])
        name = f"node0{n}"
        if status is None or containers is None:
            self.ask("answers", not self.calm(n), f"{name} does not answer", SILENT)
            return None
        self.ask("answers", True, name)
        capacity = status["node"]["capacity"]["memory_bytes"]
        guaranteed = status["node"]["allocated"]["guaranteed"]["memory_bytes"]
        self.ask("allocated", guaranteed <= capacity, f"{name}: {guaranteed} of {capacity} bytes are guaranteed")
        self.seen.setdefault(n, set()).update(c["id"] for c in containers.values() if c["state"] != "COMPLETED")
        for c in containers.values():
            if c["state"] == "COMPLETED" and c["execution_type"] == "GUARANTEED":
                self.ask("guaranteed", c["exit_reason"] not in OVERLOAD, f"{name}: {c['id']}: {c['exit_reason']} ({c['exit_cause']})")
        self.cgroups(n, node, containers)
        if pid:
            zombies = [p for p, parent, _, state in running if str(parent) == pid and state == "Z"]
            self.ask("zombies", not zombies, f"{name}: {zombies}", ENDED)
            self.sample(n, node, pid, phase, running)
        return containers

    def cgroups(self, n, node, containers):
        for path in glob.glob(f"{node['slice']}/*.scope"):
            match = re.search(r"container_\w+", os.path.basename(path))
            if not match or "populated 1" not in read(f"{path}/cgroup.events"):
                continue
            c = containers.get(match.group())
            what = "is unknown" if c is None else f"is {c['state']}"
            self.ask("processes", c is not None and c["state"] != "COMPLETED",
                     f"node0{n}: {match.group()} has processes, but {what}", ENDED)

    def sample(self, n, node, pid, phase, running):
        def figures(pid):
            return int(read(f"/proc/{pid}/statm").split()[1]) * 4, len(os.listdir(f"/proc/{pid}/fd"))

        try:
            rss, descriptors = figures(pid)
            shuffles = [p for p, parent, name, _ in running if str(parent) == pid and name.startswith("nm-shuffle")]
            shuffle_pid = shuffles[0] if shuffles else 0
            shuffle_rss, shuffle_descriptors = figures(shuffle_pid) if shuffles else (0, 0)
        except (OSError, IndexError):
            return  # it has just ended
        values = {"RSS of nmd, KiB": rss, "descriptors of nmd": descriptors, "RSS of nm-shuffle, KiB": shuffle_rss,
                  "descriptors of nm-shuffle": shuffle_descriptors,
                  "processes of nmd": sum(str(parent) == pid for _, parent, _, _ in running),
                  "files below the state directory": count_files(node["state"]),
                  "files below the local directories": count_files(node["local"]),
                  "files below the log directories": count_files(node["logs"]),
                  "cgroups": sum(1 for _ in os.walk(node["slice"]))}
        json.dump({"time": time.monotonic() - self.begun, "phase": phase, "node": n, "pid": pid, "shuffle": shuffle_pid,
                   "values": values}, self.samples)
        self.samples.write("\n")
        self.samples.flush()

    # what the ResourceManager and the nodes say of each other
    def cluster(self, found):
        nodes, apps = self.rm_get("nodes"), self.rm_get(f"apps?states={UNFINISHED}")
        if nodes is None or apps is None:
            self.ask("answers", False, "the ResourceManager does not answer", SILENT)
            return
        self.ask("answers", True, "rm")
        states = {}
        for node in (nodes["nodes"] or {}).get("node", []):
            if node["state"] == "RUNNING":
                n = node["nodeHostName"].removeprefix("node0")
                states[n] = node
                self.ask("allocated", node["availMemoryMB"] >= 0 or not self.calm(n),
                         f"the ResourceManager has allocated too much of node0{n}: {node['availMemoryMB']} MiB are left", UNKNOWN)
        unfinished = {app["id"] for app in (apps["apps"] or {}).get("app", [])}
        for n, containers in found.items():
            if containers is None or n not in states or not self.calm(n):
                continue
            for c in containers.values():
                if c["state"] != "COMPLETED":
                    self.ask("orphans", c["app"] in unfinished, f"node0{n}: {c['id']} outlives its application", ORPHANED)
        for app in unfinished:
            self.application(app, found, states)

    def application(self, app, found, states):
        attempts = self.rm_get(f"apps/{app}/appattempts")
        attempts = (attempts or {}).get("appAttempts", {}).get("appAttempt", [])
        if not attempts or not attempts[-1].get("appAttemptId"):
            return
        listed = self.rm_get(f"apps/{app}/appattempts/{attempts[-1]['appAttemptId']}/containers")
        listed = (listed or {}).get("container", [])
        for c in listed if isinstance(listed, list) else [listed]:
            n = c.get("nodeId", "").partition(":")[0].removeprefix("node0")
            if c.get("containerState") != "RUNNING" or found.get(n) is None or n not in states or not self.calm(n):
                continue
            ours = found[n].get(c["containerId"])
            # the ResourceManager's list also has containers that their master has not started yet
            started = ours is not None or c["containerId"] in self.seen[n]
            self.ask("known", ours is not None and ours["state"] != "COMPLETED",
                     f"node0{n}: {c['containerId']} runs for the ResourceManager, and is "
                     f"{ours['state'] if ours else 'unknown'} on the node", UNKNOWN if started else NEVER_STARTED)

    def left_behind(self, running):
        """Finds processes of containers, also those that have left their cgroup."""
        marks = b"CONTAINER_ID=container_", self.shared.encode()
        for pid, _, name, state in running:
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    environment = file.read()
            except OSError:
                continue
            if state != "Z" and all(mark in environment for mark in marks):
                self.ask("left", False, f"process {pid} ({name}) of a container runs while no job does", ENDED)
        self.ask("left", True, "")


def watch(file):
    watching = Watch(file)
    while True:
        watching.round()
        time.sleep(1)


# ---- the journal --------------------------------------------------------------------------------------------------


def journal(state):
    with tempfile.TemporaryDirectory() as copy:
        for name in glob.glob(f"{state}/nmd.db*"):
            shutil.copy(name, copy)
        if glob.glob(f"{copy}/*.damaged*"):
            print("a damaged journal was set aside")
        try:
            rows = sqlite3.connect(f"{copy}/nmd.db").execute("PRAGMA integrity_check").fetchall()
        except sqlite3.Error as error:
            rows = [(str(error),)]
        if rows != [("ok",)]:
            print(*(row[0] for row in rows), sep="; ")


# ---- leaks --------------------------------------------------------------------------------------------------------

ALLOWED = {  # what a figure may grow from the first to the last point without jobs: a share, and a number
    "RSS of nmd, KiB": (0.05, 1024), "RSS of nm-shuffle, KiB": (0.05, 1024), "descriptors of nmd": (0, 3),
    "descriptors of nm-shuffle": (0, 3), "processes of nmd": (0, 0), "files below the state directory": (0, 4),
    "files below the local directories": (0, 20), "files below the log directories": (0, 4), "cgroups": (0, 0)}


def leaks(file):
    with open(file, encoding="utf-8") as text:
        samples = [json.loads(line) for line in text]
    samples = [s for s in samples if s["phase"][0] == "settled"]
    points = sorted({int(s["phase"][1]) for s in samples})
    if len(points) < 2:
        sys.exit("fewer than two points without jobs were sampled")
    # with many points, the second quarter is compared with the last one
    early = points[len(points) // 4:max(len(points) // 2, 1)]
    late = points[-max(len(points) // 4, 1):]
    for node in sorted({s["node"] for s in samples}):
        for name, (share, number) in ALLOWED.items():
            key = "shuffle" if "shuffle" in name else "pid"
            own = [s for s in samples if s["node"] == node]
            if name.startswith("RSS"):  # of one process: a new one has not grown yet
                last = own[-1][key] if own else 0
                own = [s for s in own if s[key] == last]
            first, last = ([s["values"][name] for s in own if int(s["phase"][1]) in part] for part in (early, late))
            if not first or not last:
                print(f"node0{node}: {name}", "restarted", "-", "-", "-", sep="\t")
                continue
            first, last = statistics.median(first), statistics.median(last)
            most = first + first * share + number
            print(f"node0{node}: {name}", "flat" if last <= most else "grows", int(first), int(last), int(most), sep="\t")


if __name__ == "__main__":
    {"plan": plan, "watch": watch, "journal": journal, "leaks": leaks}[sys.argv[1]](sys.argv[2])
