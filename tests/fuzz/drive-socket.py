#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends valid, nearly valid and invalid requests to all paths of a running nmd's socket for --seconds, and checks that nmd
keeps answering.

    drive-socket.py --socket PATH [--seconds N] [--seed N] [--user UID[:GID]]...

Several clients run at once: one for each --user, which needs root, and two as the user of this program. The requests are
generated from nmd's own OpenAPI description, so a new path is tested as soon as it is described. Values and bytes are then
corrupted at random. Clients keep connections open, pipeline requests, send chunks, close one direction, send slowly, do not
read, or disconnect early. The same seed generates the same requests.

First, each operation is requested once with a valid request, which must succeed.

Exit status 0: nmd answered until the end. Each answer to a request that was not corrupted was valid HTTP, matched its
Content-Type, and did not have status 500. Each error had a code, the thing that it refers to, and a message. At the end all
containers are killed.
"""

import argparse
import json
import os
import random
import re
import socket
import struct
import sys
import time

WORDS = ["", "a", "web", "..", "/", "-x", "a" * 63, "a" * 64, "a" * 5000, "\x00", "\x1b[31m", "\x9b2J", "ä" * 300,
         "\U0001f600", "\ud800", "true", "false", "GUARANTEED", "OPPORTUNISTIC", "stdout", "stderr", "root", "nobody",
         "daemon", "no-such-user", "/tmp", "/nonexistent", "/proc/self/fd", "/proc/self/cwd", "../../etc/shadow",
         "%s%n", "%00", "%zz", "%ff%fe", "null", "A=B", "1", "0", "18446744073709551616"]
NUMBERS = [0, 1, -1, 0.001, 0.0001, 1.5, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, -2**63, 2**64, 10**30, 1e308, 1000000,
           4096]
FITTING = {"app": ["job", "shop"], "workdir": ["/tmp", "/"], "user": ["nobody", "root"], "stream": ["stdout", "stderr"]}
METHODS = ["HEAD", "PUT", "OPTIONS", "TRACE", "CONNECT", "get", "X" * 200, "PRI"]


class Finding(Exception):
    pass


def read_answer(f):
    """Reads one HTTP answer. Returns its status, headers and body, or None at the end of the connection."""
    line = f.readline(70000)
    if not line:
        return None
    words = line.split(None, 2)
    if not line.startswith(b"HTTP/1.") or len(words) < 2 or not words[1].isdigit():
        raise Finding("not an HTTP answer: %r" % line[:200])
    headers = {}
    while (line := f.readline(70000)) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while n := int(f.readline(100).split(b";")[0] or b"0", 16):
            body += f.read(n)
            f.readline(10)
        f.readline(10)
    else:
        body = f.read(int(headers["content-length"])) if "content-length" in headers else f.read()
    return int(words[1]), headers, body


def check_answer(what, status, headers, body):
    """Checks the answer to a request that was not corrupted."""
    if status == 500 or not 200 <= status < 600:
        raise Finding("%s: %d %r" % (what, status, body[:500]))
    kind = headers.get("content-type", "")
    if kind == "application/json":
        j = json.loads(body.decode("utf-8"))
    if status < 400 or not kind.startswith("application/json"):
        return
    if "RemoteException" in j:  # the form of Hadoop's REST interface, below /ws/
        e = j["RemoteException"]
        if set(e) != {"exception", "message", "javaClassName"} or len(e["message"]) < 10:
            raise Finding("%s: %d, an incomplete exception: %r" % (what, status, body[:500]))
        return
    e = j["error"]
    if set(e) != {"code", "thing", "value", "message"} or not e["code"] or not e["thing"] or len(e["message"]) < 10:
        raise Finding("%s: %d, an incomplete error: %r" % (what, status, body[:500]))
    if any(ord(c) < 32 or ord(c) == 127 for v in e.values() for c in v):
        raise Finding("%s: control characters in an error: %r" % (what, body[:500]))


class Fuzzer:
    def __init__(self, args, seed):
        self.path = args.socket
        self.random = random.Random(seed)
        self.names = ["fuzz-%d" % i for i in range(8)]
        self.sent, self.accepted, self.held = {}, set(), []
        self.n = 0
        status, body = self.ask("GET", "/v1/openapi.json")
        if status != 200:
            sys.exit("/v1/openapi.json: status %s" % status)
        self.doc = json.loads(body)
        self.operations = [(p, m.upper(), o) for p, item in self.doc["paths"].items()
                           for m, o in item.items() if m != "parameters"]

    def connect(self, timeout=20.0):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.path)  # has no timeout yet: with one, a full backlog would be an error
        s.settimeout(timeout)
        return s

    def ask(self, method, target, body=None):
        with self.connect(60) as s:
            head = "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" % (method, target)
            if body is not None:
                head += "Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
            s.sendall(head.encode() + b"\r\n" + (body or b""))
            answer = read_answer(s.makefile("rb"))
        if answer is None:
            raise Finding("%s %s: no answer" % (method, target))
        return answer[0], answer[2]

    # ---- values -----------------------------------------------------------------------------------

    def any_value(self, depth=0):
        kind = self.random.randrange(7 if depth < 3 else 5)
        if kind == 0:
            return self.random.choice(WORDS)
        if kind == 1:
            return self.random.choice(NUMBERS)
        if kind in (2, 3, 4):
            return (None, True, False)[kind - 2]
        if kind == 5:
            return [self.any_value(depth + 1) for _ in range(self.random.randrange(4))]
        return {self.random.choice(WORDS): self.any_value(depth + 1) for _ in range(self.random.randrange(4))}

    def value(self, name, schema):
        """Returns a value, which usually fits the schema."""
        if self.random.random() < 0.05:
            return self.any_value()
        if "$ref" in schema:
            return self.value(name, self.doc["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        kind = schema.get("type")
        if name == "command":
            return self.random.choice([["true"], ["sleep", "0.2"], ["sleep", "30"], ["sh", "-c", "echo x; exit 3"],
                                       ["/nonexistent"], ["/etc/passwd"], ["sh", "-c", "kill -9 $$"]])
        if kind == "object":
            if "properties" not in schema:
                return {"A": "1", self.random.choice(WORDS): self.random.choice(WORDS)}
            required = schema.get("required", [])
            if os.geteuid() == 0 and "user" in schema["properties"] and self.random.random() < 0.9:
                required = required + ["user"]  # root must name the user of a container
            return {n: self.value(n, s) for n, s in schema["properties"].items()
                    if n in required or self.random.random() < 0.2}
        if kind == "array":
            return [self.value(name, schema["items"]) for _ in range(self.random.randrange(1, 4))]
        if kind == "integer":
            return self.random.choice([1, 1000, 1 << 20, 8 << 20, 64 << 20, self.random.choice(NUMBERS)])
        if kind == "number":
            return self.random.choice([0.01, 0.5, 1, self.random.choice(NUMBERS)])
        if kind == "boolean":
            return self.random.random() < 0.5
        if name == "name":
            return self.random.choice(self.names)
        if name in FITTING and self.random.random() < 0.9:
            return self.random.choice(FITTING[name])
        return self.random.choice(WORDS + ["x", "job"])

    @staticmethod
    def quote(text):
        return "".join(c if c.isalnum() or c in "._-" else "".join("%%%02X" % b for b in c.encode("utf-8", "replace"))
                       for c in str(text))

    def target(self, path, operation):
        name = self.random.choice(self.names + ([self.random.choice(WORDS)] if self.random.random() < 0.1 else []))
        path = path.replace("{id}", self.quote(name))
        for word in ("{user}", "{file}"):
            path = path.replace(word, self.quote(self.random.choice(WORDS) or "x")[:300])
        query = []
        for p in operation.get("parameters", []):
            if self.random.random() < 0.5:
                v = self.value(p["name"], p["schema"])
                v = str(v).lower() if isinstance(v, bool) else v
                query.append("%s=%s" % (p["name"], self.quote(v)))
        if self.random.random() < 0.05:
            query.append(self.quote(self.random.choice(WORDS)))
        return path + ("?" + "&".join(query) if query else "")

    def chunks(self, body):
        """Returns the body in chunks. Some chunks have extensions, and a trailer may follow."""
        out = b""
        while body:
            n = self.random.randrange(1, len(body) + 1)
            out += b"%x%s\r\n%s\r\n" % (n, self.random.choice([b"", b"", b";a=b"]), body[:n])
            body = body[n:]
        return out + b"0\r\n" + self.random.choice([b"", b"", b"X-Trailer: 1\r\n"]) + b"\r\n"

    def request(self, close, sound=False):
        """Returns a random request and its operation. sound: the request is valid HTTP, whatever its values."""
        path, method, operation = self.random.choice(self.operations)
        if path == "/v1/drain" and self.random.random() < 0.9:
            path, method, operation = "/v1/containers", "POST", self.doc["paths"]["/v1/containers"]["post"]
        what = method + " " + path
        self.sent[what] = self.sent.get(what, 0) + 1
        body = b""
        if "requestBody" in operation and self.random.random() < 0.95:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            body = json.dumps(self.value("", schema)).encode()
        if self.random.random() < 0.02:
            body = body * self.random.choice([2, 100, 3000])
        length, version = len(body), 1
        kind = "application/json"
        if not sound:
            if self.random.random() < 0.03:
                length = self.random.choice([0, 1, 1 << 20, (1 << 20) + 1, -1, 2**64])
            if self.random.random() < 0.03:
                method = self.random.choice(METHODS)
            version = int(self.random.random() < 0.9)
            kind = self.random.choice(["application/json"] * 20 + ["text/plain", "", "x" * 300, "y" * 9000])
        head = "%s %s HTTP/1.%d\r\n" % (method, self.target(path, operation), version)
        head += "Host: nmd\r\n" if sound or self.random.random() < 0.98 else ""
        head += "Connection: close\r\n" if close else ""
        head += "Content-Type: %s\r\n" % kind
        if not sound and self.random.random() < 0.03:
            head += "Expect: 100-continue\r\n"
        if body and self.random.random() < 0.1:
            head += "Transfer-Encoding: chunked\r\n"
            body = self.chunks(body)
        elif body or length != 0:
            head += "Content-Length: %d\r\n" % length
        return head.encode("utf-8", "replace") + b"\r\n" + body, what

    def spoil(self, data):
        data = bytearray(data)
        for _ in range(self.random.randrange(1, 6)):
            at = self.random.randrange(len(data)) if data else 0
            kind = self.random.randrange(4)
            if kind == 0 and data:
                data[at] = self.random.randrange(256)
            elif kind == 1:
                del data[at:at + self.random.randrange(1, 20)]
            elif kind == 2:
                data[at:at] = bytes(self.random.randrange(256) for _ in range(self.random.randrange(1, 20)))
            else:
                data[at:at] = data[at:at + self.random.randrange(1, 200)]
        return bytes(data)

    # ---- clients ----------------------------------------------------------------------------------

    def kept(self):
        """Sends several requests over one connection, one after the other, and checks each answer."""
        with self.connect(20) as s, s.makefile("rb") as f:
            n = self.random.choice([1, 1, 2, 5])
            for i in range(n):
                data, what = self.request(close=i == n - 1, sound=True)
                # The answer to a wait, or with any value of "follow" that means yes, may have no end.
                if re.search(rb"follow=(?!no|false|off|0)", data) or what.endswith("/wait"):
                    return self.held.append(self.stray(data))
                try:
                    s.sendall(data)
                    answer = read_answer(f)
                except TimeoutError:
                    raise Finding("%s: no answer in time to %r" % (what, data[:500]))
                except (BrokenPipeError, ConnectionResetError):
                    if len(data) > 1 << 20:  # nmd refuses it without reading all of it, so the answer may get lost
                        return None
                    raise
                if answer is None:
                    raise Finding("%s: no answer to %r" % (what, data[:500]))
                check_answer("%s as uid %d, %r" % (what, os.geteuid(), data[:700]), *answer)
                if answer[0] < 300:
                    self.accepted.add(what)
                if answer[1].get("connection", "").lower() == "close":
                    return None
        return None

    def story(self):
        """Makes a container and acts on it in a valid order, because random requests seldom have one."""
        name = self.random.choice(self.names)
        at = "/v1/containers/" + name
        actions = [("POST", at + "/" + verb, {}) for verb in ("pause", "resume", "demote", "promote")]
        actions += [("PATCH", at, {"vcores": self.random.choice([0.01, 0.02, 0.5])}), ("GET", at + "/logs", None),
                  ("POST", "/v1/drain", {}), ("POST", "/v1/undrain", {}), ("GET", at + "/decisions", None)]
        actions = [("POST", "/v1/containers", {"name": name, **self.small()})] + \
            actions[:self.random.randrange(1, len(actions) + 1)]
        if self.random.random() < 0.5:
            actions += [("POST", at + "/kill", {"now": self.random.random() < 0.5})]
        for method, target, body in actions:
            what = method + " " + target.replace(at, "/v1/containers/{id}")
            body = None if body is None else json.dumps(body).encode()
            status, text = self.ask(method, target, body)
            self.sent[what] = self.sent.get(what, 0) + 1
            check_answer(what, status, {"content-type": "application/json" if status >= 400 else ""}, text)
            if status < 300:
                self.accepted.add(what)

    @staticmethod
    def small():
        """Returns the body for a small container that nmd accepts. Root must name itself as the user."""
        body = {"command": ["sleep", "20"], "memory_bytes": 1 << 20, "vcores": 0.01}
        return {"user": "root", **body} if os.geteuid() == 0 else body

    def tour(self):
        """Makes a valid request for each operation, in a suitable state, while no other client is active. Each must
        succeed, with two exceptions: without a cluster there are no placements, nothing is lent, and there are no web
        services of Hadoop (404), and exec requires that the client asks for an upgrade of the connection (426), which
        56-sessions tests."""
        for path, method, _ in self.operations:
            verb = path.rpartition("/")[2]
            body = {"PATCH": {"vcores": 0.02}, "POST": {}}.get(method)
            if "{id}" in path:
                made = {**self.small(), "execution_type": "OPPORTUNISTIC" if verb == "promote" else "GUARANTEED"}
                if verb in ("wait", "remove"):
                    made["command"] = ["true"]
                status, text = self.ask("POST", "/v1/containers", json.dumps(made).encode())
                if status != 201:
                    raise Finding("no container for %s %s: %d %r" % (method, path, status, text[:500]))
                at = "/v1/containers/" + json.loads(text)["id"]
                end = time.monotonic() + 20
                while json.loads(self.ask("GET", at)[1])["state"] in ("NEW", "SCHEDULED") and time.monotonic() < end:
                    time.sleep(0.01)
                if verb == "resume":
                    self.ask("POST", at + "/pause", b"{}")
                if verb == "remove":
                    self.ask("GET", at + "/wait")
                path = path.replace("{id}", at.rpartition("/")[2])
            path = path.replace("{user}", "root").replace("{file}", "stdout")
            if (method, path) == ("POST", "/v1/containers"):
                body = self.small()
            status, text = self.ask(method, path, None if body is None else json.dumps(body).encode())
            without_cluster = "/placements/" in path or "/lending/" in path or path.startswith(
                ("/ws/", "/node", "/jmx", "/conf", "/logLevel", "/stacks"))
            wanted = 404 if without_cluster else 426 if verb == "exec" else None
            if not (status == wanted if wanted else 200 <= status < 300):
                raise Finding("%s %s, a valid request: %d %r" % (method, path, status, text[:500]))

    def stray(self, data=None):
        """Sends requests, some of them corrupted or truncated, and may read for a moment. Returns the open connection."""
        s = self.connect(0.02 if self.random.random() < 0.8 else 0.2)
        if data is None:
            close = self.random.random() < 0.5
            data = b"".join(self.request(close)[0] for _ in range(self.random.choice([1, 1, 1, 2, 3, 20])))
            if self.random.random() < 0.4:
                data = self.spoil(data)
            if self.random.random() < 0.1:
                data = data[:self.random.randrange(len(data))]
        try:
            step = self.random.choice([len(data) or 1] * 4 + [1 + len(data) // 3, 7])
            for i in range(0, len(data), step)[:200]:
                s.sendall(data[i:i + step])
            if self.random.random() < 0.2:
                s.shutdown(socket.SHUT_WR)
            if self.random.random() < 0.8:
                while s.recv(65536):
                    pass
        except OSError:
            pass  # refused, slow or closed: nmd only has to serve the other clients
        return s

    def tend(self):
        """Sends a byte to one of the open connections, reads from it, resets it, or leaves it alone. Keeps at most 60."""
        while len(self.held) > 60:
            self.held.pop(self.random.randrange(len(self.held))).close()
        if not self.held:
            return
        s = self.random.choice(self.held)
        try:
            kind = self.random.randrange(4)
            if kind == 0:
                s.send(bytes([self.random.randrange(256)]))
            elif kind == 1:
                s.recv(100, socket.MSG_DONTWAIT)
            elif kind == 2:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.held.remove(s)
                s.close()
        except OSError:
            pass

    def run(self, end):
        while time.monotonic() < end:
            self.n += 1
            kind = self.random.random()
            if kind < 0.02:
                self.story()
            elif kind < 0.5:
                self.kept()
            else:
                s = self.stray()
                if self.random.random() < 0.1:
                    self.held.append(s)
                else:
                    s.close()
            self.tend()
        for s in self.held:
            s.close()


def worker(args, number, user, end, report):
    """Runs one client in a separate process, because a process has only one user."""
    if user:
        uid, _, gid = user.partition(":")
        os.setgroups([int(gid)] if gid else [])
        os.setresgid(*[int(uid)] * 3)
        os.setresuid(*[int(uid)] * 3)
    result = {"finding": ""}
    try:
        f = Fuzzer(args, args.seed * 100 + number)
        f.run(end)
        result.update(n=f.n, sent=f.sent, accepted=sorted(f.accepted))
    except Exception as e:  # any failure of a client is a finding
        result["finding"] = "as %s: %s: %s" % (user or "uid %d" % os.getuid(), type(e).__name__, e)
    os.write(report, json.dumps(result).encode())
    os._exit(0)


def watch(f, end):
    """Checks nmd's status repeatedly. Ends drains, and kills all containers beyond the first eight of the list."""
    slowest = 0.0
    while time.monotonic() < end:
        begun = time.monotonic()
        status, _ = f.ask("GET", "/v1/status")
        slowest = max(slowest, time.monotonic() - begun)
        if status != 200:
            raise Finding("/v1/status answers %d" % status)
        f.ask("POST", "/v1/undrain")
        for c in json.loads(f.ask("GET", "/v1/containers")[1])[8:]:
            f.ask("POST", "/v1/containers/%s/kill" % c["id"], b'{"now":true}')
        time.sleep(0.5)
    return slowest


def empty(f):
    """Kills all containers, which must end within a minute."""
    end = time.monotonic() + 60
    while left := json.loads(f.ask("GET", "/v1/containers")[1]):
        for c in left:
            f.ask("POST", "/v1/containers/%s/kill" % c["id"], b'{"now":true}')
        if time.monotonic() > end:
            raise Finding("these containers don't end: %s" % [(c["id"], c["state"]) for c in left])
        time.sleep(0.1)
    f.ask("POST", "/v1/undrain")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--socket", required=True)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--user", action="append", default=[], metavar="UID[:GID]")
    args = p.parse_args()
    print("seed %d" % args.seed, flush=True)
    f = Fuzzer(args, args.seed)
    findings, slowest, pipes = [], 0.0, []
    try:
        f.tour()
        empty(f)
    except Exception as e:
        findings.append("requesting each operation once: %s: %s" % (type(e).__name__, e))
    end = time.monotonic() + args.seconds  # counted from now, because tour() may take longer on a busy machine
    for number, user in enumerate([None, None] + args.user):
        r, w = os.pipe()
        if os.fork() == 0:
            worker(args, number, user, end, w)
        os.close(w)
        pipes.append(r)
    try:
        slowest = watch(f, end)
    except Exception as e:
        findings.append("checking the status: %s: %s" % (type(e).__name__, e))
    results = [json.loads(open(r, "rb").read() or b'{"finding":"a client process died"}') for r in pipes]
    findings += [r["finding"] for r in results if r["finding"]]
    try:
        empty(f)
    except Exception as e:
        findings.append("killing all containers: %s: %s" % (type(e).__name__, e))
    accepted = {a for r in results for a in r.get("accepted", [])}
    counters = json.loads(f.ask("GET", "/v1/status")[1])["counters"] if not findings else {}
    print("%d connections, %d requests, slowest answer to GET /v1/status %.0f ms, %s admissions, "
          "%d of %d operations were accepted" %
          (sum(r.get("n", 0) for r in results), sum(sum(r.get("sent", {}).values()) for r in results), slowest * 1000,
           counters.get("admitted", "unknown number of"), len(accepted), len(f.operations)))
    # In a short time, nmd may by chance accept no request for some operations. If these are many, the requests are invalid
    # too often to test much. Answers of waits are not checked, so waits are left out.
    missed = [m + " " + p for p, m, _ in f.operations
              if m + " " + p not in accepted and not p.endswith(("/wait", "/exec")) and not p.startswith("/ws/")]
    if missed:
        print("no random request for these operations was accepted: " + ", ".join(missed))
    if args.seconds >= 10 and len(missed) > len(f.operations) / 3:
        findings.append("no random request was accepted for more than a third of the operations")
    for text in findings:
        print("finding: " + text)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
