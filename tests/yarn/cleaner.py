#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
#
# Has an archive unpacked for containers. Between two containers, removes a part of the archive, as a cleaner of temporary files
# does:
#
#   cleaner.py RM-PORT NODE-NAME NODE-PORT PLACE LOCAL-DIR
#
# PLACE is a directory in which the user may create files.
import glob
import io
import os
import sys
import tarfile
import time

from master import begin, cluster, container_token, context, fact, nm_token, start, within
from wire import message, number

shared, local = sys.argv[4], sys.argv[5]
USER = "games"  # an account that every Debian has
ARCHIVE, PRIVATE = 1, 2
AGAIN = 11  # seconds after which nmd checks an unpacked tree again
path = f"{shared}/t.tgz"


def pack():
    with tarfile.open(path, "w:gz") as t:
        for name in ("lib/old.jar", "lib/new.jar", "bin/x"):
            one = tarfile.TarInfo(name)
            one.size = 4
            t.addfile(one, io.BytesIO(b"abcd"))
    os.chmod(path, 0o644)


def resource():
    st = os.stat(path)
    uri = message(1, "file") + number(3, -1) + message(4, path)
    return message(1, message(1, "t") + message(2, message(1, uri) + number(2, st.st_size) +
                                                number(3, st.st_mtime_ns // 1000000) + number(4, ARCHIVE) + number(5, PRIVATE)))


def run(n, command):
    """Returns the output of a container's command, and whether the command succeeded."""
    out = f"{shared}/out-{n}"
    start(container_token(n, submitter=USER, memory=16), bearer=nm_token(1, submitter=USER),
          what=context(f"( {command} ) >{out} 2>&1", resource()))
    within(30, lambda: n in cluster.ends)
    with open(out, encoding="utf-8") as f:
        return f"{f.read().strip()} {cluster.ends.get(n)}"


def trees():
    return sorted(glob.glob(f"{local}/usercache/{USER}/filecache/*/t.tgz"))


READ = "cat t/lib/old.jar t/lib/new.jar t/bin/x"
pack()
begin()
fact("a container has the archive", run(21, READ), "abcdabcdabcd 0")
fact("the archive is unpacked once", len(trees()), 1)
tree = trees()[0]
os.chmod(f"{tree}/lib", 0o700)
with open(f"{tree}/lib/added", "w", encoding="utf-8") as added:
    added.write("x")
time.sleep(AGAIN)
fact("nmd keeps an unpacked tree to which a container has added a file", run(22, f"{READ} t/lib/added"), "abcdabcdabcdx 0")
os.unlink(f"{tree}/lib/old.jar")
time.sleep(AGAIN)
fact("a tree that lacks a file is unpacked again", run(23, READ), "abcdabcdabcd 0")
fact("the tree is unpacked to another directory", trees()[-1] != tree, True)
os._exit(0)
