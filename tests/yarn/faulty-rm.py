#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Acts as a server that is not a ResourceManager, or as a faulty ResourceManager:
#
#   faulty-rm.py PORT MANNER SEED
#
# silent, closes, noise, huge, truncated: the server does not know the protocol. wrong-number, resync, nonsense, shutdown: the
# server understands the protocol, and sends wrong responses. mutated: bytes of the responses are changed at random. Prints a
# line for each connection, and runs until it is ended.
import random
import socket
import socketserver
import struct
import sys
import time

from wire import delimited, fields, message, number, read_exactly, read_packet, varint

port, manner, seed = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
chance = random.Random(seed)


def registered():
    key = number(1, -5) + message(2, b"8letters")
    action = 7 if manner == "nonsense" else 0
    return message(1, key) + message(2, key) + number(3, action) + number(4, 1700000000000) + message(6, b"3.4.2")


def beaten(response_id):
    if manner == "resync":
        return number(4, 1) + message(8, b"\x1b[31mNode unknown\x07")
    if manner == "shutdown":
        return number(4, 2) + message(8, b"go away")
    if manner == "wrong-number":
        response_id += 40
    return number(1, response_id + 1) + number(4, 0) + number(7, 20)


def answer(header, method, request):
    call_id = fields(header)[3] >> 1  # zigzag encoding; never negative
    client_id = fields(header)[4]
    if method == b"nodeHeartbeat":
        body = beaten(fields(fields(request)[1]).get(2, 0))
    else:
        body = registered() if method == b"registerNodeManager" else b""
    head = number(1, call_id) + number(2, 0) + number(3, 9) + message(7, client_id)
    packet = bytearray(varint(len(head)) + head + varint(len(body)) + body)
    if manner == "mutated":
        for _ in range(chance.randrange(3)):
            packet[chance.randrange(len(packet))] = chance.randrange(256)
    size = len(packet) + (9 if manner == "truncated" else 0)
    return struct.pack(">I", size) + bytes(packet)


class Connection(socketserver.BaseRequestHandler):
    def speak(self):
        read_exactly(self.request, 7)
        while True:
            packet = read_packet(self.request)
            header, at = delimited(packet, 0)
            if fields(header)[3] & 1:  # negative call ids are the connection context or a ping
                continue
            what, at = delimited(packet, at)
            request, at = delimited(packet, at)
            self.request.sendall(answer(header, fields(what)[1], request))
            if manner == "truncated":
                return

    def handle(self):
        print("connection", flush=True)
        try:
            if manner == "closes":
                return
            if manner == "silent":
                time.sleep(3600)
            elif manner == "noise":
                self.request.sendall(chance.randbytes(100000))
            elif manner == "huge":
                self.request.sendall(b"\x7f\xff\xff\xff" + bytes(1 << 20))
            else:
                self.speak()
        except (EOFError, OSError):
            pass


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


socket.setdefaulttimeout(None)
Server(("127.0.0.1", port), Connection).serve_forever()
