# SPDX-License-Identifier: Apache-2.0
"""A private nmd for the demo, with its own socket, state and cgroups, and nmctl for it."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import plan
import progress


def find_cgroup_root():
    for line in open("/proc/mounts"):
        fields = line.split()
        if fields[2] == "cgroup2":
            return fields[1]
    sys.exit("demo: this host has no cgroup2 mount")


class Node:
    """Runs a private nmd, and nmctl for it."""

    def __init__(self, build, over_allocation, capacity_mib):
        self.build = pathlib.Path(build).resolve()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="nmd-demo."))
        self.slice = f"nmdemo{os.getpid()}.slice"
        self.socket = str(self.dir / "nmd.sock")
        self.over_allocation = over_allocation
        self.capacity_mib = capacity_mib
        self.process = None

    def start(self):
        (self.dir / "nmd.conf").write_text(
            f"[node]\nmemory = {self.capacity_mib}M\nvcores = {plan.VCORES}\n"
            f"[over-allocation]\nenabled = {'yes' if self.over_allocation else 'no'}\n"
            "warmup = 1s\nwarmup-samples = 2\n"
            "[preemption]\ncpu-samples = 4\npause-deadline = 60s\nbreaker = 2s\n"
            "[sampling]\nperiod = 250ms\n"
            "[health]\ndisk-min-free = 0\n")
        self.log = open(self.dir / "nmd.log", "w")
        self.process = subprocess.Popen(
            [str(self.build / "nmd/nmd"), "--config", str(self.dir / "nmd.conf"), "--socket", self.socket,
             "--state-dir", str(self.dir / "state"), "--runtime-dir", str(self.dir / "run"), "--slice", self.slice],
            stderr=self.log, stdin=subprocess.DEVNULL, start_new_session=True)
        patience = progress.Patience("nmd does not answer", self.process, self.dir / "nmd.log")
        while self.nmctl("version", check=False).returncode != 0:
            patience.check()
            time.sleep(0.05)

    def own_cpu_seconds(self):
        """Returns the CPU time of nmd, of this program and of its nmctl processes. Excludes containers, which are children of nmd."""
        return progress.cpu_ticks(self.process.pid, children=False) / os.sysconf("SC_CLK_TCK") + sum(os.times()[:4])

    def nmctl(self, *args, check=True):
        done = subprocess.run([str(self.build / "nmctl" / "nmctl"), "--socket", self.socket, *args],
                              capture_output=True, text=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"nmctl {' '.join(args)}: {done.stderr.strip()}")
        return done

    def json(self, *args):
        return json.loads(self.nmctl(*args, "--json").stdout)

    def run(self, name, command, memory_mib, vcores, opportunistic):
        args = ["run", "--detach", "--name", name, "-m", f"{memory_mib}M", "-c", str(vcores),
                "--opportunistic" if opportunistic else "--guaranteed"]
        if "NMD_DEMO_BURDEN" in os.environ:
            args += ["-e", f"NMD_DEMO_BURDEN={os.environ['NMD_DEMO_BURDEN']}"]
        return self.nmctl(*args, "--", *command, check=False)

    def stop(self):
        """Removes the containers by means of the slice only, so that this works in any state of nmd."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if shutil.which("systemctl") and os.path.isdir("/run/systemd/system"):
            subprocess.run(["systemctl", "stop", self.slice], capture_output=True)
        path = pathlib.Path(find_cgroup_root()) / self.slice
        if (path / "cgroup.kill").exists():
            (path / "cgroup.kill").write_text("1")
        deadline = time.monotonic() + 10
        while path.exists() and time.monotonic() < deadline:
            for d in [*path.glob("*.scope"), path]:
                try:
                    d.rmdir()
                except OSError:
                    pass
            time.sleep(0.02)
        shutil.rmtree(self.dir, ignore_errors=True)
