#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# The resources of one user come from a server that sends almost no data. Removals of this user have many files, and the user
# stops its workers with SIGSTOP. Meanwhile another user's containers must start as fast as without this, and nmd must end the
# stopped workers:
#
#   slow-user.py RM-PORT NODE-NAME NODE-PORT NMD-PID PLACE LOCAL-DIR TIMEOUT
#
# PLACE is a directory in which both users may create files. TIMEOUT is nmd.yarn.localizer-timeout-ms in seconds.
import contextlib
import http.server
import os
import pwd
import signal
import statistics
import sys
import threading
import time

from master import (CLUSTER, begin, cluster, container, container_token, context, fact, nm_token, start, stop, within)
from wire import message, number

nmd, shared, local, timeout = int(sys.argv[4]), sys.argv[5], sys.argv[6], int(sys.argv[7])
SLOW, OTHER = "games", "mail"  # accounts that every Debian has; another account fetches PUBLIC resources
PUBLIC, PRIVATE = 1, 2
STARTS = 5
# On a busy host, twice a very short time may be less than one scheduling delay. So the median may always be this many seconds
# longer than without the other user, and the maximum has this limit too. A container that had to wait for a slot would need at
# least the timeout.
MORE, FLOOR = 0.5, 2.0
FILES, DIRS = 400, 40


# ---- requested resources --------------------------------------------------------------------------------------------

class Drops(http.server.BaseHTTPRequestHandler):
    """Sends a byte every two seconds."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x")
                time.sleep(2)
        except OSError:
            pass

    def log_message(self, *_):
        pass


def resource(name, url, size, msec, visibility):
    return message(1, message(1, name) + message(2, message(1, url) + number(2, size) + number(3, msec) + number(4, 2) +
                                                 number(5, visibility)))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Drops)
threading.Thread(target=server.serve_forever, daemon=True).start()


def drops(name, visibility):
    url = message(1, "http") + message(2, "127.0.0.1") + number(3, server.server_port) + message(4, f"/{name}")
    return resource(name, url, 100000, 0, visibility)


def small_file(name):
    """Creates a file of 1 KB that has not been requested before."""
    path = f"{shared}/{name}"
    with open(path, "wb") as f:
        f.write(bytes(1024))
    st = os.stat(path)
    return resource("it", message(1, "file") + message(4, path), st.st_size, st.st_mtime_ns // 1000000, PRIVATE)


def begin_container(n, user, application, what):
    token = container_token(n, application=application, submitter=user, memory=16)
    return start(token, bearer=nm_token(application, submitter=user), what=what)


def seconds_to_start(n):
    """Returns the time from the call until the command of the container runs."""
    mark = f"{shared}/runs-{n}"
    what = context(f"cat it >/dev/null && touch {mark}; exec sleep 600", small_file(f"file-{n}"))
    begun = time.time()
    answer = begin_container(n, OTHER, 2, what)
    if answer != f"{n}; " or not within(20, lambda: os.path.exists(mark)):
        return 1000.0
    return os.stat(mark).st_mtime - begun


def is_as_soon(beside, alone):
    usual = statistics.median(alone)
    return statistics.median(beside) <= max(2 * usual, usual + MORE) and max(beside) <= max(2 * max(alone), FLOOR)


def words_of(times):
    return ", ".join(f"{time:.2f}" for time in times)


# ---- workers --------------------------------------------------------------------------------------------------------

def workers(*users):
    """Returns the nm-localizer processes of these users."""
    uids = {str(pwd.getpwnam(user).pw_uid) for user in users}
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/status") as f:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        except OSError:
            continue
        if status["PPid"] == str(nmd) and status["Name"] == "nm-localizer" and status["Uid"].split()[0] in uids:
            if not status["State"].startswith("Z"):
                found.add(int(pid))
    return found


def stop_as(user, pids):
    """Sends SIGSTOP to the processes as that user. Returns 0 if this was permitted. A process may have ended already."""
    child = os.fork()
    if child == 0:
        os.setuid(pwd.getpwnam(user).pw_uid)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def stop_removing(fetching):
    """Stops the worker that removes the slow user's files. If it has ended before it was stopped, stops the next one, which
    removes the files of the next container."""
    removing = set()

    def is_stopped():
        removing.clear()
        removing.update(workers(SLOW) - fetching)
        return removing and stop_as(SLOW, removing) == 0 and removing <= workers(SLOW)

    fact("the slow user stops the worker that removes its files", (within(20, is_stopped), len(removing)), (True, 1))
    return removing


# ---- tests ----------------------------------------------------------------------------------------------------------

def hoard(n):
    """Runs a container that leaves many files."""
    made = f"{shared}/made-{n}"
    # double quotes of the launch script, so that the inner shell expands the variables
    makes = rf"for d in {{1..{DIRS}}}; do mkdir \$d && (cd \$d && touch {{1..{FILES}}}); done; touch {made}"
    fact("the slow user has a container with many files",
         begin_container(n, SLOW, 1, context(f"{makes}; exec sleep 600")), f"{n}; ")
    within(60, lambda: os.path.exists(made) or n in cluster.ends)
    fact("the container of the slow user has made its files", os.path.exists(made) or cluster.diagnostics.get(n, "").split("\n"), True)


def try_slow_user():
    hoard(10)
    hoard(11)
    alone = [seconds_to_start(100 + i) for i in range(STARTS)]
    for n in range(20, 24):
        begin_container(n, SLOW, 1, context("true", drops(f"drops-{n}", PRIVATE if n < 23 else PUBLIC)))
    fact("the slow user's fetches use all slots except one",
         within(20, lambda: len(workers(SLOW, "daemon")) == 3), True)
    fetching = workers(SLOW)
    fact("the slow user stops its workers", stop_as(SLOW, fetching), 0)
    stopped_at = time.monotonic()
    fact("the removal of the slow user's files begins", stop(container(10), bearer=nm_token(submitter=SLOW)), "10; ")
    beside = [seconds_to_start(200)]
    stop(container(11), bearer=nm_token(submitter=SLOW))
    removing = stop_removing(fetching)
    beside += [seconds_to_start(201 + i) for i in range(STARTS - 1)]
    now = workers(SLOW)
    fact("all stopped workers are still stopped", (fetching <= now, removing <= now, bool(removing)), (True,) * 3)
    fact("another user's container starts as fast as without the slow user",
         "yes" if is_as_soon(beside, alone) else f"seconds: {words_of(beside)}; alone: {words_of(alone)}", "yes")
    work = f"{local}/usercache/{OTHER}/appcache/application_{CLUSTER}_0002/container_{CLUSTER}_0002_01_000200"
    fact("a container of the other user has a directory", os.path.isdir(work), True)
    stop(container(200, 2), bearer=nm_token(2, submitter=OTHER))
    fact("the other user's directory is removed while the slow user's removal is stopped",
         (within(20, lambda: not os.path.exists(work)), removing <= workers(SLOW)), (True, True))
    ended = within(timeout + 20, lambda: len(workers(SLOW) & (fetching | removing)) == 0)
    fact("nmd ends all stopped workers within its time limit", ended and timeout - 2 <= time.monotonic() - stopped_at, True)
    for n in range(20, 23):
        fact(f"container {n} fails", within(20, lambda n=n: n in cluster.ends) and cluster.ends[n], -1000)
    answer = cluster.diagnostics.get(20, "")
    fact("the master gets the reason of the failure",
         f"drops-20: nm-localizer made no progress for {timeout} seconds" in answer or answer, True)


begin()
try:
    try_slow_user()
except Exception as error:
    fact("the test runs to its end", repr(error), "")
os._exit(0)
