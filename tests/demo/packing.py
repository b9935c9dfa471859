#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo of packing; `./demo packing` builds first and then runs this.

Runs the published example on a stock ResourceManager with ten light nodes, which use the real protocol and run no processes. First
20 containers are requested. Then, eight times, 8 random containers end and 8 are requested. The example runs first with the
unchanged Capacity Scheduler, and then with the policy and the same random numbers. The screen shows the containers of the
nodes. At the end nmscale names the nodes that can be removed.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.dont_write_bytecode = True  # the demo leaves no files in the tree
import progress  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SLOTS, NODES, CONTAINERS, MOVED, ROUNDS = 10, 10, 20, 8, 8
THRESHOLD = 80
TITLES = {"stock": "the Capacity Scheduler as it comes", "packing": f"with packing, threshold {THRESHOLD} %"}


class Ended(Exception):
    """Ends the program on Ctrl-C or SIGTERM, so that it cleans up."""


class Cluster:
    """Runs a ResourceManager and its nodes. They end when their standard input ends, so also if this process is killed."""

    def __init__(self, mode, build, classpath):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="nmd-demo-packing."))
        self.build, self.classpath, self.mode = build, classpath, mode
        self.process = None

    def start(self):
        self.log = open(self.dir / "demo.log", "w")
        self.process = subprocess.Popen(
            [str(HERE / "packing-cluster.sh"), self.mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
            start_new_session=True, env=os.environ | {"NMD_TEST_DIR": str(self.dir), "NMD_TEST_CLASSPATH": self.classpath})
        # No time limit is needed here: packing-cluster.sh gives up if the ResourceManager or the nodes make no progress, and
        # prints the last lines of the log of the process that failed.
        line = self.process.stdout.readline().split()
        if len(line) != 2:
            raise SystemExit("demo: the ResourceManager or its nodes did not come up; the last lines of the log:\n"
                             f"{progress.last_lines(self.dir / 'demo.log', 20)}")
        self.rm, self.light = line

    def get(self, path, what="the nodes do not answer"):
        def ask():
            with urllib.request.urlopen(f"{self.light}/{path}", timeout=90) as answer:
                return json.load(answer)

        return progress.patiently(ask, what, self.process, self.dir / "rm.log")

    def settle(self):
        """Waits until all requested containers are placed, as long as the ResourceManager makes progress."""
        self.get("settle?seconds=20", "containers find no place")

    def nodes(self):
        return {node["name"]: node["containers"] for node in self.get("nodes")}

    def nmscale(self, *args):
        """Runs nmscale once. nmscale stores its observations in a file."""
        return subprocess.run([str(self.build / "nmscale" / "nmscale"), "--rm", self.rm, "--state", str(self.dir / "nmscale.json"),
                               "--idle-for", "1s", "--min-nodes", "3", *args], capture_output=True, text=True)

    def stop(self):
        if self.process:
            self.process.stdin.close()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
            self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def bars(nodes, colour):
    """Returns one line per node: a cell for each container, and a mark after the last slot below the threshold."""
    mark = SLOTS * THRESHOLD // 100
    lines = []
    for name, count in sorted(nodes.items()):
        cells = "".join("█" if i < count else "·" for i in range(SLOTS))
        cells = cells[:mark] + "│" + cells[mark:]
        if colour:
            tint = "\033[90m" if count == 0 else "\033[32m" if count <= mark else "\033[33m"
            cells = tint + cells + "\033[0m"
        lines.append(f"  {name}  {cells}  {count:2}{'   empty' if count == 0 else ''}")
    return lines


class Picture(progress.Screen):
    def __init__(self, live):
        self.live = live
        self.gauge = progress.Progress(progress.to_terminal if live else None)
        self.empties = {mode: [] for mode in TITLES}

    def draw(self, mode, nodes, what):
        if self.gauge.what != what:
            self.gauge.step(what)
        if not self.live:
            return
        self.gauge.on_output()
        lines = [f"\033[1mTen nodes of {SLOTS} slots: {TITLES[mode]}\033[0m", what, ""] + bars(nodes, True) + [""]
        lines += [f"  empty nodes, {name:<8}{' '.join(map(str, counts))}" for name, counts in self.empties.items()]
        lines += ["", "\033[90m  █ container  · free slot  │ threshold   (Ctrl-C ends it)\033[0m"]
        sys.stdout.write("\033[H" + "\033[K\n".join(lines) + "\033[K\033[J")
        sys.stdout.flush()

    def report(self, nodes, what):
        """Prints a permanent line for readers of a log, with the bars if they are the subject."""
        if not self.live:
            counts = sorted(nodes.values(), reverse=True)
            print(f"  {what + ':':<34} {' '.join(f'{c:2}' for c in counts)}   {counts.count(0)} empty", flush=True)
            self.gauge.on_output()


def watch(cluster, picture, mode, what, seconds):
    """Waits on a terminal, so that viewers see the picture. Does not wait if the output is a log."""
    end = time.monotonic() + (seconds if picture.live else 0)
    while True:
        nodes = cluster.nodes()
        picture.draw(mode, nodes, what)
        if time.monotonic() >= end:
            return nodes
        time.sleep(0.1)


def play(mode, build, classpath, picture):
    cluster = Cluster(mode, build, classpath)
    result = {}
    try:
        picture.draw(mode, {}, "a ResourceManager and ten nodes come up ...")
        picture.gauge.step(f"a ResourceManager and ten nodes come up ({mode})", cluster.dir / "rm.log")
        cluster.start()
        cluster.nmscale()
        result["first"] = step(cluster, picture, mode, f"{CONTAINERS} containers are asked for", [f"ask?n={CONTAINERS}"])
        for number in range(1, ROUNDS + 1):
            result["last"] = step(cluster, picture, mode, f"round {number} of {ROUNDS}: {MOVED} end, {MOVED} others are asked for",
                                  [f"release?n={MOVED}&seed={number}", f"ask?n={MOVED}"])
            cluster.nmscale()
        result["empties"] = picture.empties[mode]
        result["nmscale"] = named(cluster)
    finally:
        cluster.stop()
    return result


def step(cluster, picture, mode, what, requests):
    for request in requests:
        cluster.get(request)
        watch(cluster, picture, mode, what, 0.6)
        cluster.settle()
    nodes = watch(cluster, picture, mode, what, 0.8)
    picture.empties[mode].append(list(nodes.values()).count(0))
    picture.report(nodes, what if len(what) < 34 else what.split(":")[0])
    return nodes


def named(cluster):
    """Lets nmscale observe the nodes, because it measures a node's empty time between two observations."""
    deadline = time.monotonic() + 15
    while True:
        looked = cluster.nmscale("--json")
        if looked.returncode != 0:
            raise SystemExit(f"demo: nmscale failed: {looked.stderr.strip()}")
        table = cluster.nmscale("--all")
        if time.monotonic() > deadline or enough(looked.stdout, cluster):
            return table.stdout
        time.sleep(0.3)


def enough(text, cluster):
    """Returns the nodes that have been empty for long enough, limited by the minimum number of nodes."""
    empty = sum(count == 0 for count in cluster.nodes().values())
    return json.loads(text)["give"] >= min(empty, NODES - 3)


def summary(results):
    for mode, result in results.items():
        print(f"\n  {CONTAINERS} containers, {TITLES[mode]}\n")
        print("\n".join(bars(result["first"], False)))
    print(f"\n  empty nodes at first, and after each of {ROUNDS} rounds in which {MOVED} containers end and {MOVED} others come\n")
    for mode, result in results.items():
        print(f"    {mode:<8} {' '.join(f'{n:2}' for n in result['empties'])}")
    print("\n  Which of them can be given back? nmscale says:\n")
    print("\n".join("    " + line for line in results["packing"]["nmscale"].rstrip().splitlines()))
    print("\n  packing/README says how to switch it on, and nmscale(1) how nodes are given back.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--classpath", required=True)
    parser.add_argument("--plain", action="store_true")
    arg = parser.parse_args()

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(*_):
        # Only the first Ctrl-C counts. A second one must not interrupt the cleanup.
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        raise Ended

    for number in signals:
        signal.signal(number, end)
    live = sys.stdout.isatty() and not arg.plain
    picture, results = Picture(live), {}
    try:
        picture.open()
        try:
            for mode in TITLES:
                if not live:
                    print(f"\n== {TITLES[mode]}: containers on each of ten nodes, the fuller first", flush=True)
                results[mode] = play(mode, arg.build, arg.classpath, picture)
        finally:
            picture.gauge.stop()
            picture.close()
    except Ended:
        print("demo: ended early; everything it started is gone.")
        sys.exit(130)
    summary(results)


if __name__ == "__main__":
    progress.run(main)
