#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo of YARN; `./demo yarn` builds first and then runs this, in its own network and mount namespaces.

Runs a stock ResourceManager, a stock HDFS, and nmd as the only node. On them runs MapReduce's pi. 40 of each hundred maps
are opportunistic. The screen shows nmctl's data about the node while the job runs. At the end, the ResourceManager's
own figures of opportunistic containers are shown beside the figures of nmctl at the same time.

With --distributed the node places these maps itself. Then the demo also shows which side placed which maps, and how long that took.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.dont_write_bytecode = True  # the demo leaves no files in the tree
import progress
from placements import Placements, age_of, name_of

HERE = pathlib.Path(__file__).resolve().parent
GIB = 1 << 30
SYMBOL = {"SCHEDULED": "·", "LOCALIZING": "·", "NEW": "·", "PAUSED": "░", "PAUSING": "░", "KILLING": "×"}
ORDER = {"█": 0, "×": 0, "░": 1, "·": 2}


class Ended(Exception):
    """Ends the program on Ctrl-C or SIGTERM, so that it cleans up."""


class Cluster:
    """Runs yarn-cluster.sh. It ends when its standard input ends, so also if this process is killed."""
    script = "yarn-cluster.sh"

    def __init__(self, build, classpath, maps, samples, distributed):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="nmd-demo-yarn."))
        self.build = build
        self.log = open(self.dir / "demo.log", "w")
        self.environment = os.environ | {
            "NMD_TEST_DIR": str(self.dir), "NMD_TEST_NAME": "demo", "NMD_TEST_BUILD": str(build), "NMD_TEST_CLASSPATH": classpath,
            "NMD_TEST_NAMESPACE": "1", "MAPS": str(maps), "SAMPLES": str(samples), "DISTRIBUTED": "1" if distributed else ""}
        self.process = None
        self.rest = b""

    def start(self):
        self.process = subprocess.Popen([str(HERE / self.script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, start_new_session=True, env=self.environment)
        os.set_blocking(self.process.stdout.fileno(), False)

    def read_lines(self, seconds):
        """Returns the lines that it printed within this number of seconds, or its next lines. Returns None if it has ended."""
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return []
        read = self.process.stdout.read()
        if not read:
            return None
        *lines, self.rest = (self.rest + read).split(b"\n")
        return [line.decode().split(" ", 1) for line in lines]

    def fail(self, what):
        """Prints the end of the log, where yarn-cluster.sh has put the last lines of the process that failed."""
        raise SystemExit(f"demo: {what}; the last lines of its log:\n{progress.last_lines(self.dir / 'demo.log', 20)}")

    def nmctl(self, *args):
        """Returns the output of nmctl, or None if nmd does not respond now."""
        try:
            done = subprocess.run([str(self.build / "nmctl" / "nmctl"), "--socket", self.socket, *args, "--json"],
                                  capture_output=True, text=True, timeout=20)
        except subprocess.TimeoutExpired:
            return None
        return json.loads(done.stdout) if done.returncode == 0 else None

    def status(self):
        def ask():
            status = self.nmctl("status")
            if status is None:
                raise OSError("no response")
            return status

        return progress.patiently(ask, "nmd does not answer", self.process, self.dir / "nmd1.log")

    def shown(self):
        """Returns the ResourceManager's figures about opportunistic containers, which its nodes page also has."""
        def ask():
            with urllib.request.urlopen(f"{self.rm}/ws/v1/cluster/nodes", timeout=20) as answer:
                return json.load(answer)["nodes"]["node"][0]

        node = progress.patiently(ask, "the ResourceManager does not answer", self.process, self.dir / "rm.log")
        return tuple(int(node[key]) for key in ("numRunningOpportContainers", "usedMemoryOpportGB", "usedVirtualCoresOpport",
                                                "numQueuedContainers"))

    def stop(self):
        if self.process:
            self.process.stdin.close()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def own_figures(status):
    allocated = status["node"]["allocated"]["opportunistic"]
    return (status["containers"]["opportunistic_running"], math.ceil(allocated["memory_bytes"] / GIB),
            math.ceil(allocated["vcores"]), status["queue"]["length"])


class Figures:
    """Returns the figures of both sides at the same time: nmd's figures must be equal before and after the other request."""

    def __init__(self):
        self.moments = collections.Counter()

    def update(self, cluster, status):
        ours, theirs = own_figures(status), cluster.shown()
        after = cluster.nmctl("status")
        if after and own_figures(after) == ours:
            self.moments[(ours, theirs)] += 1

    def table(self, end):
        """Returns the most frequent figures at the time with the most containers, and the figures at the end."""
        def peak(*order):
            most = max((tuple(ours[i] for i in order) for ours, _ in self.moments), default=None)
            pairs = [p for p in self.moments if tuple(p[0][i] for i in order) == most]
            return max(pairs, key=self.moments.get, default=None)

        lines = ["  opportunistic containers:       Running  Mem (GB)  VCores  Queued"]
        for name, pair in (("the busiest moment", peak(0, 3)), ("the longest queue", peak(3, 0)), ("at the end", end)):
            for side, figures in zip(("nmctl", "YARN's RM"), pair or ()):
                lines.append(f"  {name if side == 'nmctl' else '':<20} {side:<10}" + "".join(f"{n:9}" for n in figures))
        same = sum(n for (ours, theirs), n in self.moments.items() if ours == theirs)
        lines.append(f"  Both were the same at {same} of {sum(self.moments.values())} moments; at the others a heartbeat was on its way.")
        return "\n".join(lines)


class Picture(progress.Screen):
    def __init__(self, live, placements):
        self.live = live
        self.gauge = progress.Progress(progress.to_terminal if live else None)
        self.placements = placements  # None: the ResourceManager places all
        self.last = None
        self.pauses = self.admitted = self.given_up = 0
        self.states = {}

    def about(self, sentence, log=None):
        self.gauge.step(sentence, log)
        self.gauge.on_output()
        if self.live:
            sys.stdout.write(f"\033[H\033[J\n  {sentence} ...")
            sys.stdout.flush()
        else:
            print(f"  {sentence}", flush=True)

    def watch(self, containers):
        """Counts the changes between two readings."""
        for c in containers:
            before, now = self.states.get(c["id"]), c["state"]
            if c["execution_type"] == "OPPORTUNISTIC" and before != now:
                self.pauses += now == "PAUSED"
                self.admitted += now in ("RUNNING", "COMPLETED", "PAUSED") and before in (None, "NEW", "LOCALIZING", "SCHEDULED") \
                    and c.get("started_usec") is not None
                self.given_up += now == "COMPLETED" and c.get("exit_reason") != "exited"
            self.states[c["id"]] = now

    def rows(self, containers, columns, room):
        """Prints running, paused and queued containers, in this order. A line that doesn't fit would scroll the screen."""
        name, age, width = (name_of, age_of, 15) if self.placements else (str, str, 38)
        there = sorted((c for c in containers if c["state"] != "COMPLETED"),
                       key=lambda c: (ORDER.get(SYMBOL.get(c["state"], "█"), 0), age(c["id"])))
        lines, widest = [], max(1, min(40, columns - width - 31))
        shown = there if len(there) <= room + 1 else there[:room]
        for c in shown:
            tint = "\033[34m" if c["execution_type"] == "GUARANTEED" else "\033[33m" if c["state"] == "PAUSED" else "\033[32m"
            cores = (c.get("cpu_used_millicores") or 0) / 1000
            bar = SYMBOL.get(c["state"], "█") * max(1, min(widest, round(cores * widest)))
            lines.append(f"  {name(c['id']):>{width}}  {c['execution_type'].lower():<14}{c['state']:<11}{tint}{bar}\033[0m")
        if len(shown) < len(there):
            lines.append(f"  and {len(there) - len(shown)} more")
        return lines

    def draw(self, status, containers, seconds):
        self.watch(containers)
        count = status["containers"]
        now = (f"{count['guaranteed_running']} guaranteed and {count['opportunistic_running']} opportunistic run, "
               f"{count['paused']} paused, {status['queue']['length']} wait")
        so_far = f"so far {self.admitted} opportunistic admitted, {self.pauses} pauses, {self.given_up} given up"
        placed = self.placements.lines() if self.placements else []
        if not self.live:
            news = "; ".join([now, so_far, *(line.strip() for line in placed[:1])])
            if news != self.last:
                print(f"  {seconds:4.0f} s  {news}", flush=True)
                self.gauge.on_output()
            self.gauge.detail(news)
            self.last = news
            return
        machine = status["node"]["machine"]
        columns, rows = shutil.get_terminal_size()
        title = "pi on YARN: nmd, the node of a stock ResourceManager, places most maps itself" if self.placements \
            else "pi on YARN: a stock ResourceManager, staging on HDFS, and nmd as its node"
        lines = [f"\033[1m{title}\033[0m"[:columns + 7],
                 f"{seconds:4.0f} s   CPU {machine.get('cpu_busy_millicores', 0) / 1000:.1f} cores busy",
                 f"  {now}"[:columns - 1], f"  {so_far}"[:columns - 1], *(line[:columns - 1] for line in placed), ""]
        lines += self.rows(containers, columns, max(1, rows - len(lines) - 3))
        self.gauge.on_output()
        lines += ["", "\033[90m  █ runs (full: one core)  ░ paused  · waits  × ends   (Ctrl-C ends it)\033[0m"]
        sys.stdout.write("\033[H" + "\033[K\n".join(lines) + "\033[K\033[J")
        sys.stdout.flush()


def come_up(cluster, picture):
    cluster.start()
    while True:
        lines = cluster.read_lines(1)
        if lines is None:
            cluster.fail("the cluster did not come up")
        for kind, text in lines:
            if kind == "about":
                log, sentence = text.split(" ", 1)
                picture.about(sentence, cluster.dir / log)
            if kind == "failed":
                cluster.process.wait(60)
                cluster.fail(text)
            if kind == "ready":
                cluster.rm, cluster.socket = text.split(" ", 1)
                return


def last_figures(cluster):
    """Returns the time at which the end of the last container was reported."""
    deadline = time.monotonic() + 15
    while True:
        ours, theirs = own_figures(cluster.status()), cluster.shown()
        if ours == theirs or time.monotonic() > deadline:
            return ours, theirs
        time.sleep(0.2)


def play(cluster, picture):
    """Prints the job's status and result, and the figures of both sides."""
    figures, begun, status = Figures(), time.monotonic(), None
    come_up(cluster, picture)
    picture.about("pi begins", cluster.dir / "pi.log")
    begun = time.monotonic()
    patience = progress.Patience("pi does not get on", cluster.process, cluster.dir / "pi.log", idle=180, most=3600)
    while status is None:
        lines = cluster.read_lines(0.5)
        if lines is None:
            cluster.fail("the cluster went away")
        for kind, text in lines:
            if kind == "ended":
                status = int(text)
        now, containers = cluster.nmctl("status"), cluster.nmctl("list", "--all")
        if now and containers is not None:
            if picture.placements:
                picture.placements.update(cluster, now, containers)
            picture.draw(now, containers, time.monotonic() - begun)
            figures.update(cluster, now)
        if status is None:
            patience.check(tuple(picture.states.items()))
    log = (cluster.dir / "pi.log").read_text()
    tables = [figures.table(last_figures(cluster))]
    if picture.placements:
        tables.append(picture.placements.table(cluster))
    return status, log, "\n\n".join(tables)


def summary(status, log, table, picture):
    wanted = ("Launched map tasks", "Killed map tasks", "Launched reduce tasks", "Shuffled Maps", "Job Finished", "Estimated value")
    print("\n" + "\n".join("  " + line.strip() for line in log.splitlines() if line.strip().startswith(wanted)))
    print(f"\n  {picture.admitted} opportunistic containers were admitted, {picture.pauses} times one was paused, "
          f"{picture.given_up} were given up\n")
    print(table)
    if status != 0:
        print("\n  the job failed; its last words:\n" + "\n".join(log.splitlines()[-20:]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--classpath", required=True)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--distributed", action="store_true")
    parser.add_argument("--maps", type=int, default=int(os.environ.get("NMD_DEMO_MAPS", 50)))
    parser.add_argument("--samples", type=int, default=100)
    arg = parser.parse_args()

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def undisturbed():
        for number in signals:
            signal.signal(number, signal.SIG_IGN)

    def end(*_):
        # Only the first Ctrl-C counts. A second one must not interrupt the cleanup.
        undisturbed()
        raise Ended

    for number in signals:
        signal.signal(number, end)
    picture = Picture(sys.stdout.isatty() and not arg.plain, Placements() if arg.distributed else None)
    try:
        cluster = Cluster(arg.build, arg.classpath, arg.maps, arg.samples, arg.distributed)
        try:
            picture.open()
            status, log, table = play(cluster, picture)
        finally:
            # A first Ctrl-C that comes only now must not interrupt the cleanup either.
            undisturbed()
            picture.close()
            picture.gauge.stop()
            cluster.stop()
    except Ended:
        print("demo: ended early; everything it started is gone.")
        sys.exit(130)
    summary(status, log, table, picture)
    sys.exit(status)


if __name__ == "__main__":
    progress.run(main)
