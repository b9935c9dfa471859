#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs as a container's command, as an ordinary user. Checks the attributes that the command gets, and tries actions that
must fail. Prints TAP lines. Arguments are KEY=VALUE:

    nmd=PID outside=PID socket=PATH groups=GID,... cwd=DIR score=N resource=yes|no cgroup=MOUNT [setuid=PROGRAM] reach=PATH...

Each `reach` is a file, or with a slash at its end a directory, that the command must not be able to access. outside: a process
of the same user that belongs to no container. resource: whether nmd has CAP_SYS_RESOURCE. setuid: a set-user-ID copy of id.
"""

import ctypes
import errno
import os
import resource
import signal
import socket
import sys

args = [a.split("=", 1) for a in sys.argv[1:]]
arg = dict(args)
score = int(arg["score"])
libc = ctypes.CDLL(None, use_errno=True)
DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


def print_result(name, wrong=""):
    print(("not ok - %s\n# %s" % (name, wrong)) if wrong else "ok - " + name, flush=True)


def is_(name, got, wanted):
    print_result(name, "" if got == wanted else "got %r, wanted %r" % (got, wanted))


def denied(name, call, *also):
    """The call must fail. ENOENT is not accepted for files of other users, because a missing file would prove no protection."""
    try:
        got = call()
    except OSError as e:
        print_result(name, "" if e.errno in DENIED + also else "it failed otherwise: %s" % e)
    else:
        print_result(name, "it worked: %r" % (got,))


def status(pid="self"):
    with open("/proc/%s/status" % pid) as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def write(path, text):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


# ---- attributes that the command gets --------------------------------------------------------------------

s = status()
with open("/proc/self/environ") as f:
    env = dict(v.split("=", 1) for v in f.read().split("\0") if v)
is_("the environment has the account's variables and no others", sorted(env), ["HOME", "LOGNAME", "PATH", "SHELL", "USER"])
fds = {}
for n in os.listdir("/proc/self/fd"):  # and the descriptor that listdir() has open
    try:
        fds[int(n)] = os.readlink("/proc/self/fd/" + n)
    except FileNotFoundError:
        pass
is_("only the descriptors 0 to 2 are open", sorted(fds), [0, 1, 2])
is_("standard input is /dev/null", fds[0], "/dev/null")
is_("output goes into two pipes", [fds[1].split(":")[0], fds[2].split(":")[0], fds[1] == fds[2]], ["pipe", "pipe", False])
is_("no_new_privs is set in the container", s["NoNewPrivs"], "1")
for field in ("CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"):
    is_("there is no capability in " + field, int(s[field], 16), 0)
is_("real, effective, saved and file system uid are the user's", set(s["Uid"].split("\t")), {str(os.getuid())})
is_("real, effective, saved and file system gid are the user's", set(s["Gid"].split("\t")), {str(os.getgid())})
is_("the groups are the account's", sorted(s["Groups"].split()), sorted(arg["groups"].split(",")))
is_("the command's umask is 0022", s["Umask"], "0022")
is_("no signal is blocked or ignored", [int(s["SigBlk"], 16), int(s["SigIgn"], 16) & ~(1 << 12 | 1 << 24)], [0, 0])
is_("the working directory is the requested one", os.getcwd(), arg["cwd"])
is_("the command has its own session", os.getsid(0), os.getpid())
is_("the limit of open file descriptors is 1024", resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1024)
is_("the command has the default nice value", os.getpriority(os.PRIO_PROCESS, 0), 0)

# ---- the OOM killer's order --------------------------------------------------------------------------------

with open("/proc/self/oom_score_adj") as f:
    is_("oom_score_adj is that of the container's type", int(f.read()), score)
if arg["resource"] == "yes" or score == 0:  # without the capability nmd can't set the minimum of oom_score_adj
    denied("oom_score_adj can't be lowered", lambda: write("/proc/self/oom_score_adj", str(score - 1)))
denied("oom_score_adj can't be set below nmd's own", lambda: write("/proc/self/oom_score_adj", "-1"))

# ---- the shim and nmd ----------------------------------------------------------------------------------------

shim = os.getppid()
with open("/proc/%d/comm" % shim) as f:
    is_("the command's parent process is nm-shim", f.read(), "nm-shim\n")
shim_caps = status(shim)
is_("the shim has no capability", [int(shim_caps[f], 16) for f in ("CapPrm", "CapEff", "CapAmb")], [0, 0, 0])
is_("the shim can't get a capability", shim_caps["NoNewPrivs"], "1")
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206


def ptrace(request, pid):
    if libc.ptrace(request, pid, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


for who, pid in (("the shim", shim), ("nmd", int(arg["nmd"]))):
    denied("%s can't be signalled" % who, lambda: os.kill(pid, signal.SIGTERM))
    denied("%s can't be traced" % who, lambda: ptrace(PTRACE_ATTACH, pid))
    denied("%s can't be seized" % who, lambda: ptrace(PTRACE_SEIZE, pid))
    for file in ("mem", "environ", "maps"):
        denied("%s's %s can't be read" % (who, file), lambda: os.read(os.open("/proc/%d/%s" % (pid, file), os.O_RDONLY), 1))
    denied("%s's descriptors can't be seen" % who, lambda: os.listdir("/proc/%d/fd" % pid))
    denied("%s's directory can't be entered" % who, lambda: os.chdir("/proc/%d/cwd" % pid))
    denied("%s's nice value can't be changed" % who, lambda: os.setpriority(os.PRIO_PROCESS, pid, 10))
    denied("%s can't be made the first victim of the OOM killer" % who, lambda: write("/proc/%d/oom_score_adj" % pid, "1000"))
    denied("%s's limits can't be changed" % who, lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0)))

# ---- processes of the same user outside the container --------------------------------------------------------

for path in ("/run/user", "/run/dbus"):
    is_("there are no files in " + path, os.listdir(path), [])
    denied("no directory can be created in " + path, lambda: os.mkdir(path + "/mine"))
outside = int(arg["outside"])
is_("the user has another process outside the container", status(outside)["Uid"].split()[0], str(os.getuid()))
for link in ("root", "cwd", "fd/0", "ns/mnt"):
    denied("the other process's directories can't be reached through its " + link, lambda: os.stat("/proc/%d/%s" % (outside, link)))
denied("the other process can't be traced", lambda: ptrace(PTRACE_ATTACH, outside))
denied("the other process can't be seized", lambda: ptrace(PTRACE_SEIZE, outside))
denied("the memory of the other process can't be read", lambda: os.read(os.open("/proc/%d/mem" % outside, os.O_RDONLY), 1))
reveal = "umount /run/user || mount --bind /run /mnt && ls /mnt/user/ || umount -l /run || mount -o remount,rw /run/user"
with os.popen("unshare -Urm sh -c '%s' 2>&1; echo $?" % reveal) as p:
    out = p.read()
    print_result("new namespaces don't reveal hidden files", "" if out.strip().endswith("32") or "unshare" in out else out)

# ---- nmd's files -----------------------------------------------------------------------------------------------

for path in (v for k, v in args if k == "reach"):
    if path.endswith("/"):
        denied("the files can't be listed in " + path, lambda: os.listdir(path))
        denied("no directory can be created in " + path, lambda: os.mkdir(path + "mine"))
        denied("the directory can't be entered: " + path, lambda: os.chdir(path))
        denied("the directory can't be replaced: " + path, lambda: os.rename(path.rstrip("/"), path.rstrip("/") + ".moved"))
    else:
        denied("the file can't be read: " + path, lambda: os.open(path, os.O_RDONLY))
        denied("the file can't be written: " + path, lambda: os.open(path, os.O_WRONLY))
        denied("the file can't be removed: " + path, lambda: os.unlink(path))
denied("the socket can't be removed", lambda: os.unlink(arg["socket"]))
denied("the socket can't be replaced", lambda: os.rename(arg["socket"], arg["socket"] + ".moved"))

# ---- the container's cgroup ------------------------------------------------------------------------------------

with open("/proc/self/cgroup") as f:
    own = arg["cgroup"] + [line.split(":", 2)[2].strip() for line in f if line.startswith("0::")][0]
above = os.path.dirname(own)
for cgroup, what in ((own, "its own cgroup"), (above, "the slice"), (arg["cgroup"], "the root of all")):
    denied("the process can't move to " + what, lambda: write(cgroup + "/cgroup.procs", str(os.getpid())))
denied("the process can't create a cgroup below its own", lambda: os.mkdir(own + "/mine"))
denied("the process can't create a cgroup beside its own", lambda: os.mkdir(above + "/mine"))
for file, text in (("cgroup.freeze", "0"), ("cgroup.kill", "1"), ("cgroup.subtree_control", "+pids"),
                   ("cgroup.max.descendants", "1000"), ("memory.max", "max"), ("memory.min", "1000000000"), ("memory.low", "1000000000"),
                   ("memory.high", "max"), ("memory.oom.group", "0"), ("cpu.weight", "10000"), ("cpu.idle", "0"),
                   ("cpu.max", "max"), ("pids.max", "max"), ("memory.swap.max", "max"), ("cpu.pressure", "0"),
                   ("memory.reclaim", "1000000")):
    if os.path.exists(own + "/" + file):
        denied("the process can't write its cgroup's %s" % file, lambda: write(own + "/" + file, text))

# ---- nmd's socket ------------------------------------------------------------------------------------------------


def ask(method, target):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(arg["socket"])
        sock.sendall(("%s %s HTTP/1.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n" % (method, target)).encode())
        answer = b""
        while chunk := sock.recv(65536):
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


try:
    is_("nmd refuses an administrator's request of the process", ask("POST", "/v1/drain")[0], 403)
    is_("the user does not see containers of other users", ask("GET", "/v1/containers?all=true"), (200, "[]\n"))
except PermissionError as e:
    print_result("the process can't connect to nmd's socket")

# ---- setuid programs ------------------------------------------------------------------------------------------------

if "setuid" in arg:
    with os.popen(arg["setuid"] + " -u") as p:
        is_("a set-user-ID program runs with the UID of the user", p.read().strip(), str(os.getuid()))
print("1..0 the end", flush=True)
