#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo's story; ./demo builds first and then runs this.

The same guaranteed services and the same batch of opportunistic jobs run on a private nmd: twice with over-allocation, and
twice without (plain YARN: only what is allocated to nobody may be used), so that it is known what two runs of the same kind
differ by (compare.py). The services ask for nearly the whole node and use little of it until they ramp up, CPU first, then
memory. What they leave has room for each of the jobs, so that none of them stands before the others for good without
over-allocation, where they run one by one. What is on the screen is what `nmctl status --json` and `nmctl list --json` say;
the figures at the end come from there, from the jobs' exits and from what the services counted.
"""
import argparse
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

sys.dont_write_bytecode = True  # the tree stays as it was

import compare  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
KINDS = ["compile", "compress", "sort", "hash"]
SIZES = {"compress": "1", "sort": "2", "hash": "1", "compile": "2"} # small, so that many enough are done to tell runs apart
N_JOBS = 32
CAPACITY_MIB = 1536
# What the services ask for, of the memory; less than a job asks for is never left.
ASKED = {"web": 0.26, "db": 0.55}
JOB_MIB = {"sort": 280}
JOB_MIB_ELSE = 120
ORDER = (True, False, False, True)  # with over-allocation or without; what changes with time meets both kinds


class Ended(Exception):
    """Ctrl-C or SIGTERM: clean up and leave."""


def find_cgroup_root():
    for line in open("/proc/mounts"):
        fields = line.split()
        if fields[2] == "cgroup2":
            return fields[1]
    sys.exit("demo: this host has no cgroup2 mount")


class Node:
    """A private nmd with everything of its own, and nmctl for it."""

    def __init__(self, build, over_allocation, capacity_mib):
        self.build = pathlib.Path(build).resolve()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="nmd-demo."))
        self.slice = f"nmdemo{os.getpid()}.slice"
        self.socket = str(self.dir / "nmd.sock")
        self.over_allocation = over_allocation
        self.capacity_mib = capacity_mib
        self.process = None

    def start(self):
        cpus = os.cpu_count()
        (self.dir / "nmd.conf").write_text(
            f"[node]\nmemory = {self.capacity_mib}M\nvcores = {cpus * 4}\n"
            f"[over-allocation]\nenabled = {'yes' if self.over_allocation else 'no'}\n"
            "warmup = 1s\nwarmup-samples = 2\n"
            "[preemption]\ncpu-samples = 4\npause-deadline = 60s\nbreaker = 2s\n"
            "[sampling]\nperiod = 250ms\n"
            "[health]\ndisk-min-free = 0\n")
        self.log = open(self.dir / "nmd.log", "w")
        self.process = subprocess.Popen(
            [str(self.build / "nmd"), "--config", str(self.dir / "nmd.conf"), "--socket", self.socket,
             "--state-dir", str(self.dir / "state"), "--runtime-dir", str(self.dir / "run"), "--slice", self.slice],
            stderr=self.log, stdin=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 20
        while True:
            if self.process.poll() is not None or time.monotonic() > deadline:
                tail = "".join(open(self.dir / "nmd.log").readlines()[-15:])
                raise SystemExit(f"demo: nmd did not come up:\n{tail}")
            if self.nmctl("version", check=False).returncode == 0:
                return
            time.sleep(0.05)

    def nmctl(self, *args, check=True):
        done = subprocess.run([str(self.build / "nmctl" / "nmctl"), "--socket", self.socket, *args],
                              capture_output=True, text=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"nmctl {' '.join(args)}: {done.stderr.strip()}")
        return done

    def json(self, *args):
        return json.loads(self.nmctl(*args, "--json").stdout)

    def run(self, name, command, memory_mib, vcores, opportunistic, env=()):
        args = ["run", "--detach", "--name", name, "-m", f"{memory_mib}M", "-c", str(vcores),
                "--opportunistic" if opportunistic else "--guaranteed"]
        for e in env:
            args += ["-e", e]
        return self.nmctl(*args, "--", *command, check=False)

    def stop(self):
        """By the slice alone, so that it works whatever state nmd is in."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if shutil.which("systemctl") and os.path.isdir("/run/systemd/system"):
            subprocess.run(["systemctl", "stop", self.slice], capture_output=True)
        path = pathlib.Path(find_cgroup_root()) / self.slice
        if (path / "cgroup.kill").exists():
            (path / "cgroup.kill").write_text("1")
        deadline = time.monotonic() + 10
        while path.exists() and time.monotonic() < deadline:
            for d in [*path.glob("*.scope"), path]:
                try:
                    d.rmdir()
                except OSError:
                    pass
            time.sleep(0.02)
        shutil.rmtree(self.dir, ignore_errors=True)


# ---- the picture ---------------------------------------------------------------------------------------------------

SYMBOL = {"SCHEDULED": "·", "RUNNING": "█", "RESUMING": "█", "PAUSING": "▒", "PAUSED": "░", "KILLING": "×", "COMPLETED": " "}
COLOUR = {"G": "\033[34m", "O": "\033[32m", "░": "\033[33m", "▒": "\033[33m", "×": "\033[31m", "✗": "\033[31m", "✓": "\033[32m",
          "·": "\033[90m"}
RESET = "\033[0m"


def bar(share, alpha, beta, width, colour):
    """[██████░░░α░░░β] with the two thresholds where they are."""
    filled = min(width, round(share * width))
    cells = ["█" if i < filled else "░" for i in range(width)]
    for mark, at in (("α", alpha), ("β", beta)):
        cells[min(width - 1, round(at * width))] = mark
    text = "".join(cells)
    if not colour:
        return text
    tint = "\033[31m" if share > beta else "\033[33m" if share >= alpha else "\033[32m"
    return tint + text + RESET


class Picture:
    def __init__(self, live):
        self.live = live
        self.lanes = collections.OrderedDict()  # id -> [name, type, cells]
        self.said = []
        self.told = set()
        self.foreign = ""  # what is to be said of other work, for as long as it is so
        self.columns, self.rows = shutil.get_terminal_size((100, 30))

    def open(self):
        if self.live:
            sys.stdout.write("\033[?1049h\033[?25l")

    def close(self):
        if self.live:
            sys.stdout.write("\033[?25h\033[?1049l")
            sys.stdout.flush()

    def say(self, seconds, text):
        self.said.append(f"{seconds:5.1f}s  {text}")
        if not self.live:
            print(self.said[-1], flush=True)

    def note(self, tick, containers):
        """One more cell in every lane."""
        for c in containers:
            lane = self.lanes.setdefault(c["id"], [c["name"] or "", c["execution_type"][0], " " * tick, False])
            if lane[3]:
                continue
            symbol = SYMBOL.get(c["state"], "?")
            if c["state"] == "COMPLETED":
                symbol = "✓" if c["exit_reason"] == "exited" and c["exit_code"] == 0 else "✗"
                lane[3] = True
            lane[2] = lane[2].ljust(tick) + symbol

    def paint(self, cells, kind):
        out, last = [], ""
        for ch in cells:
            tint = COLOUR.get(ch) or (COLOUR[kind] if ch == "█" else "")
            if tint != last:
                out.append(RESET + tint)
                last = tint
            out.append(ch)
        return "".join(out) + RESET

    def draw(self, title, seconds, length, status, phase):
        if not self.live:
            return
        node, counts = status["node"], status["containers"]
        alpha, beta = node["over_allocation_threshold"], node["preemption_threshold"]
        width = max(20, self.columns - 34)
        lines = [f"\033[1m{title}\033[0m   {seconds:4.0f} of {length} s   {phase}", ""]
        for r, label in (("memory", "memory"), ("cpu", "CPU")):
            u = node["utilization"][r]
            lines.append(f"{label:>7} used {bar(u, alpha[r], beta[r], width, True)} {u:4.0%}")
        cap = node["capacity"]["vcores"]
        for who in ("guaranteed", "opportunistic"):
            a = node["allocated"][who]
            lines.append(f"   {who:<13} allocated {a['memory_bytes'] // MIB:5} MiB, {a['vcores']:g} of {cap:g} vcores")
        p = status["preemptions"]
        lines += ["", f"running {counts['guaranteed_running']} guaranteed, {counts['opportunistic_running']} opportunistic   "
                  f"paused {counts['paused']}   queued {counts['queued']}   │ paused {p['paused']}× resumed {p['resumed']}× "
                  f"killed {p['killed']}×", self.foreign and f"\033[33m{self.foreign}\033[0m"]
        room = self.rows - len(lines) - 6
        shown = [l for l in self.lanes.values() if not l[3]]
        ended = [l for l in self.lanes.values() if l[3]]
        shown = (ended[-max(0, room - len(shown)):] if room > len(shown) else []) + shown[:room]
        span = self.columns - 22
        for name, kind, cells, _ in sorted(shown, key=lambda lane: lane[1] != "G"):
            lines.append(f" {kind} {name[:15]:<15} {self.paint(cells[-span:], kind)}")
        lines += [""] + [f"\033[90m{s[:self.columns - 1]}\033[0m" for s in self.said[-3:]]
        lines.append("\033[90m█ running  ░ paused  · queued  × dying  ✗ killed  ✓ done   (Ctrl-C ends it)\033[0m")
        sys.stdout.write("\033[H" + "\033[K\n".join(lines[:self.rows - 1]) + "\033[K\033[J")
        sys.stdout.flush()


# ---- one run ---------------------------------------------------------------------------------------------------------

def plans(seconds, cpus, capacity_mib):
    """When the services use what: (name, memory request, vcores, [(seconds, cpus, MiB)])."""
    t = seconds / 50.0
    low, high = int(capacity_mib * (ASKED["web"] - 0.02)), int(capacity_mib * (ASKED["db"] - 0.02))
    web = [(16 * t, 0.10, low), (10 * t, cpus / 2, low), (24 * t - 3, 0.10, low)]
    db = [(28 * t, 0.05, 100), (10 * t, 0.15, high), (12 * t - 3, 0.05, 100)]
    return [("web", int(capacity_mib * ASKED["web"]), cpus * 2, web),
            ("db", int(capacity_mib * ASKED["db"]), cpus * 2 - 1, db)]


def phase_of(seconds, length):
    t = length / 50.0
    if seconds < 16 * t:
        return "services idle: their unused share is lent out"
    if seconds < 26 * t:
        return "web ramps up its CPU"
    if seconds < 28 * t:
        return "web is quiet again"
    if seconds < 38 * t:
        return "db ramps up its memory"
    return "services idle again"


class Batch:
    """The opportunistic jobs: each is submitted until it is done; a killed one is tried again."""

    def __init__(self, node):
        self.node = node
        self.waiting = collections.deque((f"{KINDS[i % 4]}-{i // 4 + 1}", KINDS[i % 4]) for i in range(N_JOBS))
        self.kind_of = dict(self.waiting)
        self.live = {}  # id -> name
        self.done, self.failed, self.retries = set(), [], 0
        self.paused_id = None

    def submit(self, say):
        while self.waiting:
            name, kind = self.waiting[0]
            r = self.node.run(name, [str(HERE / "jobs.sh"), kind, SIZES[kind]], JOB_MIB.get(kind, JOB_MIB_ELSE), 1, True,
                              env=[f"NMD_BUILD={self.node.build}"])
            if r.returncode != 0 and "queue" in r.stderr:
                return  # it is full: again in half a second
            self.waiting.popleft()
            if r.returncode != 0:
                self.fail(name, r.stderr.strip(), say)
            else:
                self.live[r.stdout.strip()] = name

    def fail(self, name, why, say):
        self.failed.append((name, why))
        say(f"{name} failed: {why}")

    def last_words(self, container):
        """Of a job that failed: the end of what it wrote."""
        words = self.node.nmctl("logs", container, check=False)
        lines = (words.stderr + words.stdout).strip().splitlines()
        return f" ({lines[-1][:100]})" if lines else ""

    def look(self, containers, say):
        for c in containers:
            if c["state"] == "PAUSED":
                self.paused_id = c["id"]
            name = self.live.get(c["id"])
            if name is None or c["state"] != "COMPLETED":
                continue
            del self.live[c["id"]]
            if c["exit_reason"] == "exited" and c["exit_code"] == 0:
                self.done.add(name)
                say(f"{name} is done")
            elif c["exit_reason"] in ("preempted", "pause-deadline", "oom-killed"):
                self.retries += 1
                self.waiting.append((name, self.kind_of[name]))
                say(f"{name} was killed ({c['exit_reason']}) and is tried again")
            else:
                self.fail(name, f"{c['exit_reason']}, exit code {c['exit_code']}{self.last_words(c['id'])}", say)


def tell_changes(containers, before, say):
    for c in containers:
        was, now = before.get(c["id"]), c["state"]
        before[c["id"]] = now
        if was == now or c["execution_type"] != "OPPORTUNISTIC":
            continue
        if now == "PAUSED":
            say(f"{c['name']} is paused: CPU is needed")
        elif now == "RUNNING" and was in ("PAUSED", "RESUMING"):
            say(f"{c['name']} is resumed")


class Foreign:
    """Other work on the machine while a run is under way: told when it begins to matter and when it ends."""

    def __init__(self):
        self.shares, self.recent, self.is_told = [], collections.deque(maxlen=6), False

    def look(self, machine, containers, say):
        # The machine's own figure: without over-allocation nobody reckons with what is used.
        ours = sum(c["cpu_used_millicores"] or 0 for c in containers)
        share = max(0, machine["cpu_busy_millicores"] - ours) / max(1, machine["cpus"] * 1000)
        self.shares.append(share)
        self.recent.append(share)
        now = compare.mean(self.recent)
        if len(self.recent) == self.recent.maxlen and (now > compare.FOREIGN) != self.is_told:
            self.is_told = not self.is_told
            say(f"other work uses {now:.0%} of this machine's CPUs: that is not lent out" if self.is_told
                else "other work has let go of this machine's CPUs")
        return f"other work on this machine uses {now:.0%} of its CPUs" if self.is_told else ""


def run_once(build, over_allocation, seconds, picture):
    capacity = min(CAPACITY_MIB, int(int(open("/proc/meminfo").readline().split()[1]) / 1024 * 0.6))
    node = Node(build, over_allocation, capacity)
    title = "with over-allocation" if over_allocation else "without over-allocation (plain YARN)"
    result = {"title": title, "over_allocation": over_allocation, "cpu": [], "memory": [], "capacity": capacity}
    foreign = Foreign()
    try:
        node.start()
        batch, before, services = Batch(node), {}, {}
        start = time.monotonic()

        def say(text):
            picture.say(time.monotonic() - start, text)

        for name, memory, vcores, plan in plans(seconds, os.cpu_count(), capacity):
            path = node.dir / f"{name}.plan"
            path.write_text("".join(f"{s} {c} {m}\n" for s, c, m in plan))
            r = node.run(name, [sys.executable, str(HERE / "service.py"), str(path)], memory, vcores, False)
            if r.returncode != 0:
                raise SystemExit(f"demo: {r.stderr.strip()}")
            services[name] = r.stdout.strip()
        tick = 0
        while (now := time.monotonic() - start) < seconds:
            batch.submit(say)
            status, containers = node.json("status"), node.json("list", "--all")
            batch.look(containers, say)
            tell_changes(containers, before, say)
            picture.foreign = foreign.look(status["node"]["machine"], containers, say)
            # Measured, not what the policy reckons with: in the plain run that is the sum of what was asked for.
            result["cpu"].append(sum(c["cpu_used_millicores"] or 0 for c in containers) / 1000 / os.cpu_count())
            result["memory"].append(sum(c["memory_used_bytes"] or 0 for c in containers) / MIB / capacity)
            picture.note(tick, containers)
            picture.draw(title, now, seconds, status, phase_of(now, seconds))
            tick += 1
            time.sleep(max(0.0, start + tick * 0.5 - time.monotonic()))
        result["foreign"] = compare.mean(foreign.shares)
        finish(node, batch, services, result)
    finally:
        node.stop()
    return result


def explanation(node, container, verb):
    """The one decision of that kind, out of all that nmctl explain tells about the container."""
    text = node.nmctl("explain", container, check=False).stdout
    return next((part for part in reversed(text.split("\n\n")) if verb in part), "")


def busy_share(seconds=1.0):
    """How much of the CPUs is used right now, before we start anything."""
    def read():
        ticks = [int(x) for x in open("/proc/stat").readline().split()[1:9]]
        return sum(ticks), ticks[3] + ticks[4]

    total, idle = read()
    time.sleep(seconds)
    total2, idle2 = read()
    return 1 - (idle2 - idle) / max(1, total2 - total)


def finish(node, batch, services, result):
    """The services end by themselves about now; their own count of work is the proof of the promise."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        containers = {c["id"]: c for c in node.json("list", "--all")}
        if all(containers[i]["state"] == "COMPLETED" for i in services.values()):
            break
        time.sleep(0.2)
    status = node.json("status")
    result["jobs"] = len(batch.done)
    result["failed"] = batch.failed
    result["retries"] = batch.retries
    result["preemptions"] = status["preemptions"]
    result["wasted"] = sum(c.get("cpu_time_usec") or 0 for c in containers.values()
                           if c["exit_reason"] in ("preempted", "pause-deadline", "oom-killed")) / 1e6
    result["waited"] = max((containers[i]["started_usec"] - containers[i]["submitted_usec"]) / 1e3 for i in services.values())
    text = node.nmctl("logs", services["web"], check=False).stdout
    result["rate"] = None
    for line in text.splitlines():
        counted = json.loads(line)
        if counted["busy"] > 0:
            result["rate"] = counted["units"] / counted["busy"]
    killed = [c for c in containers.values() if c["execution_type"] == "OPPORTUNISTIC" and c["exit_reason"] == "preempted"]
    result["explain"] = explanation(node, killed[-1]["id"], "Killed ") if killed else ""
    if not killed and batch.paused_id:
        result["explain"] = explanation(node, batch.paused_id, "Paused ")


def told(values, form):
    """Both runs' figures, so that anybody sees how they differ."""
    return " and ".join(form(v) for v in values)


def table(on, off, seconds):
    rows = [("two runs each of", "over-allocation", "plain YARN")]

    def row(label, get, form):
        rows.append((label, *(told([get(r) for r in kind], form) for kind in (on, off))))

    row(f"jobs done in {seconds} s (of {N_JOBS})", lambda r: r["jobs"], str)
    row("mean CPU use, of the node", lambda r: mean_of(r["cpu"]), "{:.0%}".format)
    row("mean memory use, of what is offered", lambda r: mean_of(r["memory"]), "{:.0%}".format)
    row("other work, of the machine's CPUs", lambda r: r["foreign"], "{:.0%}".format)
    row("pauses", lambda r: r["preemptions"]["paused"], str)
    row("kills, each tried again", lambda r: r["preemptions"]["killed"], str)
    row("work lost to kills, CPU s", lambda r: r["wasted"], "{:.1f}".format)
    row("jobs that failed", lambda r: len(r["failed"]), str)
    row("guaranteed containers waited, ms", lambda r: r["waited"], "{:.0f}".format)
    row("web's speed while it ramps up, units/s", lambda r: r["rate"], lambda v: f"{v:.0f}" if v else "unknown")
    print()
    for label, a, b in rows:
        print(f"  {label:<38} {a:>16} {b:>14}")


def mean_of(values):
    return compare.mean(values) if values else 0.0


def assumptions():
    cpus = os.cpu_count()
    asked = ASKED["web"] + ASKED["db"]
    return (f"Assumed here: services ask for {asked:.0%} of the memory and {1 - 1 / (cpus * 4):.0%} of the vcores and use far "
            "less most of the time, and there are always jobs that wait. Where a node is used as it is asked for, there is "
            "nothing to gain.")


def summary(results, seconds):
    on, off = ([r for r in results if r["over_allocation"] == kind] for kind in (True, False))
    table(on, off, seconds)
    print()
    figures = ([[r[what] for r in kind] for kind in (on, off)] for what in ("jobs", "rate", "foreign"))
    for sentence in (*compare.tell(*figures), assumptions()):
        print(textwrap.fill(sentence, 98, initial_indent="  ", subsequent_indent="  "))
    why = next((r["explain"] for r in on if r["explain"]), "")
    if why:
        print("\n  Why was one of them taken back? nmctl explain says:\n")
        print("\n".join("    " + line for line in why.strip().splitlines()))
    for r in results:
        for name, reason in r["failed"]:
            print(f"  {name} failed {r['title']}: {reason}")
    print("\n  Try it yourself: nmctl(1) and the README show how.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--seconds", type=int, default=30)
    arg = parser.parse_args()
    if arg.seconds < 20:
        sys.exit("demo: --seconds must be at least 20: the story has its phases")

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(*_):
        # Only the first one counts: a second Ctrl-C, or the hangup of a terminal that is closed, must not end the tidying up.
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        raise Ended

    for number in signals:
        signal.signal(number, end)
    live = sys.stdout.isatty() and not arg.plain
    results = []
    busy = busy_share()
    if busy > compare.FOREIGN:
        print(f"demo: note: other work uses {busy:.0%} of this machine's CPUs already. nmd lends out only what is really free, "
              "so fewer jobs get done, and the runs compare less well.", flush=True)
        time.sleep(2)
    try:
        for i, over_allocation in enumerate(ORDER):
            picture = Picture(live)
            if not live:
                print(f"\n== run {i + 1} of {len(ORDER)}: "
                      f"{'with over-allocation' if over_allocation else 'the same without over-allocation'}", flush=True)
            picture.open()
            try:
                results.append(run_once(arg.build, over_allocation, arg.seconds, picture))
            finally:
                picture.close()
    except Ended:
        print("demo: ended early; everything it started is gone.")
        sys.exit(130)
    summary(results, arg.seconds)
    if any(r["failed"] for r in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
