# SPDX-License-Identifier: Apache-2.0
"""Prints bench.sh's table. Arguments: the records of the stock turn, those of the lending turn, the seconds of the plan."""
import json
import pathlib
import statistics
import sys

WORK_GOAL, WAIT_GOAL, LOST_GOAL, LATENCY_GOAL = 1.8, 0.2, 0.03, 0.05


class Turn:
    def __init__(self, path, length):
        self.path = path
        self.begun, self.over = self.time("begun"), self.time("over")
        self.useful = self.lost = self.in_time = 0
        first, done = {}, set()
        for file in sorted(path.glob("*.*.*")):
            job, task, _ = file.name.split(".", 2)
            if len(file.name.rsplit(".", 1)[-1]) != 32:
                continue
            self.task(file, (job, task), length, first, done)
        submitted = {f.name.split(".", 1)[1]: float(f.read_text()) for f in path.glob("submitted.*")}
        self.jobs = len(submitted)
        self.waits = [first[job] - at for job, at in submitted.items() if job in first]
        failed = path / "failed"
        self.failed = failed.read_text().split() if failed.exists() else []
        self.latencies = self.served()

    def time(self, name):
        return float((self.path / name).read_text())

    def task(self, file, key, length, first, done):
        lines = [line.split() for line in file.read_text().splitlines()]
        ticks = [float(at) for kind, at in lines if kind == "tick"]
        begin = next((float(at) for kind, at in lines if kind == "begin"), None)
        if begin is not None:
            first[key[0]] = min(begin, first.get(key[0], begin))
        if any(kind == "end" for kind, _ in lines) and key not in done:
            done.add(key)
            self.useful += len(ticks)
            self.in_time += sum(at < self.begun + length for at in ticks)
        else:
            self.lost += len(ticks)

    def served(self):
        """Returns the latencies in ms, with batch jobs beside the services."""
        found = []
        for file in self.path.glob("latencies*"):
            pairs = [line.split() for line in file.read_text().splitlines()]
            found += [float(p[1]) for p in pairs if len(p) == 2 and self.begun <= float(p[0]) < self.over]
        return sorted(found)

    def percentile(self, p):
        return self.latencies[min(len(self.latencies) - 1, int(p / 100 * len(self.latencies)))]

    def wait(self):
        return statistics.mean(self.waits)


def row(what, stock, lent, note=""):
    print(f"  {what:<52}{stock:>12}{lent:>12}  {note}")


length = int(sys.argv[3])
stock, lent = (Turn(pathlib.Path(path), length) for path in sys.argv[1:3])
work = lent.in_time / max(1, stock.in_time)
wait = lent.wait() / stock.wait()
lost = lent.lost / max(1, lent.useful + lent.lost)
row("", "stock YARN", "lending")
row("jobs, of which failed", f"{stock.jobs}, {len(stock.failed)}", f"{lent.jobs}, {len(lent.failed)}")
row("makespan, s", f"{stock.over - stock.begun:.0f}", f"{lent.over - lent.begun:.0f}")
row("mean wait from submission to the first task, s", f"{stock.wait():.0f}", f"{lent.wait():.0f}", f"{wait:.2f} of it")
row(f"work done in {length} s, in seconds of tasks", stock.in_time, lent.in_time, f"{work:.2f} times")
row("work lost to preemption, in seconds of tasks", stock.lost, lent.lost, f"{lost:.1%}")
changes = []
for p in (50, 90, 99):
    changes.append(lent.percentile(p) / stock.percentile(p) - 1)
    row(f"latency of the services, p{p}, ms", f"{stock.percentile(p):.1f}", f"{lent.percentile(p):.1f}", f"{changes[-1]:+.1%}")
containers = lent.path / "containers.json"
if containers.exists():
    listed = [c for c in json.loads(containers.read_text()) if c["name"] != "master"]
    print(f"\n  {sum(c['exit_reason'] == 'preempted' for c in listed)} of {len(listed)} containers of the jobs were preempted.")
print()
for what, met, value in ((f"at least {WORK_GOAL} times the work of stock YARN in the same time", work >= WORK_GOAL, f"{work:.2f}"),
                         (f"at most {WAIT_GOAL} of its waiting time", wait <= WAIT_GOAL, f"{wait:.2f}"),
                         (f"at most {LOST_GOAL:.0%} of the work is lost", lost <= LOST_GOAL, f"{lost:.1%}"),
                         (f"the services' median latency stays within {LATENCY_GOAL:.0%}", changes[0] <= LATENCY_GOAL, f"{changes[0]:+.1%}")):
    print(f"  goal: {what}: {'met' if met else 'NOT met'} ({value})")
