# SPDX-License-Identifier: Apache-2.0
"""Counts system calls, instructions and allocations of the programs of a build. The counts hardly depend on
the speed and the load of the machine."""
import contextlib
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import shuffle_node


def load_daemon_bench():
    spec = importlib.util.spec_from_file_location("daemon_bench", pathlib.Path(__file__).with_name("daemon-bench.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


daemon = load_daemon_bench()

# The number of these calls depends on time: the event loop makes one for each wake-up, however many events there are.
WAITING = {"epoll_wait", "epoll_pwait", "epoll_pwait2", "ppoll", "poll", "wait4", "waitid", "futex", "recvmsg", "read", "accept4"}
CALL = re.compile(r"^(\d+) +([a-z]\w*)\(")


def is_traced(pid):
    return "TracerPid:\t0\n" not in pathlib.Path(f"/proc/{pid}/status").read_text()


@contextlib.contextmanager
def traced(pid, output):
    """Writes the system calls of a process, and of the children that it makes from now on, to a file."""
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-y", "-s", "256", "-o", str(output), "-p", str(pid)],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not is_traced(pid):
        if tracer.poll() is not None:
            raise SystemExit(f"strace can't trace nmd: {tracer.stderr.read().strip()}")
        time.sleep(0.01)
    try:
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.communicate()


def wait_marks(output, mark, n, seconds=60):
    """Waits until a growing trace has n lines that contain MARK."""
    deadline = time.monotonic() + seconds
    while (found := output.read_text(errors="replace").count(mark)) < n:
        if time.monotonic() > deadline:
            raise SystemExit(f"the trace {output} has {found} calls with {mark} after {seconds} s; {n} are needed")
        time.sleep(0.05)


def calls(output, command=None):
    """Returns the lines of a trace with calls that do not wait. The calls of COMMAND are not those of the build, so they are
    left out from its exec on."""
    lines, others = [], set()
    with open(output, errors="replace") as trace:
        for line in trace:
            call = CALL.match(line)
            if not call or call[1] in others or call[2] in WAITING:
                continue
            if command and call[2] == "execve" and f'"{command}"' in line:
                others.add(call[1])
            lines.append(line)
    return lines


def calls_per(output, mark):
    """Returns the mean number of calls from one line that contains MARK to the next."""
    lines = calls(output)
    marks = [i for i, line in enumerate(lines) if mark in line]
    return (marks[-1] - marks[0]) / (len(marks) - 1)


def run_calls(build):
    """Returns the number of system calls of nmctl run from its first one to its connection to nmd. There is no nmd here."""
    with tempfile.TemporaryDirectory(prefix="nmd-bench.") as directory:
        trace, socket = pathlib.Path(directory, "trace"), f"{directory}/nmd.sock"
        subprocess.run(["strace", "-qq", "-s", "256", "-o", str(trace), daemon.program(build, "nmctl"), "--socket", socket, "run",
                        "-m", "10M", "-c", "0.1", "--", "/bin/true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={"PATH": os.environ["PATH"]})
        lines = trace.read_text(errors="replace").splitlines()
        return next(i for i, line in enumerate(lines) if line.startswith("connect(") and socket in line)


def launch(node, *command):
    """Runs a container to its end, with two requests however long it runs."""
    ident = node.run(list(command), "GUARANTEED", 1, 0.001)
    state = node.connection.call("GET", f"/v1/containers/{ident}/wait")["state"]
    if state != "COMPLETED":
        raise SystemExit(f"a container of {command[0]} is {state} at its end")


SLEEP = "/bin/sleep"
SETTLE_S = 0.3  # until nmd has removed an ended container


def launch_calls(build, launches=20):
    """Returns the number of system calls of nmd and the shim per container, from its request to its reported end. Each
    container sleeps, so that its start and its end are separate events."""
    node = daemon.Node(build, "[sampling]", "period = 60s")
    try:
        launch(node, SLEEP, "0.1")  # the first container also creates the slice and the logs
        time.sleep(SETTLE_S)
        with traced(node.process.pid, node.dir / "trace"):
            for _ in range(launches):
                launch(node, SLEEP, "0.1")
            time.sleep(SETTLE_S)
        return len(calls(node.dir / "trace", SLEEP)) / launches
    finally:
        node.stop()


def shuffle_calls(build, part_bytes=10 << 10):
    """Returns the number of system calls of nm-shuffle per small part, when a request names 20 maps whose indexes are in memory."""
    shuffle = shuffle_node.Shuffle(daemon.program(build, "nm-shuffle"), part_bytes)
    try:
        with tempfile.TemporaryDirectory(prefix="nmd-bench.") as directory:
            trace = pathlib.Path(directory, "trace")
            shuffle.fetch(0)
            with traced(shuffle.process.pid, trace):
                for reducer in range(shuffle_node.REDUCERS):
                    shuffle.fetch(reducer)
            return calls_per(trace, "GET /mapOutput") / shuffle_node.MAPS
    finally:
        shuffle.stop()


# A CPU without the features for which the C library has other functions. Valgrind passes on many of the real CPU.
PLAIN_CPU = "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-BMI1,-BMI2,-ERMS,-FMA,-FMA4,-FSRM,-LZCNT,-MOVBE,-POPCNT,-RTM,-SSE4_1,-SSE4_2,-SSSE3"
ALLOCATORS = {"malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc", "posix_memalign"}


def calls_in_profile(profile):
    """Returns how often each function was called, from a file of callgrind. A name follows the first use of its number."""
    names, called, callee = {}, {}, None
    for line in profile.splitlines():
        if function := re.match(r"c?fn=\((\d+)\)(?: (.*))?", line):
            if function[2]:
                names[function[1]] = function[2]
            if line.startswith("cfn="):
                callee = names[function[1]]
        elif count := re.match(r"calls=(\d+)", line):
            called[callee] = called.get(callee, 0) + int(count[1])
    return called


def simulated_hour(build):
    """Returns the numbers of policy decisions, their instructions, and their allocations in one simulated bursty hour."""
    with tempfile.TemporaryDirectory(prefix="nmd-bench.") as directory:
        profile = pathlib.Path(directory, "profile")
        counted = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", "--toggle-collect=nm_policy_decide",
             daemon.program(build, "nmsim"), "run", "--generate", "bursty", "--hours", "1"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "GLIBC_TUNABLES": PLAIN_CPU}).stderr
        called = calls_in_profile(profile.read_text())
    allocations = sum(n for name, n in called.items() if name in ALLOCATORS)
    return called["nm_policy_decide"], int(re.search(r"Collected : (\d+)", counted)[1]), allocations
