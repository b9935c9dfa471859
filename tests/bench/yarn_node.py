# SPDX-License-Identifier: Apache-2.0
"""A node of YARN, which is nmd or Hadoop's own NodeManager. Its ResourceManager and its application master are part of the program
that measures the node. A program has one node at a time."""
import os
import pathlib
import random
import shutil
import signal
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

ACCOUNT = "nobody"  # the user of nmd's containers
GUARANTEED, OPPORTUNISTIC = 1, 2
PUBLIC, PRIVATE = 1, 2
RUNNING = 2
PATIENCE_S = 60


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class JavaNode:
    """Hadoop's NodeManager. Its containers run as its own user."""

    def __init__(self, classpath, conf, directory):
        self.dir, self.classpath = directory, f"{conf}:{classpath}"
        self.log = open(directory / "nmd.log", "w")
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["java", "-Xmx512m", f"-Dhadoop.log.dir={self.dir}", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", self.classpath,
             "org.apache.hadoop.yarn.server.nodemanager.NodeManager"], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends the JVM and, as it leaves its containers behind, their processes."""
        left = below(self.process.pid)
        self.kill()
        self.log.close()
        for pid in left:
            end(pid)


JAVA_PROPERTIES = {
    "yarn.nodemanager.localizer.address": "127.0.0.1:0", "yarn.nodemanager.collector-service.address": "127.0.0.1:0",
    "yarn.nodemanager.bind-host": "127.0.0.1", "yarn.nodemanager.hostname": "127.0.0.1",
    "yarn.nodemanager.container-executor.class": "org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor"}


# ---- processes -----------------------------------------------------------------------------------------------------

def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def stat_of(pid):
    """Returns the fields of /proc/PID/stat from the state on, or None if the process is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None


def parents():
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return {pid: int(stat[1]) for pid in pids if (stat := stat_of(pid))}


def below(pid):
    """Returns the descendants of a process."""
    parent = parents()

    def descends(child):
        while child in parent and child != pid:
            child = parent[child]
        return child == pid
    return {child for child in parent if child != pid and descends(child)}


def running(program):
    """Returns the processes that execute this file."""
    found = set()
    for pid in parents():
        try:
            if os.readlink(f"/proc/{pid}/exe") == str(program):
                found.add(pid)
        except OSError:
            pass
    return found


def within(seconds, condition):
    deadline = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < deadline:
        time.sleep(0.002)
    return holds


# ---- the node ------------------------------------------------------------------------------------------------------

class YarnNode:
    """CLASSPATH: of Hadoop's NodeManager, or None for nmd. RESOURCES: each container has links to so many files that are cached.
    PROPERTIES: for yarn-site.xml, of both kinds of nodes; {dir} in a value is the directory. Heartbeats have Hadoop's default
    interval, 1 s."""

    def __init__(self, build, classpath=None, resources=0, properties=None):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="nmd-bench.", dir=os.environ.get("BENCH_DIR"))).resolve()
        self.dir.chmod(0o755)  # the containers' user must be able to enter it
        self.first = self.program("first-instruction", build / "first-instruction")
        self.held = self.program("held", shutil.which("sleep"))  # the command of containers that stay
        rm_port, node_port = free_port(), free_port()
        # read by master.py; Java registers with the name of the address
        sys.argv[1:] = [str(rm_port), "localhost" if classpath else "127.0.0.1", str(node_port)]
        sys.modules.pop("master", None)  # an earlier node's
        import master
        self.master, self.n = master, 0
        self.reported, self.acknowledged, self.news, self.orders = {}, set(), threading.Condition(), []
        master.cluster.interval_msec = 1000
        self.beat, master.cluster.beat = master.cluster.beat, self.on_beat
        self.resources = b"".join(self.file(f"resource-{i}", 1000) for i in range(resources))
        conf = self.dir / "conf"
        conf.mkdir()
        options = daemon.yarn_options(conf, f"127.0.0.1:{rm_port}", {
            **(JAVA_PROPERTIES if classpath else {}),
            "yarn.nodemanager.address": f"127.0.0.1:{node_port}", "yarn.nodemanager.local-dirs": self.dir / "local",
            "yarn.nodemanager.log-dirs": self.dir / "logs", "yarn.nodemanager.resource.cpu-vcores": 64,
            "yarn.nodemanager.recovery.dir": self.dir / "recovery",
            "yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user": ACCOUNT,
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 100,
            **{name: str(value).replace("{dir}", str(self.dir)) for name, value in (properties or {}).items()}})
        self.node = JavaNode(classpath, conf, self.dir) if classpath else \
            daemon.Node(build, "[sampling]", "period = 3s", options=options)
        self.client = self.server = None
        try:
            self.join(master, rm_port)
        except BaseException:  # the caller has no object that it could stop
            self.stop()
            raise

    def program(self, name, path):
        """Copies a program to a place that the containers' user can reach."""
        return self.write(name, pathlib.Path(path).read_bytes(), 0o755)

    def write(self, name, data, mode=0o644):
        path = self.dir / name
        path.write_bytes(data)
        path.chmod(mode)
        return path

    def join(self, master, rm_port):
        self.server = master.Server(("127.0.0.1", rm_port), master.Tracker)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        if not within(PATIENCE_S, lambda: master.cluster.heartbeats > 1):
            raise SystemExit(f"the node doesn't register: {self.log_end()}")
        self.connect()

    def connect(self):
        if self.client:
            self.client.socket.close()
        self.client = self.master.node().enter(*self.master.nm_token())

    def log_end(self):
        return "\n".join((self.node.dir / "nmd.log").read_text(errors="replace").splitlines()[-20:])

    def stop(self):
        if self.client:
            self.client.socket.close()
        self.node.stop()
        for pid in running(self.held):
            end(pid)
        if self.server:
            self.server.shutdown()
            self.server.server_close()
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- the ResourceManager ----

    def on_beat(self, request):
        """Notes the time at which each end is reported, and acknowledges it."""
        now, cluster = time.monotonic_ns(), self.master.cluster
        acks = b"".join(self.master.message(9, self.master.container(n)) for n in set(self.reported) - self.acknowledged)
        self.acknowledged |= set(self.reported)
        orders, self.orders = self.orders, []
        cluster.orders = [acks + b"".join(orders)]
        answer = self.beat(request)
        with self.news:
            for n in cluster.ends:
                self.reported.setdefault(n, now)
            if orders:
                self.ordered = now
            self.news.notify_all()
        return answer

    def end_application(self):
        """Tells the node that the application has ended. Returns the time of the heartbeat's response."""
        self.ordered = None
        with self.news:
            self.orders.append(self.master.message(6, self.master.number(1, 1) + self.master.number(2, self.master.CLUSTER)))
            if not self.news.wait_for(lambda: self.ordered, PATIENCE_S):
                raise SystemExit(f"the node sends no heartbeats: {self.log_end()}")
        return self.ordered

    # ---- the application master ----

    def file(self, name, size, visibility=PUBLIC):
        """Writes a file, and returns it as a resource for a container, with the same name."""
        from wire import message, number
        path = self.write(name, b"x" * size)
        url = message(1, "file") + number(3, -1) + message(4, str(path))
        value = message(1, url) + number(2, size) + number(3, path.stat().st_mtime_ns // 1000000) + number(4, 2) + number(5, visibility)
        return message(1, message(1, name) + message(2, value))

    def prepare(self, *commands, memory=16, kind=GUARANTEED, resources=b""):
        """Returns the numbers of new containers, and the request that starts them. FIRST in a command writes the time of its first
        instruction to a file."""
        m, numbers, request = self.master, [], b""
        for command in commands:
            self.n += 1
            numbers.append(self.n)
            context = m.context(command.replace("FIRST", f"{self.first} 1><LOG_DIR>/first"), self.resources + resources)
            request += m.start_request(m.container_token(self.n, memory=memory, kind=kind), what=context)
        return numbers, request

    def send(self, request):
        """Sends a request of prepare(), and returns the time of the call."""
        begun = time.monotonic_ns()
        answer = self.master.outcome(self.client.call("startContainers", request), 2, 3)
        if not answer.endswith("; "):
            raise SystemExit(f"startContainers: {answer}")
        return begun

    def start(self, *commands, **options):
        """Starts containers with one call, and returns their numbers and the time of the call."""
        numbers, request = self.prepare(*commands, **options)
        return numbers, self.send(request)

    def wait(self, numbers, seconds=PATIENCE_S):
        """Waits until the ends are reported, and returns the times of the first instructions."""
        self.wait_ends(numbers, seconds)
        return [self.first_of(n) for n in numbers]

    def wait_ends(self, numbers, seconds=PATIENCE_S):
        with self.news:
            if not self.news.wait_for(lambda: all(n in self.reported for n in numbers), seconds):
                raise SystemExit(f"an end isn't reported: {self.log_end()}")

    def logged(self, n, name):
        """Returns what the container has written to a file beside its logs. Empty: nothing so far."""
        files = list((self.dir / "logs").glob(f"*/container_*_{n:06}/{name}"))
        return files[0].read_text() if files else ""

    def first_of(self, n):
        if not (text := self.logged(n, "first")) or self.master.cluster.ends[n] != 0:
            raise SystemExit(f"container {n} has exit code {self.master.cluster.ends[n]}: {self.master.cluster.diagnostics[n]}")
        return int(text)

    def hold(self, count, memory=64):
        """Starts containers that stay, and waits until the node reports them as running. Returns their processes."""
        numbers, _ = self.start(*[f"exec {self.held} 100000"] * count, memory=memory)
        cluster = self.master.cluster
        if not within(PATIENCE_S, lambda: all(cluster.statuses.get(n, {}).get(2) == RUNNING for n in numbers) and
                      len(running(self.held)) == count):
            raise SystemExit(f"only {len(running(self.held))} of {count} containers run: {self.log_end()}")
        return running(self.held)

    # ---- times, in ms ----

    def starts(self, runs):
        """Returns the times from the call startContainers to the first instruction of the container's command."""
        times = []
        for _ in range(runs):
            numbers, begun = self.start("exec FIRST")
            times.append((self.wait(numbers)[0] - begun) / 1e6)
            time.sleep(random.uniform(0.02, 0.1))
        return times

    def reports(self, runs, together):
        """Returns the times from the exit of a container to the heartbeat with its end. So many containers run and end at nearly
        the same time."""
        times = []
        while len(times) < runs:
            numbers, _ = self.start(*[f"sleep {random.uniform(0.2, 0.3):.3f}; exec FIRST" for _ in range(together)])
            for n, exited in zip(numbers, self.wait(numbers)):
                times.append((self.reported[n] - exited) / 1e6)
            time.sleep(random.uniform(0, 0.3))
        return times

    def shells(self, runs):
        """Returns the times of the container's script without nmd: a shell executes a shell, which executes the command."""
        script = self.dir / "script.sh"
        script.write_text(f'exec /bin/bash -c "exec {self.first}"\n')
        return [daemon.start_to_first(str(self.first), "/bin/bash", str(script)) for _ in range(runs)]
