#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how many nodes of an elastic cluster packing frees, and at which cost: `make bench-packing` runs this.

Hadoop's own scheduler load simulator runs a ResourceManager with N simulated nodes of 10 slots (1 GiB each), as in the published
example. It plays a day of synthetic jobs with containers of 1 and 2 slots, for about 18 and 27 minutes, whose data are on no
particular node. Each day is played with the same jobs: with the unchanged Capacity Scheduler (stock), with Hadoop's own
ResourceUsage policy, and with the packing policy, threshold 60 % and 80 % (80 % only with 100 nodes, unless --mode names it). The
simulator works in real time, so a day is compressed: with --day 240 a second stands for 6 minutes, or for 4.8 with 1,000 nodes.
The jobs begin

  steady     evenly over the day
  diurnal    as a wave: at 3 in the afternoon 12 times as many as at 3 in the morning
  bursty     in six hours of the day, each 8 times as busy as the other hours

The results are computed from the times at which each node had containers (Simulation.java reads the nodes every 50 ms):

  - A node is paid for from BOOT before its first container until IDLE after its last one. If another container comes before the
    node would have been added again, the node is kept. The day begins with only the minimum of nodes (MINIMUM of all).
  - So the scaler knows BOOT in advance when a node will be needed. The runs have the same scaler and differ only in the placement.
    No job waits for a node, and no node is kept for its shuffle data.
  - "saved" is compared with stock and the same scaler, and not with a cluster that never shrinks ("paid" is compared with that).
  - "used" is the allocated share of the memory of all nodes, and "of paid" the share of the memory of the paid nodes.
  - "jobs" is how much longer all jobs together took than with stock, from submission to end. "median" is the same for the median job.
  - "allocate" is the duration of an application's call, and "heartbeat" of a node's call to the scheduler, which places containers
    and calls the policy. In microseconds, without the first fifth of the day, in which Java still compiles.

The runs of one load run at the same time, so that other programs of the machine affect all of them. An idle machine with two CPUs
or more gives the best figures.
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent.parent
SIZES = (100, 1000)
MODES = ("stock", "packing", "packing 80 %", "usage")
# With 1,000 nodes, only the compared runs are made: a day takes five minutes there.
PLAYED = {100: MODES, 1000: ("stock", "packing", "usage")}
POLICIES = {"usage": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.ResourceUsageMultiNodeLookupPolicy",
            "packing": "nmd.packing.PackingPolicy"}
SLOT_MB = 1024
HOUR = 3600.0
IDLE, BOOT = 10 * 60.0, 3 * 60.0  # seconds of the simulated day
MINIMUM = 0.05
HEARTBEAT_MS = {100: 250, 1000: 1000}
# Ten times as many nodes need ten times the work, so their day takes longer.
SLOWER = {100: 1, 1000: 1.25}
BESIDE = {100: 4, 1000: 3}

# Kinds of jobs: their share of the jobs, their number of containers, the memory of a container, and the minutes of the
# simulated day.
CLASSES = (("query", 0.75, 8, 1024, 18), ("batch", 0.25, 30, 2048, 27))


def loads():
    """Returns for each hour the share of the day's work that begins in it."""
    return {
        "steady": [1.0] * 24,
        "diurnal": [1 + 0.85 * math.cos((hour - 15) / 24 * 2 * math.pi) for hour in range(24)],
        "bursty": [8.0 if hour in (2, 6, 9, 13, 17, 21) else 1.0 for hour in range(24)],
    }


def trace(nodes, slots, load, utilization, day, seed):
    """Returns a SYNTH trace with the number of jobs that causes the utilization. The simulator draws all other values from the seed."""
    minute = day / (24 * 60)
    work = sum(share * (count * memory + 1.5 * SLOT_MB) * minutes * minute for _, share, count, memory, minutes in CLASSES)
    jobs = round(utilization * nodes * slots * SLOT_MB * day / work)
    times = [{"time": round(hour * day / 24), "weight": weight} for hour, weight in enumerate(loads()[load])]
    return {
        "description": "a day of packing", "num_nodes": nodes, "nodes_per_rack": nodes, "num_jobs": jobs, "rand_seed": seed,
        "workloads": [{
            "workload_name": "day", "workload_weight": 1, "queue_name": "default",
            # a bucket ends at the time of the next bucket, so the list needs a last bucket in which no job begins
            "time_distribution": times + [{"time": day, "weight": 0}],
            "job_classes": [{
                "class_name": name, "user_name": "user", "class_weight": share, "type": "mapreduce",
                "deadline_factor": {"val": 10}, "duration": {"val": 1}, "reservation": {"val": 0},
                "tasks": [{"type": "map", "priority": 20, "count": {"val": count, "std": count / 2},
                           "time": {"val": 1000 * minute * minutes, "std": 400 * minute * minutes},
                           "max_memory": {"val": memory}, "max_vcores": {"val": 1}}],
            } for name, share, count, memory, minutes in CLASSES],
        }],
    }


def properties(path, values):
    body = "".join(f"<property><name>{escape(k)}</name><value>{escape(str(v))}</value></property>\n" for k, v in values.items())
    path.write_text(f"<?xml version=\"1.0\"?>\n<configuration>\n{body}</configuration>\n")


def scheduler_settings(mode):
    root, multi = "yarn.scheduler.capacity.", "yarn.scheduler.capacity.multi-node-sorting.policy"
    values = {root + "root.queues": "default", root + "root.default.capacity": 100,
              root + "maximum-applications": 100000, root + "maximum-am-resource-percent": 0.5,
              root + "node-locality-delay": -1}
    if mode != "stock":
        name = POLICIES[mode.split()[0]]
        values |= {root + "multi-node-placement-enabled": "true", multi: "pack", multi + ".names": "pack",
                   multi + ".pack.class": name, multi + ".pack.sorting-interval.ms": 1000}
    if mode == "packing 80 %":
        values[multi + ".pack.high-threshold"] = 80
    return values


def configure(conf, nodes, mode, slots):
    conf.mkdir(parents=True)
    properties(conf / "core-site.xml", {"hadoop.security.token.service.use_ip": "false", "hadoop.tmp.dir": conf / "tmp",
                                         "hadoop.user.group.static.mapping.overrides": "user=user"})
    resourcemanager = {f"yarn.resourcemanager.{name}address": "127.0.0.1:0"
                       for name in ("", "scheduler.", "resource-tracker.", "admin.", "webapp.")}
    properties(conf / "yarn-site.xml", resourcemanager | {
        "yarn.resourcemanager.scheduler.class": "nmd.packing.bench.WatchedScheduler",
        "yarn.resourcemanager.max-completed-applications": 1000000,
        "yarn.resourcemanager.bind-host": "127.0.0.1",
        "yarn.node-attribute.fs-store.root-dir": f"file://{conf / 'attributes'}",
        "yarn.sls.metrics.switch": "false",
        "yarn.sls.runner.pool.size": 16,
        "yarn.sls.nm.memory.mb": slots * SLOT_MB,
        "yarn.sls.nm.vcores": slots,
        "yarn.sls.nm.heartbeat.interval.ms": HEARTBEAT_MS[nodes],
        "yarn.sls.am.heartbeat.interval.ms": 250,
        "yarn.sls.am.container.memory": SLOT_MB,
        "yarn.sls.am.type.mapreduce": "nmd.packing.bench.AnywhereJob",
    })
    properties(conf / "capacity-scheduler.xml", scheduler_settings(mode))
    (conf / "log4j.properties").write_text(
        "log4j.rootLogger=WARN,file\nlog4j.appender.file=org.apache.log4j.FileAppender\n"
        f"log4j.appender.file.File={conf / 'simulator.log'}\n"
        "log4j.appender.file.layout=org.apache.log4j.PatternLayout\n"
        "log4j.appender.file.layout.ConversionPattern=%d %p %c{1}: %m%n\n")
    # Only /etc/hosts has these names. The resolver of some hosts takes seconds to report unknown names.
    (conf / "hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()}\n" + "".join(f"127.0.0.1 node{i}\n" for i in range(nodes + 1)))


class Run:
    processes = []

    def __init__(self, work, jars, load, nodes, mode, arg):
        self.load, self.nodes, self.mode, self.day = load, nodes, mode, round(arg.day * SLOWER[nodes])
        self.dir = work / f"{load}-{nodes}-{mode}".replace(" ", "").rstrip("%")
        configure(self.dir / "conf", nodes, mode, arg.slots)
        file = self.dir / "trace.json"
        file.write_text(json.dumps(trace(nodes, arg.slots, load, arg.utilization / 100, self.day, arg.seed)))
        self.log = open(self.dir / "output", "w")
        self.process = subprocess.Popen(
            ["java", "-Xmx1500m", "-XX:+UseSerialGC", "--add-opens=java.base/java.lang=ALL-UNNAMED",
             f"-Djdk.net.hosts.file={self.dir / 'conf' / 'hosts'}",
             "-cp", ":".join([str(self.dir / "conf"), *jars]), "nmd.packing.bench.Simulation",
             str(file), str(self.dir), str(self.day)],
            stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=self.dir)
        Run.processes.append(self.process)

    def result(self):
        status = self.process.wait()
        self.log.close()
        if status != 0:
            tail = "".join(open(self.dir / "output").readlines()[-20:])
            sys.exit(f"bench-packing: the run {self.dir.name} failed with status {status} (--keep keeps its logs). Its output:\n{tail}")
        return self.reckon(json.loads((self.dir / "result.json").read_text()))

    def reckon(self, seen):
        real = self.day / (24 * HOUR)  # seconds of real time per hour of the day
        paid, taken = paid_hours(seen["spans"], self.day, IDLE * real, BOOT * real, max(1, round(MINIMUM * self.nodes)))
        return {"load": self.load, "nodes": self.nodes, "mode": self.mode, "paid": paid / (self.nodes * self.day),
                "taken": taken / self.nodes, "used": seen["utilization"], "in_use": seen["nodes_in_use"] / self.nodes,
                "jobs": {name: took / 1000 for name, took in seen["jobs"]},
                "allocate": seen["allocate"], "heartbeat": seen["heartbeat"]}


def paid_hours(spans, day, idle, boot, minimum):
    """Returns the paid node-seconds, and how often a node was added. `spans`: for each node, the times of its use in ms."""
    changes, taken = [], 0
    for flat in spans:
        on = []
        for begin, end in zip(flat[::2], flat[1::2]):
            begin, end = max(0.0, begin / 1000 - boot), min(day, end / 1000 + idle)
            if on and begin <= on[-1][1]:
                on[-1][1] = end
            else:
                on.append([begin, end])
        taken += len(on)
        changes += [(begin, 1) for begin, _ in on] + [(end, -1) for _, end in on]
    paid, count, last = 0.0, 0, 0.0
    for at, step in sorted(changes) + [(day, 0)]:
        paid += (at - last) * max(count, minimum)
        count, last = count + step, at
    return paid, taken


def compare(run, stock):
    """Returns how much longer the jobs took than the same jobs with stock: by the sum, and for the median job."""
    names = stock["jobs"].keys() & run["jobs"].keys()
    mine, theirs = [[r["jobs"][name] for name in names] for r in (run, stock)]
    return sum(mine) / sum(theirs) - 1, statistics.median(mine) / statistics.median(theirs) - 1


HEAD = (("load", 8), ("nodes", 6), ("placement", 15), ("used", 6), ("in use", 7), ("paid", 6), ("of paid", 8), ("saved", 6), ("taken", 6),
        ("jobs", 7), ("median", 7), ("allocate: median", 17), ("mean", 6), ("99 %", 7), ("heartbeat: median", 18), ("mean", 6),
        ("99 %", 7))


def line(cells):
    return "".join(str(cell).ljust(width) if i == 0 else "  " + str(cell).ljust(width - 2) if i == 2 else str(cell).rjust(width)
                   for i, (cell, (_, width)) in enumerate(zip(cells, HEAD))).rstrip()


def row(run, stock):
    """`used`: the allocated share of the memory; `in use`: the share of nodes with containers; `taken`: how often each node was added."""
    against = ["-"] * 3
    if run is not stock:
        longer, median = compare(run, stock)
        against = [f"{1 - run['paid'] / stock['paid']:.0%}", f"{longer:+.1%}", f"{median:+.1%}"]
    shares = [f"{share:.0%}" for share in (run["used"], run["in_use"], run["paid"], run["used"] / run["paid"])]
    return line([run["load"], run["nodes"], run["mode"], *shares, against[0], f"{run['taken']:.1f}", *against[1:]]
                + [f"{run[door][figure]:.0f}" for door in ("allocate", "heartbeat") for figure in ("p50", "mean", "p99")])


def build(directory):
    """Builds the jars of the policy and of the benchmark, and returns the class path."""
    subprocess.run([TOP / "tests" / "deps", "packing"], check=True)
    subprocess.run([TOP / "packing" / "build", directory / "packing"], check=True)
    bench = directory / "bench-packing"
    done = subprocess.run(["mvn", "-q", "-B", "-f", HERE / "pom.xml", f"-DbuildDirectory={bench}", "package"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench-packing: Maven could not build {HERE}:\n{done.stdout[-3000:]}")
    return [str(bench / "packing-bench.jar"), str(directory / "packing" / "nmd-packing.jar"), str(bench / "lib" / "*")]


def look_ups(work, jars):
    """Measures the cost of the policy alone for each container that is placed."""
    configure(work / "look-ups", 1000, "packing", 10)
    subprocess.run(["java", "-Xmx1500m", "-XX:+UseSerialGC", "-cp", ":".join([str(work / "look-ups"), *jars]),
                    "nmd.packing.bench.LookUps", POLICIES["usage"], POLICIES["packing"]], check=True)


def play(work, jars, arg):
    for nodes in arg.nodes or SIZES:
        for load in arg.load or loads():
            modes, stock = arg.mode or PLAYED[nodes], None
            step = arg.beside or BESIDE[nodes]
            for first in range(0, len(modes), step):
                for run in [Run(work, jars, load, nodes, mode, arg) for mode in modes[first:first + step]]:
                    result = run.result()
                    stock = stock or result
                    print(row(result, stock), flush=True)


def main():
    parser = argparse.ArgumentParser(description="What container packing gives back of a cluster, and what it costs.")
    parser.add_argument("--build", default=TOP / "build" / "plain", type=pathlib.Path, help="what Maven builds goes to java/ there")
    parser.add_argument("--day", type=int, default=240, help="seconds of real time that a day takes (240)")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--load", action="append", choices=loads(), help="this one only; may be given again, as the next two")
    parser.add_argument("--nodes", action="append", type=int, choices=SIZES)
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--beside", type=int, help="so many runs side by side (4 with 100 nodes, 3 with 1,000)")
    parser.add_argument("--utilization", type=int, default=18,
                        help="percent of all slots that the jobs' containers hold on average (18; their masters are another 2 or 3)")
    parser.add_argument("--slots", type=int, default=10, help="of a node, 1 GiB each (10)")
    parser.add_argument("--keep", action="store_true", help="keep the directory with configurations, logs and results")
    arg = parser.parse_args()
    jars = build(arg.build.resolve() / "java")

    def end(*_):
        raise SystemExit(130)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    seconds = sum(len(arg.load or loads()) * math.ceil(len(arg.mode or PLAYED[n]) / (arg.beside or BESIDE[n]))
                  * (arg.day * SLOWER[n] + 30) for n in arg.nodes or SIZES)
    print(f"# a day in {arg.day} s, seed {arg.seed}; about {math.ceil(seconds / 60)} minutes; load of the machine "
          f"at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    work = pathlib.Path(tempfile.mkdtemp(prefix="nmd-bench-packing."))
    try:
        look_ups(work, jars)
        print(line([name for name, _ in HEAD]), flush=True)
        play(work, jars, arg)
    finally:
        for process in Run.processes:
            process.kill()
            process.wait()
        if arg.keep:
            print(f"# kept: {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
