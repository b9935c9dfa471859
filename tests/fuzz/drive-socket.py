#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives the whole socket interface of a running nmd with requests that are right, nearly right
and not at all right, for --seconds, and watches that it goes on answering.

    drive-socket.py --socket PATH [--seconds N] [--seed N] [--uid UID]...

What it sends is made from the daemon's own OpenAPI description, so that a new path is fuzzed from
the day it is described; values and bytes are then spoiled at random. The same seed sends the same.
With --uid it also asks as these users (it must be root). Exit status 0: nmd answered to the end.
"""

import argparse
import json
import os
import random
import socket
import sys
import time

WORDS = ["", "a", "web", "..", "/", "-x", "a" * 63, "a" * 64, "a" * 5000, "\x00", "\x1b[31m", "ä", "true", "false",
         "GUARANTEED", "OPPORTUNISTIC", "stdout", "stderr", "root", "nobody", "daemon", "no-such-user", "/tmp",
         "/nonexistent", "/proc/self/fd", "%s%n", "%00", "%zz", "null", "A=B"]
NUMBERS = [0, 1, -1, 0.001, 0.0001, 1.5, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, -2**63, 10**30, 1e308, 1000000, 4096]
FITTING = {"app": ["job", "shop"], "workdir": ["/tmp", "/"], "user": ["nobody", "root"], "stream": ["stdout", "stderr"]}


class Fuzzer:
    def __init__(self, args):
        self.path = args.socket
        self.random = random.Random(args.seed)
        self.uids = [None] + args.uid
        self.names = ["fuzz-%d" % i for i in range(8)]
        self.sent = {}
        status, body = self.ask("GET", "/v1/openapi.json")
        if status != 200:
            sys.exit("no description: %s" % status)
        self.doc = json.loads(body)
        self.operations = [(p, m.upper(), o) for p, item in self.doc["paths"].items()
                           for m, o in item.items() if m != "parameters"]

    def connect(self, uid=None, timeout=20):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(timeout)
        if uid is not None:
            os.setegid(uid)
            os.seteuid(uid)
        try:
            s.connect(self.path)
        finally:
            if uid is not None:
                os.seteuid(0)
                os.setegid(0)
        return s

    def ask(self, method, target, body=None):
        with self.connect() as s:
            head = "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" % (method, target)
            if body is not None:
                head += "Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
            s.sendall(head.encode() + b"\r\n" + (body or b""))
            data = b""
            while chunk := s.recv(65536):
                data += chunk
        head, _, rest = data.partition(b"\r\n\r\n")
        return int(head.split()[1]), rest

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
        """Mostly something that fits the schema."""
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
        query = []
        for p in operation.get("parameters", []):
            if self.random.random() < 0.5:
                v = self.value(p["name"], p["schema"])
                v = str(v).lower() if isinstance(v, bool) else v
                query.append("%s=%s" % (p["name"], self.quote(v)))
        if self.random.random() < 0.05:
            query.append(self.quote(self.random.choice(WORDS)))
        return path + ("?" + "&".join(query) if query else "")

    def request(self):
        path, method, operation = self.random.choice(self.operations)
        if path == "/v1/drain" and self.random.random() < 0.9:
            path, method, operation = "/v1/containers", "POST", self.doc["paths"]["/v1/containers"]["post"]
        self.sent[method + " " + path] = self.sent.get(method + " " + path, 0) + 1
        body = b""
        if "requestBody" in operation and self.random.random() < 0.95:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            body = json.dumps(self.value("", schema)).encode()
        if self.random.random() < 0.03:
            body = body * self.random.choice([2, 100, 3000])
        length = len(body) if self.random.random() < 0.97 else self.random.choice([0, 1, 1 << 20, (1 << 20) + 1, -1])
        head = "%s %s HTTP/1.%d\r\n" % (method, self.target(path, operation), self.random.random() < 0.9)
        head += "Host: nmd\r\n" if self.random.random() < 0.98 else ""
        head += "Connection: close\r\n" if self.random.random() < 0.85 else ""
        head += "Content-Type: %s\r\n" % self.random.choice(["application/json"] * 20 + ["text/plain", "", "x" * 300])
        if self.random.random() < 0.05 and body:
            head += "Transfer-Encoding: chunked\r\n"
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        elif body or length != 0:
            head += "Content-Length: %d\r\n" % length
        return head.encode("utf-8", "replace") + b"\r\n" + body

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

    def client(self):
        """One connection with one to three requests; it may listen, leave, or stay and say nothing."""
        s = self.connect(self.random.choice(self.uids))
        data = b"".join(self.request() for _ in range(self.random.choice([1, 1, 1, 2, 3])))
        if self.random.random() < 0.25:
            data = self.spoil(data)
        s.settimeout(0.02 if self.random.random() < 0.8 else 0.2)
        try:
            step = self.random.choice([len(data) or 1] * 4 + [1 + len(data) // 3, 7])
            for i in range(0, len(data), step)[:200]:
                s.sendall(data[i:i + step])
            if self.random.random() < 0.2:
                s.shutdown(socket.SHUT_WR)
            if self.random.random() < 0.9:
                while s.recv(65536):
                    pass
        except OSError:
            pass  # refused, slow or gone: what counts is that others are served
        return s

    def run(self, seconds):
        end, held, n, slowest, look = time.monotonic() + seconds, [], 0, 0.0, 0.0
        while time.monotonic() < end:
            s = self.client()
            n += 1
            if self.random.random() < 0.1:
                held.append(s)
            else:
                s.close()
            if len(held) > 100:
                held.pop(self.random.randrange(len(held))).close()
            if time.monotonic() > look:
                look = time.monotonic() + 0.5
                begun = time.monotonic()
                status, _ = self.ask("GET", "/v1/status")
                slowest = max(slowest, time.monotonic() - begun)
                if status != 200:
                    sys.exit("after %d connections /v1/status answers %d" % (n, status))
                # so that there is something to do things to, and not ever more of it
                self.ask("POST", "/v1/undrain")
                for c in json.loads(self.ask("GET", "/v1/containers")[1])[8:]:
                    self.ask("POST", "/v1/containers/%s/kill" % c["id"], b'{"now":true}')
        for s in held:
            s.close()
        missed = [m + " " + p for p, m, _ in self.operations if m + " " + p not in self.sent]
        print("%d connections, %d requests, slowest status %.0f ms%s" %
              (n, sum(self.sent.values()), slowest * 1000, "; never sent: " + ", ".join(missed) if missed else ""))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--socket", required=True)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--uid", type=int, action="append", default=[])
    args = p.parse_args()
    print("seed %d" % args.seed, flush=True)
    Fuzzer(args).run(args.seconds)


if __name__ == "__main__":
    main()
