#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how fast nmd starts containers of YARN and reports their ends. Needs root and a cgroup2 mount.

  tests/bench/yarn-launch.py --build DIR [--runs N] [--resources N] [--json] [--java CLASSPATH-FILE]

  start to first instruction   from the call startContainers to the first instruction of the container's command;
                               reference: the two shells of the container's script alone
  exit to report, single       from the exit of a container to the heartbeat with its end, one container at a time
  exit to report, together     the same for groups of containers that run and end at nearly the same time

The ResourceManager and the application master are parts of this program. Heartbeats have Hadoop's default interval, 1 s.
Each container has --resources links to files that are cached. --json prints only the figures, in ms. --java measures Hadoop's own
NodeManager too, with DefaultContainerExecutor and the class path in the file, which tests/packing/lib.sh's stock_build makes
(BUILD/java/stock/classpath). The build must have the program first-instruction. Other load of the machine affects all figures.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / "yarn"), str(HERE)]
sys.dont_write_bytecode = True
from counts import daemon

TOGETHER = 8
ACCOUNT = "nobody"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class JavaNode:
    """Hadoop's NodeManager. Its containers run as its own user."""

    def __init__(self, classpath, conf, directory):
        self.dir = directory
        with open(directory / "nmd.log", "w") as log:
            self.process = subprocess.Popen(
                ["java", "-Xmx512m", f"-Dhadoop.log.dir={directory}", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp",
                 f"{conf}:{classpath}", "org.apache.hadoop.yarn.server.nodemanager.NodeManager"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self):
        self.process.kill()
        self.process.wait()


JAVA_PROPERTIES = {
    "yarn.nodemanager.localizer.address": "127.0.0.1:0", "yarn.nodemanager.collector-service.address": "127.0.0.1:0",
    "yarn.nodemanager.bind-host": "127.0.0.1", "yarn.nodemanager.hostname": "127.0.0.1",
    "yarn.nodemanager.container-executor.class": "org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor"}


class Bench:
    def __init__(self, build, resources, classpath=None):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="nmd-bench."))
        self.dir.chmod(0o755)  # the containers' user must be able to enter it
        self.first = self.dir / "first-instruction"
        shutil.copy(build / "first-instruction", self.first)
        self.first.chmod(0o755)
        rm_port, node_port = free_port(), free_port()
        # read by master.py; Java registers with the name of the address
        sys.argv[1:] = [str(rm_port), "localhost" if classpath else "127.0.0.1", str(node_port)]
        sys.modules.pop("master", None)  # an earlier node's
        import master
        self.master, self.n = master, 0
        self.reported, self.acknowledged, self.news = {}, set(), threading.Condition()
        master.cluster.interval_msec = 1000
        self.beat, master.cluster.beat = master.cluster.beat, self.on_beat
        self.resources = b"".join(self.resource(f"resource-{i}") for i in range(resources))
        conf = self.dir / "conf"
        conf.mkdir()
        options = daemon.yarn_options(conf, f"127.0.0.1:{rm_port}", {
            **(JAVA_PROPERTIES if classpath else {}),
            "yarn.nodemanager.address": f"127.0.0.1:{node_port}", "yarn.nodemanager.local-dirs": self.dir / "local",
            "yarn.nodemanager.log-dirs": self.dir / "logs", "yarn.nodemanager.resource.cpu-vcores": 64,
            "yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user": ACCOUNT,
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 100})
        self.node = JavaNode(classpath, conf, self.dir) if classpath else \
            daemon.Node(build, "[sampling]", "period = 3s", options=options)
        self.client = None
        try:
            self.join(master, rm_port)
        except BaseException:  # the caller has no object that it could stop
            self.stop()
            raise

    def join(self, master, rm_port):
        server = master.Server(("127.0.0.1", rm_port), master.Tracker)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        if not master.within(30, lambda: master.cluster.heartbeats > 1):
            raise SystemExit("the node doesn't register: " + (self.node.dir / "nmd.log").read_text())
        self.client = master.node().enter(*master.nm_token())

    def resource(self, name):
        from wire import message, number
        path = self.dir / name
        path.write_text("x" * 1000)
        path.chmod(0o644)
        url = message(1, "file") + number(3, -1) + message(4, str(path))
        value = message(1, url) + number(2, 1000) + number(3, path.stat().st_mtime_ns // 1000000) + number(4, 2) + number(5, 1)
        return message(1, message(1, name) + message(2, value))

    def on_beat(self, request):
        """Notes the time at which each end is reported, and acknowledges it."""
        now, cluster = time.monotonic_ns(), self.master.cluster
        acks = b"".join(self.master.message(9, self.master.container(n)) for n in set(self.reported) - self.acknowledged)
        self.acknowledged |= set(self.reported)
        cluster.orders = [acks] if acks else []
        answer = self.beat(request)
        with self.news:
            for n in cluster.ends:
                self.reported.setdefault(n, now)
            self.news.notify_all()
        return answer

    def start(self, *commands):
        """Starts containers with one call, and returns their numbers and the time of the call."""
        m, numbers, request = self.master, [], b""
        for command in commands:
            self.n += 1
            numbers.append(self.n)
            context = m.context(command.replace("FIRST", f"exec {self.first} 1><LOG_DIR>/first"), self.resources)
            request += m.start_request(m.container_token(self.n, memory=16), what=context)
        begun = time.monotonic_ns()
        answer = m.outcome(self.client.call("startContainers", request), 2, 3)
        if not answer.endswith("; "):
            raise SystemExit(f"startContainers: {answer}")
        return numbers, begun

    def wait(self, numbers):
        """Waits until the ends are reported, and returns the times of the first instructions."""
        with self.news:
            if not self.news.wait_for(lambda: all(n in self.reported for n in numbers), 60):
                raise SystemExit("an end isn't reported: " + (self.node.dir / "nmd.log").read_text())
        return [self.first_of(n) for n in numbers]

    def first_of(self, n):
        files = list((self.dir / "logs").glob(f"*/container_*_{n:06}/first"))
        if not files or not (text := files[0].read_text()):
            raise SystemExit(f"container {n} has exit code {self.master.cluster.ends[n]}: {self.master.cluster.diagnostics[n]}")
        return int(text)

    def starts(self, runs):
        times = []
        for _ in range(runs):
            numbers, begun = self.start("FIRST")
            times.append((self.wait(numbers)[0] - begun) / 1e6)
            time.sleep(random.uniform(0.02, 0.1))
        return times

    def reports(self, runs, together):
        times = []
        while len(times) < runs:
            numbers, _ = self.start(*[f"sleep {random.uniform(0.2, 0.3):.3f}; FIRST" for _ in range(together)])
            for n, exited in zip(numbers, self.wait(numbers)):
                times.append((self.reported[n] - exited) / 1e6)
            time.sleep(random.uniform(0, 0.3))
        return times

    def shells(self, runs):
        """Returns the times of the container's script without nmd: a shell executes a shell, which executes the command."""
        script = self.dir / "script.sh"
        script.write_text(f'exec /bin/bash -c "exec {self.first}"\n')
        return [daemon.start_to_first(str(self.first), "/bin/bash", str(script)) for _ in range(runs)]

    def stop(self):
        if self.client:
            self.client.socket.close()
        self.node.stop()
        shutil.rmtree(self.dir, ignore_errors=True)


def measure(build, runs, resources, classpath=None):
    bench = Bench(build, resources, classpath)
    try:
        bench.starts(3)  # the first container fetches the resources
        return {"start to first instruction": (bench.starts(runs), bench.shells(runs)),
                "exit to report, single": (bench.reports(runs, 1), None),
                "exit to report, together": (bench.reports(runs, TOGETHER), None)}
    finally:
        bench.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--resources", type=int, default=4)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--java", type=pathlib.Path)
    arg = parser.parse_args()
    if os.geteuid() != 0:
        print("yarn-launch: needs root, to make cgroups")
        sys.exit(77)
    figures = measure(arg.build.resolve(), arg.runs, arg.resources)
    if arg.json:
        print(json.dumps({f"{name}, p{p}": round(daemon.percentile(ours, p), 2) for name, (ours, _) in figures.items() for p in (50, 99)}))
        return
    java = measure(arg.build.resolve(), arg.runs, arg.resources, arg.java.read_text().strip()) if arg.java else {}
    daemon.row("figure", "nmd", "reference", "Java NodeManager" if java else "")
    for name, (ours, reference) in figures.items():
        for p in (50, 99):
            daemon.row(f"{name}, p{p}", f"{daemon.percentile(ours, p):.1f} ms",
                       f"{daemon.percentile(reference, p):.1f} ms" if reference else "",
                       f"{daemon.percentile(java[name][0], p):.1f} ms" if java else "")


if __name__ == "__main__":
    main()
