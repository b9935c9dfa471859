# SPDX-License-Identifier: Apache-2.0
"""The file of a recorded demo, for --record and --replay: JSON values, one per line. A header is followed by the frames
(picture.py) and the result of each run. Nothing in it names the machine or its users."""
import json
import os
import platform
import time

VERSION = 2  # version of the results' format


def cpu_model():
    try:
        lines = [line for line in open("/proc/cpuinfo") if line.startswith("model name")]
    except OSError:
        lines = []
    return lines[0].split(":", 1)[1].strip() if lines else platform.machine()


class Recorder:
    """Collects values, and writes the complete file at the end, or no file. Without a path it does nothing."""

    def __init__(self, path, **header):
        self.path, self.lines = path, []
        self.put({"nmd_demo": VERSION, "recorded": time.strftime("%Y-%m-%d", time.gmtime()), "cpus": os.cpu_count(),
                  "cpu": cpu_model(), "kernel": platform.release().split("-")[0], **header})

    def put(self, values):
        if self.path:
            self.lines.append(json.dumps(values, ensure_ascii=False, separators=(",", ":")))

    def write(self):
        if not self.path:
            return
        new = f"{self.path}.new"
        with open(new, "w", encoding="utf-8") as f:
            f.write("\n".join(self.lines) + "\n")
        os.replace(new, self.path)


def load(path):
    """Returns (header, [(frames, result)])."""
    try:
        with open(path, encoding="utf-8") as f:
            values = [json.loads(line) for line in f]
    except (OSError, ValueError) as error:
        raise SystemExit(f"demo: {path} can't be replayed: {error}") from None
    if not values or not isinstance(values[0], dict) or "nmd_demo" not in values[0]:
        raise SystemExit(f"demo: {path} is not a recording that ./demo --record has written")
    if values[0]["nmd_demo"] != VERSION:
        raise SystemExit(f"demo: {path} was written by another version of ./demo; record it anew with --record")
    runs, frames = [], []
    for value in values[1:]:
        if "t" in value:
            frames.append(value)
        else:
            runs.append((frames, value))
            frames = []
    return values[0], runs
