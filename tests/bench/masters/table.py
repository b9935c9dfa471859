# SPDX-License-Identifier: Apache-2.0
"""Prints bench.sh's table. Arguments: DIRECTORY with NAME.figures, a page of metrics, the heartbeat interval in ms, requests per round."""
import pathlib
import sys

SUBJECTS = {"no-proxy": "no proxy", "nmd": "nmd", "fill": "nmd, fill-nodes", "java": "Java"}
GOAL_ADDED_MS = 1


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(p / 100 * len(values)))]


def read(path):
    figures = {}
    for line in path.read_text().splitlines():
        name, *values = line.split()
        figures.setdefault(name, []).extend(map(int, values))
    return figures


def row(what, cells):
    print(f"  {what:<44}" + "".join(f"{cell:>18}" for cell in cells))


def milliseconds(usec):
    return f"{usec / 1000:.2f}"


def times(what, name):
    row(what, [f"{milliseconds(percentile(all_of[s][name], 50))} / {milliseconds(percentile(all_of[s][name], 99))}"
               for s in SUBJECTS])


def added(name):
    return {s: percentile(all_of[s][name], 50) - percentile(all_of["no-proxy"][name], 50) for s in SUBJECTS}


def own_quantiles(page):
    """Returns the upper bounds, in ms, of the histogram buckets that contain nmd's p50 and p99."""
    buckets = []
    for line in page.splitlines():
        if line.startswith("nm_amrmproxy_added_seconds_bucket"):
            buckets.append((float(line.split('le="')[1].split('"')[0]), float(line.split()[-1])))
    buckets.sort()
    return [next(le * 1000 for le, n in buckets if n >= p * buckets[-1][1]) for p in (0.5, 0.99)]


work, metrics, interval, asks = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
all_of = {s: read(work / f"{s}.figures") for s in SUBJECTS}
print(f"A master asks for {asks} opportunistic containers at once, with a heartbeat each {interval} ms; one node.")
print("p50 / p99 in ms.\n")
row("", SUBJECTS.values())
row("rounds", [len(all_of[s]["last"]) for s in SUBJECTS])
row("a master's very first container, p50 / most", [
    f"{milliseconds(percentile(f['fresh'], 50))} / {milliseconds(max(f['fresh']))}" if "fresh" in f else "-"
    for f in all_of.values()])
times("ask to first container", "first")
times("ask to last container", "last")
times("allocate that asks", "ask")
times("other allocates", "rest")
for name, what in ("rest", "other allocates"), ("ask", "one that asks"):
    row(f"added, p50, {what}", [milliseconds(v) for v in added(name).values()])
row("memory per attempt, KiB", [all_of[s].get("memory", ["-"])[0] for s in SUBJECTS])
row("whole node's memory then, Pss, MiB", [all_of[s]["whole"][0] >> 10 if "whole" in all_of[s] else "-" for s in SUBJECTS])
p50, p99 = own_quantiles(metrics.read_text())
print(f"\nnmd's metric nm_amrmproxy_added_seconds: at most {p50:g} ms are added to half of all allocates, and {p99:g} ms to 99 of 100.")
print("Memory per attempt: growth of nmd's Pss, or of Java's used heap after a garbage collection, divided by the number of masters.\n")
fresh, first = (percentile(all_of["nmd"][name], 50) / percentile(all_of["java"][name], 50) for name in ("fresh", "first"))
most = max(added("rest")["nmd"], added("ask")["nmd"]) / 1000
print(f"goal: an allocate takes at most {GOAL_ADDED_MS} ms longer by way of nmd: "
      f"{'met' if most <= GOAL_ADDED_MS else 'NOT met'} ({most:.2f} ms)")
print(f"goal: a master's first container in at most half of Java's time: {'met' if fresh <= .5 else 'NOT met'} "
      f"({fresh:.2f} of it for its very first, {first:.2f} of it for all others)")
