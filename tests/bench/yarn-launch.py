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
import sys

sys.dont_write_bytecode = True
from yarn_node import YarnNode, daemon

TOGETHER = 8


def measure(build, runs, resources, classpath=None):
    bench = YarnNode(build, classpath, resources)
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
