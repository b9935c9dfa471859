#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the running daemon, with a reference for each figure from the same run. Needs root and a cgroup2 mount.

  tests/bench/daemon-bench.py --build DIR [--runs N] [--adopted N] [--only idle|launch|restart|memory|cpu]

  idle memory     nmd, alone and as a node of a YARN cluster, and one shim, from smaps_rollup; reference: an idle python3
  launch          `nmctl run` to the command's first instruction; reference: a plain fork and exec of the same command
  throughput      launches per second over the socket; reference: plain fork and exec
  memory surge    from the time at which the preemption threshold is crossed until the victim's cgroup is empty;
                  reference: the same nmd with only its 3 s samples. The parts of this time: until nmd notices the growth,
                  samples and decides, journals and kills, and until the kernel has ended the victim
  CPU surge       from its start until the container is frozen, with cpu-samples = 1; reference: only 3 s samples
  restart         from the start of an nmd until it answers, after the last one was killed while it ran --adopted
                  containers, with a full history of decisions; reference: the same history and no container
The figures are medians. Other load of the machine affects all of them.
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

MIB = 1 << 20
CAPACITY_MIB = 1024
NODE_PROC = pathlib.Path(__file__).resolve().parent.parent / "integration" / "node-proc.py"


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(p / 100 * len(values)))] if values else float("nan")


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("nmd", timeout=30)
        self.path, self.used = path, 0

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)

    def call(self, method, target, body=None):
        if self.sock and method == "GET" and time.monotonic() > self.used + 20:
            self.close()  # nmd closes idle connections after 30 s
        self.used = time.monotonic()
        self.request(method, target, json.dumps(body) if body is not None else None)
        answer = self.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {target}: {answer.status} {text.decode()}")
        return json.loads(text)


def program(build, name):
    """Returns the path of a program in a build directory. Other commits may have it in another folder."""
    for path in (build / folder / name for folder in ("nmd", "nmctl", "sim", ".", "agent")):
        if path.is_file():
            return path
    raise SystemExit(f"there is no {name} in {build}: build it first")


class Node:
    def __init__(self, build, *conf, options=(), environment=None):
        self.build, self.dir = build, pathlib.Path(tempfile.mkdtemp(prefix="nmd-bench."))
        self.slice = f"nmbench{os.getpid()}.slice"
        self.socket = str(self.dir / "nmd.sock")
        (self.dir / "nmd.conf").write_text("\n".join(conf) + "\n[health]\ndisk-min-free = 0\n")
        self.root = next(line.split()[1] for line in open("/proc/mounts") if line.split()[2] == "cgroup2")
        # nmd sees the machine's real memory, but only the containers' use of CPU, so that other programs on this machine do
        # not delay admissions.
        proc = self.dir / "proc"
        proc.mkdir()
        (proc / "meminfo").symlink_to("/proc/meminfo")
        (proc / "busy").write_text("0")
        self.idle = subprocess.Popen([sys.executable, str(NODE_PROC), str(proc), str(os.cpu_count())])
        while not (proc / "stat").exists() or not (proc / "stat").stat().st_size:
            time.sleep(0.01)
        self.log = open(self.dir / "nmd.log", "w")
        self.options, self.environment = options, {**os.environ, **(environment or {})}
        self.start()

    def start(self):
        """Starts nmd, and returns the time in ms until it answers."""
        begun = time.monotonic()
        self.process = subprocess.Popen(
            [str(program(self.build, "nmd")), "--config", str(self.dir / "nmd.conf"), "--socket", self.socket, "--state-dir",
             str(self.dir / "state"), "--runtime-dir", str(self.dir / "run"), "--slice", self.slice, "--backend", "direct",
             "--node-proc", str(self.dir / "proc"), *self.options],
            stdout=subprocess.DEVNULL, stderr=self.log, stdin=subprocess.DEVNULL, env=self.environment)
        while True:
            try:
                self.connection = Connection(self.socket)
                self.connection.call("GET", "/v1/version")
                return (time.monotonic() - begun) * 1000
            except OSError:
                if time.monotonic() > begun + 20:
                    raise SystemExit((self.dir / "nmd.log").read_text())
                time.sleep(0.002)

    def cpu_time(self):
        """Returns the CPU time of nmd in ms."""
        return int(pathlib.Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e6

    def kill(self):
        self.process.kill()
        self.process.wait()

    def run(self, command, kind="OPPORTUNISTIC", memory_mib=50, vcores=0.1):
        return self.connection.call("POST", "/v1/containers", {"command": command, "execution_type": kind, "user": "root",
                                                               "vcores": vcores, "memory_bytes": memory_mib * MIB})["id"]

    def container(self, ident):
        return self.connection.call("GET", f"/v1/containers/{ident}")

    def wait(self, ident, *states, seconds=60):
        deadline = time.monotonic() + seconds
        while (c := self.container(ident))["state"] not in states:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{ident} is {c['state']}")
            time.sleep(0.005)
        return c

    def touched(self, ident):
        """Returns the progress that SURGE has printed: the number of MiB, and the time."""
        text = (self.dir / "state" / "logs" / ident / "stdout").read_text()
        return [tuple(map(int, line.split())) for line in text.splitlines(True) if line.endswith("\n")]

    def wait_touched(self, ident, mib, seconds=60):
        deadline = time.monotonic() + seconds
        while self.touched(ident)[-1:] < [(mib,)]:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{ident} doesn't hold {mib} MiB")
            time.sleep(0.005)

    def sampled(self, seconds=20):
        """Returns the node's data from a sample that began after this call."""
        begun = time.monotonic()
        while True:
            node = self.connection.call("GET", "/v1/status")["node"]
            age = node["sample"]["age_usec"]
            if age is not None and age / 1e6 + 0.05 < time.monotonic() - begun:
                return node
            if time.monotonic() - begun > seconds:
                raise RuntimeError("nmd takes no samples")
            time.sleep(0.05)

    def events_file(self, ident):
        return pathlib.Path(self.root, self.slice, f"{self.slice[:-6]}-{ident}.scope", "cgroup.events")

    def stop(self):
        for process in (self.process, self.idle):
            process.terminate()
            process.wait()
        top = pathlib.Path(self.root, self.slice)
        if top.exists():
            (top / "cgroup.kill").write_text("1")
        deadline = time.monotonic() + 10
        while top.exists() and time.monotonic() < deadline:
            for d in [*top.glob("*.scope"), top]:
                try:
                    d.rmdir()
                except OSError:
                    pass
            time.sleep(0.01)
        shutil.rmtree(self.dir, ignore_errors=True)


def smaps(pid):
    values = {}
    for line in open(f"/proc/{pid}/smaps_rollup"):
        name, _, rest = line.partition(":")
        if rest.strip().endswith("kB"):
            values[name] = int(rest.split()[0])
    return values["Rss"], values["Private_Clean"] + values["Private_Dirty"]


def row(what, figure, reference, note=""):
    print(f"{what:<46} {figure:>16} {reference:>20}  {note}", flush=True)


def idle_alone(build):
    node = Node(build)
    python = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        # Starts two shims, so that pages which several shims share (libraries) do not count as private to one shim.
        for ident in [node.run(["sleep", "60"], "GUARANTEED") for _ in range(2)]:
            node.wait(ident, "RUNNING")
        time.sleep(3)
        rss, private = smaps(node.process.pid)
        reference, reference_private = smaps(python.pid)
        shim = int(open(f"/proc/{node.container(ident)['pid']}/stat").read().rsplit(")", 1)[1].split()[1])
        row("nmd idle: RSS", f"{rss / 1024:.1f} MiB", f"{reference / 1024:.1f} MiB", "reference: idle python3")
        row("nmd idle: private", f"{private / 1024:.1f} MiB", f"{reference_private / 1024:.1f} MiB")
        row("one of two shims: private", f"{smaps(shim)[1]} KiB", f"{reference_private} KiB", "goal 300 KiB")
        return reference, reference_private
    finally:
        python.kill()
        node.stop()


def write_site(path, **properties):
    lines = [f"<property><name>{name}</name><value>{value}</value></property>" for name, value in properties.items()]
    path.write_text("<configuration>" + "".join(lines) + "</configuration>\n")


def yarn_options(directory, tracker="127.0.0.1:8031", more=None):
    """Writes the files of a cluster, and returns nmd's options for them. Usually no ResourceManager runs at the address TRACKER.
    MORE: properties that replace or follow the others."""
    directory = pathlib.Path(directory)
    write_site(directory / "core-site.xml")
    write_site(directory / "yarn-site.xml", **{
        "yarn.resourcemanager.hostname": "127.0.0.1", "yarn.resourcemanager.resource-tracker.address": tracker,
        "yarn.nodemanager.address": "127.0.0.1:0",
        "yarn.nodemanager.webapp.address": "127.0.0.1:0", "yarn.nodemanager.resource.memory-mb": CAPACITY_MIB,
        "yarn.nodemanager.local-dirs": directory / "local", "yarn.nodemanager.log-dirs": directory / "logs", **(more or {})})
    return "--yarn-conf", str(directory)


def idle_in_cluster(build, reference, reference_private):
    """tests/yarn/10-node.sh checks the same limit with a stock ResourceManager."""
    with tempfile.TemporaryDirectory(prefix="nmd-bench.") as conf:
        node = Node(build, options=yarn_options(conf))
        try:
            time.sleep(3)
            rss, private = smaps(node.process.pid)
            row("nmd idle in a YARN cluster: RSS", f"{rss / 1024:.1f} MiB", f"{reference / 1024:.1f} MiB", "goal 12 MiB")
            row("nmd idle in a YARN cluster: private", f"{private / 1024:.1f} MiB", f"{reference_private / 1024:.1f} MiB")
        finally:
            node.stop()


def idle(build):
    idle_in_cluster(build, *idle_alone(build))


def start_to_first(program, *command):
    """Returns the time in ms from the start of the command to the first instruction of the program that it runs. A separate
    process starts the command, so that the start-up of this script is not included."""
    out = subprocess.run([program, *command], capture_output=True, text=True, check=True).stdout
    begun, first = map(int, out.split())
    return (first - begun) / 1e6


def launch(build, runs):
    node = Node(build, "[sampling]", "period = 3s")
    first, nmctl = str(build / "first-instruction"), str(program(build, "nmctl"))
    ours, plain = [], []
    try:
        for _ in range(runs):
            ours.append(start_to_first(first, nmctl, "--socket", node.socket, "run", "-m", "10M", "-c", "0.1", "--", first))
            plain.append(start_to_first(first, first))
        row("nmctl run to first instruction, p50", f"{percentile(ours, 50):.2f} ms", f"{percentile(plain, 50):.2f} ms",
            "goal 5 ms; reference: fork and exec")
        row("                                p99", f"{percentile(ours, 99):.2f} ms", f"{percentile(plain, 99):.2f} ms")
        begun, count = time.monotonic(), runs
        idents = [node.run([first], "GUARANTEED", 1, 0.001) for _ in range(count)]
        for i in idents:
            node.wait(i, "COMPLETED")
        ours_rate = count / (time.monotonic() - begun)
        begun = time.monotonic()
        for _ in range(count):
            subprocess.run([first], stdout=subprocess.DEVNULL, check=True)
        row("launches per second, start to reported end", f"{ours_rate:.0f}", f"{count / (time.monotonic() - begun):.0f}",
            "reference: fork, exec and wait, one at a time")
    finally:
        node.stop()


# Waits for the file "go", then writes to memory as fast as possible, and prints the time of each MiB. Copies the memory from a
# prepared pattern, because this is the fastest way.
SURGE = """
import os, sys, time
held, pattern = [], b"x" * (1 << 20)
print(0, time.time_ns(), flush=True)
while not os.path.exists("{go}"):
    time.sleep(0.002)
while len(held) < {mib}:
    held.append(bytearray(pattern))
    print(len(held), time.time_ns(), flush=True)
time.sleep(60)
"""


def wait_file(path, text, seconds=30):
    """Returns the time in ns, of the same clock as nmd's decisions, at which the victim's cgroup is empty or removed."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if text in path.read_text():
                return time.time_ns()
        except OSError:
            return time.time_ns()
        time.sleep(0.0005)
    return None


PHASES = ("growth noticed", "sampled and decided", "journalled and killed", "victim ended")


def phases_of_kill(node, victim, crossed, gone):
    """Returns the duration in ms of each of PHASES, or None if nmd has not killed the victim."""
    for decision in reversed(node.connection.call("GET", f"/v1/containers/{victim}/decisions")["decisions"]):
        if decision["kind"] == "kill" and decision["acted_usec"]:
            times = [crossed, *(decision[name] * 1000 for name in ("cause_usec", "decided_usec", "acted_usec")), gone]
            return [(b - a) / 1e6 for a, b in zip(times, times[1:])]
    return None


def memory_surge(build, rounds, *sampling):
    """Measures how fast a guaranteed container gets memory that an opportunistic container uses. Returns a list with the
    phases of each surge."""
    surges = []
    victim_mib, surge_mib = 300, 760
    for _ in range(rounds):
        node = Node(build, "[node]", f"memory = {CAPACITY_MIB}M", "vcores = 8", "[over-allocation]", "warmup = 500ms",
                    "warmup-samples = 1", "cpu-threshold = 0.99", "[preemption]", "cpu-threshold = 1", *sampling)
        try:
            go = node.dir / "go"
            surge = node.run([sys.executable, "-c", SURGE.format(mib=surge_mib, go=go)], "GUARANTEED", 800)
            node.wait(surge, "RUNNING")
            victim = node.run([sys.executable, "-c", SURGE.format(mib=victim_mib, go="/")], memory_mib=320)
            node.wait(victim, "RUNNING")
            node.wait_touched(surge, 0)
            node.wait_touched(victim, victim_mib)
            base = node.sampled()["utilization"]["memory"] * CAPACITY_MIB
            go.touch()
            gone = wait_file(node.events_file(victim), "populated 0")
            # the last time at which the node was certainly below the threshold
            need = 0.95 * CAPACITY_MIB - base
            crossed = max((t for mib, t in node.touched(surge) if mib < need), default=None)
            if gone and crossed and (phases := phases_of_kill(node, victim, crossed, gone)):
                surges.append(phases)
        finally:
            node.stop()
    return surges


# Waits for the file "go", then runs twice as many busy processes as there are CPUs.
SPIN = """
import os, time
while not os.path.exists("{go}"):
    time.sleep(0.002)
for _ in range(2 * os.cpu_count() - 1):
    if os.fork() == 0:
        break
while True:
    pass
"""


def cpu_surge(build, rounds, *sampling):
    """Measures an idle opportunistic container that starts to use all CPUs, and alone exceeds the preemption threshold."""
    times = []
    for _ in range(rounds):
        node = Node(build, "[over-allocation]", "warmup = 100ms", "warmup-samples = 1", "cpu-threshold = 0.5", "memory-threshold = 0.9",
                    # this script also uses some of the CPUs: the container gets about 0.9 of them
                    "[preemption]", "cpu-samples = 1", "cpu-threshold = 0.7", *sampling)
        try:
            go = node.dir / "go"
            victim = node.run([sys.executable, "-c", SPIN.format(go=go)], vcores=0.1)
            node.wait(victim, "RUNNING")
            deadline = time.monotonic() + 20
            while node.container(victim)["cpu_time_usec"] == 0 and time.monotonic() < deadline:
                time.sleep(0.05)  # the warm-up ends, and a sample begins
            time.sleep(random.uniform(0.2, 2.8))
            begun = time.time_ns()
            go.touch()
            frozen = wait_file(node.events_file(victim), "frozen 1", seconds=20)
            if frozen:
                times.append((frozen - begun) / 1e6)
        finally:
            node.stop()
    return times


POLLING = ("[sampling]", "period = 3s", "glance = no", "pressure-stall = 9999ms", "pressure-window = 10s")
SAMPLING = ("[sampling]", "period = 3s")


def surge_rows(what, fast, slow):
    row(f"{what}, p50", f"{percentile(fast, 50):.0f} ms", f"{percentile(slow, 50):.0f} ms", "goal p99 100 ms; reference: polling alone")
    row(" " * len(what) + "  p99", f"{percentile(fast, 99):.0f} ms", f"{percentile(slow, 99):.0f} ms", f"{len(fast)} surges")


def memory(build, rounds):
    fast, slow = memory_surge(build, rounds, *SAMPLING), memory_surge(build, max(3, rounds // 3), *POLLING)
    surge_rows("memory surge to relief", list(map(sum, fast)), list(map(sum, slow)))
    for name, ours, reference in zip(PHASES, zip(*fast), zip(*slow)):
        row(f"  {name}, p50 and p99", f"{percentile(ours, 50):.1f} {percentile(ours, 99):.1f} ms",
            f"{percentile(reference, 50):.1f} {percentile(reference, 99):.1f} ms")


def cpu(build, rounds):
    surge_rows("CPU surge to freeze (cpu-samples = 1)", cpu_surge(build, rounds, *SAMPLING),
               cpu_surge(build, max(3, rounds // 3), *POLLING))


HISTORY, ENDED = 20000, 10000  # the numbers of decisions and of ended containers that nmd keeps
ENVIRONMENT = json.dumps([f"VARIABLE_{i}=" + "x" * 80 for i in range(30)])  # about as long as the one of a YARN container


def fill_history(node):
    """Adds decisions about other containers, and ended containers, to the journal of a killed nmd, until the history is full. The
    newest container in the journal must have ended."""
    journal = sqlite3.connect(node.dir / "state" / "nmd.db")
    newest, text = journal.execute("SELECT number, json FROM decisions ORDER BY number DESC LIMIT 1").fetchone()
    decision = json.loads(text)
    for number in range(newest + 1, HISTORY):
        ident = f"container_1_{number:06}"
        decision.update(number=number, container_id=ident)
        journal.execute("INSERT INTO decisions VALUES (?, ?, ?)", (number, ident, json.dumps(decision)))
    columns = [row[1] for row in journal.execute("PRAGMA table_info(containers)")]
    ended = dict(zip(columns, journal.execute("SELECT * FROM containers ORDER BY seq DESC LIMIT 1").fetchone()))
    argv, _, *rest = journal.execute("SELECT argv, env, workdir, user, uid, gid, no_new_privs FROM commands").fetchone()
    for number in range(1, ENDED):
        ended.update(id=f"container_1_{number:06}", seq=ended["seq"] + 1)
        journal.execute(f"INSERT INTO containers ({','.join(columns)}) VALUES ({','.join('?' * len(columns))})", list(ended.values()))
        journal.execute("INSERT INTO commands (id, argv, env, workdir, user, uid, gid, no_new_privs) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        (ended["id"], argv, ENVIRONMENT, *rest))
    journal.commit()
    journal.close()


def prepare_restart(node, count):
    """Gives the node a full history and COUNT running containers. Returns the node, whose nmd runs."""
    node.wait(node.run(["true"], "GUARANTEED", 1, 0.001), "COMPLETED")
    node.kill()
    fill_history(node)
    node.start()
    for ident in [node.run(["sleep", "1000"], "GUARANTEED", 1, 0.001) for _ in range(count)]:
        node.wait(ident, "RUNNING")
    return node


def restarts(node, runs):
    """Returns the time until the new nmd answers, and the CPU time that it has used until then, both in ms, of each restart."""
    times = []
    for _ in range(runs):
        node.kill()
        times.append((node.start(), node.cpu_time()))
    return times


def restart_rows(what, ours, reference, note):
    row(f"{what}, p50", f"{percentile(ours, 50):.0f} ms", f"{percentile(reference, 50):.0f} ms", note)
    row(" " * len(what) + "  p99", f"{percentile(ours, 99):.0f} ms", f"{percentile(reference, 99):.0f} ms")


def restart(build, runs, count):
    """Measures the time from the start of an nmd until it answers, after the last one was killed."""
    node = Node(build)
    try:
        reference = restarts(prepare_restart(node, 0), runs)
    finally:
        node.stop()
    node = Node(build)
    try:
        times = restarts(prepare_restart(node, count), runs)
        adopted = node.connection.call("GET", "/v1/status")["containers"]["guaranteed_running"]
        for what, ours, plain in zip((f"restart with {adopted} containers", "  CPU time"), zip(*times), zip(*reference)):
            restart_rows(what, ours, plain, "goal 1000 ms for 1,000; reference: no container")
    finally:
        node.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--adopted", type=int, default=1000, metavar="N", help="containers that a restarted nmd adopts")
    parser.add_argument("--only", choices=("idle", "launch", "restart", "memory", "cpu"), help="measure only this")
    arg = parser.parse_args()
    build, few = arg.build.resolve(), max(3, arg.runs // 10)
    if os.geteuid() != 0:
        print("daemon-bench: needs root, to make cgroups")
        sys.exit(77)
    threading.stack_size(65536 * 4)
    row("figure", "nmd", "reference")
    parts = {"idle": lambda: idle(build), "launch": lambda: launch(build, arg.runs),
             "restart": lambda: restart(build, few, arg.adopted), "memory": lambda: memory(build, few),
             "cpu": lambda: cpu(build, few)}
    for name, part in parts.items():
        if arg.only in (None, name):
            part()


if __name__ == "__main__":
    main()
