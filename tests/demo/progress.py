# SPDX-License-Identifier: Apache-2.0
"""Progress lines for the demos, so that they are never silent for more than two seconds, and waits that last as long as there is
progress instead of a fixed time. tests/progress.sh is the same for shell scripts."""
import http.client
import io
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

WIDTH = 240    # of a line in a log; the text of a step is shorter
SILENCE = 1.8  # seconds; less than two, because a thread wakes up late
IDLE = 60      # seconds without progress, after which a wait ends
MOST = 900     # seconds at most, because a process that endlessly repeats a message also makes progress


def last_line(log):
    """Returns the last line with text of a file that is being written, without control characters."""
    try:
        with open(log, "rb") as f:
            f.seek(max(0, os.path.getsize(log) - 2000))
            lines = [line.strip() for line in f.read().decode(errors="replace").splitlines()]
    except OSError:
        return ""
    texts = [line for line in lines if line]
    return "".join(ch for ch in texts[-1] if ch.isprintable())[:200] if texts else ""


def last_lines(log, count=12):
    """Returns the last lines of a file, indented, without the frames of Java stack traces."""
    try:
        with open(log, errors="replace") as f:
            lines = [line.rstrip()[:300] for line in f if line.strip() and not line.lstrip().startswith("at ")]
    except OSError as error:
        lines = [f"({error})"]
    return "\n".join("    " + line for line in lines[-count:]) or "    (no output)"


class Output(io.FileIO):
    """Standard output, whose reader may exit (head, less). The first write after this raises BrokenPipeError. Later output,
    during the cleanup, is discarded."""

    def __init__(self):
        super().__init__(sys.stdout.fileno(), "w", closefd=False)
        self.lost = False

    def write(self, data):
        try:
            return super().write(data)
        except BrokenPipeError:
            self.lost = True
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            raise


def run(main):
    """Calls main(). If the reader of its output exits, the program ends without a message, with a shell's exit status for SIGPIPE."""
    out = Output()
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(out), encoding=sys.stdout.encoding, errors=sys.stdout.errors,
                                  line_buffering=sys.stdout.line_buffering)
    try:
        try:
            main()
        finally:
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        if not out.lost:
            raise
    if out.lost:
        sys.exit(128 + signal.SIGPIPE)


def cut(text, width):
    """Returns the text, or as many of its words as fit. A single word that is too long is cut."""
    if len(text) <= width:
        return text
    words = text[:width - 3].rpartition(" ")[0].rstrip(" ,;:") if " " in text[:width - 3].strip() else text[:width - 3]
    return words + "..."


class Progress(threading.Thread):
    """Prints the step, the time since it began and the last line of its log whenever there was no other output for two seconds,
    from a thread, so that blocking calls are covered, too. draw(text) puts the line on a screen instead."""

    def __init__(self, draw=None):
        super().__init__(daemon=True)
        self.what, self.log, self.begun, self.output_at = "", None, time.monotonic(), time.monotonic()
        self.over = threading.Event()
        self.put = draw or (lambda text: print(text, flush=True))
        self.start()

    def step(self, what, log=None):
        self.what, self.log, self.begun = what, log, time.monotonic()

    def detail(self, what):
        """Changes the text of the current step."""
        self.what = what

    def on_output(self):
        """Records that other output was printed."""
        self.output_at = time.monotonic()

    def line(self):
        seconds = int(time.monotonic() - self.begun)
        last = last_line(self.log) if self.log else ""
        return cut(f"  {seconds // 60}:{seconds % 60:02}  {self.what}{': ' if last else ''}{last}", WIDTH)

    def run(self):
        while not self.over.wait(0.1):
            if self.what and time.monotonic() - self.output_at >= SILENCE:
                self.on_output()
                try:
                    self.put(self.line())
                except BrokenPipeError:
                    os.kill(os.getpid(), signal.SIGINT)  # only the main thread can end the program
                    return

    def stop(self):
        self.over.set()
        self.join()


def cpu_ticks(pid, children=True):
    """Returns the CPU time of a process, and of its children that have ended."""
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
    """Uses the terminal's alternate screen. self.live: whether the picture is drawn on a terminal."""

    def open(self):
        if self.live:
            sys.stdout.write("\033[?1049h\033[?25l")

    def close(self):
        if self.live:
            sys.stdout.write("\033[?25h\033[?1049l")
            sys.stdout.flush()


class Patience:
    """Waits for a process as long as it makes progress: its log grows, or it uses another second of CPU time within IDLE
    seconds. An idle process uses less than that, and one that works on a busy machine uses more."""

    def __init__(self, what, process, log, idle=IDLE, most=MOST):
        self.what, self.process, self.log, self.idle, self.most = what, process, log, idle, most
        self.begun = self.moved = time.monotonic()
        self.figure = None

    def check(self, figure=()):
        """Is called repeatedly during the wait, and ends the program when there is no progress. `figure`: another value that
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


# Errors of a request to a server or program that is too slow or has exited.
UNANSWERED = (OSError, http.client.HTTPException, subprocess.TimeoutExpired, ValueError)


def patiently(ask, what, process, log):
    """Returns the result of ask(). Calls it again if there is no response, as long as the process makes progress."""
    patience = None
    while True:
        try:
            return ask()
        except UNANSWERED as why:
            patience = patience or Patience(f"{what} ({why})", process, log)
            patience.check()
            time.sleep(0.2)


def to_terminal(text):
    """Writes to the last line of the screen and keeps the cursor position."""
    sys.stdout.write(f"\0337\033[999;1H\033[K\033[90m{cut(text, 100)}\033[0m\0338")
    sys.stdout.flush()
