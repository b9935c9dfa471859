#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Tests the tokens that application masters get from nmd's proxy, and the tokens that the proxy has itself:
#
#   proxy-tokens.py keys STATE-DIRECTORY      the number of the key with which the proxy signs now
#   proxy-tokens.py bearer KEPT               the number of the ResourceManager's key, of the stored token of a master
#   proxy-tokens.py forged PROXY RM TOKENS KEPT
#   proxy-tokens.py stale PROXY TOKENS        of a master that has used a newer token since
#   proxy-tokens.py gone PROXY TOKENS NEXT    of a master whose attempt is over when the file NEXT exists
#   proxy-tokens.py watch PORT FILE           write what the proxy on that port sends to FILE, until killed
#   proxy-tokens.py content FILE KEPT         which tokens FILE has
#
# PROXY and RM are HOST:PORT, TOKENS is a master's file of credentials, and KEPT nmd's stored data about the master (proxy-store.proto).
# The commands forged, stale and gone print a line for each test: its name, the result and the expected result, with tabs between them.
import hashlib
import hmac
import os
import random
import socket
import sys
import time

from wire import Client, Refused, every, fields, message, number, signed

PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
INVALID, SASL = "SecretManager$InvalidToken", "SaslException"
ACCEPTED = "RpcNoSuchMethodException"  # the error for an unknown call; a client that gets it has been authenticated
chance = random.Random(1)


def fact(name, got, wanted):
    print(f"{name}\t{got}\t{wanted}", flush=True)


def content(path):
    with open(path, "rb") as file:
        return file.read()


# ---- tokens: pairs of identifier and password ------------------------------------------------------------------------

def vint(data, at):
    """Reads a number in the format of Hadoop's Writables. Lengths are never negative."""
    first = data[at] - 256 if data[at] > 127 else data[at]
    if first >= -112:
        return first, at + 1
    end = at + 1 - 112 - first
    return int.from_bytes(data[at + 1:end], "big"), end


def chunk(data, at):
    size, at = vint(data, at)
    return data[at:at + size], at + size


def of_credentials(path):
    """Returns the token for the ResourceManager from a credentials file."""
    data = content(path)
    count, at = vint(data, 5)  # starts after "HDTS" and the version
    for _ in range(count):
        _, at = chunk(data, at)
        identifier, at = chunk(data, at)
        password, at = chunk(data, at)
        kind, at = chunk(data, at)
        _, at = chunk(data, at)
        if kind == b"YARN_AM_RM_TOKEN":
            return identifier, password
    raise LookupError(path)


def of_kept(path):
    token = fields(fields(content(path))[3])
    return token[1], token[2]


def key_of(identifier):
    return signed(fields(identifier).get(2, 0))


def identifier_of(application, cluster, attempt, key):
    return message(1, message(1, number(1, application) + number(2, cluster)) + number(2, attempt)) + number(2, key)


def signing_key(state):
    keys = fields(content(os.path.join(state, "master-keys")))
    return signed(fields(keys[2] if 2 in keys else keys[1])[1])


# ---- accepted and refused tokens ---------------------------------------------------------------------------------------

def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def connect(where, token):
    try:
        with Client(where, PROTOCOL) as client:
            client.enter(*token).call("nothing", b"")
    except Refused as why:
        return str(why)
    except (EOFError, ConnectionError):
        return "closed"
    return "answered"


def allocate(client):
    try:
        client.call("allocate", number(4, 0))
    except Refused as why:
        return str(why)
    except (EOFError, ConnectionError):
        return "closed"
    return "answered"


def changed(data):
    data = bytearray(data)
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def forged(proxy, rm, tokens, kept):
    ours, theirs = of_credentials(tokens), of_kept(kept)
    identifier, password = ours
    attempt = fields(fields(identifier)[1])
    application, key = fields(attempt[1]), key_of(identifier)
    name = application[1], application[2], attempt[2]
    fact("the proxy accepts the master's token, although its key was replaced long ago", connect(proxy, ours), ACCEPTED)
    fact("the ResourceManager refuses the master's token", connect(rm, ours), INVALID)
    fact("the ResourceManager accepts nmd's token", connect(rm, theirs), ACCEPTED)
    fact("the proxy refuses nmd's token", connect(proxy, theirs), INVALID)
    fact("the identifier has only the attempt and the key", identifier_of(*name, key), identifier)
    for what, of in (("another attempt", (name[0], name[1], name[2] + 1)),
                     ("another application", (name[0] + 1, name[1], name[2])),
                     ("another cluster", (name[0], name[1] + 1, name[2]))):
        fact(f"the proxy refuses the same token for {what}", connect(proxy, (identifier_of(*of, key), password)), INVALID)
    fact("the proxy refuses a token with a key that never existed", connect(proxy, (identifier_of(*name, key - 1), password)), INVALID)
    mine = hmac.new(b"mykeymykeymykeymykey", identifier, hashlib.sha1).digest()
    fact("the proxy refuses a token that is signed with another key", connect(proxy, (identifier, mine)), SASL)
    fact("the proxy refuses a token without a password", connect(proxy, (identifier, b"")), SASL)
    fact("the proxy refuses an invalid identifier", connect(proxy, (b"\xff" * 40, password)), INVALID)
    fact("the proxy refuses an empty identifier", connect(proxy, (b"", password)), INVALID)
    n_accepted = [connect(proxy, token) for _ in range(40) for token in ((changed(identifier), password),
                                                                         (identifier, changed(password)))].count(ACCEPTED)
    fact("the proxy refuses each of 80 tokens with a changed bit", n_accepted, 0)
    with Client(proxy, PROTOCOL).enter(*ours) as client:
        try:
            client.call("allocate", b"\xff" * 30)
        except Refused as why:
            fact("an accepted connection gets an error for an invalid request", str(why), "RpcServerException")


def gone(proxy, tokens, following):
    token = of_credentials(tokens)
    with Client(proxy, PROTOCOL).enter(*token) as client:
        fact("the proxy accepts the token while its attempt lives", connect(proxy, token), ACCEPTED)
        until = time.monotonic() + 60
        while not os.path.exists(following) and time.monotonic() < until:
            time.sleep(0.02)
        fact("the proxy refuses the token after its attempt has ended", connect(proxy, token), INVALID)
        fact("a request on an open connection is refused after the attempt has ended", allocate(client), INVALID)


# ---- data on the wire, which are not encrypted -------------------------------------------------------------------------

def watch(port, path):
    internet = 0x0800
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(internet)) as wire, open(path, "wb", 0) as file:
        wire.bind(("lo", internet))
        while True:
            data = wire.recv(1 << 17)
            at = (data[0] & 15) * 4
            if data[9] == socket.IPPROTO_TCP and int.from_bytes(data[at:at + 2], "big") == port:
                file.write(data[at + (data[at + 12] >> 4) * 4:])


def check_content(path, kept):
    stored = content(path)
    fact("the master was given tokens", b"YARN_AM_RM_TOKEN" in stored, True)
    fact("the master was not given the ResourceManager's new token", of_kept(kept)[1] in stored, False)


what, *rest = sys.argv[1:]
if what == "keys":
    print(signing_key(*rest))
elif what == "bearer":
    print(key_of(of_kept(*rest)[0]))
elif what == "forged":
    forged(address(rest[0]), address(rest[1]), *rest[2:])
elif what == "watch":
    watch(int(rest[0]), rest[1])
elif what == "content":
    check_content(*rest)
elif what == "stale":
    fact("the proxy refuses the master's first token", connect(address(rest[0]), of_credentials(rest[1])), INVALID)
else:
    gone(address(rest[0]), *rest[1:])
