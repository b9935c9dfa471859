#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 600
#
# cgroup/'s two real backends against a real systemd and real controllers: tests/vm/cgroup-backend.c, built by
# "make check" (or "make vm-cgroup-backend") and brought along by tests/vm/run --build DIR.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

program=$NMD_VM_DATA/vm-cgroup-backend
[ -x "$program" ] || skip_all "vm-cgroup-backend isn't built"

# Its TAP lines become ours.
run_program() { # LABEL COMMAND...
    local label=$1 line
    shift
    while IFS= read -r line; do
        case $line in
            'ok '*) ok "$label: ${line#ok * - }" ;;
            'not ok '*) not_ok "$label: ${line#not ok * - }" ;;
            '#'*) printf '%s\n' "$line" ;;
        esac
    done < <("$@" || echo "not ok 0 - it exits with 0 (it was $?)")
}

run_program direct "$program" direct nmdirect.slice
run_program systemd "$program" systemd nmcgroup.slice
done_testing
