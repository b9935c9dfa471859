#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One user attacks nmd's socket in all ways at the same time. Meanwhile the requests of root and of another user are measured.

    hostile.py SOCKET PID SECONDS ATTACKER OTHER [stalls]

ATTACKER and OTHER are UIDs. Prints one figure per line, as "name: value". Latencies are in ms, from connect() to the
last byte. The latency of the machine is measured too, because it is not nmd's: "own" subtracts from each
exchange the time in which nmd was ready to run and had no CPU (from its schedstat). "echo" is the same exchange,
a moment later, with an idle server that has nmd's CPU priority.

With "stalls" there is no attack, and nmd is stopped for 200 ms in each second. This tests that "own" includes such a stop.
"""

import json
import multiprocessing
import os
import random
import signal
import socket
import struct
import sys
import tempfile
import time

path, pid, seconds, attacker, other = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
stalls = sys.argv[6:] == ["stalls"]
TINY = b'"memory_bytes":1048576,"vcores":0.001'


def post(target, body, length=None):
    return b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (target, length or len(body), body)


def get(target):
    return b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % target


def connect(timeout):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(timeout)
    s.connect(path)
    return s


def connect_as_nmctl(to):
    """Opens a connection. connect() blocks while too many other connections wait."""
    s = socket.socket(socket.AF_UNIX)
    for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        s.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", 10, 0))
    s.connect(to)
    return s


class Reader:
    """Yields the received data piece by piece."""

    def __init__(self, s):
        self.s, self.data = s, b""

    def more(self):
        piece = self.s.recv(65536)
        if not piece:
            raise ConnectionError("closed")
        self.data += piece

    def until(self, end):
        while end not in self.data:
            self.more()
        taken, self.data = self.data.split(end, 1)
        return taken

    def skip(self, n):
        while len(self.data) < n:
            n -= len(self.data)
            self.data = b""
            self.more()
        self.data = self.data[n:]


def answer(s):
    """Reads one response to its end, and returns its status."""
    reader = Reader(s)
    head = reader.until(b"\r\n\r\n")
    length, chunked = 0, False
    for line in head.split(b"\r\n")[1:]:
        name, value = line.split(b":", 1)
        if name.lower() == b"content-length":
            length = int(value)
        chunked = chunked or name.lower() == b"transfer-encoding"
    while chunked:
        length = int(reader.until(b"\r\n"), 16)
        reader.skip(length + 2)
        if length == 0:
            return int(head.split()[1])
    reader.skip(length)
    return int(head.split()[1])


# ---- the attacks: each one runs in its own process until it is killed ----------------------------------------------

def ask_again_and_again(counter, n, requests):
    """Keeps n connections busy: each one sends the next request as soon as it has the response."""
    connections = []
    while True:
        while len(connections) < n:
            try:
                connections.append(connect(5))
            except OSError:
                time.sleep(0.01)
        for s in list(connections):
            try:
                s.sendall(random.choice(requests))
            except OSError:
                connections.remove(s)
        for s in list(connections):
            try:
                answer(s)
                with counter.get_lock():
                    counter.value += 1
            except (OSError, ValueError):
                s.close()
                connections.remove(s)


def hold(n, request):
    """Opens n connections that send the data and then neither send nor read. Opens them again when nmd closes them."""
    connections = []
    while True:
        while len(connections) < n:
            try:
                s = connect(5)
                connections.append(s)
                s.sendall(request)
            except OSError:
                time.sleep(0.01)
        time.sleep(0.1)
        for s in list(connections):
            try:
                s.send(b"", socket.MSG_DONTWAIT)
                if not s.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK):
                    raise ConnectionError("closed")
            except BlockingIOError:
                pass
            except OSError:
                s.close()
                connections.remove(s)


def come_and_go():
    while True:
        some = []
        for _ in range(200):
            try:
                some.append(connect(1))
            except OSError:
                break
        for s in some:
            s.close()


def large_commands():
    words = b",".join([b'""'] * 16000)
    forbidden = b",".join([b'""'] * 345000)
    text = b",".join([b'"' + b"x" * 100000 + b'"'] * 5)
    env = b",".join(b'"A%d":""' % i for i in range(16000))
    return [post(b"/v1/containers", b"{%s,%s}" % (TINY, rest)) for rest in (
        b'"execution_type":"OPPORTUNISTIC","command":["true",%s]' % words,
        b'"execution_type":"OPPORTUNISTIC","command":["true",%s]' % text,
        b'"execution_type":"OPPORTUNISTIC","command":["true"],"env":{%s}' % env,
        b'"command":["true",%s]' % forbidden)]


def bombs():
    million = 1 << 20
    return [post(b"/v1/containers", body[:million]) for body in (
        b"[[]" + b",[]" * 349000 + b"]", b"[" * million, b'{"a":' * 200000, b"[{}" + b",{}" * 349000 + b"]",
        b'{"command":[' + b"1," * 520000 + b"1]}", b'{"command":["' + b"\\u0041" * 170000 + b'"]}')]


def many_containers():
    return [post(b"/v1/containers", b'{"execution_type":"%s","command":["%s"],%s}' % (kind, command, TINY))
            for kind in (b"GUARANTEED", b"OPPORTUNISTIC") for command in (b"true", b"no-such-program", b'sleep","3')]


READS = [get(target) for target in (b"/v1/containers?all=true", b"/v1/containers", b"/v1/history", b"/v1/status",
                                    b"/metrics", b"/v1/openapi.json", b"/v1/events", b"/v1/decisions", b"/no-such-path",
                                    b"/v1/containers/nobody", b"/v1/config")]


def talkers():
    """Starts containers with output for readers: one prints much in one burst, and one prints a little repeatedly."""
    for name, command in ((b"loud", b"head -c 4000000 /dev/zero; exec sleep 1000"),
                          (b"steady", b"while sleep 0.01; do echo a line of text; done")):
        yield post(b"/v1/containers", b'{"name":"%s","command":["sh","-c","%s"],%s}' % (name, command, TINY))


def ask_until_answered(request):
    """Repeats the request, because nmd closes the connection while other clients use all places of this user."""
    while True:
        try:
            s = connect(5)
            s.sendall(request)
            answer(s)
            return
        except (OSError, ValueError):
            time.sleep(0.01)


def follow(n):
    """Opens followers of logs and events that do not read."""
    for request in talkers():
        ask_until_answered(request)
    hold(n, get(b"/v1/containers/loud/logs?follow=true") + get(b"/v1/containers/steady/logs?follow=true"))


def attacks(counter):
    yield ask_again_and_again, (counter, 8, large_commands())
    yield ask_again_and_again, (counter, 31, bombs())
    yield ask_again_and_again, (counter, 20, many_containers())
    yield ask_again_and_again, (counter, 60, READS)
    yield ask_again_and_again, (counter, 20, [get(b"/v1/history")])
    yield hold, (60, post(b"/v1/containers", b" " * 900000, 1000000))
    yield hold, (60, get(b"/v1/containers?all=true") * 20 + get(b"/v1/history") * 20)
    yield hold, (30, get(b"/v1/history") * 20)
    yield hold, (60, get(b"/v1/events?follow=true"))
    yield follow, (40,)
    yield hold, (40, b"GET /v1/sta")
    yield come_and_go, ()


def attack(function, arguments):
    os.setgroups([])
    os.setgid(attacker)
    os.setuid(attacker)
    function(*arguments)


# ---- the measurement ----------------------------------------------------------------------------------------------

def echo(listener):
    """An idle server with nmd's priority. A request to it takes only the time that the machine needs."""
    os.nice(-10)
    while True:
        s = listener.accept()[0]
        try:
            Reader(s).until(b"\r\n\r\n")
            s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"x" * 1000)
        except OSError:
            pass
        s.close()


def exchange(to, request):
    """Returns (ms, status or error message)."""
    begun = time.monotonic()
    try:
        s = connect_as_nmctl(to)
        s.sendall(request)
        status = answer(s)
        s.close()
    except (OSError, ValueError) as e:
        status = str(e)
    return (time.monotonic() - begun) * 1000, status


def measure(uid, echo_path, queue):
    """Sends a request every 20 ms until the time is over. Runs with a higher CPU priority than others, so that it measures nmd."""
    requests = [get(b"/v1/status"), get(b"/v1/version"), get(b"/v1/containers?limit=20")]
    if uid:
        requests.append(post(b"/v1/containers", b'{"command":["true"],%s}' % TINY))
    schedstat = os.open(f"/proc/{pid}/schedstat", os.O_RDONLY)

    def waited():
        """Returns the total waiting time for the CPU in ms."""
        return int(os.pread(schedstat, 100, 0).split()[1]) / 1e6

    times, bad = {"": [], "own-": [], "echo-": []}, []
    os.nice(-15)
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        request = random.choice(requests)
        before = waited()
        ms, status = exchange(path, request)
        times[""].append(ms)
        times["own-"].append(max(0, ms - (waited() - before)))
        times["echo-"].append(exchange(echo_path, request)[0])
        if status not in (200, 201):
            bad.append((request.split(b"\r\n")[0].decode(), status))
        time.sleep(0.02)
    queue.put((uid, times, bad))


def stall():
    while True:
        time.sleep(0.8)
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(0.2)
        finally:
            os.kill(pid, signal.SIGCONT)


def peak_mib():
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith("VmHWM:"):
                return -(-int(line.split()[1]) // 1024)
    return -1


def report(uid, times, bad):
    name = "other" if uid else "root"
    print(f"{name}-n: {len(times[''])}")
    print(f"{name}-bad: {len(bad)}")
    for one in bad[:5]:
        print(f"  {one}")
    for kind, ms in times.items():
        ms.sort()
        for label, share in (("p50", 0.5), ("p99", 0.99)):
            print(f"{name}-{kind}{label}: {round(ms[int(len(ms) * share)])}")
        print(f"{name}-{kind}max: {round(ms[-1])}")


def attackers(counter):
    only = os.environ.get("NMD_HOSTILE_ONLY")  # "3,7": only these attacks, to find the one that delays nmd
    for i, a in enumerate(attacks(counter)):
        if not only or str(i) in only.split(","):
            yield multiprocessing.Process(target=attack, args=a, daemon=True)


def main():
    counter = multiprocessing.Value("L", 0)
    queue = multiprocessing.Queue()
    listener = socket.socket(socket.AF_UNIX)
    echo_path = tempfile.mktemp(dir=os.path.dirname(path))
    listener.bind(echo_path)
    os.chmod(echo_path, 0o666)
    listener.listen(100)
    beside = [multiprocessing.Process(target=echo, args=(listener,), daemon=True)]
    beside += [multiprocessing.Process(target=stall, daemon=True)] if stalls else attackers(counter)
    for p in beside:
        p.start()
    time.sleep(1)
    probes = [multiprocessing.Process(target=measure, args=(uid, echo_path, queue), daemon=True) for uid in (0, other)]
    for p in probes:
        p.start()
    for _ in probes:
        report(*queue.get(timeout=seconds + 60))
    alive = [p.is_alive() for p in beside]
    for p in beside:
        p.kill()
    os.unlink(echo_path)
    os.kill(pid, signal.SIGCONT)  # an attack that stops it may have been killed in between
    print(f"attacks: {counter.value}")
    print(f"rss: {peak_mib()}")
    if not all(alive):
        sys.exit(f"these processes of the attack have ended: {[i for i, a in enumerate(alive) if not a]}")


main()
