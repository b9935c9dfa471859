#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows how much of the oracle's work policies without foresight can do on nmsim's adversarial days (docs/decisions/0056-*).

  tests/bench/surge-bound.py --build DIR [--seeds 1,2,...] [--most-lost PERCENT] [--classes]

nmsim writes each day, names the guaranteed jobs that it refuses, and reports the share of nmd's own policy. This program repeats
nmsim's oracle on the same day, and fails if the two differ. Then it runs policies that nmd does not have:

  any job      chooses among all submitted jobs, and may leave each of them aside for ever
  best 200     has a queue of 200, from which a better job displaces the worst one
  all jobs     has a queue of 200, takes jobs as they arrive while it has room, and starts all that it takes

Better jobs request more CPU per memory. "knows" policies know run times, CPU and memory of submitted jobs. "told" policies know what nmd
knows: the requests, and the declared run times of half of the jobs. No policy knows when a surge begins. All see it in the sample in
which it begins, know the distribution of the times between surges and the memory of the highest surge, and kill the jobs with the least
work per memory at once. They have no warm-up, no breaker and no rounds, so they are better than a real policy with the same rules. Each
figure is the best one of several parameters with at most --most-lost percent of the work lost, chosen afterwards. It shows that this
share can be reached. It is not an upper bound.
"""
import argparse
import bisect
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

STEP = 3                           # seconds, nmsim's sampling period
SHORTEST_GAP, LONGEST_GAP = 180, 480  # seconds between surges, as sim/generate.c draws them
BETA = 0.95                        # preemption threshold of memory
QUEUE = 200
GIB = 1 << 30
CPU_STRIPE = 600                   # in every second stripe of these seconds, services use most of the CPU
SPARE = (0, 0.5, 1, 1.5, 2, 3, 5, 8)  # GiB
STRIPE_CPU = (16000, 2500)         # millicores that opportunistic jobs are given in the two kinds of stripes
CLASSES = ((60, 120), (120, 180), (180, 300), (300, 480), (480, 901))  # seconds of run time


class Job:
    def __init__(self, event):
        self.at, self.run = event["t"] / 1e6, event["run"] / 1e6
        self.memory, self.cpu = event["memory"], event["cpu"]
        self.told = event.get("expected", 0) / 1e6
        self.exempt = bool(event.get("exempt"))
        self.times = [point[0] / 1e6 for point in event["curve"]]
        self.curve = [(point[1], point[2]) for point in event["curve"]]
        self.peak = max(memory for memory, _ in self.curve)
        self.wants = sum(cpu for _, cpu in self.curve) / len(self.curve)
        self.hopeless = self.peak > self.memory  # is killed at its own limit under any policy

    def use(self, progress):
        return self.curve[max(bisect.bisect_right(self.times, progress) - 1, 0)]


class Day:
    """A day in steps: the memory and the CPU of the node beside the system, the use and the promises of guaranteed jobs."""

    def __init__(self, nmsim, seed, directory):
        made = ["--generate", "adversarial", "--seed", str(seed)]
        self.report = json.loads(output(nmsim, "run", "--json", *made))["cases"][0]
        ends = (line.split() for line in output(nmsim, "run", "--jobs", *made).splitlines())
        refused = {words[1] for words in ends if words[2:4] == ["GUARANTEED", "refused"]}
        trace = pathlib.Path(directory) / "trace"
        output(nmsim, "generate", "adversarial", "--seed", str(seed), "--output", str(trace))
        with open(trace, encoding="utf-8") as f:
            node = json.loads(next(f))["node"]
            events = [json.loads(line) for line in f]
        self.n = -(-events[-1]["t"] // (STEP * 1000000))
        self.capacity = self.report["settings"]["memory_bytes"]
        self.fill_node(node, [e for e in events if e["ev"] == "sample"])
        self.memory, self.cpu, self.promised = [0] * self.n, [0] * self.n, [0] * self.n
        submits = [e for e in events if e["ev"] == "submit"]
        for e in submits:
            if e["type"] == "GUARANTEED" and e["name"] not in refused:
                self.add_guaranteed(e)
        self.jobs = [Job(e) for e in submits if e["type"] == "OPPORTUNISTIC"]
        self.surge = [self.memory[i] > 0.6 * self.promised[i] for i in range(self.n)]

    def fill_node(self, node, samples):
        reserve = node["memory_bytes"] - self.capacity
        self.node_memory, self.node_cpu, k = [], [], 0
        for i in range(self.n):
            while k + 1 < len(samples) and samples[k + 1]["t"] <= i * STEP * 1000000:
                k += 1
            self.node_memory.append(self.capacity - max(samples[k]["memory"] - reserve, 0))
            self.node_cpu.append(self.report["settings"]["cpu_millicores"] - samples[k]["cpu"])

    def add_guaranteed(self, event):
        curve, k = event["curve"], 0
        first = -(-event["t"] // (STEP * 1000000))
        steps = -(-event.get("run", self.n * STEP * 1000000) // (STEP * 1000000))
        for i in range(first, min(first + steps, self.n)):
            while k + 1 < len(curve) and curve[k + 1][0] <= (i - first) * STEP * 1000000:
                k += 1
            self.memory[i] += curve[k][1]
            self.cpu[i] += curve[k][2]
            self.promised[i] += event["memory"]

    def free_cpu(self, i):
        return max(self.node_cpu[i] - self.cpu[i], 0)

    def reported_oracle(self):
        done = self.report["opportunistic"]
        return (done["cpu_sec_done"] + done["cpu_sec_open"]) / self.report["oracle_share"]


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, encoding="utf-8").stdout


def oracle(day):
    """Does the same as sim/oracle.c. Returns the CPU-seconds of each job."""
    work, progress, waiting, arrived = {}, {}, [], 0
    for i in range(day.n):
        while arrived < len(day.jobs) and day.jobs[arrived].at <= i * STEP:
            job = day.jobs[arrived]
            if not job.hopeless:
                bisect.insort(waiting, (-job.cpu / job.memory, arrived))
                progress[arrived] = work[arrived] = 0
            arrived += 1
        memory, cpu, done = day.node_memory[i] - day.memory[i], day.node_cpu[i] - day.cpu[i], []
        for at, (_, k) in enumerate(waiting):
            if cpu < 1 or memory < 1:
                break
            uses, wants = day.jobs[k].use(progress[k])
            part = min(1, cpu / wants, memory / uses)
            cpu, memory = cpu - part * wants, memory - part * uses
            work[k] += part * wants / 1000 * STEP
            progress[k] += part * STEP
            if progress[k] >= day.jobs[k].run:
                done.append(at)
        for at in reversed(done):
            del waiting[at]
    return work


class Running:
    def __init__(self, job, short):
        self.job, self.short = job, short  # short: expected to end before the next surge
        self.progress = self.work = 0
        self.uses, self.wants = job.curve[0]


class Policy:
    """Jobs that survive a surge fit together beside it, with `spare` bytes free. Further jobs start between surges if the next
    surge kills them with a probability of at most `risk`."""

    def __init__(self, day, kind, knows, spare, risk, part):
        self.day, self.kind, self.knows = day, kind, knows
        self.spare, self.risk, self.part = spare, risk, part
        self.waiting, self.running = [], []
        self.done = self.lost = self.arrived = self.gap_began = 0

    def needs(self, job):
        return job.peak if self.knows else job.memory * self.part

    def length(self, job):
        return job.run if self.knows else job.told * 4 / 3 if job.told else LONGEST_GAP * 1000

    def rank(self, job):
        """The smallest rank is the best. A policy that starts all jobs gains most by short and small ones."""
        if self.kind == "all jobs":
            return self.needs(job) * self.length(job)
        return -job.wants / job.peak if self.knows else -job.cpu / job.memory

    def arrivals(self, now):
        jobs = self.day.jobs
        while self.arrived < len(jobs) and jobs[self.arrived].at <= now:
            job = jobs[self.arrived]
            self.arrived += 1
            if job.hopeless and self.knows:
                continue
            if self.kind == "any job" or len(self.waiting) < QUEUE:
                self.waiting.append(job)
            elif self.kind == "best 200":
                worst = max(self.waiting, key=self.rank)
                if self.rank(worst) > self.rank(job):
                    self.waiting[self.waiting.index(worst)] = job

    def kill(self, room):
        """Kills jobs until the others fit. Returns whether it killed any."""
        used, n = 0, len(self.running)
        for r in self.running:
            r.uses, r.wants = r.job.use(r.progress)
            used += r.uses
        for r in sorted(self.running, key=lambda r: r.work / max(r.uses, 1)) if used > room else ():
            if used > room and not r.job.exempt:
                self.running.remove(r)
                self.lost += r.work
                used -= r.uses
        return len(self.running) < n

    def hazard(self, now, seconds):
        """The probability that a surge begins within these seconds, as it has not begun yet."""
        age = now - self.gap_began
        rest = max(LONGEST_GAP - max(age, SHORTEST_GAP), 1)
        return min(max(age + seconds - max(age, SHORTEST_GAP), 0) / rest, 1)

    def starts(self, i, room, limit):
        now = i * STEP
        beside = BETA * self.day.capacity - 0.99 * self.day.promised[i] - self.spare - \
            sum(self.needs(r.job) for r in self.running if not r.short)
        left = room - sum(self.needs(r.job) for r in self.running)
        cpu = limit - sum(r.job.wants for r in self.running)
        for job in sorted(self.waiting, key=self.rank):
            needs = self.needs(job)
            if cpu < job.wants / 2:
                break
            short = not self.day.surge[i] and not job.exempt and self.hazard(now, self.length(job)) <= self.risk
            if needs > left or not (short or needs <= beside):
                continue
            self.waiting.remove(job)
            if job.hopeless:
                continue
            self.running.append(Running(job, short))
            left, cpu = left - needs, cpu - job.wants
            beside -= 0 if short else needs

    def advance(self, cpu):
        """Divides the CPU equally. Returns whether a job has ended."""
        left = n = len(self.running)
        for r in sorted(self.running, key=lambda r: r.wants):
            got = min(r.wants, cpu / left)
            cpu, left = cpu - got, left - 1
            r.work += got / 1000 * STEP
            r.progress += STEP * got / r.wants if r.wants else STEP
            if r.progress >= r.job.run:
                self.done += r.work
                self.running.remove(r)
        return len(self.running) < n

    def run(self):
        """Simulates the day. Returns the useful work and the share of all work that was lost."""
        day, look = self.day, True
        for i in range(day.n):
            self.arrivals(i * STEP)
            if i > 0 and day.surge[i - 1] and not day.surge[i]:
                self.gap_began = i * STEP
            room = BETA * day.capacity - day.memory[i] - (day.capacity - day.node_memory[i])
            look = self.kill(room) or look or i % 20 == 0 or day.surge[i] != day.surge[i - 1]
            if look:
                self.starts(i, room, STRIPE_CPU[i * STEP // CPU_STRIPE % 2])
            look = self.advance(day.free_cpu(i))
        useful = self.done + sum(r.work for r in self.running)
        return useful, self.lost / max(useful + self.lost, 1)


def best(day, whole, most_lost, kind, knows):
    """Returns the largest share of the oracle's work, with the lost share. More spare memory means less work of both kinds, so
    the smallest spare memory with few enough losses is the best."""
    found = 0, 0
    for risk, part in itertools.product((0, 0.2), (1,) if knows else (0.7, 0.85)):
        for spare in SPARE:
            useful, lost = Policy(day, kind, knows, spare * GIB, risk, part).run()
            print(".", end="", file=sys.stderr, flush=True)
            if lost <= most_lost:
                found = max(found, (useful / whole, lost))
                break
    return found


ROWS = (("any job", True), ("best 200", True), ("best 200", False), ("all jobs", True), ("all jobs", False))


def percent(found):
    return f"{found[0] * 100:4.1f}/{found[1] * 100:<4.1f}"


def print_classes(day, work):
    whole = sum(work.values())
    for low, high in CLASSES:
        jobs = [k for k in work if low <= day.jobs[k].run < high]
        submitted = sum(day.jobs[k].wants * day.jobs[k].run / 1000 for k in jobs)
        print(f"    oracle, {low / 60:2.0f} to {high // 60:2} min: {len(jobs):5} jobs of {submitted:8.0f} CPU s submitted, "
              f"{sum(work[k] > 0 for k in jobs):4} started, {sum(work[k] for k in jobs) / whole * 100:4.1f} % of its work")
    for name, surge in (("between surges", False), ("in surges", True)):
        for stripe in (0, 1):
            steps = [i for i in range(day.n) if day.surge[i] == surge and i * STEP // CPU_STRIPE % 2 == stripe]
            room = sum(BETA * day.capacity - day.memory[i] for i in steps) / max(len(steps), 1) / GIB
            print(f"    {name}, services use {'much' if stripe else 'little'} CPU: {len(steps) / day.n * 100:4.1f} % of the time, "
                  f"{room:4.1f} GiB free below beta, {sum(map(day.free_cpu, steps)) / 1000 * STEP:7.0f} CPU s free")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, type=pathlib.Path)
    p.add_argument("--seeds", default="1,2,3,4,5,6,7,8,9,10")
    p.add_argument("--most-lost", type=float, default=8, metavar="PERCENT")
    p.add_argument("--classes", action="store_true", help="also print what the oracle does, by run time, and the free resources")
    args = p.parse_args()
    print("share of the oracle's work / lost share, in %")
    print("seed nmd       " + " ".join(f"{kind + (', knows' if knows else ', told'):<15}" for kind, knows in ROWS))
    figures = {}
    for seed in args.seeds.split(","):
        with tempfile.TemporaryDirectory() as directory:
            day = Day(str(args.build / "sim/nmsim"), int(seed), directory)
        work = oracle(day)
        whole = sum(work.values())
        if abs(whole - day.reported_oracle()) > 1e-4 * whole:
            sys.exit(f"seed {seed}: the oracle does {whole:.0f} CPU s here, and {day.reported_oracle():.0f} in nmsim")
        print(f"{seed:>4} {percent((day.report['oracle_share'], day.report['lost_share']))}", end="", flush=True)
        for kind, knows in ROWS:
            found = best(day, whole, args.most_lost / 100, kind, knows)
            figures.setdefault((kind, knows), []).append(found)
            print(f" {percent(found):<15}", end="", flush=True)
        print()
        if args.classes:
            print_classes(day, work)
    print("mean           " + " ".join(f"{percent(tuple(map(statistics.mean, zip(*f)))):<15}" for f in figures.values()))


if __name__ == "__main__":
    main()
