#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws README's picture, a surge and a return, from a recorded run of the demo:

  tests/demo/draw.py RECORDING OUTPUT.svg

RECORDING is a file that ./demo --record has written. It has runs with over-allocation and without. The picture shows the first run of
each kind, over the same time. The same recording gives a picture with the same bytes. Needs only Python.
"""
import sys
from xml.sax.saxutils import escape

sys.dont_write_bytecode = True  # leaves no files in the tree

import plan  # noqa: E402
import recording  # noqa: E402

WIDTH, LEFT, RIGHT = 860, 64, 18
PANEL, GAP, TOP = 120, 34, 78
INK, FAINT, BAND = "#24292f", "#8c959f", "#fff4d6"
WITH, WITHOUT, PAUSED, KILLED = "#1a7f37", "#8c959f", "#bf8700", "#cf222e"
SURGES = {1: "a service needs its CPU", 3: "a service needs its memory"}  # phases of plan.PHASES


class Axes:
    """One panel of the picture: time to the right, values from 0 to `top` upwards."""

    def __init__(self, number, seconds, top):
        self.y0 = TOP + number * (PANEL + GAP) + PANEL
        self.seconds, self.top = seconds, top

    def x(self, t):
        return LEFT + (WIDTH - LEFT - RIGHT) * min(t / self.seconds, 1)

    def y(self, value):
        return self.y0 - PANEL * min(value / self.top, 1)


def text(x, y, words, colour=INK, anchor="start", size=12, bold=False):
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" text-anchor="{anchor}"{weight}>{escape(words)}</text>'


def line(x1, y1, x2, y2, colour=FAINT, width=1.0, dash=""):
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"{dashes}/>')


def steps(axes, points):
    """Returns the corners of a curve that keeps each value until the next one."""
    corners, last = [], None
    for t, value in points:
        if last is not None:
            corners.append((axes.x(t), axes.y(last)))
        corners.append((axes.x(t), axes.y(value)))
        last = value
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def curve(axes, points, colour, filled=False, width=1.8):
    corners = steps(axes, points)
    drawn = []
    if filled:
        first, last = axes.x(points[0][0]), axes.x(points[-1][0])
        drawn.append(f'<polygon points="{first:.1f},{axes.y0} {corners} {last:.1f},{axes.y0}" fill="{colour}" fill-opacity="0.16"/>')
    drawn.append(f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
    return drawn


def share_panel(axes, title, what, lent, plain):
    """Draws the use of a resource with the two thresholds."""
    drawn = [text(LEFT, axes.y0 - PANEL - 8, title, bold=True)]
    for share in (0, 0.5, 1):
        drawn += [line(LEFT, axes.y(share), WIDTH - RIGHT, axes.y(share), "#d0d7de", 0.7),
                  text(LEFT - 8, axes.y(share) + 4, f"{share:.0%}", FAINT, "end", 11)]
    for name, key in (("α", "alpha"), ("β", "beta")):
        at = axes.y(lent[0][key][what])
        drawn += [line(LEFT, at, WIDTH - RIGHT, at, FAINT, 0.8, "3 3"), text(WIDTH - RIGHT + 3, at + 4, name, FAINT, size=11)]
    drawn += curve(axes, [(f["t"], f["used"][what]) for f in plain], WITHOUT, width=1.2)
    drawn += curve(axes, [(f["t"], f["used"][what]) for f in lent], WITH, filled=True)
    return drawn


def count_panel(axes, lent, plain):
    """Draws the numbers of running and paused opportunistic containers, and when containers were killed."""
    drawn = [text(LEFT, axes.y0 - PANEL - 8, "opportunistic containers", bold=True),
             text(LEFT + 180, axes.y0 - PANEL - 8, "running", WITH), text(LEFT + 238, axes.y0 - PANEL - 8, "paused", PAUSED),
             text(LEFT + 290, axes.y0 - PANEL - 8, "× killed", KILLED)]
    for count in (0, axes.top // 2, axes.top):
        drawn += [line(LEFT, axes.y(count), WIDTH - RIGHT, axes.y(count), "#d0d7de", 0.7),
                  text(LEFT - 8, axes.y(count) + 4, str(count), FAINT, "end", 11)]
    drawn += curve(axes, [(f["t"], f["running"][1]) for f in plain], WITHOUT, width=1.2)
    drawn += curve(axes, [(f["t"], f["running"][1]) for f in lent], WITH, filled=True)
    if any(f["paused"] for f in lent):
        drawn += curve(axes, [(f["t"], f["paused"]) for f in lent], PAUSED)
    for before, frame in zip(lent, lent[1:]):
        if frame["preemptions"][2] > before["preemptions"][2]:
            drawn.append(text(axes.x(frame["t"]), axes.y(frame["running"][1]) - 5, "×", KILLED, "middle", 14, True))
    return drawn


def bands(axes, bottom, seconds):
    """Returns the two phases in which a service needs the resources of its request."""
    drawn, begin = [], 0
    for number, (end, _) in enumerate(plan.PHASES):
        if number in SURGES:
            x1, x2 = axes.x(begin * seconds), axes.x(end * seconds)
            drawn += [f'<rect x="{x1:.1f}" y="{TOP - 22}" width="{x2 - x1:.1f}" height="{bottom - TOP + 22}" fill="{BAND}"/>',
                      text((x1 + x2) / 2, TOP - 28, SURGES[number], INK, "middle", 11)]
        begin = end
    return drawn


def caption(header, results):
    """Returns the text below the picture: the settings of the run, and the means of its two runs of each kind."""
    jobs = {kind: [r["jobs"] for r in results if r["over_allocation"] == kind] for kind in (True, False)}
    done = " and ".join(f"{sum(jobs[kind]) / len(jobs[kind]):g} {name}" for kind, name in
                        ((True, "with nmd"), (False, "with plain YARN")) if jobs[kind])
    return (f"./demo on {header['cpus']} CPUs, Linux {header['kernel']}, {header['recorded']}. "
            f"Jobs done in {header['seconds']} s: {done}.")


def picture(header, runs):
    seconds = header["seconds"]
    lent, plain = (next(frames for frames, result in runs if result["over_allocation"] == kind and frames) for kind in (True, False))
    most = max(f["running"][1] + f["paused"] for f in lent + plain)
    panels = [Axes(0, seconds, 1.0), Axes(1, seconds, 1.0), Axes(2, seconds, max(2, most + most % 2))]
    bottom = panels[-1].y0
    height = bottom + 62
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
             'font-family="sans-serif" role="img">',
             "<title>A surge and a return: what a node uses, with over-allocation and without</title>",
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
             line(LEFT, 20, LEFT + 24, 20, WITH, 3), text(LEFT + 30, 24, "with over-allocation (nmd)"),
             line(LEFT + 210, 20, LEFT + 234, 20, WITHOUT, 2), text(LEFT + 240, 24, "without (plain YARN)")]
    drawn += bands(panels[0], bottom, seconds)
    drawn += share_panel(panels[0], "memory in use", "memory", lent, plain)
    drawn += share_panel(panels[1], "CPU in use", "cpu", lent, plain)
    drawn += count_panel(panels[2], lent, plain)
    for t in range(0, seconds + 1, 4):
        drawn.append(text(panels[2].x(t), bottom + 18, f"{t} s", FAINT, "middle", 11))
    drawn += [text(LEFT, bottom + 44, caption(header, [result for _, result in runs]), FAINT, size=11), "</svg>"]
    return "\n".join(drawn) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: tests/demo/draw.py RECORDING OUTPUT.svg")
    header, runs = recording.load(sys.argv[1])
    if {result["over_allocation"] for _, result in runs} != {True, False}:
        sys.exit(f"draw: {sys.argv[1]} must have runs with over-allocation and runs without")
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(picture(header, runs))


if __name__ == "__main__":
    main()
