#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""link.py NAMESPACE HERE THERE CONTROL: a network link that can be broken. Creates a tunnel device in this network namespace, with
the address HERE, and one in the network namespace of the file NAMESPACE, with the address THERE. Forwards packets between both
devices. This replaces the kernel's netem, which many kernels lack.

The file CONTROL has the state of the link. The state applies to packets that arrive after a change:
    ok              forwards all packets
    delay MSEC      forwards each packet after this time, in each direction
    loss PERCENT    drops this share of the packets, at random
    drop            drops all packets
    drop-to         drops all packets to THERE
    drop-from       drops all packets from THERE
Prints a line when the link is up."""
import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
MTU = 65000  # few large packets, since each packet costs this process time
MOST = 20000  # packets under way

namespace, here, there, control = sys.argv[1:5]
name = "link" + there.split(".")[2]  # several links have an end in this namespace
random.seed(1)


def open_tunnel(own, peer):
    tunnel = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tunnel, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    for command in (f"addr add {own} peer {peer} dev {name}", f"link set {name} mtu {MTU} txqueuelen 5000 up"):
        subprocess.run(["ip", *command.split()], check=True)
    return tunnel


def enter(path):
    with open(path, encoding="ascii") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns", path)


def read_state():
    try:
        with open(control, encoding="ascii") as file:
            words = file.read().split()
    except OSError:
        words = []
    return (words or ["ok"])[0], float((words + [0, 0])[1])


def loses(state, to_there):
    kind, value = state
    return (kind == "drop" or kind == ("drop-to" if to_there else "drop-from")
            or (kind == "loss" and random.random() * 100 < value))


near = open_tunnel(here, there)
enter(namespace)
far = open_tunnel(there, here)
subprocess.run(["ip", "route", "add", "default", "dev", name], check=True)
print("up", flush=True)

waiting, order = [], itertools.count()
while True:
    now = time.monotonic()
    ready, _, _ = select.select([near, far], [], [], max(0, waiting[0][0] - now) if waiting else None)
    now = time.monotonic()
    link = read_state()
    delay = link[1] / 1000 if link[0] == "delay" else 0
    for source in ready:
        packet = os.read(source, MTU + 100)
        if len(waiting) < MOST and not loses(link, source == near):
            heapq.heappush(waiting, (now + delay, next(order), far if source == near else near, packet))
    while waiting and waiting[0][0] <= now:
        _, _, sink, packet = heapq.heappop(waiting)
        try:
            os.write(sink, packet)
        except OSError:  # the device is down, or its queue is full: the packet is lost
            pass
