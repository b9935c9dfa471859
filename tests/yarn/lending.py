#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# A ResourceManager with the books of a stock one, and application masters that ask for guaranteed containers through the proxy of
# a node that lends. Each test compares the asks that the ResourceManager gets and the containers that a master sees:
#
#   lending.py RM-PORT NODE-NAME NODE-PORT SCHEDULER-PORT CLIENT-PORT PROXY-PORT LOCAL-DIR NMCTL
#
# A line "!WORDS" asks the suite to restart nmd (lines on standard input answer). All other lines are results (master.py).
import glob
import json
import re
import subprocess
import sys
import threading
import time

import master
from master import (CLUSTER, Rpc, attempt, begin, cluster, container, container_identifier, container_number, container_token,
                    context, fact, node_name, node_port, serve, sign, start, start_request, within)
from wire import Client, Refused, admit, answered, delimited, every, fields, message, number, refusal, signed

scheduler_port, client_port, proxy_port = (int(word) for word in sys.argv[4:7])
local, nmctl = sys.argv[7:9]
MASTERS = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
NOT_REGISTERED = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
G, O = 1, 2  # execution types
PROMOTE, DEMOTE = 2, 3
KILLED_BY_NODE, PREEMPTED = -108, -102
QUEUE, LABELLED = "root.default", "root.labelled"  # the latter has a default label
PLENTY = (1 << 20, 1 << 10)  # memory and vcores


def resource(memory, vcores=1):
    return number(1, memory) + number(2, vcores)


def ask(priority, count, memory=512, kind=G, where="*", relax=True, label="", request_id=-1, more=b""):
    return message(1, number(1, priority)) + message(2, where) + message(3, resource(memory) + more) + number(4, count) + \
        number(5, relax) + (message(6, label) if label else b"") + message(7, number(1, kind) + number(2, 1)) + \
        number(8, request_id)


# ---- the ResourceManager --------------------------------------------------------------------------------------------

class Books:
    """The scheduler's books about one application. Asks of the two types are kept apart, and each ask for "*" sets the count.
    grants_opportunistic: opportunistic asks are granted at once, as by the stock scheduler. Otherwise give() grants."""

    def __init__(self, application, queue=QUEUE):
        self.queue = queue
        self.application, self.grants_opportunistic, self.registered, self.recovered = application, True, False, []
        self.next_container, self.last, self.response_id, self.limit = 2, b"", 0, PLENTY
        self.waiting, self.asks, self.releases, self.updates, self.parts = {}, [], [], [], []
        self.sizes, self.calls = {}, 0

    def pending(self, priority, request_id=-1):
        """Returns the pending guaranteed and opportunistic containers of a key, as "3 + 1"."""
        return " + ".join(str(self.waiting.get((priority, request_id, kind), 0)) for kind in (G, O))

    def container(self, n, priority, kind, memory, request_id=-1, version=0, rm=None):
        identifier = container_identifier(n, application=self.application, memory=memory, kind=kind, version=version, rm=rm)
        token = master.token(identifier, sign(cluster.container_key[1], identifier), "ContainerToken")
        return message(1, container(n, self.application)) + message(2, message(1, node_name) + number(2, node_port)) + \
            message(4, resource(memory)) + message(5, number(1, priority)) + message(6, token) + number(7, kind) + \
            number(8, request_id) + number(9, version)

    def give(self, n, priority, kind=G, memory=512, request_id=-1):
        """Grants containers with the next answer, and returns their numbers. May grant more than was asked for."""
        numbers = list(range(self.next_container, self.next_container + n))
        self.next_container += n
        key = priority, request_id, kind
        self.waiting[key] = max(0, self.waiting.get(key, 0) - n)
        self.parts += [message(3, self.container(i, priority, kind, memory, request_id)) for i in numbers]
        return numbers

    def end(self, n, status, kind=O, text="It was in the way."):
        """Reports the end of a container with the next answer."""
        self.parts.append(message(4, message(1, container(n, self.application)) + number(2, 2) + message(3, text) +
                                  number(4, status) + number(6, kind)))

    def note(self, data):
        f = fields(data)
        where, size = f[2].decode(), fields(f[3])
        key = fields(f[1])[1], signed(f.get(8, -1 & ((1 << 64) - 1))), fields(f.get(7, number(1, G))).get(1, G)
        count = f.get(4, 0)
        self.asks.append(f"{key[0]} {where} {'GO'[key[2] - 1]}{count}")
        if where == "*":
            self.waiting[key], self.sizes[key] = count, size[1]

    def allocate(self, request):
        if not self.registered:
            raise LookupError(NOT_REGISTERED)
        f = fields(request)
        if f.get(4, 0) == self.response_id - 1:
            return self.last  # the answer to the former call was lost
        self.calls += 1
        self.asks, self.releases = [], [container_number(c) for c in every(request, 2)]
        for data in every(request, 1):
            self.note(data)
        self.updates += [Update(data) for data in every(request, 7)]
        for priority, request_id, kind in list(self.waiting) if self.grants_opportunistic else ():
            key = priority, request_id, kind
            if kind == O and self.waiting[key]:
                self.give(self.waiting[key], priority, O, -(-self.sizes[key] // 128) * 128, request_id)
        self.response_id += 1
        self.last = number(2, self.response_id) + message(5, resource(*self.limit)) + b"".join(self.parts)
        self.parts = []
        return self.last

    def register(self):
        self.registered, self.response_id, self.waiting = True, 0, {}
        return message(1, resource(8192, 8)) + b"".join(message(4, c) for c in self.recovered) + message(5, self.queue)


class Update:
    def __init__(self, data):
        f = fields(data)
        self.data, self.version, self.n = data, f.get(1, 0), container_number(f[2])
        self.text = f"{self.n} version {self.version} type {f[3]} to {f.get(5)}"


books, reports = {}, {}  # by the application's number; reports: the type, for getApplicationReport


class Scheduler(Rpc):
    def enter(self):
        identifier = admit(self.request, lambda _: b"secret")
        self.books = books[fields(fields(fields(identifier)[1])[1])[1]]

    def respond(self, header, method, request):
        try:
            return answered(header, self.answer(method, request))
        except LookupError as why:
            return refusal(header, str(why.args[0]))

    def answer(self, method, request):
        if method == b"registerApplicationMaster":
            return self.books.register()
        return self.books.allocate(request) if method == b"allocate" else number(1, 1)


class ForClients(Rpc):
    asked = {}

    def respond(self, header, method, request):
        if method == b"getQueueInfo":
            label = message(9, "fast") if fields(request)[1] == LABELLED.encode() else b""
            return answered(header, message(1, message(1, fields(request)[1]) + label))
        application = fields(fields(request)[1])[1]
        self.asked[application] = self.asked.get(application, 0) + 1
        kind = reports.get(application)
        if kind is None:
            return refusal(header, "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException")
        report = message(1, number(1, application) + number(2, CLUSTER)) + message(2, "ada") + \
            message(3, books[application].queue) + message(18, kind)
        return answered(header, message(1, report))


# ---- an application and its master ----------------------------------------------------------------------------------

def vint_chunk(data):
    return bytes([len(data)]) + data


def credentials(application):
    """Returns a file with the ResourceManager's token, in the format of Hadoop's Writables. All lengths are below 112."""
    identifier = message(1, attempt(application)) + number(2, 1)
    return b"HDTS\0\1" + b"".join(map(vint_chunk, (b"", identifier, b"secret", b"YARN_AM_RM_TOKEN", b""))) + b"\0"


def of_credentials(path):
    """Returns identifier and password of the file's first token, or None if the file isn't complete yet."""
    with open(path, "rb") as file:
        data, parts, at = file.read(), [], 6
    try:
        for _ in range(5):
            size, at = data[at], at + 1
            if size > 127:  # a length of one more byte
                size, at = data[at], at + 1
            parts.append(data[at:at + size])
            at += size
        return (parts[1], parts[2]) if at < len(data) else None
    except IndexError:
        return None


class Answer:
    def __init__(self, data):
        self.given = [(container_number(f[1]), f.get(7, G), fields(f[4])[1]) for f in map(fields, every(data, 3))]
        self.ended = {container_number(f[1]): (signed(f.get(4, 0)), f.get(6, G), f.get(3, b"").decode())
                      for f in map(fields, every(data, 4))}
        self.types = "".join("GO"[kind - 1] for _, kind, _ in self.given)
        self.numbers = [n for n, _, _ in self.given]
        self.previous = [fields(c).get(7, G) for c in every(data, 17)]
        self.updated, self.update_errors = len(every(data, 16)), len(every(data, 15))
        updates = [(f[1], fields(f[2])) for f in map(fields, every(data, 16))]
        self.updates = [(kind, f.get(7, G), f.get(9, 0)) for kind, f in updates]
        self.tokens = [f[6] for _, f in updates]
        self.response_id = fields(data).get(2, 0)


class Application:
    """Starts a master in its container, and makes its calls with the proxy's token."""
    count = 0

    def __init__(self, wish=None, kind="MAPREDUCE", grants=True, registers=True, on_death=None, queue=QUEUE):
        Application.count += 1
        self.n = Application.count
        self.rm = books[self.n] = Books(self.n, queue)
        self.rm.grants_opportunistic, reports[self.n], self.response_id = grants, kind, 0
        self.token = master.nm_token(application=self.n)
        wish = message(4, message(1, "NMD_LEND") + message(2, wish)) if wish else b""
        what = message(2, credentials(self.n)) + wish + context()
        started = start(container_token(1, application=self.n, memory=32, role=1), bearer=self.token, what=what)
        if started == "closed" and on_death:  # nmd saves the master before it answers
            on_death()
            started = start(container_token(1, application=self.n, memory=32, role=1), bearer=self.token, what=what)
        if started != "1; ":
            raise SystemExit(f"a master doesn't start: {started}")
        if registers:
            self.register()

    def connect(self):
        pattern = f"{local}/usercache/*/appcache/application_{CLUSTER}_{self.n:04}/container_*_01_000001/container_tokens"
        # the node writes the file while it prepares the container
        if not within(20, lambda: any(of_credentials(path) for path in glob.glob(pattern))):
            raise SystemExit("a master's container has no tokens: " + pattern)
        self.client = Client(("127.0.0.1", proxy_port), MASTERS).enter(*of_credentials(glob.glob(pattern)[0]))

    def register(self):
        self.connect()
        answer = self.client.call("registerApplicationMaster", message(1, "here") + number(2, 1))
        self.response_id = 0
        self.shown = [fields(c).get(7, G) for c in every(answer, 4)]
        if reports[self.n]:
            self.learn_type()

    def learn_type(self):
        """Waits until nmd has asked for the application's type, without which it lends nothing."""
        if not within(10, lambda: ForClients.asked.get(self.n)):
            raise SystemExit("nmd doesn't ask for an application's type")
        time.sleep(0.1)
        self.beat()

    def beat(self, *asks, releases=(), response_id=None, updates=()):
        body = b"".join(message(1, a) for a in asks) + b"".join(message(2, container(n, self.n)) for n in releases) + \
            b"".join(message(7, u) for u in updates)
        if response_id is None:
            response_id = self.response_id
        answer = Answer(self.client.call("allocate", body + number(4, response_id)))
        self.response_id = answer.response_id
        return answer

    def beat_until(self, condition, seconds=15, *asks):
        """Sends heartbeats until condition(answer) holds. Returns the answer, or None."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            answer = self.beat(*asks)
            if condition(answer):
                return answer
            asks = ()
            time.sleep(0.1)
        return None

    def change(self, n, version, kind):
        """Asks for a promotion or a demotion. The ResourceManager answers it with the next call. Returns what the master sees
        then, and takes it to the node."""
        to = G if kind == PROMOTE else O
        self.beat(updates=[number(1, version) + message(2, container(n, self.n)) + number(3, kind) + number(5, to)])
        update = self.rm.updates[-1]
        changed = self.rm.container(n, 20, to, 128, version=update.version + 1)
        self.rm.parts.append(message(16, number(1, kind) + message(2, changed)))
        answer = self.beat()
        for token in answer.tokens:
            master.ask("updateContainer", message(1, token), self.token)
        return update.text, answer.updates

    def refused(self):
        try:
            self.beat()
        except Refused as why:
            return str(why)
        return "answered"

    def launch(self, answer):
        """Starts the granted containers on the node, with their own types."""
        tokens = [container_token(n, application=self.n, memory=memory, kind=O) for n, _, memory in answer.given]
        return start(*tokens, bearer=self.token)

    def name(self, n):
        return f"container_{CLUSTER}_{self.n:04}_01_{n:06}"

    def explained(self, n, wanted):
        """Returns what nmctl says about a lent container, as one line, or the regular expression that it matches."""
        run = subprocess.run([nmctl, "explain", self.name(n)], capture_output=True, text=True)
        text = " ".join((run.stdout + run.stderr).split())
        return wanted if re.search(wanted, text) else text

    def end(self):
        """The ResourceManager reports that the application has ended."""
        cluster.orders.append(message(6, number(1, self.n) + number(2, CLUSTER)))

    def on_node(self, n):
        """Returns type and state of a container, as nmctl shows them."""
        name = self.name(n)
        listed = json.loads(subprocess.run([nmctl, "list", "--all", "--json"], capture_output=True, text=True).stdout or "[]")
        return next((f"{c['execution_type']} {c['state']}" for c in listed if c["id"] == name), "none")


def restart(how):
    """Lets the suite kill nmd, and start it with this rule."""
    print("!" + how, flush=True)
    if sys.stdin.readline() != "done\n":
        raise SystemExit("nmd wasn't restarted")
    cluster.wait_beats()


def held(reason):
    status = json.loads(subprocess.run([nmctl, "status", "--json"], capture_output=True, text=True).stdout)
    return status["upstream"]["masters"]["lending"]["held"][reason]


def try_registered_before():
    """Lending is switched on while a master runs. This must be the first test: a node that has lent keeps books for all masters."""
    restart("off")
    a = Application(kind=None, grants=False)
    a.beat(ask(20, 3), ask(20, 3, kind=O))
    own = a.rm.give(1, 20, O)
    a.beat()
    reports[a.n] = "MAPREDUCE"
    restart("all")
    reconnect(a)
    a.learn_type()
    own += a.rm.give(1, 20, O)
    answer = a.beat(ask(20, 4))
    fact("nothing is lent to a master that registered before lending was enabled", (a.rm.asks, held("registered_before")),
         (["20 * G4"], 4))
    fact("its own opportunistic containers are shown as they are", (answer.types, answer.numbers), ("O", own[1:]))
    for n in own:
        a.rm.end(n, KILLED_BY_NODE)
    fact("the ends of its own opportunistic containers are shown as they are", [end[:2] for end in a.beat().ended.values()],
         [(KILLED_BY_NODE, O)] * 2)
    a.rm.registered = False
    a.refused()
    a.register()
    a.beat(ask(20, 2))
    fact("when it has registered again, its asks are lent", a.rm.asks, ["20 * G0", "20 * O2"])
    restart("allowed")


# ---- the books ------------------------------------------------------------------------------------------------------

def try_all():
    a = Application("all")
    answer = a.beat(ask(20, 4))
    fact("all: a guaranteed ask is sent as an opportunistic one, after the guaranteed part", a.rm.asks, ["20 * G0", "20 * O4"])
    fact("all: the master sees the granted containers as guaranteed", answer.types, "GGGG")
    a.beat()
    fact("all: a heartbeat without asks sends no asks", a.rm.asks, [])
    again = a.beat(response_id=a.response_id - 1)
    fact("a repeated answer shows the lent containers as guaranteed again", (again.types, a.rm.asks), ("", []))
    a.beat(ask(20, 2, where="host1"), ask(20, 2, where="/rack"), ask(20, 2))
    fact("all: asks for hosts and racks are forwarded", sorted(x for x in a.rm.asks if "*" not in x),
         ["20 /rack G2", "20 host1 G2"])


def try_repeat():
    a = Application("percent:50")
    answer = a.beat(ask(20, 4))
    fact("percent:50: half of the containers are lent", (answer.types, a.rm.pending(20)), ("GG", "2 + 0"))
    again = a.beat(response_id=a.response_id - 1)
    fact("an answer that is repeated has the same containers", again.given, answer.given)
    a.beat()
    fact("a repeated answer isn't counted twice", (a.rm.pending(20), a.rm.asks), ("2 + 0", []))
    a.rm.give(1, 20)
    answer = a.beat()
    fact("a guaranteed container is shown as it is", answer.types, "G")
    again = a.beat(response_id=a.response_id - 1)
    a.beat(ask(20, 1))
    fact("a repeated guaranteed container isn't counted twice", (again.types, sum(map(int, a.rm.pending(20).split(" + ")))), ("G", 1))


def try_races():
    a = Application("percent:50", grants=False)
    a.beat(ask(20, 4))
    fact("a key's two asks add up to the master's number", a.rm.pending(20), "2 + 2")
    a.rm.give(1, 20)
    a.rm.give(1, 20, O)
    a.beat(ask(20, 5))  # the master hasn't seen the two containers yet when it asks for one more
    fact("the master's number counts after grants that it hasn't seen",
         sum(map(int, a.rm.pending(20).split(" + "))) + 2 in (5, 7), True)
    a.beat(ask(20, 3))
    fact("the next number of the master counts too", sum(map(int, a.rm.pending(20).split(" + "))), 3)
    surplus = a.rm.give(4, 20, O)
    answer = a.beat()
    fact("the master sees at most the containers that it asked for", len(answer.given) <= 3, True)
    hidden = [n for n in surplus if n not in answer.numbers]
    a.beat()
    fact("surplus containers are hidden and released", (len(hidden) >= 1, a.rm.releases), (True, hidden))
    a.beat(ask(20, 0))
    fact("a cancelled ask is cancelled in both parts", a.rm.pending(20), "0 + 0")


def try_rounding():
    a = Application("all")
    answer = a.beat(ask(5, 2, memory=984), ask(5, 1, memory=300, request_id=7))
    fact("containers with rounded sizes are lent under their keys", sorted((m for _, _, m in answer.given)), [384, 1024, 1024])
    fact("containers with rounded sizes are counted", (answer.types, a.rm.pending(5), a.rm.pending(5, 7)), ("GGG", "0 + 0", "0 + 0"))


def try_own():
    a = Application("all")
    answer = a.beat(ask(20, 3), ask(20, 2, kind=O), ask(10, 1))
    fact("a key with the application's own opportunistic asks is left alone",
         (sorted(x for x in a.rm.asks if x.startswith("20")), answer.types.count("O")), (["20 * G3", "20 * O2"], 2))
    own = [n for n, kind, _ in answer.given if kind == O]
    lent = [n for n, kind, _ in answer.given if kind == G]
    fact("another key of the same application is lent", len(lent), 1)
    for n in own[:1] + lent:
        a.rm.end(n, KILLED_BY_NODE)
    answer = a.beat()
    fact("the end of its own opportunistic container is shown as it is", answer.ended[own[0]][:2], (KILLED_BY_NODE, O))
    fact("the end of a lent container that the node took back is a preemption", answer.ended[lent[0]][:2], (PREEMPTED, G))
    a.rm.end(own[1], 0)
    fact("an ordinary end is shown as it is", a.beat().ended[own[1]][0], 0)


def try_left_alone():
    a = Application("all")
    a.beat(ask(1, 1, label="fast"))
    fact("an ask for a label is left alone", a.rm.asks, ["1 * G1"])
    a.beat(ask(2, 1, where="host1"), ask(2, 1, where="/rack", relax=False), ask(2, 1, relax=False))
    fact("an ask for certain hosts only is left alone", a.rm.pending(2), "1 + 0")
    a.beat(ask(3, 1, more=message(3, message(1, "yarn.io/gpu") + number(2, 1) + message(3, ""))))
    fact("an ask for another resource is left alone", a.rm.asks, ["3 * G1"])
    labelled = Application("all", queue=LABELLED)
    labelled.beat(ask(20, 2))
    fact("an ask in a queue with a default label is left alone", labelled.rm.asks, ["20 * G2"])
    flink = Application("all", kind="Apache Flink")
    flink.beat(ask(20, 2))
    fact("an application of another type is left alone", flink.rm.asks, ["20 * G2"])
    off = Application("off")
    off.beat(ask(20, 2))
    fact("an application that wishes nothing lent is left alone", off.rm.asks, ["20 * G2"])
    wrong = Application("alll")
    wrong.beat(ask(20, 2))
    fact("an application with a wish that is no rule is left alone", wrong.rm.asks, ["20 * G2"])


def try_overflow():
    a = Application("overflow:1")
    begun = time.monotonic()
    answer = a.beat(ask(20, 3))
    fact("overflow: nothing is lent at first", (a.rm.asks, answer.types), (["20 * G3"], ""))
    a.rm.give(1, 20)
    a.beat()
    answer = a.beat_until(lambda answer: answer.given)
    fact("overflow: what was not granted is lent", (answer and answer.types, a.rm.pending(20)), ("GG", "0 + 0"))
    fact("overflow: it is lent after a second", 0.9 < time.monotonic() - begun < 5, True)


def try_late_type():
    a = Application("all", kind=None)
    a.beat(ask(20, 2))
    fact("nothing is lent while the application's type is unknown", a.rm.asks, ["20 * G2"])
    reports[a.n] = "SPARK"
    answer = a.beat_until(lambda answer: answer.given)
    fact("the pending ask is lent when the type has become known", (answer and answer.types, a.rm.pending(20)), ("GG", "0 + 0"))


def try_refusing():
    a = Application("all", grants=False)
    a.beat(ask(20, 2))
    a.rm.waiting[20, -1, O] = 0
    a.rm.give(1, 20, G)  # a ResourceManager without opportunistic allocation serves the later ask of a key as guaranteed
    answer = a.beat()
    fact("a guaranteed container for an opportunistic ask is shown", answer.types, "G")
    a.beat(ask(20, 3))
    fact("nothing more is lent when the ResourceManager grants guaranteed containers only", a.rm.pending(20), "3 + 0")


def try_back_off():
    a = Application("all")
    answer = a.beat(ask(20, 2))
    a.rm.end(answer.numbers[0], KILLED_BY_NODE)
    ended = a.beat().ended[answer.numbers[0]]
    fact("the master sees a preemption", ended[:2], (PREEMPTED, G))
    fact("the diagnostics name nmd, and keep the node's text", "lent by nmd" in ended[2].lower() and "in the way" in ended[2], True)
    answer = a.beat(ask(20, 1), ask(10, 1))
    fact("after a preemption the key is not lent for some time, and another key is", (a.rm.pending(20), answer.types),
         ("1 + 0", "G"))


def try_new_rm():
    a = Application("all")
    answer = a.beat(ask(20, 2))
    lent = answer.numbers
    a.rm.registered = False
    fact("the master hears that it must register again", a.refused(), "ApplicationMasterNotRegisteredException")
    a.rm.recovered = [a.rm.container(n, 20, O, 512) for n in lent]
    a.register()
    fact("lent containers in the answer to a registration are guaranteed for the master", a.shown, [G, G])
    a.rm.parts.append(message(17, a.rm.container(lent[0], 20, O, 512)))
    a.rm.end(lent[0], KILLED_BY_NODE)
    answer = a.beat()
    fact("a lent container of an earlier attempt is guaranteed for the master", answer.previous, [G])
    fact("a lent container of before the registration ends as preempted", answer.ended[lent[0]][:2], (PREEMPTED, G))
    a.beat(ask(10, 1))
    fact("lending goes on after the registration", a.rm.asks, ["10 * G0", "10 * O1"])


# ---- promotion ------------------------------------------------------------------------------------------------------

def promote(a, update, done=True, rm=None):
    """rm: another run of the ResourceManager, whose tokens the node refuses."""
    if done:
        promoted = a.rm.container(update.n, 20, G, 128, version=1, rm=rm)
        a.rm.parts.append(message(16, number(1, PROMOTE) + message(2, promoted)))
    else:
        a.rm.parts.append(message(15, message(1, "UPDATE_OUTSTANDING_ERROR") + message(2, update.data) + number(3, 0)))


def try_promotion():
    a = Application("all")
    a.rm.limit = (0, 0)
    answer = a.beat(ask(20, 3, memory=128))
    fact("the lent containers are started", a.launch(answer), " ".join(map(str, answer.numbers)) + "; ")
    first = answer.numbers[0]
    runs = lambda: all(a.on_node(n) == "OPPORTUNISTIC RUNNING" for n in answer.numbers)
    fact("the lent containers run as opportunistic ones", within(20, runs), True)
    a.beat_until(lambda _: a.rm.updates, 7)
    fact("no promotion is asked for while the queue has no headroom", len(a.rm.updates), 0)
    a.rm.limit = PLENTY
    a.beat_until(lambda _: a.rm.updates, 20)
    fact("with headroom the oldest lent container is to be promoted", [u.text for u in a.rm.updates],
         [f"{first} version 0 type {PROMOTE} to {G}"])
    a.beat()
    a.beat()
    fact("one promotion of a node is outstanding at a time", len(a.rm.updates), 1)
    promote(a, a.rm.updates[0])
    answer = a.beat()
    fact("the master doesn't see the promotion", (answer.updated, answer.given), (0, []))
    fact("the node makes the container guaranteed", within(20, lambda: a.on_node(first) == "GUARANTEED RUNNING"), True)
    a.rm.end(first, 143, G)
    fact("the end of a promoted container is shown as it is", a.beat().ended[first][:2], (143, G))
    a.beat_until(lambda _: len(a.rm.updates) > 1, 20)
    second = a.rm.updates[-1]
    promote(a, second, done=False)
    answer = a.beat()
    fact("the master doesn't see a refused promotion", answer.update_errors, 0)
    for n in range(3):
        a.beat()
    fact("a refused promotion isn't asked for again at once", [u.text for u in a.rm.updates].count(second.text), 1)
    a.rm.registered = False
    a.refused()
    a.rm.recovered = [a.rm.container(second.n, 20, O, 128)]
    a.register()
    fact("the promotion is asked for again after a registration",
         a.beat_until(lambda _: len(a.rm.updates) > 2, 20) is not None and a.rm.updates[-1].n in (second.n, second.n + 1), True)


def lend_and_run(a):
    """Lends one container, which runs, and waits until its promotion is asked for. Returns its number."""
    a.rm.limit = (0, 0)
    answer = a.beat(ask(20, 1, memory=128))
    a.launch(answer)
    a.rm.limit = PLENTY
    fact("a promotion is asked for", a.beat_until(lambda _: a.rm.updates, 30) is not None, True)
    return answer.numbers[0]


def try_demotion():
    """The master takes a promoted container for a guaranteed one, and demotes it."""
    a = Application("all")
    n = lend_and_run(a)
    promote(a, a.rm.updates[0])
    a.beat()
    on_node = lambda kind: within(20, lambda: a.on_node(n) == kind + " RUNNING")
    fact("the promotion reaches the node", on_node("GUARANTEED"), True)
    for version, kind, name, to in ((0, DEMOTE, "OPPORTUNISTIC", O), (2, PROMOTE, "GUARANTEED", G), (3, DEMOTE, "OPPORTUNISTIC", O)):
        seen = max(version, 1)
        fact(f"the master sees its update to version {seen + 1}", a.change(n, version, kind),
             (f"{n} version {seen} type {kind} to {to}", [(kind, to, seen + 1)]))
        fact(f"the node has its update to version {seen + 1}", on_node(name), True)
    told = "its master has demoted it"
    fact("explain tells of the demotion", a.explained(n, told), told)
    for _ in range(3):
        a.beat()
        time.sleep(2)
    fact("the container isn't promoted against the master's wish", [u.text for u in a.rm.updates[4:]], [])
    a.rm.end(n, KILLED_BY_NODE)
    fact("the end of a container that its master has demoted is shown as it is", a.beat().ended[n][:2], (KILLED_BY_NODE, O))
    fact("a promoted and demoted container is counted once", lent_to(a), (1, 1, 0, 0, 0))


def try_void_promotion():
    """The ResourceManager is restarted before the node has got a promotion, so the node refuses its token."""
    a = Application("all")
    n = lend_and_run(a)
    promote(a, a.rm.updates[0], rm=CLUSTER - 1)
    fact("the master doesn't see a promotion that the node refuses", (a.beat().updated, lent_to(a)[4]), (0, 0))
    a.rm.registered = False
    a.refused()
    a.register()
    fact("the container is lent again", lent_to(a), (1, 1, 0, 0, 1))
    a.beat_until(lambda _: len(a.rm.updates) > 1, 30)
    fact("the promotion is asked for again", [u.text for u in a.rm.updates], [f"{n} version 0 type {PROMOTE} to {G}"] * 2)
    promote(a, a.rm.updates[1])
    a.beat()
    fact("the node makes it guaranteed", within(20, lambda: a.on_node(n) == "GUARANTEED RUNNING"), True)
    fact("the node has it as the books do", lent_to(a), (1, 2, 0, 0, 0))


# ---- restarts of nmd ------------------------------------------------------------------------------------------------

def reconnect(a):
    """The master's connection ends with nmd. Its next call repeats the response id of the last answer."""
    a.client.socket.close()
    a.connect()


def try_kill():
    a, b = Application("percent:50", grants=False), Application("all")
    a.beat(ask(20, 4))
    lent = a.rm.give(1, 20, O)
    answer = a.beat()
    theirs = b.beat(ask(20, 1))
    restart("allowed")
    for application in a, b:
        reconnect(application)
    again = a.beat(response_id=a.response_id - 1)
    fact("after a restart of nmd a repeated answer is translated", (again.types, again.numbers), (answer.types, lent))
    a.beat()
    fact("after a restart of nmd the counts are as before", a.rm.pending(20), "2 + 1")
    a.rm.end(lent[0], KILLED_BY_NODE)
    b.rm.end(theirs.numbers[0], KILLED_BY_NODE)
    fact("after a restart of nmd the end of a lent container is a preemption",
         (a.beat().ended[lent[0]][:2], b.beat().ended[theirs.numbers[0]][:2]), ((PREEMPTED, G), (PREEMPTED, G)))
    return a


class Persistent:
    """A master that repeats a call if nmd dies in it. nmd is then started again."""

    def __init__(self):
        self.deaths, self.given, self.updated = 0, {}, 0
        self.a = Application("all", registers=False, on_death=self.die)
        self.a.connect()
        self.a.rm.limit = 0, 0

    def die(self):
        self.deaths += 1
        restart("allowed")

    def persist(self, call):
        try:
            return call()
        except (EOFError, ConnectionError):
            self.die()
            reconnect(self.a)
            return call()

    def beat(self, *asks):
        answer = self.persist(lambda: self.a.beat(*asks))
        self.given.update({n: kind for n, kind, _ in answer.given})
        self.updated += answer.updated
        return answer

    def promote(self, answer):
        """Launches the containers, and beats until the first one is guaranteed on its node."""
        rm = self.a.rm
        self.a.launch(answer)
        rm.limit = PLENTY
        within(40, lambda: self.beat() and rm.updates)
        rm.limit = 0, 0
        first = rm.updates[0]
        promote(self.a, first)
        guaranteed = within(30, lambda: self.beat() and self.a.on_node(first.n) == "GUARANTEED RUNNING")
        return first.n, guaranteed


def nmd_is_dead():
    return subprocess.run([nmctl, "status"], capture_output=True).returncode != 0


def pipeline_of(a):
    """Returns what nmctl shows of the master's attempt, or None if nmd has dropped it."""
    status = json.loads(subprocess.run([nmctl, "status", "--json"], capture_output=True, text=True).stdout)
    attempt_id = f"appattempt_{CLUSTER}_{a.n:04}_000001"
    return next((p for p in status["upstream"]["masters"]["pipelines"] if p["attempt_id"] == attempt_id), None)


def lent_to(a):
    """Returns what nmctl counts for an application: granted, promoted, preempted, ended, lent now."""
    f = pipeline_of(a)["lending"]
    return tuple(f[name] for name in ("granted", "promoted", "preempted", "ended", "lent"))


def story(step, passes):
    """Lends, promotes and ends containers, while nmd dies at the step. Returns whether it has died."""
    name = f"{step}, pass {passes}"
    restart(f"allowed {step}:{passes}")
    m = Persistent()
    m.persist(m.a.register)
    answer = m.beat(ask(20, 3, memory=128))
    m.beat()
    fact(f"the master gets what it asked for, as guaranteed: {name}", list(m.given.values()), [G, G, G])
    numbers, promoted = sorted(m.given), None
    if not m.deaths:  # otherwise the promotion is that of a later story
        promoted, guaranteed = m.promote(answer)
        fact(f"the promotion reaches the node: {name}", guaranteed, True)
        fact(f"the master doesn't see the promotion: {name}", (m.updated, sorted(m.given)), (0, numbers))
        m.a.rm.end(promoted, 143, G)
    others = [n for n in numbers if n != promoted]
    m.a.rm.end(others[0], KILLED_BY_NODE)
    ended = m.beat().ended
    fact(f"the master sees a preemption: {name}", ended[others[0]][:2], (PREEMPTED, G))
    if promoted:
        fact(f"the end of a promoted container is shown as it is: {name}", ended[promoted][:2], (143, G))
    m.beat()
    fact(f"each container is counted once: {name}", lent_to(m.a), (3, int(bool(promoted)), 1, 0, len(others) - 1))
    if "dropped" in step:
        m.a.end()
        m.deaths += within(30, nmd_is_dead)
        restart("allowed")
        told = r"preempted [0-9.a-z]+ after it was lent"
        fact(f"the container is explained after the end of its application: {name}",
             within(20, lambda: m.a.explained(others[0], told) == told), True)
    else:
        m.a.end()
        fact(f"the attempt is dropped: {name}", within(20, lambda: pipeline_of(m.a) is None), True)
    fact(f"nmd dies at most once: {name}", m.deaths <= 1, True)
    m.a.client.socket.close()
    return m.deaths > 0


def try_steps():
    """nmd dies before or after the nth save, for each n until a story has fewer saves. The first one is that of the start of the
    master, the second one that of its registration, and the last one that of the ends."""
    for step in ("before-master-kept", "after-master-kept"):
        passes = 1
        while story(step, passes):
            passes += 1
        fact(f"{step}: the story has saves of the registration, asks, grants, promotion and ends", passes > 6, True)
    for step in ("before-master-dropped", "after-master-dropped"):
        fact(f"nmd dies: {step}", story(step, 1), True)


def try_ended():
    """An operator looks the next morning, when the application has ended and nmd was restarted."""
    a = Application("overflow:1")
    a.beat(ask(20, 2))
    answer = a.beat_until(lambda answer: len(answer.given) == 2)
    taken, kept = answer.numbers
    begin = r"Asked for as guaranteed; lent after [0-9.]+s without a grant; "
    who = rf" It was lent to appattempt_{CLUSTER}_{a.n:04}_000001 of the user ada in the queue {re.escape(QUEUE)}\."
    preempted, ended = (begin + how + r" [0-9.a-z]+ after it was lent\..*" + who
                        for how in ("preempted", "the application's attempt ended"))
    fact("explain names the application of a lent container", a.explained(kept, begin + ".*" + who), begin + ".*" + who)
    a.rm.end(taken, KILLED_BY_NODE)
    a.beat()
    a.end()
    within(30, lambda: a.explained(kept, ended) == ended)
    a.client.socket.close()
    for when in "after the end of its application", "after a restart of nmd":
        fact(f"explain describes a preempted container {when}", a.explained(taken, preempted), preempted)
        fact(f"explain describes a container that was not preempted {when}", a.explained(kept, ended), ended)
        if when.startswith("after the end"):
            restart("allowed")


def try_modes():
    a = Application(grants=False)
    a.beat(ask(20, 4))
    fact("without a wish nothing is lent where applications choose", a.rm.pending(20), "4 + 0")
    restart("percent:50")
    reconnect(a)
    a.beat_until(lambda _: a.rm.pending(20) == "2 + 2")
    fact("with a higher mode pending asks are lent", a.rm.pending(20), "2 + 2")
    lent = a.rm.give(1, 20, O)
    a.beat()
    restart("off")
    reconnect(a)
    a.beat_until(lambda _: a.rm.pending(20) == "3 + 0")
    fact("with the mode off all pending asks are guaranteed", a.rm.pending(20), "3 + 0")
    a.rm.end(lent[0], KILLED_BY_NODE)
    fact("with the mode off an earlier lent container still ends as preempted", a.beat().ended[lent[0]][:2], (PREEMPTED, G))
    restart("observe")
    reconnect(a)
    a.beat(ask(20, 2))
    fact("observe: nothing is lent", a.rm.pending(20), "2 + 0")


serve(scheduler_port, Scheduler)
serve(client_port, ForClients)
begin()
if len(sys.argv) > 9:  # only these tests; those of steps have a suite of their own
    for name in sys.argv[9:]:
        globals()["try_" + name]()
    sys.exit()
for test in (try_registered_before, try_all, try_repeat, try_races, try_rounding, try_own, try_left_alone, try_overflow, try_late_type,
             try_refusing, try_back_off, try_new_rm, try_promotion, try_demotion,
             try_void_promotion, try_ended, try_kill, try_modes):
    test()
