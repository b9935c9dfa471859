#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Acts like a person at a terminal: runs COMMAND, which must execute a shell, in a terminal of 33 rows and 77
columns, types the input that the suite needs, and prints a summary of the results.

    terminal.py [--pause FILE] [--end SIGNAL] COMMAND...

With --pause it waits for FILE before it types "exit". With --end it sends SIGNAL instead of typing "exit".
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

END = time.time() + 30
master, slave = pty.openpty()
options = {}
while sys.argv[1] in ("--pause", "--end"):
    options[sys.argv[1]] = sys.argv[2]
    del sys.argv[1:3]


def resize(rows, columns):
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def read_until(pattern, again=b""):
    """Types the text again, because the terminal may have discarded it (for example if the shell was just interrupted)."""
    text = b""
    typed = time.time()
    while time.time() < END:
        if again and time.time() > typed + 2:
            os.write(master, again)
            typed = time.time()
        if select.select([master], [], [], 0.1)[0]:
            text += os.read(master, 4096)
        if found := re.search(pattern, text):
            return found
    sys.exit("waited for %r; the output is %r" % (pattern, text))


resize(33, 77)
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in 0, 1, 2:
        os.dup2(slave, fd)
    os.execvp(sys.argv[1], sys.argv[1:])

SIZE = rb"(\d+ \d+)\r\n", b"stty size\n"
os.write(master, b"stty size\n")
print("size", read_until(*SIZE)[1].decode())
os.write(master, b"echo be''gun; sleep 1000; echo not reached\n")
read_until(rb"begun\r\n")
os.write(master, b"\x03")
read_until(rb"\^C\s+[#$] ", b"\x03")  # text that is typed before this prompt is lost
print("interrupted", flush=True)
while "--pause" in options and not os.path.exists(options["--pause"]) and time.time() < END:
    time.sleep(0.05)
resize(44, 88)
# the shell's terminal has the new size a moment later
while True:
    os.write(master, b"stty size\n")
    if (size := read_until(*SIZE)[1]) != b"33 77":
        break
print("size", size.decode())
if "--end" in options:
    os.kill(pid, getattr(signal, "SIG" + options["--end"]))
else:
    os.write(master, b"exit 7\n")
status = None
while status is None and time.time() < END:
    if select.select([master], [], [], 0.05)[0]:
        os.read(master, 4096)
    ended, code = os.waitpid(pid, os.WNOHANG)
    if ended:
        status = os.waitstatus_to_exitcode(code)
print("status", status)
print("as before" if termios.tcgetattr(slave) == before else "changed: %s" % termios.tcgetattr(slave))
