#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that everything that nmd has shown still exists after nmd was killed: durable-reads.py SOCKET PROC SEED SECONDS NMD [ARGUMENT...]

Requests containers on a node whose memory and CPU use changes (PROC is a --node-proc directory of node-proc.py), reads
decisions and events all the time, and kills nmd with SIGKILL at random moments and steps, also while it starts. Data that
were read before a kill and are not marked as not durable must exist after the restart: a decision with the same kind,
cause and time, and with its outcome if that was known, and an event without any change. What an event says about a
decision must be true. Prints a line for each violation, and finally the counts, as "rounds=12 bad=0 pause=40 ...".
"""
import atexit
import collections
import getpass
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback

path, proc, seed, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
command = sys.argv[5:]
chance = random.Random(seed)
MIB = 1 << 20
NODE_MIB = 1000
GONE = (OSError, http.client.HTTPException, ValueError)


class Client(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(path)

    def call(self, method, what, body=None):
        headers = {"Content-Type": "application/json"} if body else {}
        self.request(method, what, body and json.dumps(body), headers)
        answer = self.getresponse()
        text = answer.read()
        return answer.status, text


# A build with fault steps (docs/TESTING.md) dies at the steps around the transactions.
STEPS = ["round-before-commit", "round-before-commit", "end-before-commit", "round-after-commit", "end-journalled",
         "after-freeze", "before-kill", "recovery-before-commit", "recovery-after-commit"]


def start(step=None):
    environment = {**os.environ, "NMD_FAULT": f"{step}:{chance.randrange(1, 5)}"} if step else None
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment)
    atexit.register(process.kill)  # kill() has no effect on a process that has been waited for
    return process


def wait_for(nmd):
    """Waits until nmd responds. Returns False if nmd has died."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            Client("nmd").call("GET", "/v1/status")
            return True
        except GONE:
            if nmd.poll() is not None:
                return False
            time.sleep(0.005)
    sys.exit("nmd doesn't answer")


def start_and_wait():
    nmd = start()
    if not wait_for(nmd):
        sys.exit("nmd doesn't start")
    return nmd


def kill(nmd):
    nmd.send_signal(signal.SIGKILL)
    nmd.wait()


class Shown:
    """Records the newest version of each decision and event that any client got."""

    def __init__(self):
        self.decisions, self.events, self.kinds = {}, {}, collections.Counter()
        self.broken = ""
        self.lock = threading.Lock()

    def take(self, kept, items, kind):
        with self.lock:
            for item in items:
                if item["number"] not in kept:
                    self.kinds[item.get(kind, "events")] += 1
                kept[item["number"]] = item

    def take_event(self, line):
        event = json.loads(line)
        if "number" in event:
            self.take(self.events, [event], "none")


shown = Shown()


def until_gone(step):
    """A client that reads or sends requests, and continues after errors until it is stopped."""

    def run(stop, *arguments):
        client = Client("nmd")
        while not stop.is_set():
            try:
                step(client, *arguments)
            except GONE:
                client.close()
                client = Client("nmd")
                time.sleep(0.002)
            except Exception:
                shown.broken = traceback.format_exc()  # otherwise the end of a thread would not be noticed
                return

    return run


@until_gone
def read_decisions(client):
    status, text = client.call("GET", "/v1/decisions?limit=40")
    if status == 200:
        shown.take(shown.decisions, json.loads(text)["decisions"], "kind")


@until_gone
def follow(client):
    client.request("GET", f"/v1/events?follow=true&after={max(shown.events, default=0)}")
    answer = client.getresponse()
    while line := answer.readline():
        shown.take_event(line)
    client.close()


@until_gone
def ask(client, choose):
    name = f"c{choose.randrange(9)}"
    what = choose.randrange(12)
    if what < 4:
        kind = ["OPPORTUNISTIC", "OPPORTUNISTIC", "GUARANTEED"][choose.randrange(3)]
        run = [["sleep", "100"], ["sleep", "0.3"], ["true"]][choose.randrange(3)]
        client.call("POST", "/v1/containers",
                    {"name": name, "user": getpass.getuser(), "execution_type": kind, "memory_bytes": 60 * MIB,
                     "vcores": 0.2, "command": run})
    elif what < 7:
        client.call("POST", f"/v1/containers/{name}/resume")
    elif what < 9:
        client.call("POST", f"/v1/containers/{name}/pause")
    elif what < 10:
        client.call("POST", f"/v1/containers/{name}/kill", {"grace_usec": 0})
    elif what < 11:
        client.call("POST", f"/v1/containers/{name}/{['promote', 'demote'][choose.randrange(2)]}")
    time.sleep(0.005)


def set_node(used_mib, busy_millicores):
    """Writes in place with one write of constant length, like node_memory and node_cpu in lib.sh."""
    free = (NODE_MIB - used_mib) * 1024
    with open(f"{proc}/meminfo", "r+") as f:
        f.write(f"MemTotal: {NODE_MIB * 1024:12d} kB\nMemAvailable: {free:12d} kB\nSwapTotal: {0:12d} kB\n"
                f"SwapFree: {0:12d} kB\nHugetlb: {0:12d} kB\n")
    with open(f"{proc}/busy", "r+") as f:
        f.write(f"{busy_millicores:8d}\n")


@until_gone
def press(_client, choose):
    set_node(choose.choice([50, 50, 300, 880, 960]), choose.choice([0, 0, 500, 1990]))
    time.sleep(choose.uniform(0.2, 0.7))


def all_decisions():
    client, kept, before = Client("nmd"), {}, 1 << 60
    while len(kept) < 4000:
        page = json.loads(client.call("GET", f"/v1/decisions?limit=100&before={before}")[1])["decisions"]
        if not page:
            break
        kept.update((d["number"], d) for d in page)
        before = page[0]["number"]
    return kept


def all_events():
    text = Client("nmd").call("GET", "/v1/events")[1]
    return {e["number"]: e for e in map(json.loads, text.splitlines()) if "number" in e}


STAYS = ("kind", "reason", "container_id", "container_name", "time_usec", "decided_usec")


def differs(was, now):
    """A pending decision may have got its outcome. Refusals of one kind share a record with the time of the last refusal."""
    if not now:
        return "is gone"
    stays = [m for m in STAYS if was["kind"] != "refuse" or not m.endswith("usec")]
    if was["outcome"] != "pending" and was["kind"] != "refuse":
        stays += ["outcome", "error"]
    return "; ".join(f"{m}: {was[m]} -> {now[m]}" for m in stays if was[m] != now[m])


def compare(round_number):
    events = all_events()
    decisions = all_decisions()  # read after the events, because a new event can name a decision that did not exist before
    bad = 0
    for number, was in shown.decisions.items():
        wrong = differs(was, decisions.get(number))
        if wrong and was.get("durable", True) and number >= min(decisions, default=0):
            bad += 1
            print(f"round {round_number}: decision {number} ({was['summary']}): {wrong}")
    for number, was in shown.events.items():
        now = events.get(number)
        if was != now and was.get("durable", True) and number >= min(events, default=0):
            bad += 1
            print(f"round {round_number}: event {number}: {was} -> {now}")
    for number, event in events.items():
        named = event["decision_number"]
        if event["decision_kind"] and named >= min(decisions, default=0):
            is_now = decisions.get(named, {"kind": None, "container_id": None})
            if (is_now["kind"], is_now["container_id"]) != (event["decision_kind"], event["container_id"]):
                bad += 1
                print(f"round {round_number}: event {number} names decision {named} as another: {event['text']}")
    shown.decisions, shown.events = decisions, events
    return bad


def live_and_die():
    """Starts an nmd that usually responds in the meantime, and kills it at the end."""
    step = chance.choice([None, *STEPS])
    nmd = start(step)
    if wait_for(nmd):
        try:
            nmd.wait(chance.uniform(0.1, 1.2))
        except subprocess.TimeoutExpired:
            kill(nmd)
    if chance.randrange(3) == 0:  # kills nmd again while it starts, before or after its first response
        nmd = start()
        time.sleep(chance.uniform(0.0, 0.15))
        kill(nmd)


def play():
    stop = threading.Event()
    steps = [(read_decisions, ()), (read_decisions, ()), (follow, ())]
    steps += [(do, (random.Random(chance.random()),)) for do in (ask, ask, ask, press)]
    threads = [threading.Thread(target=do, args=(stop, *with_what)) for do, with_what in steps]
    for thread in threads:
        thread.start()
    live_and_die()
    stop.set()
    for thread in threads:
        thread.join()


bad, rounds = 0, 0
end = time.monotonic() + seconds
while time.monotonic() < end:
    play()
    nmd = start_and_wait()
    bad += compare(rounds)
    kill(nmd)
    rounds += 1
set_node(0, 0)
kinds = " ".join(f"{kind}={n}" for kind, n in sorted(shown.kinds.items()))
print(f"rounds={rounds} bad={bad} events={max(shown.events, default=0)} {kinds}")
sys.exit(shown.broken or bad > 0)
