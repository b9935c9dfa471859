#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# Measures the time from `nmctl run` to the command's first instruction when systemd creates a scope for each container.
# Compares it with `systemd-run --scope`, and with a plain fork and exec of the same command. The three take turns, so that
# other programs of the machine affect all of them equally.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

quick_nmd "[sampling]" "period = 3s"
python3 - "$NMD_VM_DATA/first-instruction" >"$NMD_VM_STATE/table" <<'END' || not_ok "the measurement runs to its end"
import subprocess, sys, time

PROGRAM, ROUNDS = sys.argv[1], 40
WAYS = {
    "nmctl run": ["nmctl", "run", "-m", "10M", "-c", "0.1", "--", PROGRAM],
    "systemd-run --scope": ["systemd-run", "-q", "--scope", "--slice=nmbench.slice", PROGRAM],
    "fork and exec": [PROGRAM],
}
took = {way: [] for way in WAYS}
whole = {way: 0.0 for way in WAYS}
for turn in range(ROUNDS + 3):
    for way, command in WAYS.items():
        # PROGRAM prints the time at which it starts the command. The command is also PROGRAM, and prints the time of its start.
        out = subprocess.run([PROGRAM, *command], capture_output=True, text=True, check=True).stdout
        ended = time.monotonic_ns()
        begun, first = map(int, out.split())
        if turn >= 3:  # the first turns read the programs from the disk
            took[way].append((first - begun) / 1e6)
            whole[way] += (ended - begun) / 1e9
print(f"{'to the first instruction':<24} {'p50 ms':>9} {'p90 ms':>9} {'a second':>9}")
for way, values in took.items():
    values.sort()
    print(f"{way:<24} {values[ROUNDS // 2]:9.1f} {values[ROUNDS * 9 // 10]:9.1f} {ROUNDS / whole[way]:9.1f}")
ratio = took["nmctl run"][ROUNDS // 2] / took["systemd-run --scope"][ROUNDS // 2]
print(f"{'nmctl : systemd-run':<24} {ratio:9.2f}           (goal 1.3 or less)")
END
diag "$(cat "$NMD_VM_STATE/table")"
conf
ok "measured"
done_testing
