#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Kills nmd at one step after the other while it runs containers of an application, and then a second and a third time. At the end it
# stops nmd by SIGTERM with and without a supervisor:
#
#   kill-steps.py RM-PORT NODE-NAME NODE-PORT PLACE LOCAL-DIR REMOTE-DIR STATE-DIR STEP[:N],... SUPERVISED-CONF AWAY-CONF -- NMD ARG...
#
# PLACE is a directory in which the containers' user may create files, REMOTE-DIR the directory of uploaded logs. SUPERVISED-CONF and
# AWAY-CONF are directories of the cluster's files that replace the last ARG; by AWAY-CONF no ResourceManager answers. This program
# starts nmd itself, so that it can start it again. Its ResourceManager repeats an order if the node's reports show that the order was
# lost, as Hadoop's does, and its application master repeats calls whose connection ends, as Hadoop's masters do.
import glob
import os
import socket
import subprocess
import sys
import threading
import time

from master import (CLUSTER, Tracker, ask, cluster, container, container_token, context, fact, nm_token, outcome, serve,
                    start_request, status, within)
from wire import every, fields, message, number

rm_port = int(sys.argv[1])
place, local, remote, state = sys.argv[4:8]
steps = sys.argv[8].split(",")
command = sys.argv[12:]
supervised_command = command[:-1] + [sys.argv[9]]
away_command = command[:-1] + [sys.argv[10]]
GUARANTEED, OPPORTUNISTIC = 1, 2
FILE, PRIVATE = 2, 2
KILLED_BY_RM = -106


# ---- nmd ------------------------------------------------------------------------------------------------------------

class Nmd:
    """The process of nmd. If it dies, it is started again, without a step at which it dies."""

    def __init__(self):
        self.deaths = 0
        self.lock = threading.Lock()
        self.process = None
        threading.Thread(target=self.watch, daemon=True).start()

    def run(self, step=None, argv=None):
        env = {name: value for name, value in os.environ.items() if name != "NMD_FAULT"}
        if step:
            env["NMD_FAULT"] = step
        self.process = subprocess.Popen(argv or command, env=env, stdin=subprocess.DEVNULL)

    def watch(self):
        while True:
            time.sleep(0.02)
            with self.lock:
                if self.process and self.process.poll() is not None:
                    self.deaths += 1
                    self.run()

    def restart(self, step=None, argv=None):
        """Kills nmd, starts one that dies at the step, and returns when it has registered."""
        with self.lock:
            if self.process:
                self.process.kill()
                self.process.wait()
            registrations = cluster.registrations
            self.deaths = 0
            self.run(step, argv)
        return within(30, lambda: cluster.registrations > registrations and cluster.wait_beats())

    def end(self):
        with self.lock:
            process, self.process = self.process, None
        process.terminate()
        return process.wait()

    def replace(self, argv):
        """Kills nmd, and starts one that doesn't register."""
        with self.lock:
            self.process.kill()
            self.process.wait()
            self.run(argv=argv)
        return within(30, self.answers)

    def answers(self):
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(os.environ["NMD_SOCKET"]) == 0


# ---- the ResourceManager --------------------------------------------------------------------------------------------

acknowledged, ended, to_kill, applications = set(), set(), set(), set()
register, beat = cluster.register, cluster.beat


def application_number(data):
    return fields(data)[1]


def register_again(request):
    applications.clear()
    applications.update(application_number(a) for a in every(request, 7))
    return register(request)


def beat_again(request):
    """Repeats orders that the node has not carried out. An application is running until a registration lacks it."""
    answer = beat(request)
    orders = b"".join(message(9, container_of[n]) for n in cluster.ends if n in acknowledged and n in cluster.statuses)
    orders += b"".join(message(5, container_of[n]) for n in to_kill if cluster.statuses.get(n, {}).get(2) == 2)
    orders += b"".join(message(6, number(1, a) + number(2, CLUSTER)) for a in ended & applications)
    applications.difference_update(ended)
    return answer + orders


cluster.register, cluster.beat = register_again, beat_again
container_of = {}
unregistered = []


class ResourceManager(Tracker):
    def answer(self, method, request):
        if method == b"unRegisterNodeManager":
            unregistered.append(request)
        return super().answer(method, request)


# ---- the application ------------------------------------------------------------------------------------------------

def persist(call):
    """Repeats the call while nmd is dead, or doesn't have its ResourceManager yet."""
    until = time.monotonic() + 60
    while True:
        result = call()
        if result not in ("closed", "NMNotYetReadyException", "SaslException") or time.monotonic() > until:
            return result
        time.sleep(0.05)


def resource(path):
    st = os.stat(path)
    uri = message(1, "file") + number(3, -1) + message(4, path)
    return message(1, message(1, "words") + message(2, message(1, uri) + number(2, st.st_size) +
                                                    number(3, st.st_mtime_ns // 1000000) + number(4, FILE) + number(5, PRIVATE)))


def writable(*parts):
    return b"".join(bytes([len(p)]) + p for p in parts)


def service_data():
    return message(3, message(1, "mapreduce_shuffle") + message(2, writable(b"id", b"secret-of-job", b"kind", b"")))


class Container:
    """A container that records its runs, and ends with a code when it may."""

    def __init__(self, story, n, kind, memory, code):
        self.n, self.code, self.story = n, code, story
        self.runs = f"{place}/runs-{n}"
        container_of[n] = container(n, story.application)
        self.token = container_token(n, application=story.application, kind=kind, memory=memory)
        self.what = context(f"trap '' TERM; echo {n} >>{self.runs}; echo {n} >>{story.order}; cat words; "
                            f"until [ -e {place}/go-{n} ]; do sleep 0.05; done; exit {code}", story.extra)

    def start(self):
        return persist(lambda: outcome(ask("startContainers", start_request(self.token, what=self.what), self.story.bearer), 2, 3))

    def let_go(self):
        with open(f"{place}/go-{self.n}", "w", encoding="utf-8"):
            pass

    def runs_now(self):
        return within(30, lambda: os.path.exists(self.runs))

    def has_ended(self):
        return within(30, lambda: self.n in cluster.ends and self.n in cluster.statuses)


# The nmd that passes these steps, if it isn't the first one of its story: the second one hears the acknowledgements, the third one
# the end of the application.
LATER = {"acknowledged-before-commit": 2, "acknowledged-journalled": 2, "application-end-heard": 3, "application-ended": 3,
         "application-dropped": 3}


class Story:
    def __init__(self, i, step):
        self.step = step
        self.which = LATER.get(step.split(":", maxsplit=1)[0], 1)
        self.application = 100 + i
        self.bearer = nm_token(application=self.application)
        self.order = f"{place}/order-{i}"
        self.source = f"{place}/words-{i}"
        with open(self.source, "w", encoding="utf-8") as f:
            f.write("words\n")
        os.chmod(self.source, 0o644)
        self.extra = resource(self.source) + service_data()
        # The first two fit beside each other. Each of the others waits until it fits alone.
        sizes = ((GUARANTEED, 400, 7), (GUARANTEED, 64, KILLED_BY_RM), (OPPORTUNISTIC, 500, 3), (OPPORTUNISTIC, 500, 0))
        self.all = [Container(self, 10 * i + k, *size) for k, size in enumerate(sizes)]
        self.text = f"application_{CLUSTER}_{self.application:04d}"

    def next_nmd(self, which):
        """Kills nmd. The next one dies at the step if the step is for it."""
        return nmd.restart(self.step if which == self.which else None)

    def died(self, which):
        if which == self.which:
            fact(f"{self.step}: nmd died at the step", nmd.deaths, 1)

    def ids(self):
        return [c.n for c in self.all]

    def codes(self):
        return {c.n: cluster.ends.get(c.n) for c in self.all}

    def begin(self):
        fact(f"{self.step}: nmd starts", self.next_nmd(1), True)
        fact(f"{self.step}: each start is answered as successful", [c.start() for c in self.all], [f"{c.n}; " for c in self.all])
        fact(f"{self.step}: the first two containers run", [c.runs_now() for c in self.all[:2]], [True] * 2)

    def roll_keys(self):
        for _ in range(2):
            cluster.nm_key = (cluster.nm_key[0] + 1, os.urandom(8))
            cluster.wait_beats(3)
        fact(f"{self.step}: the attempt can use its token after two new keys",
             persist(lambda: status(*(container_of[n] for n in self.ids()), bearer=self.bearer)), f"{' '.join(map(str, self.ids()))}; 0")

    def finish(self):
        to_kill.add(self.all[1].n)
        for c in (self.all[1], *self.all[:1], *self.all[2:]):
            c.runs_now()
            if c is not self.all[1]:
                c.let_go()
            c.has_ended()
        wanted = {c.n: c.code for c in self.all}
        fact(f"{self.step}: all containers end with their exit codes", self.codes(), wanted)
        with open(self.order, encoding="utf-8") as f:
            fact(f"{self.step}: each container ran once, in the order of the queue", f.read().split()[2:], [str(n) for n in self.ids()[2:]])
        self.died(1)
        cluster.ends.clear()
        fact(f"{self.step}: nmd registers after another kill", self.next_nmd(2), True)
        fact(f"{self.step}: results that aren't acknowledged are reported again",
             within(20, lambda: self.codes() == wanted) or self.codes(), True)

    def acknowledge(self):
        acknowledged.update(self.ids())
        fact(f"{self.step}: acknowledged results are forgotten", within(20, lambda: not set(self.ids()) & set(cluster.statuses)), True)
        self.died(2)
        fact(f"{self.step}: nmd registers after a third kill", self.next_nmd(3), True)
        fact(f"{self.step}: a used token can't be used again", self.all[0].start(), f"; {self.all[0].n} YarnException")
        fact(f"{self.step}: the application is still known", self.application in applications, True)

    def left(self):
        """Returns what is left of the application's files."""
        return glob.glob(f"{local}/usercache/*/appcache/{self.text}") + glob.glob(f"{state}/shuffle/{self.text}")

    def end(self):
        fact(f"{self.step}: the application's files and its shuffle secret are there", len(self.left()), 2)
        copies = glob.glob(f"{local}/usercache/*/filecache/*/{os.path.basename(self.source)}")
        fact(f"{self.step}: the file was fetched once", len(copies), 1)
        ended.add(self.application)
        fact(f"{self.step}: the application's files are removed", within(30, lambda: not self.left()) or self.left(), True)
        uploaded = lambda: [p for p in glob.glob(f"{remote}/**/{self.text}/*", recursive=True) if not p.endswith(".tmp")]
        fact(f"{self.step}: its logs are uploaded once", within(30, lambda: len(uploaded()) == 1) or uploaded(), True)
        self.died(3)


# ---- stops by SIGTERM -----------------------------------------------------------------------------------------------

def lives(pid):
    """A process that has ended, and that no process has waited for yet, doesn't live."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def start_sleep(n, command="exec sleep 1000"):
    """Starts a container, and returns its process."""
    token, path = container_token(n, application=90), f"{place}/pid-{n}"
    container_of[n] = container(n, 90)
    persist(lambda: outcome(ask("startContainers", start_request(token, what=context(f"echo $$ >{path}; {command}")),
                                nm_token(application=90)), 2, 3))
    within(30, lambda: os.path.exists(path) and os.path.getsize(path) > 1)
    with open(path, encoding="utf-8") as f:
        return int(f.read())


def stop_nmd():
    fact("nmd starts without a supervisor", nmd.restart(), True)
    pids = start_sleep(5), start_sleep(7, "trap '' TERM; while :; do sleep 0.1; done")
    fact("without a supervisor, nmd ends by SIGTERM with exit status 0", nmd.end(), 0)
    fact("without a supervisor, its containers have ended when nmd has, also one that ignores SIGTERM", [lives(p) for p in pids],
         [False, False])
    fact("without a supervisor, the node unregisters", len(unregistered), 1)
    fact("nmd starts with a supervisor", nmd.restart(argv=supervised_command), True)
    pid = start_sleep(6)
    fact("with a supervisor, nmd ends by SIGTERM with exit status 0", nmd.end(), 0)
    fact("with a supervisor, the node doesn't unregister", len(unregistered), 1)
    fact("nmd starts again", nmd.restart(argv=supervised_command), True)
    fact("with a supervisor, the container keeps running", (lives(pid), within(10, lambda: cluster.state(6) == "2 -1000")), (True, True))
    to_kill.add(6)
    fact("the ResourceManager ends the container", within(20, lambda: cluster.ends.get(6) == KILLED_BY_RM), True)
    pid = start_sleep(8)
    fact("nmd is killed, and starts again without a ResourceManager", nmd.replace(away_command), True)
    fact("the container keeps running", lives(pid), True)
    fact("without a ResourceManager, nmd ends by SIGTERM with exit status 0", nmd.end(), 0)
    fact("without a ResourceManager, the container has ended when nmd has", lives(pid), False)


serve(rm_port, ResourceManager)
nmd = Nmd()
for story in (Story(i, name) for i, name in enumerate(steps, 1)):
    story.begin()
    story.roll_keys()
    story.finish()
    story.acknowledge()
    story.end()
stop_nmd()
os._exit(0)
