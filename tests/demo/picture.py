# SPDX-License-Identifier: Apache-2.0
"""Pictures of a run, live or recorded: frame_of() makes a frame from nmctl's output, and Picture draws it. A frame has only
plain values, so that it can be written to a file, and only the containers that have changed."""
import collections
import os
import shutil
import sys

import progress

MIB = 1 << 20
SYMBOL = {"SCHEDULED": "·", "RUNNING": "█", "RESUMING": "█", "PAUSING": "▒", "PAUSED": "░", "KILLING": "×", "COMPLETED": " "}
COLOUR = {"G": "\033[34m", "O": "\033[32m", "░": "\033[33m", "▒": "\033[33m", "×": "\033[31m", "✗": "\033[31m", "✓": "\033[32m",
          "·": "\033[90m"}
RESET = "\033[0m"


def used(containers, capacity_mib, cpus):
    """Returns the shares of the node that are in use. The policy's utilization differs: without over-allocation it is what is
    allocated, used or not."""
    return {"memory": sum(c["memory_used_bytes"] or 0 for c in containers) / MIB / capacity_mib,
            "cpu": sum(c["cpu_used_millicores"] or 0 for c in containers) / 1000 / cpus}


def symbol_of(c):
    if c["state"] == "COMPLETED":
        return "✓" if c["exit_reason"] == "exited" and c["exit_code"] == 0 else "✗"
    return SYMBOL.get(c["state"], "?")


def frame_of(seconds, status, containers, capacity_mib, before):
    """before: the symbols of the previous frame, which are updated to the symbols of this frame."""
    node, counts, p = status["node"], status["containers"], status["preemptions"]
    changed = []
    for c in containers:
        symbol = symbol_of(c)
        if before.get(c["id"]) != symbol:
            before[c["id"]] = symbol
            changed.append([list(before).index(c["id"]), c["name"] or "", c["execution_type"][0], symbol])
    allocated = node["allocated"]
    return {
        "t": round(seconds, 2),
        "used": {r: round(share, 3) for r, share in used(containers, capacity_mib, os.cpu_count()).items()},
        "alpha": node["over_allocation_threshold"], "beta": node["preemption_threshold"],
        "allocated": {who: [allocated[who]["memory_bytes"] // MIB, allocated[who]["vcores"]] for who in allocated
                      if who in ("guaranteed", "opportunistic")},
        "vcores": node["capacity"]["vcores"],
        "running": [counts["guaranteed_running"], counts["opportunistic_running"]],
        "paused": counts["paused"], "queued": counts["queued"],
        "preemptions": [p["paused"], p["resumed"], p["killed"]],
        "changed": changed, "messages": [], "foreign": "",
    }


def bar(share, alpha, beta, width, colour):
    """Returns a bar [██████░░░α░░░β], with marks at the two thresholds."""
    filled = min(width, round(share * width))
    cells = ["█" if i < filled else "░" for i in range(width)]
    for mark, at in (("α", alpha), ("β", beta)):
        cells[min(width - 1, round(at * width))] = mark
    text = "".join(cells)
    if not colour:
        return text
    tint = "\033[31m" if share > beta else "\033[33m" if share >= alpha else "\033[32m"
    return tint + text + RESET


def summed_up(frame):
    """Returns the frame as one line of a log."""
    g, o = frame["running"]
    return (f"used of the node: memory {frame['used']['memory']:.0%}, CPU {frame['used']['cpu']:.0%}; {g} guaranteed and {o} opportunistic run, "
            f"{frame['paused']} paused, {frame['queued']} wait")


class Picture(progress.Screen):
    """live: draws on a terminal. Otherwise prints a line for each event."""

    def __init__(self, live, on_output=lambda: None):
        self.live, self.on_output = live, on_output
        self.lanes = collections.OrderedDict()  # number -> [name, type, cells, last symbol]
        self.ticks = 0
        self.messages = []
        self.columns, self.rows = shutil.get_terminal_size((100, 30))

    def show(self, title, length, phase, frame):
        for text in frame["messages"]:
            self.messages.append(f"{frame['t']:5.1f}s  {text}")
            if not self.live:
                print(self.messages[-1], flush=True)
        if frame["messages"] or self.live:
            self.on_output()
        self.note(frame["changed"])
        if self.live:
            self.draw(title, length, phase, frame)

    def note(self, changed):
        """Adds a cell to the lane of each live container."""
        for number, name, kind, symbol in changed:
            lane = self.lanes.setdefault(number, [name, kind, " " * self.ticks, ""])
            lane[3] = symbol
            if symbol in "✓✗":
                lane[2] = lane[2].ljust(self.ticks) + symbol
        self.ticks += 1
        for lane in self.lanes.values():
            if lane[3] not in "✓✗":
                lane[2] = lane[2].ljust(self.ticks - 1) + lane[3]

    def paint(self, cells, kind):
        out, last = [], ""
        for ch in cells:
            tint = COLOUR.get(ch) or (COLOUR[kind] if ch == "█" else "")
            if tint != last:
                out.append(RESET + tint)
                last = tint
            out.append(ch)
        return "".join(out) + RESET

    def head(self, title, length, phase, frame):
        width = max(20, self.columns - 42)
        lines = [f"\033[1m{title}\033[0m   {frame['t']:4.0f} of {length} s   {phase}", ""]
        for r, label in (("memory", "memory"), ("cpu", "CPU")):
            u = frame["used"][r]
            lines.append(f"{label:>7} used {bar(u, frame['alpha'][r], frame['beta'][r], width, True)} {u:4.0%} of node")
        for who, (mib, vcores) in frame["allocated"].items():
            lines.append(f"   {who:<13} allocated {mib:5} MiB, {vcores:g} of {frame['vcores']:g} vcores")
        g, o = frame["running"]
        paused, resumed, killed = frame["preemptions"]
        return lines + ["", f"running {g} guaranteed, {o} opportunistic   paused {frame['paused']}   queued {frame['queued']}   │ "
                        f"paused {paused}× resumed {resumed}× killed {killed}×",
                        frame["foreign"] and f"\033[33m{frame['foreign']}\033[0m"]

    def draw(self, title, length, phase, frame):
        lines = self.head(title, length, phase, frame)
        room = self.rows - len(lines) - 6
        shown = [lane for lane in self.lanes.values() if lane[3] not in "✓✗"]
        ended = [lane for lane in self.lanes.values() if lane[3] in "✓✗"]
        shown = (ended[-max(0, room - len(shown)):] if room > len(shown) else []) + shown[:room]
        span = self.columns - 22
        for name, kind, cells, _ in sorted(shown, key=lambda lane: lane[1] != "G"):
            first = max(0, self.ticks - span)
            lines.append(f" {kind} {name[:15]:<15} {self.paint(cells[first:], kind)}")
        lines += [""] + [f"\033[90m{s[:self.columns - 1]}\033[0m" for s in self.messages[-3:]]
        lines.append("\033[90m█ running  ░ paused  · queued  × dying  ✗ killed  ✓ done   (Ctrl-C ends it)\033[0m")
        sys.stdout.write("\033[H" + "\033[K\n".join(lines[:self.rows - 1]) + "\033[K\033[J")
        sys.stdout.flush()
