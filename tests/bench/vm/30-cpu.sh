#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# Measures how much guaranteed containers lose when opportunistic containers use idle CPU time. Two guaranteed probes (a third
# of a CPU each) run alone, and with six spinners that nmd admitted, with three pairs of CPU thresholds. The spinners are
# stopped and continued in turns within one run, and each period is compared with the previous one. On a machine whose speed
# changes, two separate runs would only show these changes.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

table() { # prints each line when it is known, because a slow machine may exceed the deadline
    python3 -u - "$NMD_VM_DATA/cpu-probe" 5 2>"$NMD_VM_STATE/errors" <<'END'
import glob, json, os, signal, subprocess, sys, time

PROBE, PAIRS = sys.argv[1], int(sys.argv[2])
PROBES, SPINNERS, PERIOD_MS, WORK_MS = 2, 6, 20, 6
STRETCH, SKIP = 2.0, 0.5  # seconds; the first part of a stretch is affected by nmd's reaction
SLICE = "/sys/fs/cgroup/nm.slice"


def nmctl(*args):
    return subprocess.run(["nmctl", *args], check=True, capture_output=True, text=True).stdout


def configure(alpha, beta):
    os.makedirs("/etc/nmd/nmd.conf.d", exist_ok=True)
    with open("/etc/nmd/nmd.conf.d/90-suite.conf", "w") as f:
        f.write(f"[over-allocation]\ncpu-threshold = {alpha}\nwarmup = 1s\nwarmup-samples = 1\n"
                f"[preemption]\ncpu-threshold = {beta}\n[sampling]\nperiod = 500ms\n")
    subprocess.run(["systemctl", "reset-failed", "nmd.service"], stderr=subprocess.DEVNULL)
    subprocess.run(["systemctl", "restart", "nmd.service"], check=True)


def submit(*args):
    return nmctl("run", "-D", *args).strip()


def spinner_pids(ids):
    for i in ids:
        for path in glob.glob(f"{SLICE}/*{i}.scope/cgroup.procs"):
            for pid in open(path).read().split():
                if b"--spin" in open(f"/proc/{pid}/cmdline", "rb").read():
                    yield int(pid)


def used(ids):
    usec = 0
    for i in ids:
        for path in glob.glob(f"{SLICE}/*{i}.scope/cpu.stat"):
            usec += int(open(path).read().split()[1])
    return usec


def stalled(ids):
    usec = 0
    for i in ids:
        for path in glob.glob(f"{SLICE}/*{i}.scope/cpu.pressure"):
            usec += int(open(path).read().split("total=")[1].split()[0])
    return usec


def rank(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] / 1000 if values else float("nan")


def wait_for(what):
    end = time.monotonic() + 30
    while not what():
        assert time.monotonic() < end, "it takes too long: " + nmctl("list")
        time.sleep(0.1)


def run(alpha, beta):
    configure(alpha, beta)
    seconds = int(PAIRS * 2 * STRETCH + 4)
    files = [f"/tmp/probe.{alpha}.{n}" for n in range(PROBES)]
    # each spinner first waits, so that all of them are admitted while the node is still idle
    spin = ["sh", "-c", "kill -STOP $$; while :; do :; done", "--spin"]
    spinners = [submit("-m", "16M", "-c", "0.1", "--opportunistic", "--", *spin) for _ in range(SPINNERS)]
    wait_for(lambda: len(list(spinner_pids(spinners))) == SPINNERS)
    probes = [submit("-m", "32M", "-c", "0.7", "--",
                     PROBE, str(PERIOD_MS), str(WORK_MS), str(seconds), f) for f in files]
    time.sleep(2)
    stretches, got = [], []
    for n in range(2 * PAIRS):
        running = n % 2 == 1
        for pid in spinner_pids(spinners):
            os.kill(pid, signal.SIGCONT if running else signal.SIGSTOP)
        begun, before = time.monotonic(), used(spinners)
        time.sleep(SKIP)
        stall = stalled(probes)
        time.sleep(STRETCH - SKIP)
        stretches.append((begun + SKIP, begun + STRETCH, (stalled(probes) - stall) / PROBES / (STRETCH - SKIP) / 1e6))
        if running:
            got.append((used(spinners) - before) / STRETCH / 1e6)
    wait_for(lambda: all(json.loads(nmctl("show", "--json", p))["state"] == "COMPLETED" for p in probes))
    for s in spinners:
        nmctl("kill", "--now", s)
    notes = [tuple(map(int, line.split())) for f in files for line in open(f)]
    rows = []
    for begun, end, stall in stretches:
        part = [n for n in notes if begun <= n[0] / 1e9 < end]
        late = [n[1] for n in part]
        due = PROBES * (STRETCH - SKIP) * 1000 / PERIOD_MS
        in_time = sum(1 for n in part if n[2] <= PERIOD_MS * 1000)
        rows.append((rank(late, 0.5), rank(late, 0.99), in_time / due, rank([n[2] for n in part], 0.5), stall))
    return rows, got


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


print(f"{'alpha/beta':<12}{'':<10} {'late p50':>9} {'late p99':>9} {'in time':>8} {'done p50':>9} {'stalled':>8} {'spinners':>9}")
for alpha, beta in ((0.8, 0.95), (0.95, 0.99), (0.999, 1)):
    rows, got = run(alpha, beta)
    for name, part in (("alone", rows[0::2]), ("beside", rows[1::2])):
        p50, p99, share, done, stall = (median(column) for column in zip(*part))
        print(f"{f'{alpha}/{beta}' if name == 'alone' else '':<12}{name:<10} {p50:6.2f} ms {p99:6.2f} ms {share:7.1%} "
              f"{done:6.2f} ms {stall:8.1%} " + ("" if name == "alone" else f"{median(got):5.2f} CPU"))
    pairs = list(zip(rows[0::2], rows[1::2]))
    change = [median([b[i] - a[i] for a, b in pairs]) for i in range(5)]
    print(f"{'':<12}{'pairs':<10} {change[0]:+6.2f} ms {change[1]:+6.2f} ms {change[2]:+7.1%} {change[3]:+6.2f} ms "
          f"{change[4]:+8.1%}")
END
}
print_lines() {
    while IFS= read -r line; do diag "$line"; done
}
set -o pipefail
table | print_lines || not_ok "the measurement runs to its end" "$(tail -n 5 "$NMD_VM_STATE/errors")"
conf
ok "measured"
done_testing
