#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a thousand simultaneous clients of nmd's SOCKET. JOBS of them submit a small container, and the others
request the list. All clients connect before the first one sends a request. Prints how often each status was received.

    thousand.py SOCKET JOBS
"""

import collections
import json
import resource
import socket
import sys

resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
job = b'{"command":["true"],"user":"root","execution_type":"OPPORTUNISTIC","memory_bytes":8388608,"vcores":0.001,' \
    b'"app":"thousand"}'
post = b"POST /v1/containers HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n" \
    b"Content-Length: %d\r\n\r\n%s" % (len(job), job)
get = b"GET /v1/containers HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
jobs = set(range(0, 1000, 1000 // int(sys.argv[2])))
clients = []
for i in range(1000):  # all clients connect before the first one sends a request
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    clients.append(s)
for i, s in enumerate(clients):
    s.sendall(post if i in jobs else get)
count = collections.Counter()
for i, s in enumerate(clients):
    s.settimeout(60)
    answer = b""
    while chunk := s.recv(65536):
        answer += chunk
    status = int(answer.split()[1])
    body = json.loads(answer.split(b"\r\n\r\n", 1)[1])
    count["%s %d" % ("POST" if i in jobs else "GET", status)] += 1
    if status >= 400 and len(body["error"]["message"]) < 20:
        sys.exit("an error without a message: %r" % answer)
print(json.dumps(count))
