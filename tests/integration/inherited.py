# SPDX-License-Identifier: Apache-2.0
"""For 15-inherited.sh: prints the inherited attributes of a process, a line "NAME: VALUE" for each row of the table in util/inherited.c.

  inherited.py SIGIGN   of this process itself; SIGIGN is the mask of signals that it ignored before it executed Python
  inherited.py --of PID of another process; on x86-64, ptrace(2) makes that process execute the system calls for values that
                        /proc does not have
"""
import ctypes, os, re, resource, signal, struct, subprocess, sys

libc = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
KEYCTL, GET_MEMPOLICY = (250, 239) if X86 else (219, 236)
other = sys.argv[2] if sys.argv[1] == "--of" else None
proc = f"/proc/{other or 'self'}"


def text_of(name):
    with open(f"{proc}/{name}", errors="replace") as f:
        return f.read()


status = dict(line.split(":\t", 1) for line in text_of("status").splitlines() if ":\t" in line)
stat = text_of("stat").rsplit(")", 1)[1].split()


def fact(name, *values):
    print(f"{name}: {' '.join(str(v).strip() for v in values)}")


def limit(name):
    return ":".join(re.search(rf"^{name} +(\S+) +(\S+)", text_of("limits"), re.M).groups())


def numa_policy():
    if other:
        maps = text_of("numa_maps") if os.path.exists(f"{proc}/numa_maps") else "0 default"
        return maps.split()[1]
    mode = ctypes.c_int(0)
    libc.syscall(GET_MEMPOLICY, ctypes.byref(mode), None, 0, None, 0)  # without NUMA the mode stays
    return {0: "default"}.get(mode.value, mode.value)


def has_slice():
    """Returns whether the process has the time slice that 15-inherited.sh gives nmd's parent."""
    number = {"x86_64": 315, "aarch64": 275}.get(os.uname().machine)  # sched_getattr
    attributes = ctypes.create_string_buffer(56)
    return number and libc.syscall(number, int(other or 0), attributes, 56, 0) == 0 and \
        struct.unpack_from("Q", attributes.raw, 24)[0] == 50000000


def link(name):
    return os.readlink(f"{proc}/{name}")


def audit():
    """Returns the audit user and session and the security label, if the kernel has them."""
    values = []
    for name in ("loginuid", "sessionid", "attr/current"):
        try:
            values.append(text_of(name).strip("\0\n"))
        except OSError:
            values.append("none")
    return " ".join(values)


def descriptors():
    """Checks one of the descriptors that nmd's parent has opened."""
    return "77" if os.path.exists(f"{proc}/fd/77") else "none of its parent's"


def orphans_parent():
    """Returns the PID of the process that becomes the parent of an orphaned grandchild."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        me = os.getpid()
        if os.fork() == 0:
            while os.getppid() == me:
                pass
            os.write(theirs, str(os.getppid()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return os.read(ours, 20).decode()


class Asked:
    """A stopped process, which is made to execute system calls."""

    ATTACH, DETACH, GETREGS, SETREGS, SINGLESTEP = 16, 17, 12, 13, 9
    RAX, RIP, RSP, ORIG_RAX, ARGUMENTS = 10, 16, 19, 15, (14, 13, 12, 7, 9)  # in the kernel's struct user_regs_struct

    def __init__(self, pid):
        self.pid = int(pid)
        self.ptrace(self.ATTACH)
        self.wait()
        self.before = (ctypes.c_ulonglong * 27)()
        self.ptrace(self.GETREGS, self.before)
        self.memory = open(f"/proc/{pid}/mem", "rb", buffering=0)
        self.room = (self.before[self.RSP] - 4096) & ~15
        self.instruction = self.find_instruction()

    def ptrace(self, request, data=None):
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        libc.ptrace.restype = ctypes.c_long
        if libc.ptrace(request, self.pid, None, data) < 0:
            raise OSError(ctypes.get_errno(), f"ptrace {request}")

    def wait(self):
        if not os.WIFSTOPPED(os.waitpid(self.pid, 0x40000000)[1]):  # __WALL
            raise OSError(f"{self.pid} has ended")

    def find_instruction(self):
        for line in text_of("maps").splitlines():
            if " r-xp " in line and "[vsyscall]" not in line:
                begin, end = (int(n, 16) for n in line.split()[0].split("-"))
                self.memory.seek(begin)
                offset = self.memory.read(end - begin).find(b"\x0f\x05")  # the bytes of syscall, also within another instruction
                if offset >= 0:
                    return begin + offset
        raise OSError("no system call in its code")

    def call(self, number, *arguments):
        registers = (ctypes.c_ulonglong * 27)(*self.before)
        registers[self.RIP], registers[self.RAX] = self.instruction, number
        registers[self.ORIG_RAX] = 2**64 - 1  # no system call is restarted
        for register, argument in zip(self.ARGUMENTS, arguments):
            registers[register] = argument % 2**64
        self.ptrace(self.SETREGS, registers)
        while registers[self.RIP] == self.instruction:  # the first step after the stop does not always execute the instruction
            self.ptrace(self.SINGLESTEP)
            self.wait()
            self.ptrace(self.GETREGS, registers)
        return ctypes.c_longlong(registers[self.RAX]).value

    def words(self, n):
        self.memory.seek(self.room)
        return struct.unpack(f"{n}i", self.memory.read(4 * n))

    def leave(self):
        self.ptrace(self.SETREGS, self.before)
        self.ptrace(self.DETACH)


def print_prctls(prctl):
    """Prints the values of prctl(OPTION). If the kernel lacks or forbids an option, prints the kernel's default."""
    fact("machine check policy", {0: "late", 1: "early"}.get(prctl(34), "the host's"))
    fact("I/O flusher", "yes" if prctl(58) == 1 else "no")
    fact("memory-deny-write-execute, speculation, Landlock, core scheduling", "yes" if prctl(66) == 1 else "no")


def ask(pid):
    """Prints the values that only a process itself can read."""
    asked = Asked(pid)
    try:
        timers = [asked.call(36, which, asked.room) or asked.words(8) for which in range(3)]  # getitimer
        fact("interval timers", "off" if timers == [(0,) * 8] * 3 else timers)
        fact("securebits", asked.call(157, 27))  # prctl
        print_prctls(lambda *arguments: asked.call(157, *arguments, 0, 0, 0, 0))
        fact("session keyring", max(asked.call(250, 0, -3, 0), -1))
        for name, option in (("subreaper", 37), ("parent-death signal", 2)):
            asked.call(157, option, asked.room)
            value = asked.words(1)[0]
            fact(name, {0: "no", 1: "yes"}[value] if name == "subreaper" else value)
    finally:
        asked.leave()


fact("signal dispositions", status["SigIgn"] if other else sys.argv[1])
fact("signal mask", status["SigBlk"])
fact("CPU affinity", status["Cpus_allowed_list"])
fact("NUMA policy", numa_policy())
fact("I/O class", re.sub(": prio.*", "", subprocess.run(["ionice", "-p", other or str(os.getpid())], capture_output=True,
                                                          text=True, check=True).stdout))
fact("scheduling policy", stat[38], "own slice" if has_slice() else "usual slice")
fact("nice", stat[16])
fact("OOM score", text_of("oom_score_adj"))
fact("resource limits", "files", limit("Max open files"), "core", limit("Max core file size"))
fact("umask", status["Umask"])
fact("supplementary groups", " ".join(sorted(status["Groups"].split(), key=int)))
fact("ambient capabilities", status["CapAmb"])
fact("other capabilities", status["CapInh"], status["CapPrm"], status["CapEff"], status["CapBnd"])
fact("no_new_privs", status["NoNewPrivs"])
fact("personality", text_of("personality"))
fact("timer slack", text_of("timerslack_ns"))
fact("audit user and session, security label", audit())
fact("core dump filter", text_of("coredump_filter"))
merged = re.search(r"^ksm_merge_any: (\w+)", text_of("ksm_stat"), re.M) if os.path.exists(f"{proc}/ksm_stat") else None
fact("memory merging", merged[1] if merged else "no")
fact("huge pages switched off", {"0": "yes", "1": "no"}[status.get("THP_enabled", "1")])
fact("standard descriptors", re.sub(r"/.*/|:\[\d+\]", "", link("fd/0")))
fact("other descriptors", descriptors())
fact("environment", "hostile" if "HOSTILE=yes" in text_of("environ").split("\0") else "not its parent's")
fact("working directory", link("cwd"))
fact("root directory, namespaces, seccomp filters", link("root"), link("ns/uts"), "mode", status["Seccomp"])
fact("session", "own" if stat[3] == (other or str(os.getpid())) else stat[3])
if not other:
    fact("interval timers", "off" if all(signal.getitimer(t) == (0, 0) for t in
                                         (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)) else "on")
    fact("securebits", libc.prctl(27, 0, 0, 0, 0))
    print_prctls(lambda option: libc.prctl(option, 0, 0, 0, 0))
    fact("session keyring", libc.syscall(KEYCTL, 0, -3, 0))
    flag = ctypes.c_int(-1)
    libc.prctl(37, ctypes.byref(flag), 0, 0, 0)
    fact("subreaper", {0: "no"}.get(flag.value, flag.value))
    libc.prctl(2, ctypes.byref(flag), 0, 0, 0)
    fact("parent-death signal", flag.value)
    fact("orphan", orphans_parent())
elif X86:
    ask(other)
