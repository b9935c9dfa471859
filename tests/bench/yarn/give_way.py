# SPDX-License-Identifier: Apache-2.0
"""A guaranteed container arrives at a node whose memory an opportunistic container uses: from the call startContainers to the first
instruction of its command. The opportunistic container must give way. It is killed in both cases, since a Java NodeManager with
DefaultContainerExecutor cannot pause containers."""
import time

from yarn_node import OPPORTUNISTIC, daemon, within

CAPACITY_MB, OPPORTUNISTIC_MB, HELD_MB, GUARANTEED_MB = 1024, 768, 600, 512
GAVE_WAY = -108  # ContainerExitStatus.KILLED_BY_CONTAINER_SCHEDULER
PROPERTIES = {"yarn.nodemanager.resource.memory-mb": CAPACITY_MB, "yarn.nodemanager.opportunistic-containers-max-queue-length": 10,
              "yarn.nodemanager.opportunistic-containers-use-pause-for-preemption": "false"}
HOLD = f"""import time
held = b"x" * ({HELD_MB} << 20)
print(1, flush=True)
time.sleep(600)
"""


def arrive(node):
    (victim,), _ = node.start(f"exec python3 {node.dir}/hold.py 1><LOG_DIR>/holds", memory=OPPORTUNISTIC_MB, kind=OPPORTUNISTIC)
    if not within(60, lambda: node.logged(victim, "holds")):
        raise SystemExit(f"the opportunistic container doesn't run: {node.log_end()}")
    time.sleep(1)  # the opportunistic container's start is over
    numbers, begun = node.start("exec FIRST", memory=GUARANTEED_MB)
    first, = node.wait(numbers)
    node.wait_ends([victim])
    if (code := node.master.cluster.ends[victim]) != GAVE_WAY:
        raise SystemExit(f"the opportunistic container has exit code {code} instead of {GAVE_WAY}")
    return (first - begun) / 1e6


def measure(node, counts):
    node.write("hold.py", HOLD.encode())
    node.starts(counts["warm"])
    times = [arrive(node) for _ in range(counts["arrivals"])]
    return {"give-way-p50": daemon.percentile(times, 50), "give-way-max": max(times)}
