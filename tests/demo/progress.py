# SPDX-License-Identifier: Apache-2.0
"""For the demos: nothing is silent for more than two seconds, and nothing waits for a fixed time: what gets on is waited for.
tests/progress.sh is the same for shell scripts."""
import os
import pathlib
import sys
import threading
import time

SILENCE = 1.8  # seconds; a little below two, with the time that a thread takes to wake up
IDLE = 60      # seconds without progress, after which a wait ends
MOST = 900     # seconds: what says the same thing again and again also gets on


def last_line(log):
    """Of a file that is being written: its last line that says anything, without what a terminal would obey."""
    try:
        with open(log, "rb") as f:
            f.seek(max(0, os.path.getsize(log) - 2000))
            lines = [line.strip() for line in f.read().decode(errors="replace").splitlines()]
    except OSError:
        return ""
    said = [line for line in lines if line]
    return "".join(ch for ch in said[-1] if ch.isprintable())[:200] if said else ""


def last_lines(log, count=12):
    """Those of a file, without the frames of Java's stacks; indented."""
    try:
        with open(log, errors="replace") as f:
            lines = [line.rstrip()[:300] for line in f if line.strip() and not line.lstrip().startswith("at ")]
    except OSError as error:
        lines = [f"({error})"]
    return "\n".join("    " + line for line in lines[-count:]) or "    (nothing)"


class Progress(threading.Thread):
    """Says the step, the time since it began and the last line of its log, whenever nothing else has been said for two
    seconds: what blocks is covered as well as what loops. draw(text) puts a line on a screen that is not the log's."""

    def __init__(self, draw=None):
        super().__init__(daemon=True)
        self.what, self.log, self.begun, self.heard_at = "", None, time.monotonic(), time.monotonic()
        self.over = threading.Event()
        self.put = draw or (lambda text: print(text, flush=True))
        self.start()

    def step(self, what, log=None):
        self.what, self.log, self.begun = what, log, time.monotonic()

    def detail(self, what):
        """The same step; what there is to say of it has changed."""
        self.what = what

    def heard(self):
        """Something else was said."""
        self.heard_at = time.monotonic()

    def line(self):
        seconds = int(time.monotonic() - self.begun)
        said = last_line(self.log) if self.log else ""
        return f"  {seconds // 60}:{seconds % 60:02}  {self.what}{': ' if said else ''}{said}"[:160]

    def run(self):
        while not self.over.wait(0.1):
            if self.what and time.monotonic() - self.heard_at >= SILENCE:
                self.heard()
                self.put(self.line())

    def stop(self):
        self.over.set()
        self.join()


def cpu_ticks(pid, children=True):
    """CPU time of a process, and of its children that have ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(x) for x in fields[11:15 if children else 13])


def advice():
    load, cpus = os.getloadavg()[0], os.cpu_count()
    if load > cpus:
        return f"This machine is busy (load {load:.1f} on {cpus} CPUs): try again when it is quieter."
    return f"The machine is not busy (load {load:.1f} on {cpus} CPUs): the lines above say what is wrong."


class Screen:
    """The terminal's second screen, for a picture that says by self.live whether it draws on a terminal."""

    def open(self):
        if self.live:
            sys.stdout.write("\033[?1049h\033[?25l")

    def close(self):
        if self.live:
            sys.stdout.write("\033[?25h\033[?1049l")
            sys.stdout.flush()


class Patience:
    """Waits for a process as long as it gets on: its log grows, or it has used another second of CPU. What is idle uses less
    than that within IDLE seconds; what has little of a busy machine's CPU uses more."""

    def __init__(self, what, process, log, idle=IDLE, most=MOST):
        self.what, self.process, self.log, self.idle, self.most = what, process, log, idle, most
        self.begun = self.moved = time.monotonic()
        self.figure = None

    def look(self, figure=()):
        """To be called again and again while it is waited; ends the program when there is no hope. `figure` is what else
        changes with progress."""
        now = time.monotonic()
        size = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        figure = (size, cpu_ticks(self.process.pid) // os.sysconf("SC_CLK_TCK"), figure)
        if figure != self.figure:
            self.figure, self.moved = figure, now
        if self.process.poll() is not None:
            self.give_up(f"its process has ended with status {self.process.returncode}")
        if now - self.moved >= self.idle:
            self.give_up(f"nothing has happened for {self.idle:g} s")
        if now - self.begun >= self.most:
            self.give_up("it is still at work")

    def give_up(self, why):
        raise SystemExit(f"demo: gave up after {time.monotonic() - self.begun:.0f} s: {self.what}: {why}; the last lines of "
                         f"{os.path.basename(self.log)}:\n{last_lines(self.log)}\n{advice()}")


def to_terminal(text):
    """On the last line of the screen, without moving anything else."""
    sys.stdout.write(f"\0337\033[999;1H\033[K\033[90m{text[:100]}\033[0m\0338")
    sys.stdout.flush()
