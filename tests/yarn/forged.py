#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Acts as a ResourceManager and an application master that have valid keys and send invalid messages:
#
#   forged.py RM-PORT NODE-NAME NODE-PORT PROXY-PORT
#
# The node registers with this program. Then the program tries all kinds of errors in tokens, requests and connections.
import os
import random
import socket
import struct
import sys
import time

from master import (CLUSTER, PROTOCOL, ask, begin, cluster, container, container_identifier, container_token, context,
                    fact, nm_token, node, node_port, outcome, sign, start, start_request, status, stop, token,
                    within)
from wire import Client, Refused, every, fields, message, number, respond

proxy_port = int(sys.argv[4])
chance = random.Random(1)
INVALID, SASL = "SecretManager$InvalidToken", "SaslException"


# ---- tests ----------------------------------------------------------------------------------------------------------

def try_tokens():
    good = container_token(2)
    fact("a container with valid tokens is started", start(good), "2; ")
    fact("the node reports the started container to the ResourceManager", within(20, lambda: cluster.state(2) == "2 -1000"), True)
    fact("a container's token is refused when it is used again", start(good), "; 2 YarnException")
    forged = container_token(3, key=b"mykey")
    fact("an NMToken that is signed with another key is refused", start(forged), INVALID)
    fact("a request with a valid and a forged token is refused completely", start(container_token(3), forged), INVALID)
    fact("a container's token with an unknown key is refused", start(container_token(3, key_id=77)), INVALID)
    fact("a container's token of another node is refused", start(container_token(3, address="node08:1")), INVALID)
    fact("an expired container's token is refused", start(container_token(3, life=-1)), "; 3 YarnException")
    fact("a container's token of another ResourceManager is refused",
         start(container_token(3, rm=CLUSTER - 1)), "; 3 InvalidContainerException")
    fact("a container's token of another application is refused", start(container_token(3, application=2)), "; 3 YarnException")
    fact("a request without a container's token is refused", ask("startContainers", message(1, message(1, context()))), INVALID)
    fact("a request without a launch context is refused", outcome(ask("startContainers", message(1, message(2, container_token(3)))), 2, 3),
         "; 3 YarnException")
    fact("no container of the refused requests was started", sorted(cluster.statuses), [2])


def try_bits():
    identifier = container_identifier(4)
    password = sign(cluster.container_key[1], identifier)
    for name, size in (("identifier", len(identifier)), ("password", len(password))):
        wrong = 0
        with node().enter(*nm_token()) as client:
            for _ in range(60):
                parts = {"identifier": bytearray(identifier), "password": bytearray(password)}
                parts[name][chance.randrange(size)] ^= 1 << chance.randrange(8)
                try:
                    client.call("startContainers", start_request(token(parts["identifier"], parts["password"],
                                                                       "ContainerToken")))
                    wrong += 1
                except Refused as why:
                    wrong += str(why) != INVALID
        fact(f"each token with a changed bit in the {name} is refused", wrong, 0)
    wrong = sum(start(token(identifier[:n], sign(cluster.container_key[1], identifier[:n]), "ContainerToken")) == "4; "
                for n in range(0, len(identifier) - 40, 7))
    fact("an incomplete identifier is refused even if it is signed correctly", wrong, 0)


def try_bearers():
    identifier, password = nm_token()
    fact("an NMToken with another password is refused", stop(bearer=(identifier, b"x" * 20)), SASL)
    fact("an NMToken for another node is refused", stop(bearer=nm_token(host="node08")), INVALID)
    fact("an NMToken for another port is refused", stop(bearer=nm_token(port=node_port + 1)), INVALID)
    fact("an NMToken with an unknown key is refused", stop(bearer=nm_token(key_id=1234)), INVALID)
    fact("an invalid identifier is refused", stop(bearer=(b"\xff" * 40, password)), INVALID)
    fact("an empty identifier is refused", stop(bearer=(b"", password)), INVALID)
    fact("an application master can't stop a container of another application", stop(container(2), bearer=nm_token(application=2)),
         "; 2 YarnException")
    fact("an application master can't see a container of another application", status(container(2), bearer=nm_token(application=2)), "; 1")
    fact("of several ids in a request, only the incomplete ones are refused", status(container(2), number(3, 2), message(2, b"")), "2; 2")
    fact("an unknown container is not found", status(container(99)), "; 1")
    fact("a container with a negative id is not found", status(container(-1)), "; 1")


def try_attempts():
    former, later, foreign = nm_token(), nm_token(n=2), nm_token(application=2, n=2)
    runs = lambda n: within(20, lambda: cluster.statuses.get(n, {}).get(8) == 2)
    kill = lambda n: message(1, container(n)) + number(2, 3)
    fact("the first attempt of an application starts a container", start(container_token(20), bearer=former), "20; ")
    fact("a later attempt starts its own container", start(container_token(21, of=2), bearer=later), "21; ")
    fact("a later attempt starts a container that was allocated to the first attempt", start(container_token(22), bearer=later), "22; ")
    fact("all three containers of both attempts are running", [runs(n) for n in (20, 21, 22)], [True] * 3)
    fact("the later attempt sees the container of the first attempt", status(container(20), container(2), bearer=later), "20 2; 0")
    bigger = container_identifier(20, memory=96, version=1)
    update = message(1, token(bigger, sign(cluster.container_key[1], bigger), "ContainerToken"))
    fact("an application master can't resize a container of another application", outcome(ask("updateContainer", update, foreign), 1, 2),
         "; 20 YarnException")
    fact("the later attempt can resize a container of the first attempt", outcome(ask("updateContainer", update, later), 1, 2), "20; ")
    fact("an application master can't signal a container of another application",
         ask("signalToContainer", kill(20), foreign), "YarnException")
    fact("an application master can't stop a container of another application with a later attempt",
         stop(container(20), bearer=foreign), "; 20 YarnException")
    fact("the later attempt can stop a container of the first attempt", stop(container(20), bearer=later), "20; ")
    fact("the stopped container ends as stopped by its application master (-105)",
         within(20, lambda: 20 in cluster.ends) and cluster.ends[20], -105)
    fact("the later attempt can signal a container", ask("signalToContainer", kill(22), later), b"")
    fact("the signalled container is reported as killed (137)", within(20, lambda: 22 in cluster.ends) and cluster.ends[22], 137)
    fact("the first attempt can stop a container of the later one while both are running", stop(container(21, of=2), bearer=former), "21; ")


def try_keys():
    old, later = nm_token(), nm_token(n=2)
    stranger = nm_token(application=7)
    for i, key in ((20, b"secondk1"), (21, b"thirdke1")):
        cluster.nm_key = (i, key)
        cluster.wait_beats()
        if i == 20:
            fact("after one new key all tokens of the old key are accepted", (status(bearer=old), status(bearer=stranger)), ("; 0",) * 2)
    fact("after two new keys a token of the old key is accepted if its application has started a container",
         status(container(2), bearer=old), "2; 0")
    fact("after two new keys the later attempt's token is accepted too", status(container(2), bearer=later), "2; 0")
    fact("after two new keys, a token of the old key of an application without containers is refused", status(bearer=stranger), INVALID)
    fact("after two new keys a token of another attempt is refused", status(bearer=nm_token(n=3, key=b"keyofnms", key_id=-9)), INVALID)
    tokens = [container_token(5), container_token(6)]
    cluster.container_key = (6, b"secondk2")
    cluster.wait_beats()
    fact("a container's token of the former key is accepted", start(tokens[0]), "5; ")
    cluster.container_key = (7, b"thirdke2")
    cluster.wait_beats()
    fact("a container's token of the key before the former one is refused", start(tokens[1]), INVALID)


def try_orders():
    cluster.orders.append(message(5, container(5)) + message(5, container(98)) + message(5, number(3, 1)) +
                          message(6, number(1, 3)) + message(9, container(97)))
    fact("the ResourceManager can end a container in a message that also has unknown ones",
         within(20, lambda: cluster.ends.get(5)) and cluster.ends[5], -106)
    cluster.orders.append(message(9, container(5)))
    fact("a container whose command exits is started", start(container_token(9), what=context("exit 3")), "9; ")
    fact("the node reports the end of this container", within(20, lambda: cluster.ends.get(9)), True)
    fact("the node reports the exit code of this container", cluster.ends.get(9), 3)
    fact("stopping an ended container again has no effect", stop(container(5)) in ("5; ", "; 5 YarnException"), True)
    bigger = container_identifier(2, memory=128, version=1)
    update = token(bigger, sign(cluster.container_key[1], bigger), "ContainerToken")
    stale = token(bigger, b"y" * 20, "ContainerToken")
    cluster.orders.append(message(17, message(6, stale)) + message(17, b"") + message(17, message(6, update)))
    cluster.wait_beats(4)
    grown = fields(cluster.statuses[2][5]).get(1) if 5 in cluster.statuses[2] else 0
    fact("a valid update is carried out, and a forged one is not", grown, 128)
    fact("a repeated update is refused as outdated", outcome(ask("updateContainer", message(1, update)), 1, 2), "; 2 YarnException")
    cluster.orders.append(message(13, message(1, container(2)) + number(2, 99)))
    fact("the heartbeat continues after an unknown signal", cluster.wait_beats(), True)
    fact("an unknown signal does not end the container", cluster.state(2), "2 -1000")


def try_services():
    again = "[ -e once ] && exit 21; touch once; exec sleep 600"
    users = os.stat("/etc/passwd")
    there = message(1, message(1, "users") + message(2, message(1, message(1, "file") + message(4, "/etc/passwd")) +
                    number(2, users.st_size) + number(3, users.st_mtime_ns // 1000000) + number(4, 2) + number(5, 3)))
    reads = "grep -q nobody users && exit 33; exit 5"

    def runs(n, what=context(again)):
        fact(f"container {n} is started", start(container_token(n), what=what), f"{n}; ")
        return within(20, lambda: cluster.statuses.get(n, {}).get(8) == 2) and cluster.wait_beats()

    def ends(n, code, name):
        fact(name, within(20, lambda: n in cluster.ends) and cluster.ends[n], code)
        cluster.orders.append(message(9, container(n)))

    def reinit(n, what, commit):
        return ask("reInitializeContainer", message(1, container(n)) + message(2, what) + number(3, commit))

    def is_there(n):
        answer = ask("getLocalizationStatuses", message(1, container(n)))
        return fields(fields(every(answer, 1)[0])[2]).get(2) == 2

    runs(40)
    fact("a restart of an unknown container is refused", ask("restartContainer", container(98)), "YarnException")
    fact("a roll back without a re-initialization is refused", ask("rollbackLastReInitialization", container(40)), "YarnException")
    fact("a restart of a container is accepted", ask("restartContainer", container(40)), b"")
    ends(40, 21, "the restarted container finds its former directory")
    runs(41)
    fact("a re-initialization is accepted", reinit(41, context(reads, there), 1), b"")
    ends(41, 33, "the re-initialized container runs another command with another file")
    runs(42)
    fact("a re-initialization with a command that fails is accepted", reinit(42, context("exit 7"), 0), b"")
    ends(42, 21, "the container with the failed command is rolled back automatically")
    runs(43)
    fact("a re-initialization with a command that runs is accepted", reinit(43, context("exec sleep 600"), 0), b"")
    fact("a roll back is accepted while the command runs",
         within(20, lambda: ask("rollbackLastReInitialization", container(43)) == b""), True)
    ends(43, 21, "the rolled-back container runs its former command")
    runs(44, context("[ -e once ] || { touch once; exec sleep 600; }; " + reads))
    fact("a localization request for a running container is accepted",
         ask("localize", message(1, container(44)) + there.replace(b"\x0a", b"\x12", 1)),
         b"")
    fact("the node reports that the localization is complete", within(20, lambda: is_there(44)), True)
    fact("a restart after the localization is accepted", ask("restartContainer", container(44)), b"")
    ends(44, 33, "the restarted container still has the file")


def try_resync():
    cluster.slow, cluster.resync, cluster.rm = True, True, CLUSTER + 1
    before = cluster.registrations
    within(5, lambda: not cluster.resync)
    refusals = [start(container_token(8))]
    fact("no container is started while the node registers", refusals, ["NMNotYetReadyException"])
    fact("containers' statuses can be read while the node registers", status(container(2)), "2; 0")
    fact("the node registers again", within(20, lambda: cluster.registrations > before), True)
    cluster.slow = False
    fact("the registration has the running container", cluster.known.get(2), 2)
    fact("the registration has the container whose end wasn't acknowledged", cluster.known.get(9), 3)
    fact("the registration does not have the container whose end was acknowledged", cluster.known.get(5), None)
    cluster.wait_beats()
    fact("tokens of the former ResourceManager are refused", start(container_token(8, rm=CLUSTER)),
         "; 8 InvalidContainerException")
    fact("tokens of the new ResourceManager are accepted", start(container_token(8)), "8; ")


def try_contexts():
    odd = {
        "a missing command": b"",
        "an environment with odd names": message(5, "true") + message(4, message(1, "A B\nC=") + message(2, "$(id)")),
        "a resource whose name leaves the directory": message(5, "true") +
        message(1, message(1, "../../../etc/x") + message(2, message(1, message(1, "file") + message(4, "/etc/passwd")))),
        "a resource without a URL": message(5, "true") + message(1, message(1, "x")),
        "a set of invalid tokens": message(5, "true") + message(2, b"HDTS\x00\xff\xff\xff"),
        "an unknown service": message(5, "true") + message(3, message(1, "tea") + message(2, b"1")),
        "a long command": message(5, "x" * 300000),
        "a thousand variables without a name": message(5, "true") + message(4, b"") * 1000,
    }
    for i, (name, what) in enumerate(odd.items()):
        answer = start(container_token(100 + i), what=what)
        good = answer in (f"{100 + i}; ", f"; {100 + i} YarnException", f"; {100 + i} InvalidAuxServiceException",
                        "YarnException", "RpcServerException")
        fact(f"{name} gets a valid response", good or answer, True)
    nul = {
        "an environment's name": message(5, "true") + message(4, message(1, "A\0B") + message(2, "1")),
        "an environment's value": message(5, "true") + message(4, message(1, "A") + message(2, "1\0002")),
        "a command": message(5, "true\0; exit 1"),
        "a resource's name": message(5, "true") + message(1, message(1, "x\0y") + message(2, b"")),
        "a resource's path": message(5, "true") + message(1, message(1, "x") + message(2, message(1, message(4, "/a\0b")))),
        "a service's name": message(5, "true") + message(3, message(1, "mapreduce_shuffle\0") + message(2, b"1")),
    }
    for i, (name, what) in enumerate(nul.items()):
        fact(f"NUL in {name} is refused", start(container_token(110 + i), what=what), "RpcServerException")
    fact("NUL in a user's name is refused", start(container_token(116, submitter="ada\0root")), INVALID)
    fact("no container with a NUL was started", [n for n in range(110, 117) if cluster.state(n) != "none"], [])
    for i, name in enumerate(("../../root", "", "a" * 5000, "x\ny", "-rf")):
        answer = start(container_token(120 + i, submitter=name))
        fact(f"an invalid name of a user, {i}, gets a valid response", answer.split(";")[-1] != "closed", True)
    for i, (memory, vcores) in enumerate(((-1, 1), (1 << 62, 1), (0, 0), (64, -1), (64, 1 << 30))):
        answer = start(container_token(130 + i, memory=memory, vcores=vcores))
        fact(f"an invalid size, {i}, gets a valid response", answer != "closed", True)
    many = b"".join(message(1, container(i)) for i in range(1001))
    fact("more than a thousand containers in one request are refused", ask("getContainerStatuses", many), "YarnException")
    fact("a request without containers gets an empty response", start(), "; ")


def raw(data, source="127.0.0.3", finish=True):
    """Returns the server's response on a connection that sends these bytes."""
    with node(source) as client:
        try:
            client.socket.sendall(data)
            if finish:
                client.socket.shutdown(socket.SHUT_WR)
            client.socket.settimeout(5)
            return client.socket.recv(4096)
        except OSError:
            return b""


def try_connections():
    fact("a call of an unknown method is refused", ask("format", b""), "RpcNoSuchMethodException")
    fact("a call of an unknown protocol is refused", ask("stopContainers", b"", protocol="X"), "RpcNoSuchProtocolException")
    fact("a call with an unknown protocol version is refused", ask("stopContainers", b"", version=2), "RPC$VersionMismatch")
    fact("a call with an invalid request is refused", ask("startContainers", b"\xff" * 30), "RpcServerException")
    fact("a connection without SASL is refused", b"AccessControlException" in raw(b"hrpc\x09\x00\x00"), True)
    fact("a connection with another version of Hadoop's RPC is refused", b"VersionMismatch" in raw(b"hrpc\x04\x00\xdf" + bytes(8)), True)
    fact("an HTTP request gets an HTTP response", b"HTTP" in raw(b"GET / HTTP/1.0\r\n\r\n"), True)
    for name, size in (("the largest", 0x7fffffff), ("negative", 0xffffffff), ("16 MiB", 16 << 20)):
        raw(b"hrpc\x09\x00\xdf" + struct.pack(">I", size) + bytes(100))
        fact(f"a frame whose size is {name} has no effect on other calls", status(container(2)), "2; 0")
    for _ in range(100):
        raw(chance.randbytes(chance.randrange(1, 300)))
        raw(b"hrpc\x09\x00\xdf" + struct.pack(">I", 40) + chance.randbytes(chance.randrange(60)))
    fact("a connection that sends random bytes has no effect on other calls", status(container(2)), "2; 0")


def try_responses():
    odd = {"absent": b"", "empty": message(3, b""), "a NUL": message(3, b"\0"), "noise": message(3, b"\xff" * 50),
           "cut by a NUL": message(3, b'username="x"\0,nonce="y"'), "the last one empty": message(3, b"x") + message(3, b"")}
    for port, whose in ((node_port, "the node"), (proxy_port, "its proxy")):
        for name, token in odd.items():
            fact(f"{whose} refuses a SASL response with this fault: {name}", respond(port, token), SASL)
        fact(f"{whose} still responds", respond(port, b""), SASL)


def try_crowd():
    held = []
    for _ in range(3000):
        try:
            s = socket.socket()
            s.bind(("127.0.0.4", 0))
            s.settimeout(2)
            s.connect(("127.0.0.1", node_port))
            s.sendall(b"hr")
            held.append(s)
        except OSError:
            s.close()
    fact("a client with a token gets a response while thousands of other connections are open", status(container(2)), "2; 0")
    for s in held:
        s.close()


begin()
for attack in (try_tokens, try_bits, try_bearers, try_attempts, try_keys, try_orders, try_services, try_resync,
               try_contexts, try_connections, try_responses, try_crowd):
    try:
        attack()
    except Exception as error:  # an exception is a failed test, and the other tests still run
        fact(f"{attack.__name__} runs to its end", repr(error), "")
fact("the ResourceManager still gets the container's status after all attacks", cluster.wait_beats() and cluster.state(2), "2 -1000")
os._exit(0)
