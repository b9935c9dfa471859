# SPDX-License-Identifier: Apache-2.0
"""Log aggregation of 1 GB that one container has written, to a directory of the same disk: from the heartbeat that says that the
application has ended until the complete file has its final name. CPU time: of the node and its helpers."""
import os
import time

from yarn_node import below, stat_of, within

REMOTE = "remote"
LINE = b"2026-11-29 12:00:00,000 INFO [main] a line of a log that has about as many characters as most lines have: %07d\n"
PIECE_LINES = 100000


PROPERTIES = {"yarn.log-aggregation-enable": "true", "yarn.nodemanager.remote-app-log-dir": f"file://{{dir}}/{REMOTE}"}


def cpu_s(node):
    """Returns the CPU time of the node, of its helpers, and of those that have ended."""
    pid = node.node.process.pid
    ticks = sum(sum(map(int, stat[11:15])) for p in {pid} | below(pid) if (stat := stat_of(p)))
    return ticks / os.sysconf("SC_CLK_TCK")


def uploaded(node):
    """Returns the sizes of the complete files. Java also writes files of checksums, whose names begin with a dot."""
    return [path.stat().st_size for path in (node.dir / REMOTE).glob("*/*/*/*/[!.]*") if not path.name.endswith(".tmp")]


def measure(node, counts):
    (node.dir / REMOTE).mkdir()
    (node.dir / REMOTE).chmod(0o1777)  # nmd's uploader runs as the containers' user
    size = node.write("piece", b"".join(LINE % i for i in range(PIECE_LINES))).stat().st_size
    pieces = counts["log_bytes"] // size
    node.write("write.sh", f"for i in $(seq {pieces}); do cat {node.dir}/piece || exit; done\n".encode())
    node.wait_ends(node.start(f"exec sh {node.dir}/write.sh")[0], 120)
    if node.master.cluster.ends[1] != 0:
        raise SystemExit(f"the container that writes logs has ended with {node.master.cluster.ends[1]}: {node.log_end()}")
    before = cpu_s(node)
    begun = node.end_application()
    if not within(300, lambda: uploaded(node)):
        raise SystemExit(f"no logs are uploaded: {node.log_end()}")
    took = (time.monotonic_ns() - begun) / 1e9
    time.sleep(1)  # the uploader ends, and counts for its parent
    if sum(uploaded(node)) < pieces * size:
        raise SystemExit(f"only {sum(uploaded(node))} of {pieces * size} bytes are uploaded")
    return {"logs": took, "logs-cpu": cpu_s(node) - before}
