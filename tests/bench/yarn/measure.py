#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures one figure of nmd and of a Java NodeManager alternately, with a new node in each turn. `run` starts it for each of the
figures whose files are in this folder, in a network namespace.

  measure.py FIGURE --build DIR --java CLASSPATH-FILE --turns N --samples FILE [--quick]

Appends a line for each value to the file: its row in table.py, nmd or java, the value.
"""
import argparse
import fcntl
import importlib
import pathlib
import signal
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE), str(HERE.parent)]
from yarn_node import YarnNode

FULL = {"settle_s": 8, "warm": 30, "starts": 100, "reports": 48, "at_once": 300, "small_files": 2000, "restarts": 3, "arrivals": 7,
        "log_bytes": 10**9}
QUICK = {**FULL, "settle_s": 3, "warm": 10, "starts": 20, "reports": 16, "at_once": 60, "restarts": 1, "arrivals": 3}
# A guaranteed container starts at once on both kinds of nodes if memory is free, however many vcores are allocated.
SIZE = {"yarn.nodemanager.resource.memory-mb": 8192, "yarn.nodemanager.resource.cpu-vcores": 512}


def bring_up_loopback():
    fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 0x41))


def turn(figure, build, classpath, counts):
    node = YarnNode(build, classpath, getattr(figure, "RESOURCES", 0), {**SIZE, **figure.PROPERTIES})
    try:
        return figure.measure(node, counts)
    finally:
        node.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--java", type=pathlib.Path, required=True)
    parser.add_argument("--turns", type=int, required=True)
    parser.add_argument("--samples", type=pathlib.Path, required=True)
    parser.add_argument("--quick", action="store_true")
    arg = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the node ends, too
    bring_up_loopback()
    figure = importlib.import_module(arg.figure.replace("-", "_"))
    kinds = [("nmd", None), ("java", arg.java.read_text().strip())]
    for n in range(arg.turns):
        for who, classpath in kinds if n % 2 == 0 else reversed(kinds):
            begun = time.monotonic()
            values = turn(figure, arg.build.resolve(), classpath, QUICK if arg.quick else FULL)
            with open(arg.samples, "a") as samples:
                samples.writelines(f"{name}\t{who}\t{value:.6g}\n" for name, value in values.items())
            shown = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
            took = time.monotonic() - begun
            print(f"{arg.figure}, turn {n + 1} of {arg.turns}, {who} ({took:.0f} s): {shown}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
