#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo of lending; `./demo yarn --lend` builds first and then runs this, in its own network and mount namespaces.

A service has all memory of a node of YARN, except for two application masters, and uses a tenth of it. MapReduce's pi and a job of
PySpark are submitted. Neither mentions opportunistic containers. Without lending they wait. Then lending is switched on, and they
run at once. The service's memory surges, and one of the jobs loses a container. When the service ends, the containers that are
left are promoted. The screen shows the memory that is allocated, used and lent, and the service's latency. The exit status is 1 if
something of this did not happen, a job has a wrong result, or the service became slower.
"""
import argparse
import collections
import os
import pathlib
import shutil
import signal
import statistics
import sys
import time

sys.dont_write_bytecode = True  # the demo leaves no files in the tree
import progress
import yarn

MIB = 1 << 20
BLOCKS = " ▁▂▃▄▅▆▇█"
Sample = collections.namedtuple("Sample", "seconds allocated used lent latency running")
WAIT_SECONDS = 15   # in which the jobs wait without lending
LATENCY_GOAL = 0.05  # the service's median latency rises by at most this, and by what it varies without lending
SETTLE_SECONDS = 6  # of a phase, before its latencies count: JVMs start


class Cluster(yarn.Cluster):
    script = "lending-cluster.sh"

    def __init__(self, build, classpath):
        super().__init__(build, classpath, 0, 0, True)
        self.ended, self.done = {}, set()

    def command(self, word):
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()

    def listen(self, seconds):
        lines = self.read_lines(seconds)
        if lines is None:
            self.fail("the cluster went away")
        for kind, text in lines:
            if kind == "failed":
                self.process.wait(60)
                self.fail(text)
            elif kind == "done":
                self.done.add(text)
            elif kind == "ended":
                name, status, result = text.split(" ", 2)
                self.ended[name] = (int(status), result)

    def grow(self, mib):
        pathlib.Path(self.target).write_text(f"{mib}\n")


class Latencies:
    """The latencies of the service's requests, as pairs of time and ms."""

    def __init__(self):
        self.all, self.at, self.path = [], 0, None

    def update(self):
        try:
            with open(self.path) as f:
                f.seek(self.at)
                text = f.read()
        except OSError:
            return
        whole = text.rpartition("\n")[0]
        self.at += len(whole) + (1 if whole else 0)
        self.all += [tuple(map(float, line.split())) for line in whole.splitlines()]

    def between(self, begin, end):
        return [ms for at, ms in self.all if begin <= at < end]


class Story:
    """What the containers of the jobs have done."""

    def __init__(self):
        self.types, self.lost, self.promoted, self.lent, self.most = {}, set(), set(), set(), 0

    def update(self, containers):
        running = 0
        for c in containers:
            if c["name"] == "master":
                continue
            name, kind = c["id"], c["execution_type"]
            if kind == "OPPORTUNISTIC":
                self.lent.add(name)
            elif self.types.get(name) == "OPPORTUNISTIC":
                self.promoted.add(name)
            if c.get("exit_reason") == "preempted":
                self.lost.add(name)
            self.types[name] = kind
            running += c["state"] == "RUNNING"
        self.most = max(self.most, running)
        return running


def spark(values, top, width):
    """Returns a line with a block for each of the last values."""
    cells = [BLOCKS[min(8, max(0, round(8 * v / top)))] for v in values[-width:]]
    return "".join(cells).ljust(width)


class Picture(progress.Screen):
    def __init__(self, live):
        self.live = live
        self.gauge = progress.Progress(progress.to_terminal if live else None)
        self.last, self.phase, self.printed = None, "", 0

    def about(self, sentence, log=None):
        self.phase = sentence
        self.gauge.step(sentence, log)
        self.gauge.on_output()
        if self.live:
            sys.stdout.write(f"\033[H\033[J\n  {sentence} ...")
            sys.stdout.flush()
        else:
            print(f"  {sentence}", flush=True)

    def draw(self, samples, capacity, story):
        now = samples[-1]
        service = f"service {now.latency:.1f} ms" if now.latency else "the service has ended"
        facts = (f"allocated {now.allocated / capacity:.0%}, used {now.used / capacity:.0%}, lent {now.lent / capacity:.0%}; "
                 f"running containers of the jobs: {now.running}; {service}")
        if not self.live:
            key = (now.running, len(story.lost), len(story.promoted))
            if key != self.last or now.seconds - self.printed > 5:
                print(f"  {now.seconds:4.0f} s  {facts}", flush=True)
                self.gauge.on_output()
                self.last, self.printed = key, now.seconds
            self.gauge.detail(facts)
            return
        columns, _ = shutil.get_terminal_size()
        width = max(20, min(100, columns - 30))
        rows = [("allocated", [s.allocated for s in samples], capacity, "\033[34m"), ("used", [s.used for s in samples], capacity, "\033[32m"),
                ("lent", [s.lent for s in samples], capacity, "\033[33m"),
                ("latency", [s.latency for s in samples], 4 * max(1, statistics.median(s.latency for s in samples)), "\033[36m")]
        lines = ["\033[1mlending on YARN: a service has the memory, and two jobs that know nothing of it use it\033[0m"[:columns + 8],
                 f"{now.seconds:4.0f} s   {self.phase}"[:columns - 1], ""]
        for name, values, top, tint in rows:
            value = f"{values[-1]:.1f} ms" if name == "latency" else f"{values[-1] / capacity:4.0%}"
            lines.append(f"  {name:>10} {tint}{spark(values, top, width)}\033[0m {value}")
        lines += ["", f"  containers of the jobs: {now.running} run; {len(story.lent)} lent so far, {len(story.lost)} taken back, "
                      f"{len(story.promoted)} promoted"[:columns - 1], "", "\033[90m  (Ctrl-C ends it)\033[0m"]
        self.gauge.on_output()
        sys.stdout.write("\033[H" + "\033[K\n".join(lines) + "\033[K\033[J")
        sys.stdout.flush()


class Play:
    def __init__(self, cluster, picture):
        self.cluster, self.picture = cluster, picture
        self.samples, self.latencies, self.story, self.begun = [], Latencies(), Story(), time.monotonic()
        self.phases = {}  # name -> (begin, end)

    def step(self):
        self.cluster.listen(0.5)
        status, containers = self.cluster.nmctl("status"), self.cluster.nmctl("list", "--all")
        if status is None or containers is None:
            return
        self.latencies.update()
        running = self.story.update(containers)
        allocated = status["node"]["allocated"]
        recent = self.latencies.between(time.time() - 2, time.time())
        self.capacity = status["node"]["capacity"]["memory_bytes"]
        self.samples.append(Sample(time.monotonic() - self.begun, allocated["guaranteed"]["memory_bytes"],
                                   sum(c["memory_used_bytes"] or 0 for c in containers if c["state"] != "COMPLETED"),
                                   allocated["opportunistic"]["memory_bytes"], statistics.median(recent) if recent else 0, running))
        self.picture.draw(self.samples, self.capacity, self.story)

    def until(self, sentence, condition, seconds, patience=None):
        """Draws until the condition holds. Without `patience`, the time is over after these seconds, which is no error."""
        self.picture.about(sentence)
        begun, wall = time.monotonic(), time.time()
        while not condition():
            if time.monotonic() - begun > seconds:
                if patience is None:
                    break
                self.cluster.fail(f"{patience} after {seconds} s. {progress.advice()}")
            self.step()
        self.phases[sentence] = (wall, time.time())
        return wall, time.time()

    def surge(self):
        """Lets the service grow until the node takes back a container, at most to its allocation."""
        most = self.service_mib() - 64
        need = int(0.95 * self.capacity / MIB - self.samples[-1].used / MIB) + self.capacity // MIB // 10 + 100
        self.cluster.grow(min(most, need))

    def service_mib(self):
        return int(self.capacity / MIB) - 640  # the rest belongs to the two masters

    def run(self):
        cluster, story = self.cluster, self.story
        cluster.command("jobs")
        self.until("two jobs are submitted", lambda: "jobs" in cluster.done, 180, "the jobs are not submitted")
        waiting = self.until("without lending, both jobs wait", lambda: False, WAIT_SECONDS)
        without = story.most
        cluster.command("lend")
        lent = self.until("lending is on: the jobs run", lambda: len(story.lent) >= 4, 300, "nothing is lent")
        running = self.until("pi comes to its end, and two executors of Spark work", lambda: "pi" in cluster.ended, 300, "pi does not end")
        self.until("the executors of Spark work", lambda: self.samples[-1].running >= 2, 120, "Spark has no executors")
        calm = self.until("the executors of Spark work on", lambda: False, WAIT_SECONDS)
        self.surge()
        self.until("the service's memory surges", lambda: story.lost, 60, "nothing is taken back")
        cluster.grow(int(self.capacity / MIB) // 10)
        self.until("the surge is over; Spark goes on with fewer executors", lambda: False, 6)
        cluster.command("end")
        self.until("the service ends: what is lent is promoted", lambda: story.promoted, 120, "nothing is promoted")
        cluster.command("go")
        self.until("Spark finishes", lambda: "client" in cluster.ended, 300, "Spark does not end")
        return {"without": without, "waiting": waiting, "running": (lent[0] + SETTLE_SECONDS, running[1]), "calm": calm}


def median(values):
    return statistics.median(values) if values else float("nan")


def variation(samples, parts=3):
    """Returns by how much the median of a part of the samples differs from the median of another part, as a share."""
    size = max(1, len(samples) // parts)
    medians = [median(samples[i:i + size]) for i in range(0, size * parts, size) if samples[i:i + size]]
    return max(medians) / min(medians) - 1 if medians else float("nan")


def shortcomings(without, results, lost, promoted, before, after):
    """Returns what the demo promises and has not shown, a sentence each. before, after: latencies of the service, in ms."""
    change, noise = median(after) / median(before) - 1, variation(before)
    wanted = {"pi": "Estimated value of Pi is 3", "client": "each word is counted"}
    return [sentence for sentence, is_so in (
        (f"Without lending, {without} containers of the jobs have run.", without > 0),
        ("No container was taken back for the service.", not lost),
        ("No container was promoted.", not promoted),
        *((f"The job {name} has ended with status {results[name][0]} and this result: {results[name][1]}",
           results[name][0] != 0 or not results[name][1].startswith(text)) for name, text in wanted.items()),
        (f"The service's latency has risen by {change:.1%}. At most {LATENCY_GOAL:.0%} are promised, and it varied by {noise:.1%} "
         "without lending.", not change <= LATENCY_GOAL + noise)) if is_so]


def summary(play, facts, cluster):
    story, latency = play.story, play.latencies.between
    before, after = latency(*facts["waiting"]), latency(*facts["calm"])
    change = median(after) / median(before) - 1 if before and after else float("nan")
    use = {name: median([s.used for s in play.samples if begin <= s.seconds + play.offset < end]) / play.capacity
           for name, (begin, end) in (("before", facts["waiting"]), ("after", facts["calm"]))}
    print(f"""
  {'':<44}{'without lending':>16}{'with lending':>14}
  {'containers of the jobs that ran':<44}{facts['without']:>16}{story.most:>14}
  {'memory of the node in use':<44}{use['before']:>16.0%}{use['after']:>14.0%}
  {'latency of the service, median':<44}{median(before):>13.2f} ms{median(after):>11.2f} ms   ({change:+.1%}; noise {variation(before):.1%})

  containers lent: {len(story.lent)}; taken back for the service: {len(story.lost)}; promoted when it ended: {len(story.promoted)}
  pi: {cluster.ended['pi'][1]}
  Spark: {cluster.ended['client'][1]}""")
    failed = shortcomings(facts["without"], cluster.ended, story.lost, story.promoted, before, after)
    for sentence in failed:
        print(f"demo: {sentence}", file=sys.stderr)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--classpath", required=True)
    parser.add_argument("--plain", action="store_true")
    arg = parser.parse_args()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def undisturbed():
        for number in signals:
            signal.signal(number, signal.SIG_IGN)

    def end(*_):
        # Only the first Ctrl-C counts. A second one must not interrupt the cleanup.
        undisturbed()
        raise yarn.Ended

    for number in signals:
        signal.signal(number, end)
    picture = Picture(sys.stdout.isatty() and not arg.plain)
    try:
        cluster = Cluster(arg.build, arg.classpath)
        try:
            picture.open()
            yarn.come_up(cluster, picture)
            cluster.socket, cluster.target, latencies = cluster.socket.split()
            play = Play(cluster, picture)
            play.offset = time.time() - time.monotonic() + play.begun
            play.latencies.path = latencies
            facts = play.run()
        finally:
            # A first Ctrl-C that comes only now must not interrupt the cleanup either.
            undisturbed()
            picture.close()
            picture.gauge.stop()
            cluster.stop()
    except yarn.Ended:
        print("demo: ended early; everything it started is gone.")
        sys.exit(130)
    sys.exit(summary(play, facts, cluster))


if __name__ == "__main__":
    progress.run(main)
