#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A person at a terminal: runs COMMAND, which is to become a shell, in a terminal of 33 rows and 77
columns, types what the suite wants to see, and tells in short what came of it.

    terminal.py COMMAND...
"""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

END = time.time() + 30
master, slave = pty.openpty()


def resize(rows, columns):
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def read_until(pattern):
    text = b""
    while time.time() < END:
        if select.select([master], [], [], 0.1)[0]:
            text += os.read(master, 4096)
        if found := re.search(pattern, text):
            return found
    sys.exit("waited for %r; there is %r" % (pattern, text))


resize(33, 77)
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in 0, 1, 2:
        os.dup2(slave, fd)
    os.execvp(sys.argv[1], sys.argv[1:])

os.write(master, b"stty size\n")
print("size", read_until(rb"(\d+ \d+)\r\n")[1].decode())
os.write(master, b"echo be''gun; sleep 1000; echo not reached\n")
read_until(rb"begun\r\n")
os.write(master, b"\x03")
read_until(rb"\^C")
print("interrupted")
resize(44, 88)
# the shell's terminal has it a moment later
while True:
    os.write(master, b"stty size\n")
    if (size := read_until(rb"(\d+ \d+)\r\n")[1]) != b"33 77":
        break
print("size", size.decode())
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
