#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of `run`, and of tests/bench/spark-shuffle/run.

Arguments: the file of samples, the least number of samples of each row and node, FIGURE...

Fails if a figure was not measured so many times. Ratios are nmd's median divided by Java's.
"""
import statistics
import sys

AT_MOST, AT_LEAST = "<=", ">="
TWENTIETH, TENTH, FIFTH = (AT_MOST, 1 / 20, "1/20"), (AT_MOST, 1 / 10, "1/10"), (AT_MOST, 1 / 5, "1/5")
TEN_TIMES = (AT_LEAST, 10, "10")
SHUFFLE_RATE, SHUFFLE_CPU = (AT_LEAST, 1.5, "1.5"), (AT_MOST, 1 / 3, "1/3")
ROWS = {
    "memory": {
        "idle-pss": ("idle: memory, Pss", "MiB", TWENTIETH), "idle-rss": ("idle: memory, Rss", "MiB", TWENTIETH),
        "idle-threads": ("idle: threads", "", TWENTIETH),
        "hundred-pss": ("100 containers: memory, Pss", "MiB", TWENTIETH),
        "hundred-rss": ("100 containers: memory, Rss", "MiB", TWENTIETH),
        "hundred-threads": ("100 containers: threads", "", TWENTIETH)},
    "launch": {
        "start-p50": ("startContainers to first instruction, p50", "ms", FIFTH),
        "start-p99": ("startContainers to first instruction, p99", "ms", FIFTH),
        "report-p50": ("exit to reported, single, p50", "ms", None),
        "report-p99": ("exit to reported, single, p99", "ms", None),
        "together-p50": ("exit to reported, 8 together, p50", "ms", None),
        "together-p99": ("exit to reported, 8 together, p99", "ms", None),
        "rate": ("containers per second, as fast as answered", "1/s", TEN_TIMES)},
    "shell": {"shell": ("short distributed-shell containers, from submission to end", "s", None)},
    "shuffle": {f"{case}-{clients}{what}": (f"shuffle, {text}, {clients} client{'s' * (clients > 1)}{more}", unit, goal)
                for case, text in (("small", "parts of 10 KiB"), ("fresh", "new large parts"), ("retry", "large parts again"),
                                   ("cold", "large parts from disk"))
                for clients in (1, 4)
                for what, more, unit, goal in (("", "", "MiB/s", SHUFFLE_RATE), ("-cpu", ": CPU", "s/GiB", SHUFFLE_CPU))},
    "localize": {
        "large-public": ("localization of 100 MB, public", "ms", None),
        "large-private": ("localization of 100 MB, private", "ms", None),
        "small-public": ("localization of 2,000 files, public", "ms", None),
        "small-private": ("localization of 2,000 files, private", "ms", None)},
    "restart": {"restart": ("restart with 50 containers", "ms", None)},
    "give-way": {
        "give-way-p50": ("guaranteed arrival that an opportunistic one must make room for, p50", "ms", FIFTH),
        "give-way-max": ("the same, slowest", "ms", None)},
    "logs": {"logs": ("log aggregation of 1 GB", "s", None), "logs-cpu": ("log aggregation of 1 GB: CPU", "s", None)},
    "spark-small": {f"spark-small-{clients}{what}": (f"Spark, blocks of 10 KiB, {clients} client{'s' * (clients > 1)}{more}", unit, goal)
                    for clients in (1, 4)
                    for what, more, unit, goal in (("", "", "MiB/s", SHUFFLE_RATE), ("-cpu", ": CPU", "s/GiB", SHUFFLE_CPU))},
    "spark-large": {f"spark-large-{clients}{what}": (f"Spark, blocks of 50 MB, {clients} client{'s' * (clients > 1)}{more}", unit, goal)
                    for clients in (1, 4)
                    for what, more, unit, goal in (("", "", "MiB/s", None), ("-cpu", ": CPU", "s/GiB", SHUFFLE_CPU))},
    "spark-memory": {
        "spark-memory": ("Spark, 2,000 executors and 1,000 idle connections: memory, Rss", "MiB", TENTH),
        "spark-memory-start": ("Spark, after the start: memory, Rss", "MiB", None),
        "spark-memory-growth": ("Spark, the difference: memory of executors and connections", "MiB", None)},
    "spark-slow": {
        f"spark-{case}-{percentile}": (f"Spark, fetch of 10 KiB, {text}, {percentile}", "ms", None)
        for case, text in (("alone", "alone"), ("slow", "beside 500 slow readers")) for percentile in ("p50", "p99")}}
FORMAT = "{:<70} {:>6} {:>21} {:>21} {:>7}  {}"


def read(path):
    samples = {}
    for line in open(path):
        name, who, value = line.split("\t")
        samples.setdefault((name, who), []).append(float(value))
    return samples


def short(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def verdict(ratio, goal):
    if not goal:
        return "no goal"
    way, limit, text = goal
    met = ratio <= limit if way == AT_MOST else ratio >= limit
    return f"goal {way} {text}: {'met' if met else 'MISSED'}"


def main():
    samples, least, figures = read(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    print(FORMAT.format("figure", "", "nmd: min / median", "Java: min / median", "ratio", ""))
    missing = []
    for name, (text, unit, goal) in ((name, row) for figure in figures for name, row in ROWS[figure].items()):
        ours, theirs = (samples.get((name, who), []) for who in ("nmd", "java"))
        if min(len(ours), len(theirs)) < least:
            missing.append(text)
            print(FORMAT.format(text, unit, "", "", "", f"NOT MEASURED: {len(ours)} and {len(theirs)} values of {least}"))
            continue
        medians = [statistics.median(values) for values in (ours, theirs)]
        cells = [f"{short(min(values))} / {short(median)}" for values, median in zip((ours, theirs), medians)]
        ratio = medians[0] / medians[1] if medians[1] else float("inf")
        print(FORMAT.format(text, unit, *cells, f"{ratio:.3g}", verdict(ratio, goal)))
    if missing:
        print(f"bench-yarn: not measured: {'; '.join(missing)}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
