#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main program of the demo; ./demo builds first and then runs this.

The same guaranteed services and the same kind of opportunistic jobs run on a private nmd: twice with over-allocation, and
twice without (plain YARN: only unallocated resources may be used). The two runs of the same kind show how much equal runs
differ (compare.py). The services request most of the memory and of the vcores, and use little of both until they ramp up, CPU
first, then memory. The jobs mostly wait, and their work is computed from the speed of this machine (plan.py). The screen shows
the output of `nmctl status --json` and `nmctl list --json`. The figures at the end come from there, from the exits of the jobs
and from the counts of the services. With --replay all of them are read from a file that --record has written.
"""
import argparse
import collections
import json
import os
import pathlib
import signal
import sys
import textwrap
import time

sys.dont_write_bytecode = True  # leaves no files in the tree

import batch  # noqa: E402
import compare  # noqa: E402
import node as nodes  # noqa: E402
import picture as pictures  # noqa: E402
import plan  # noqa: E402
import progress  # noqa: E402
import recording  # noqa: E402
import work  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ORDER = (True, False, False, True)  # with over-allocation or without, in an order in which a change over time affects both kinds
TITLE = {True: "with over-allocation", False: "without over-allocation (plain YARN)"}


class Ended(Exception):
    """Ends the program on Ctrl-C or SIGTERM, so that it cleans up."""


# ---- one run ---------------------------------------------------------------------------------------------------------

def machine_busy_seconds():
    """Returns the CPU time that the machine has used since its boot."""
    ticks = [int(x) for x in open("/proc/stat").readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


class Cpu:
    """Divides the used CPU time into the parts of containers, of the demo itself and of other programs. Reports when the part of
    other programs becomes too large for a result, and when this ends."""

    def __init__(self, node, over_allocation):
        self.node, self.reported = node, False
        self.lends = over_allocation
        self.samples = collections.deque(maxlen=7)
        self.first = self.last = None

    def update(self, containers, report):
        theirs = sum(c.get("cpu_time_usec") or 0 for c in containers) / 1e6
        self.last = (time.monotonic(), machine_busy_seconds(), theirs, self.node.own_cpu_seconds())
        self.first = self.first or self.last
        self.samples.append(self.last)
        foreign = self.shares(self.samples[0])[1]
        if len(self.samples) == self.samples.maxlen and (foreign > compare.FOREIGN) != self.reported:
            self.reported = not self.reported
            report(f"other work uses {foreign:.0%} of this machine's CPUs{': that is not lent out' if self.lends else ''}" if self.reported
                   else "other work no longer uses this machine's CPUs")
        return f"other work on this machine uses {foreign:.0%} of its CPUs" if self.reported else ""

    def shares(self, since=None):
        """Returns the shares of the CPUs (of containers, of other programs) since that sample, or since the first one."""
        elapsed, busy, theirs, own = (b - a for a, b in zip(since or self.first, self.last))
        whole = max(elapsed, 1e-3) * os.cpu_count()
        return theirs / whole, max(0.0, busy - theirs - own) / whole


class Run:
    """One run with its own nmd."""

    def __init__(self, arg, over_allocation, size, show):
        self.arg, self.show = arg, show
        self.node = nodes.Node(arg.build, over_allocation, arg.capacity)
        self.batch = batch.Batch(self.node, size)
        self.cpu = Cpu(self.node, over_allocation)
        self.messages, self.symbols, self.states, self.services, self.memory = [], {}, {}, {}, []
        self.result = {"over_allocation": over_allocation}

    def report(self, text):
        self.messages.append(text)

    def start(self):
        self.node.start()
        self.begun = time.monotonic()
        for service in plan.services(self.arg.seconds, os.cpu_count(), self.arg.capacity):
            path = self.node.dir / f"{service.name}.plan"
            path.write_text("".join(f"{s} {c} {m}\n" for s, c, m in service.plan))
            r = self.node.run(service.name, [sys.executable, str(HERE / "service.py"), str(path)], service.memory_mib,
                              service.vcores, False)
            if r.returncode != 0:
                raise SystemExit(f"demo: {r.stderr.strip()}")
            self.services[service.name] = r.stdout.strip()

    def tick(self, now):
        status, containers = self.node.json("status"), self.node.json("list", "--all")
        self.batch.update(containers, self.report)
        batch.report_changes(containers, self.states, self.report)
        frame = pictures.frame_of(now, status, containers, self.arg.capacity, self.symbols)
        frame["foreign"] = self.cpu.update(containers, self.report)
        frame["messages"], self.messages = self.messages, []
        self.memory.append(frame["used"]["memory"])
        self.show(frame)
        self.batch.submit(status["containers"]["queued"], self.report)

    def play(self):
        """Returns the figures of the run."""
        try:
            self.start()
            ticks = 0
            while (now := time.monotonic() - self.begun) < self.arg.seconds:
                self.tick(now)
                ticks += 1
                time.sleep(max(0.0, self.begun + ticks * 0.5 - time.monotonic()))
            self.finish()
        finally:
            self.node.stop()
        return self.result

    def service_ends(self):
        """Waits for the services, which end at about this time. Their own counts of work show whether they got their guaranteed CPU."""
        deadline = time.monotonic() + 15
        while True:
            containers = {c["id"]: c for c in self.node.json("list", "--all")}
            if all(containers[i]["state"] == "COMPLETED" for i in self.services.values()) or time.monotonic() > deadline:
                return containers
            time.sleep(0.2)

    def web(self):
        """Returns for the phase in which web needs all CPUs: the share of them that it got, and its completed units per second.
        Returns None if web did not print these figures."""
        for line in self.node.nmctl("logs", self.services["web"], check=False).stdout.splitlines():
            counted = json.loads(line)
            if counted["busy"] > 0:
                return {"share": counted["got"] / counted["busy"], "rate": counted["units"] / counted["busy"]}
        return {"share": None, "rate": None}

    def finish(self):
        used, foreign = self.cpu.shares()
        jobs = len(self.batch.done)
        containers = self.service_ends()
        preemptions = self.node.json("status")["preemptions"]
        waited = (containers[i] for i in self.services.values())
        self.result |= {
            "jobs": jobs, "failed": self.batch.failed, "cpu": used, "foreign": foreign, "memory": compare.mean(self.memory),
            "paused": preemptions["paused"], "killed": preemptions["killed"],
            "wasted": sum(c.get("cpu_time_usec") or 0 for c in containers.values()
                          if c["exit_reason"] in batch.TAKEN_BACK) / 1e6,
            "waited": max((c["started_usec"] - c["submitted_usec"]) / 1e3 for c in waited),
            "explain": self.explanation(containers.values())} | self.web()

    def explanation(self, containers):
        """Returns the decision of that kind from the output of nmctl explain."""
        killed = [c for c in containers if c["execution_type"] == "OPPORTUNISTIC" and c["exit_reason"] == "preempted"]
        which, verb = (killed[-1]["id"], "Killed ") if killed else (self.batch.paused_id, "Paused ")
        if not which:
            return ""
        text = self.node.nmctl("explain", which, check=False).stdout
        return next((part for part in reversed(text.split("\n\n")) if verb in part), "")


# ---- results ------------------------------------------------------------------------------------------------------------

def formatted(values, form):
    """Prints the figures of both kinds of runs, so that the differences between runs are visible."""
    return " and ".join(form(v) for v in values)


def table(on, off, seconds):
    rows = [("two runs each of", "over-allocation", "plain YARN")]

    def row(label, get, form):
        rows.append((label, *(formatted([get(r) for r in kind], form) for kind in (on, off))))

    row(f"jobs done in {seconds} s", lambda r: r["jobs"], str)
    row("memory used, mean, of the capacity", lambda r: r["memory"], "{:.0%}".format)
    row("containers' CPU, mean, of all CPUs", lambda r: r["cpu"], "{:.0%}".format)
    row("other work's CPU, mean, of all CPUs", lambda r: r["foreign"], "{:.0%}".format)
    row("pauses", lambda r: r["paused"], str)
    row("kills, each tried again", lambda r: r["killed"], str)
    row("work lost to kills, CPU s", lambda r: r["wasted"], "{:.1f}".format)
    row("jobs that failed", lambda r: len(r["failed"]), str)
    row("guaranteed containers waited, ms", lambda r: r["waited"], "{:.0f}".format)
    row("CPU web got of what it wanted, surge", lambda r: r["share"], lambda v: f"{v:.1%}" if v else "unknown")
    row("web's speed while it ramps up, units/s", lambda r: r["rate"], lambda v: f"{v:.0f}" if v else "unknown")
    print()
    for label, a, b in rows:
        print(f"  {label:<38} {a:>16} {b:>14}")


def figures(results):
    """Returns (jobs, shares, foreign) for compare.report(), and the two kinds of results."""
    on, off = ([r for r in results if r["over_allocation"] == kind] for kind in (True, False))
    return [([r[what] for r in on], [r[what] for r in off]) for what in ("jobs", "share", "foreign")], on, off


def assumptions():
    return (f"Assumed here: services hold {plan.HELD_MEMORY:.0%} of the memory and {plan.HELD_VCORES:.0%} of the vcores and use a "
            "fifth of that most of the time; there are always jobs that wait, and each of them spends nearly all of its time "
            "waiting for data. Where a node is used as it is asked for, there is nothing to gain. The speed of guaranteed work is the share "
            "that web got of the CPU while it wanted all of it.")


def summary(results, seconds):
    measured, on, off = figures(results)
    table(on, off, seconds)
    print()
    for sentence in (*compare.report(*measured), assumptions()):
        print(textwrap.fill(sentence, 98, initial_indent="  ", subsequent_indent="  "))
    why = next((r["explain"] for r in on if r["explain"]), "")
    if why:
        print("\n  Why was one of them taken back? nmctl explain says:\n")
        print("\n".join("    " + line for line in why.strip().splitlines()))
    for r in results:
        for name, reason in r["failed"]:
            print(f"  {name} failed {TITLE[r['over_allocation']]}: {reason}")
    print("\n  Try it yourself: nmctl(1) and the README show how.")


# ---- live and recorded -------------------------------------------------------------------------------------------------

def begin_run(number, over_allocation, live, on_output=lambda: None):
    if not live:
        print(f"\n== run {number} of {len(ORDER)}: {TITLE[over_allocation]}", flush=True)
        on_output()
    picture = pictures.Picture(live, on_output)
    picture.open()
    return picture


def play(arg, live):
    """Does all four runs, and records them if a file is given."""
    gauge = progress.Progress(progress.to_terminal if live else None)
    gauge.step("half a second of work, to size the jobs after this machine")
    units = work.calibrate()
    machine_mib = int(open("/proc/meminfo").readline().split()[1]) // 1024
    arg.capacity = plan.capacity_mib(os.cpu_count(), machine_mib)
    size = plan.job(units, arg.capacity)
    print(f"  This machine does {units:.0f} units of work in a second of CPU time. A job waits {size.rounds} times for {size.wait:.2f} "
          f"s and does {size.units} units each time.", flush=True)
    recorder = recording.Recorder(arg.record, seconds=arg.seconds, capacity_mib=arg.capacity, units_per_second=round(units))
    results = []
    for number, over_allocation in enumerate(ORDER, 1):
        picture = begin_run(number, over_allocation, live, gauge.on_output)
        gauge.step(f"run {number} of {len(ORDER)}: nmd starts")

        def show(frame):
            recorder.put(frame)
            phase = plan.phase_of(frame["t"], arg.seconds, over_allocation)
            gauge.detail(f"run {number} of {len(ORDER)}, {phase}; {pictures.summed_up(frame)}")
            picture.show(TITLE[over_allocation], arg.seconds, phase, frame)

        try:
            results.append(Run(arg, over_allocation, size, show).play())
            recorder.put(results[-1])
        finally:
            gauge.step("")
            picture.close()
    gauge.stop()
    return results, recorder


def replay(path, live):
    header, runs = recording.load(path)
    about = f"recorded on {header['recorded']} ({header['cpus']} CPUs, {header['cpu']}, Linux {header['kernel']})"
    print(f"This is a recorded run of ./demo, {about}. Nothing runs on this machine.", flush=True)
    if live:
        time.sleep(2)
    for number, (frames, result) in enumerate(runs, 1):
        picture = begin_run(number, result["over_allocation"], live)
        try:
            begun = time.monotonic()
            for frame in frames:
                picture.show(f"RECORDED: {TITLE[result['over_allocation']]}", header["seconds"],
                             plan.phase_of(frame["t"], header["seconds"], result["over_allocation"]), frame)
                if live:  # in real time; for a log without delays
                    time.sleep(max(0.0, begun + frame["t"] + 0.5 - time.monotonic()))
        finally:
            picture.close()
    summary([result for _, result in runs], header["seconds"])
    print(f"  These figures were {about}.")


def record(recorder, results):
    measured, _, _ = figures(results)
    if not recorder.path:
        return
    if compare.has_result(*measured):
        recorder.write()
        print(f"\n  recorded: {recorder.path}")
    else:
        print(f"\n  {recorder.path} is not written: this run has no result")


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--seconds", type=int, default=24)
    parser.add_argument("--record")
    parser.add_argument("--replay")
    arg = parser.parse_args()
    if arg.seconds < plan.SHORTEST:
        sys.exit(f"demo: --seconds must be at least {plan.SHORTEST}: the story has its phases")
    if not arg.replay and not arg.build:
        parser.error("--build or --replay is needed")
    return arg


def main():
    arg = options()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(*_):
        # Only the first signal counts. A second Ctrl-C, or the hangup of a closed terminal, must not interrupt the cleanup.
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        raise Ended

    for number in signals:
        signal.signal(number, end)
    live = sys.stdout.isatty() and not arg.plain
    try:
        if arg.replay:
            replay(arg.replay, live)
            return
        results, recorder = play(arg, live)
    except Ended:
        print("demo: ended early; everything it started is gone.")
        sys.exit(130)
    summary(results, arg.seconds)
    record(recorder, results)
    if any(r["failed"] for r in results):
        sys.exit(1)


if __name__ == "__main__":
    progress.run(main)
