# SPDX-License-Identifier: Apache-2.0
"""The opportunistic jobs of a run, and the messages about them."""
import pathlib
import sys

import plan

HERE = pathlib.Path(__file__).resolve().parent
KINDS = ("import", "index", "report", "resize")  # names for readers; all jobs have the same size
TAKEN_BACK = ("preempted", "pause-deadline", "oom-killed")


class Batch:
    """Keeps jobs waiting in the queue at any time. Submits a killed job again until it has completed."""

    def __init__(self, node, size):
        self.node, self.size = node, size
        self.again, self.number = [], 0
        self.live = {}  # id -> name
        self.done, self.failed, self.retries = set(), [], 0
        self.paused_id = None

    def next_name(self):
        self.number += 1
        return f"{KINDS[self.number % len(KINDS)]}-{self.number // len(KINDS) + 1}"

    def command(self):
        s = self.size
        return [sys.executable, "-E", "-S", str(HERE / "job.py"), str(s.rounds), str(s.wait), str(s.units), str(s.held_mib)]

    def submit(self, queued, report):
        """Submits jobs until N_WAITING wait, fewer if nmd's queue is full."""
        for _ in range(plan.N_WAITING - queued):
            name = self.again.pop(0) if self.again else self.next_name()
            r = self.node.run(name, self.command(), self.size.memory_mib, self.size.vcores, True)
            if r.returncode == 0:
                self.live[r.stdout.strip()] = name
                continue
            if "queue" in r.stderr:
                self.again.insert(0, name)
            else:
                self.fail(name, r.stderr.strip(), report)
            return

    def fail(self, name, why, report):
        self.failed.append((name, why))
        report(f"{name} failed: {why}")

    def last_output_line(self, container):
        """Returns the last line of the output of a failed job."""
        words = self.node.nmctl("logs", container, check=False)
        lines = (words.stderr + words.stdout).strip().splitlines()
        return f" ({lines[-1][:100]})" if lines else ""

    def update(self, containers, report):
        for c in containers:
            if c["state"] == "PAUSED":
                self.paused_id = c["id"]
            name = self.live.get(c["id"])
            if name is None or c["state"] != "COMPLETED":
                continue
            del self.live[c["id"]]
            if c["exit_reason"] == "exited" and c["exit_code"] == 0:
                self.done.add(name)
                report(f"{name} is done")
            elif c["exit_reason"] in TAKEN_BACK:
                self.retries += 1
                self.again.append(name)
                report(f"{name} was killed ({c['exit_reason']}) and is tried again")
            else:
                self.fail(name, f"{c['exit_reason']}, exit code {c['exit_code']}{self.last_output_line(c['id'])}", report)


def report_changes(containers, before, report):
    for c in containers:
        was, now = before.get(c["id"]), c["state"]
        before[c["id"]] = now
        if was == now or c["execution_type"] != "OPPORTUNISTIC":
            continue
        if now == "PAUSED":
            report(f"{c['name']} is paused: CPU is needed")
        elif now == "RUNNING" and was in ("PAUSED", "RESUMING"):
            report(f"{c['name']} is resumed")
