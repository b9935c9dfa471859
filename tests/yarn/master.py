# SPDX-License-Identifier: Apache-2.0
#
# A ResourceManager with its keys, and an application master with its tokens, for programs of this folder that start containers
# without Hadoop. The first arguments of these programs are RM-PORT NODE-NAME NODE-PORT. The programs print a line for each
# test: its name, the result and the expected result, separated by tabs.
import hashlib
import hmac
import socketserver
import sys
import threading
import time

from wire import (Client, Refused, answered, delimited, every, fields, message, number, read_exactly, read_packet, short,
                  signed)

rm_port, node_name, node_port = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
PROTOCOL = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
CLUSTER = 1700000000000



def fact(name, got, wanted):
    print(f"{name}\t{got}\t{wanted}", flush=True)


def within(seconds, condition):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


# ---- the ResourceManager --------------------------------------------------------------------------------------------

class Cluster:
    """The state of the ResourceManager, and what the node has reported."""

    def __init__(self):
        self.rm = CLUSTER
        self.container_key, self.nm_key = (5, b"keyofcon"), (-9, b"keyofnms")
        self.orders = []  # for the next responses; each order is sent once
        self.resync = False
        self.interval_msec = 50  # between heartbeats
        self.slow = False  # True: responses to registrations are delayed
        self.heartbeats = self.registrations = 0
        self.statuses, self.known, self.ends, self.diagnostics = {}, {}, {}, {}

    def keys(self):
        return [number(1, i) + message(2, key) for i, key in (self.container_key, self.nm_key)]

    def register(self, request):
        if self.slow:
            time.sleep(1.5)
        self.registrations += 1
        self.known = {container_number(fields(c)[1]): fields(c)[2] for c in every(request, 6)}
        keys = self.keys()
        return message(1, keys[0]) + message(2, keys[1]) + number(3, 0) + number(4, self.rm) + message(6, b"3.4.2")

    def beat(self, request):
        status = fields(request)[1]
        self.statuses = {container_number(fields(c)[1]): fields(c) for c in every(status, 3)}
        self.ends.update({n: signed(s.get(4, 0)) for n, s in self.statuses.items() if s[2] == 3})
        self.diagnostics.update({n: s.get(3, b"").decode() for n, s in self.statuses.items() if s[2] == 3})
        self.heartbeats += 1
        if self.resync:
            self.resync = False
            return number(4, 1)
        keys, order = self.keys(), self.orders.pop(0) if self.orders else b""
        return number(1, fields(status).get(2, 0) + 1) + message(2, keys[0]) + message(3, keys[1]) + number(4, 0) + \
            number(7, self.interval_msec) + order

    def wait_beats(self, n=2):
        before = self.heartbeats
        return within(10, lambda: self.heartbeats >= before + n)

    def state(self, n):
        s = self.statuses.get(n)
        return "none" if s is None else f"{s[2]} {signed(s.get(4, 0))}"


class Rpc(socketserver.BaseRequestHandler):
    """A connection of a client. Subclasses define answer()."""

    def enter(self):
        read_exactly(self.request, 7)

    def respond(self, header, method, request):
        return answered(header, self.answer(method, request))

    def handle(self):
        try:
            self.enter()
            while True:
                data = read_packet(self.request)
                header, at = delimited(data, 0)
                if fields(header)[3] & 1:  # negative call ids are the connection context or a ping
                    continue
                what, at = delimited(data, at)
                request, at = delimited(data, at)
                self.request.sendall(self.respond(header, fields(what)[1], request))
        except (EOFError, OSError):
            pass


class Tracker(Rpc):
    def answer(self, method, request):
        method = {b"registerNodeManager": cluster.register, b"nodeHeartbeat": cluster.beat}.get(method)
        return method(request) if method else b""


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


# ---- ids and tokens -------------------------------------------------------------------------------------------------

def attempt(application=1, n=1):
    return message(1, number(1, application) + number(2, CLUSTER)) + number(2, n)


def container(n, application=1, of=1):
    return message(2, attempt(application, of)) + number(3, n)


def container_number(data):
    return signed(fields(data)[3])


def sign(key, identifier):
    return hmac.new(key, identifier, hashlib.sha1).digest()


def token(identifier, password, kind):
    return message(1, identifier) + message(2, password) + message(3, kind) + message(4, "127.0.0.1:1")


def nm_token(application=1, n=1, host=node_name, port=None, key=None, key_id=None, submitter="ada"):
    i, k = cluster.nm_key
    identifier = message(1, attempt(application, n)) + message(2, message(1, host) + number(2, port or node_port)) + \
        message(3, submitter) + number(4, i if key_id is None else key_id)
    return identifier, sign(key or k, identifier)


def container_identifier(n, application=1, of=1, address=None, submitter="ada", memory=64, vcores=1, life=600, rm=None,
                         key_id=None, version=0, kind=1, role=2):
    return message(1, container(n, application, of)) + message(2, address or f"{node_name}:{node_port}") + \
        message(3, submitter) + message(4, number(1, memory) + number(2, vcores)) + \
        number(5, int((time.time() + life) * 1000)) + \
        number(6, cluster.container_key[0] if key_id is None else key_id) + \
        number(7, cluster.rm if rm is None else rm) + number(12, role) + number(13, kind) + number(14, version)


def container_token(n, key=None, **what):
    identifier = container_identifier(n, **what)
    return token(identifier, sign(key or cluster.container_key[1], identifier), "ContainerToken")


def context(command="exec sleep 600", extra=b""):
    return message(5, command) + extra


def start_request(*tokens, what=None):
    return b"".join(message(1, message(1, context() if what is None else what) + message(2, t)) for t in tokens)


# ---- the application master -----------------------------------------------------------------------------------------

def node(source="127.0.0.2"):
    return Client(("127.0.0.1", node_port), PROTOCOL, source)


def ask(method, body, bearer=None, **what):
    """Returns the response, or the class of the exception, or "closed"."""
    try:
        with node() as client:
            return client.enter(*(bearer or nm_token())).call(method, body, **what)
    except Refused as why:
        return str(why)
    except (EOFError, ConnectionError):
        return "closed"


def outcome(answer, done, refused):
    """Returns "2 3; 4 YarnException": first the containers that succeeded, then the others with the class of their exception."""
    if isinstance(answer, str):
        return answer
    yes = [str(container_number(c)) for c in every(answer, done)]
    no = [f"{container_number(fields(r)[1])} {short(fields(fields(r)[2])[3])}" for r in every(answer, refused)]
    return f"{' '.join(yes)}; {', '.join(no)}"


def start(*tokens, bearer=None, what=None):
    return outcome(ask("startContainers", start_request(*tokens, what=what), bearer), 2, 3)


def stop(*ids, bearer=None):
    return outcome(ask("stopContainers", b"".join(message(1, i) for i in ids), bearer), 1, 2)


def status(*ids, bearer=None):
    answer = ask("getContainerStatuses", b"".join(message(1, i) for i in ids), bearer)
    if isinstance(answer, str):
        return answer
    yes = [str(container_number(fields(s)[1])) for s in every(answer, 1)]
    return f"{' '.join(yes)}; {len(every(answer, 2))}"


cluster = Cluster()


def serve(port, handler):
    threading.Thread(target=Server(("127.0.0.1", port), handler).serve_forever, daemon=True).start()


def begin():
    """Starts the ResourceManager and waits for the node."""
    serve(rm_port, Tracker)
    fact("the node registers", within(30, lambda: cluster.heartbeats > 2), True)
