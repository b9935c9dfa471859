#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
#
# nmd is started by a hostile parent: nothing of what that left reaches nmd's own work or its containers (util/inherited.h).
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$dir/hostile.py" <<'END'
import ctypes, fcntl, os, resource, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
for number in range(1, signal.NSIG):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
libc.syscall(251, 1, 0, 3 << 13) if os.uname().machine == "x86_64" else None  # ioprio_set: idle class
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
os.nice(7)
signal.setitimer(signal.ITIMER_REAL, 3)
libc.prctl(29, 3000000000)  # PR_SET_TIMERSLACK
libc.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
libc.prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE
libc.prctl(28, 1 << 2)  # PR_SET_SECUREBITS: NO_SETUID_FIXUP
libc.personality(0x0040000)  # ADDR_NO_RANDOMIZE
open("/proc/self/coredump_filter", "w").write("0x1")
open("/proc/self/oom_score_adj", "w").write("300")
os.umask(0o777)
os.chdir("/tmp")
os.dup2(os.open("/etc/hostname", os.O_RDONLY), 77)
os.environ["HOSTILE"] = "yes"
os.close(0)
os.execv(sys.argv[1], sys.argv[1:])
END
true_nmd=$NMD
printf '#!/bin/sh\nexec /usr/bin/python3 %s %s "$@"\n' "$dir/hostile.py" "$true_nmd" >"$dir/nmd"
chmod 755 "$dir/nmd"
NMD=$dir/nmd
node_proc_start
nmd_start && ok "nmd starts from a hostile parent"
cpus=$(awk '$1 == "Cpus_allowed_list:" { print $2 }' /proc/1/status)
of_status() { awk -v name="$2:" '$1 == name { print $2 }' "/proc/$1/status"; } # PID FIELD
is "nmd itself: every CPU" "$(of_status "$nmd_pid" Cpus_allowed_list)" "$cpus"
is "nmd itself: only SIGPIPE and SIGXFSZ are ignored" "$(of_status "$nmd_pid" SigIgn)" 0000000001001000

inherited() { # USER: what a command of that user has
    timeout 20 "$NMCTL" run -u "$1" -m 64M -c 0.1 -- sh -c '
        echo "$(awk "/^(SigBlk|SigIgn|Cpus_allowed_list|CapAmb|THP_enabled):/ { print \$1 \$2 }" /proc/self/status | tr "\n" " ")"
        echo "io $(ionice) nice $(nice) policy $(cut -d" " -f41 /proc/self/stat)"
        echo "slack $(cat /proc/self/timerslack_ns) personality $(cat /proc/self/personality)"
        echo "dump $(cat /proc/self/coredump_filter) umask $(umask) open files $(ulimit -Sn)"
        echo "descriptors $(ls /proc/self/fd | tr "\n" " ") environment ${HOSTILE:-clean}"'
}
for user in root nobody; do
    try timeout 20 "$NMCTL" run -u "$user" -m 64M -c 0.1 -- sh -c 'exit 3'
    is "$user: the command's own exit code" "$status" 3
    text=$(inherited "$user")
    like "$user: no signal is blocked or ignored" "$text" 'SigBlk:0000000000000000 SigIgn:0000000000000000'
    like "$user: every CPU" "$text" "Cpus_allowed_list:$cpus "
    like "$user: no ambient capability, huge pages as usual" "$text" 'CapAmb:0000000000000000 |THP_enabled:1'
    like "$user: no I/O class, nice 0, the usual policy" "$text" '^io none: prio [04] nice 0 policy [05]$'
    like "$user: timer slack and personality" "$text" '^slack 50000 personality 00000000$'
    like "$user: core dumps, umask, descriptor limit" "$text" '^dump 00000033 umask 0022 open files 1024$'
    like "$user: descriptors and environment" "$text" '^descriptors 0 1 2 3  environment clean$'
done
sleep_past() { [ "$(awk '{ print int($1) }' /proc/uptime)" -gt "$1" ]; }
wait_until 10 sleep_past "$(($(awk '{ print int($1) }' /proc/uptime) + 2))"
check "a timer that the parent had set doesn't end nmd" nmd_alive
done_testing
