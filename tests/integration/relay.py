#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""relay.py SOCKET UID GROUP PORT: for clients that can't use UNIX sockets. Connects each client of PORT on loopback to SOCKET,
as the user UID, a member of GROUP."""
import os
import socket
import sys
import threading

path, uid, group, port = sys.argv[1], *map(int, sys.argv[2:])
listener = socket.create_server(("127.0.0.1", port))
os.setgroups([group])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)


def pump(source, sink):
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
    except OSError:
        pass
    try:
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(client):
    with client, socket.socket(socket.AF_UNIX) as nmd:
        nmd.connect(path)
        back = threading.Thread(target=pump, args=(nmd, client))
        back.start()
        pump(client, nmd)
        back.join()


while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
