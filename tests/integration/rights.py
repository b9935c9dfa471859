#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends each request of nmd's interface as root, as a member of its admin group, as a container's
owner and as another user, and compares the statuses with a table of permissions. Prints TAP lines.

    rights.py SOCKET MEMBER-GID

It must run as root, with an nmd whose socket all users can reach and whose containers may run as users
without an account. A route that nmd describes and that is not in the table is a failure.
"""

import json
import os
import socket
import sys

PATH, GROUP = sys.argv[1], int(sys.argv[2])
OWNER, OTHER, MEMBER = 54321, 54322, 54323
ROLES = {"root": (0, 0, []), "member": (MEMBER, MEMBER, [GROUP]), "owner": (OWNER, OWNER, []),
         "other": (OTHER, OTHER, [])}
TINY = {"memory_bytes": 1 << 20, "vcores": 0.001}
ALL, ADMINS, MINE = (200, 200, 200, 200), (200, 200, 403, 403), (200, 200, 200, 404)
NOBODY = (404, 404, 404, 404)
# (method, path): expected statuses for root, member, owner and other. {id} is a container of the owner. Each request gets a new
# container.
TABLE = {
    ("GET", "/"): ALL,
    ("GET", "/healthz"): ALL,
    ("GET", "/metrics"): ALL,
    ("GET", "/v1/version"): ALL,
    ("GET", "/v1/openapi.json"): ALL,
    ("GET", "/v1/status"): ALL,
    ("GET", "/v1/history"): ALL,
    ("GET", "/v1/applications"): ALL,
    ("GET", "/v1/config"): ALL,
    ("GET", "/v1/events"): ALL,
    ("GET", "/v1/containers"): ALL,
    ("POST", "/v1/containers"): (201, 201, 201, 201),
    ("GET", "/v1/decisions"): ADMINS,
    ("POST", "/v1/drain"): ADMINS,
    ("POST", "/v1/undrain"): ADMINS,
    ("POST", "/v1/close-breaker"): ADMINS,
    ("POST", "/v1/reload"): ADMINS,
    ("GET", "/v1/containers/{id}"): MINE,
    ("PATCH", "/v1/containers/{id}"): MINE,
    ("DELETE", "/v1/containers/{id}"): MINE,
    ("POST", "/v1/containers/{id}/pause"): MINE,
    ("POST", "/v1/containers/{id}/resume"): MINE,
    ("POST", "/v1/containers/{id}/promote"): MINE,
    ("POST", "/v1/containers/{id}/demote"): MINE,
    ("POST", "/v1/containers/{id}/kill"): MINE,
    ("POST", "/v1/containers/{id}/remove"): (409, 409, 409, 404),  # the container is running
    # 426: a user with permission must ask for a connection that can be upgraded for the command (56-sessions tests this)
    ("POST", "/v1/containers/{id}/exec"): (426, 426, 426, 404),
    ("GET", "/v1/containers/{id}/wait"): MINE,
    ("GET", "/v1/containers/{id}/logs"): MINE,
    ("GET", "/v1/containers/{id}/decisions"): MINE,
    ("GET", "/v1/placements/{id}"): NOBODY,  # the container was submitted locally
    ("GET", "/v1/lending/{id}"): NOBODY,
    # without YARN, no container of YARN exists; tests/yarn/45-containers tests these routes with YARN
    ("GET", "/ws/v1/node"): NOBODY,
    ("GET", "/ws/v1/node/info"): NOBODY,
    ("GET", "/ws/v1/node/apps"): NOBODY,
    ("GET", "/ws/v1/node/apps/{id}"): NOBODY,
    ("GET", "/ws/v1/node/containers"): NOBODY,
    ("GET", "/ws/v1/node/containers/{id}"): NOBODY,
    # tests/yarn/76-container-logs tests these routes with YARN
    ("GET", "/ws/v1/node/containers/{id}/logs"): NOBODY,
    ("GET", "/ws/v1/node/containers/{id}/logs/{file}"): NOBODY,
    ("GET", "/ws/v1/node/containerlogs/{id}/{file}"): NOBODY,
    ("GET", "/node/containerlogs/{id}/{user}"): NOBODY,
    ("GET", "/node/containerlogs/{id}/{user}/{file}"): NOBODY,
    # tests/yarn/78-web tests these routes with YARN
    ("GET", "/ws/v1/node/resources/{id}"): NOBODY,
    ("GET", "/ws/v1/node/auxiliaryservices"): NOBODY,
    ("GET", "/node"): NOBODY,
    ("GET", "/node/node"): NOBODY,
    ("GET", "/node/allApplications"): NOBODY,
    ("GET", "/node/allContainers"): NOBODY,
    ("GET", "/node/application/{id}"): NOBODY,
    ("GET", "/node/container/{id}"): NOBODY,
    ("GET", "/jmx"): NOBODY,
    ("GET", "/conf"): NOBODY,
    ("GET", "/logLevel"): NOBODY,
    ("GET", "/stacks"): NOBODY,
}
BODY = {("POST", "/v1/containers"): {"command": ["sleep", "100"], **TINY},
        ("PATCH", "/v1/containers/{id}"): {"vcores": 0.002},
        ("POST", "/v1/containers/{id}/exec"): {"command": ["true"]},
        ("POST", "/v1/containers/{id}/kill"): {"now": True}}


def print_result(name, wrong=None):
    print("ok - " + name if not wrong else "not ok - %s\n# %s" % (name, wrong), flush=True)


def connect(role):
    uid, gid, groups = ROLES[role]
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)
    try:
        s.connect(PATH)  # the kernel records the client's credentials now
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups([])
    return s


def ask(role, method, target, body=None):
    """Returns the status and the text of the response. Root must name the user of a container."""
    if role == "root" and body and "command" in body:
        body = {"user": "root", **body}
    data = b"" if body is None else json.dumps(body).encode()
    with connect(role) as s:
        s.sendall(("%s %s HTTP/1.0\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                   % (method, target, len(data))).encode() + data)
        answer = b""
        while chunk := s.recv(65536):
            answer += chunk
    head, _, text = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), text.decode()


count = 0


def container(role, command=("sleep", "100"), **more):
    """Creates a container of this role's user, and returns it as nmd describes it."""
    global count
    count += 1
    status, text = ask(role, "POST", "/v1/containers",
                       {"command": list(command), "name": "secret-%d" % count, **TINY, **more})
    if status != 201:
        sys.exit("no container for %s: %d %s" % (role, status, text))
    c = json.loads(text)
    while c["state"] in ("NEW", "SCHEDULED"):
        c = json.loads(ask("root", "GET", "/v1/containers/" + c["id"])[1])
    return c


def prepare(path, wanted):
    """Returns a container of the owner that the route can act on."""
    if path.endswith("/wait") and wanted == 200:
        return container("owner", ["true"])
    c = container("owner", execution_type="OPPORTUNISTIC" if path.endswith("/promote") else "GUARANTEED")
    if path.endswith("/resume"):
        ask("root", "POST", "/v1/containers/%s/pause" % c["id"])
        while json.loads(ask("root", "GET", "/v1/containers/" + c["id"])[1])["state"] != "PAUSED":
            pass
    return c


def steady(id):
    """Returns the data of a container that no other user may have changed."""
    c = json.loads(ask("root", "GET", "/v1/containers/" + id)[1])
    return {k: c[k] for k in ("state", "execution_type", "vcores", "memory_bytes", "exit_reason", "pid")}


def check_routes():
    doc = json.loads(ask("root", "GET", "/v1/openapi.json")[1])
    described = {(m.upper(), p) for p, item in doc["paths"].items() for m in item if m != "parameters"}
    print_result("the table has every route of nmd's OpenAPI description",
                 "" if described == set(TABLE) else "the difference: %s" % (described ^ set(TABLE)))
    for key, expected in TABLE.items():
        for role, wanted in zip(ROLES, expected):
            method, path = key[0], key[1].replace("{user}", "owner").replace("{file}", "stdout")
            c = prepare(path, wanted) if "{id}" in path else None
            before = steady(c["id"]) if c and wanted == 404 else None
            wrong = []
            if path == "/v1/undrain":
                ask("root", "POST", "/v1/drain")
            # addressed by id, number or name, the container does not exist for other users
            refs = [c["id"], str(int(c["id"].rsplit("_", 1)[1])), c["name"]] if before else [c["id"]] if c else [""]
            for ref in refs:
                status, text = ask(role, method, path.replace("{id}", ref), BODY.get(key))
                if status != wanted:
                    wrong.append("%s: %d, not %d: %s" % (ref, status, wanted, text[:300]))
                if wanted == 404:
                    missing = ask(role, method, path.replace("{id}", "there-is-none"), BODY.get(key))[1]
                    if missing.replace("there-is-none", ref) != text:
                        wrong.append("the answer differs from the answer for a missing container: %s %s" % (text, missing))
            if before and steady(c["id"]) != before:
                wrong.append("it was changed: %s" % steady(c["id"]))
            print_result("%s %s by %s: %d" % (method, path, role, wanted), "; ".join(wrong))
            if path in ("/v1/drain", "/v1/undrain"):
                ask("root", "POST", "/v1/undrain")
            if c:
                ask("root", "POST", "/v1/containers/%s/kill" % c["id"], {"now": True})
    ask("root", "POST", "/v1/undrain")


def check_views():
    """Checks which data about other users' containers a user gets."""
    follow = connect("other")
    follow.sendall(b"GET /v1/events?follow=true HTTP/1.1\r\nHost: x\r\n\r\n")
    c, own = container("owner", env={"PASSWORD": "x"}, app="secret-app"), container("other", app="own-app")
    ask("owner", "POST", "/v1/containers/%s/pause" % c["id"])
    ask("owner", "POST", "/v1/containers/%s/kill" % c["id"], {"now": True})
    ask("other", "POST", "/v1/containers/%s/kill" % own["id"], {"now": True})
    for id in (c["id"], own["id"]):
        ask("root", "GET", "/v1/containers/%s/wait" % id)
    received = b""
    while b'"to":"COMPLETED"' not in received or own["id"].encode() not in received:
        chunk = follow.recv(65536)
        if not chunk:
            break
        received += chunk
    follow.close()
    views = {"followed events": received.decode(), "kept events": ask("other", "GET", "/v1/events")[1],
             "list": ask("other", "GET", "/v1/containers?all=true")[1],
             "ended applications": ask("other", "GET", "/v1/applications")[1],
             "status": ask("other", "GET", "/v1/status")[1], "metrics": ask("other", "GET", "/metrics")[1],
             "own decisions": ask("other", "GET", "/v1/containers/%s/decisions" % own["id"])[1]}
    for name, text in views.items():
        print_result("no data about other users' containers in the " + name,
                     "it has %s: %s" % (c["id"], text[:1000]) if any(w in text for w in (c["id"], c["name"], "secret-app")) else "")
    print_result("a user's own application is in the ended applications",
                 "" if "own-app" in views["ended applications"] else views["ended applications"][:1000])
    for name in ("followed events", "kept events", "list", "own decisions"):
        print_result("a user's own container is in the " + name, "" if own["id"] in views[name] else views[name][:1000])
    everything = json.loads(ask("member", "GET", "/v1/containers?all=true")[1])
    print_result("administrators see the containers of all users",
                 "" if {c["id"], own["id"]} <= {x["id"] for x in everything} else str(everything)[:500])


def check_queue():
    """A user sees why the own container waits, but not which containers are ahead."""
    status = json.loads(ask("root", "GET", "/v1/status")[1])["node"]
    large = status["capacity"]["memory_bytes"] * 3 // 4
    first = container("root", memory_bytes=large)
    waiting = {"command": ["true"], "memory_bytes": large, "vcores": 0.001, "execution_type": "OPPORTUNISTIC"}
    head = json.loads(ask("owner", "POST", "/v1/containers", {"name": "secret-head", **waiting})[1])
    behind = json.loads(ask("other", "POST", "/v1/containers", {"name": "behind", **waiting})[1])
    wrong = []
    for what in ("/v1/status", "/v1/containers/" + behind["id"], "/v1/containers/%s/decisions" % behind["id"]):
        text = ask("other", "GET", what)[1]
        if head["id"] in text or "secret" in text or first["id"] in text:
            wrong.append("%s: %s" % (what, text[:1000]))
    position = json.loads(ask("other", "GET", "/v1/containers/" + behind["id"])[1])["queue_position"]
    print_result("a user sees the queue position of the own container", "" if position == 2 else "it is %s" % position)
    print_result("a user does not see which containers of other users are ahead in the queue", "; ".join(wrong))
    text = ask("owner", "GET", "/v1/status")[1]
    print_result("the owner of the container ahead sees it", "" if head["id"] in text else text[:1000])
    for c in (behind, head, first):
        ask("root", "POST", "/v1/containers/%s/kill" % c["id"], {"now": True})


def check_rights_of_submitters():
    for name, body, expected in (
            ("new privileges", {"allow_new_privs": True}, (201, 201, 403, 403)),
            ("exemption", {"exempt": True}, (201, 201, 403, 403)),
            ("a better rank", {"execution_type": "GUARANTEED"}, (201, 201, 201, 201))):
        for role, wanted in zip(ROLES, expected):
            status, text = ask(role, "POST", "/v1/containers", {"command": ["true"], **TINY, **body})
            print_result("%s for %s: %d" % (name, role, wanted), "" if status == wanted else "%d %s" % (status, text))


check_routes()
check_views()
check_queue()
check_rights_of_submitters()
