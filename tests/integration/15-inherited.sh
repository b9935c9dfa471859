#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
# beside: others
#
# A parent with hostile process attributes starts nmd. Only the attributes that are meant to be inherited reach nmd, its helpers
# and its containers. Each row of the table in util/inherited.c (also in nmd(8)) is checked in these processes: nmd, the health
# script, nm-shim, nm-localizer, nm-shuffle, nm-spark-shuffle, a command of root and a command of an ordinary user. A row without a
# check fails.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "only root can set all the attributes that this suite tests"
make_shared_dir # the commands of ordinary users read files in here
cp "$here/inherited.py" "$shared/"
cat >"$dir/hostile.py" <<'PYTHON'
import ctypes, os, resource, signal, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
IOPRIO_SET, SET_MEMPOLICY, KEYCTL = (251, 238, 250) if X86 else (30, 237, 219)
CLONE_NEWUTS, UNUSED_CAP, MISSING_CAP = 0x4000000, 26, 35

libc.prctl(23 + 1, MISSING_CAP, 0, 0, 0)  # PR_CAPBSET_DROP
head = (ctypes.c_uint32 * 2)(0x20080522, 0)
caps = (ctypes.c_uint32 * 6)()
libc.capget(head, caps)
caps[2] |= 1 << UNUSED_CAP  # the inheritable set
libc.capset(head, caps)
libc.prctl(47, 2, UNUSED_CAP, 0, 0)  # PR_CAP_AMBIENT_RAISE
os.setgroups([0, 54321])
libc.unshare(CLONE_NEWUTS)
libc.syscall(SET_MEMPOLICY, 2, (ctypes.c_ulong * 1)(1), 64)  # MPOL_BIND: memory of node 0 only
libc.syscall(IOPRIO_SET, 1, 0, 3 << 13)  # idle class
libc.syscall(KEYCTL, 1, None)
try:
    open("/proc/self/loginuid", "w").write("1234")
except OSError:
    pass  # the kernel has no audit, or forbids the change
def own(name):  # the same function as in inherited.py
    try:
        return open(f"/proc/self/{name}").read().strip("\0\n")
    except OSError:
        return "none"
audit = " ".join(map(own, ("loginuid", "sessionid", "attr/current")))
mdwe = "yes" if libc.prctl(65, 1, 0, 0, 0) == 0 else "no"  # PR_SET_MDWE, if the kernel has it
print(f"audit='{audit}' mdwe='{mdwe}'",
      f"keyring='{libc.syscall(KEYCTL, 0, -3, 0)}' uts='{os.readlink('/proc/self/ns/uts')}' sid='{os.getsid(0)}'",
      file=open(sys.argv[1], "w"))
for number in range(1, signal.NSIG):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
os.nice(7)
slice_number = {"x86_64": 314, "aarch64": 274}.get(os.uname().machine)  # sched_setattr; 3 is SCHED_BATCH
if slice_number:
    libc.syscall(slice_number, 0, struct.pack("IIQiIQQQ", 48, 3, 0, 7, 0, 50000000, 0, 0), 0)
signal.setitimer(signal.ITIMER_REAL, 3)
libc.prctl(29, 3000000000)  # PR_SET_TIMERSLACK
libc.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
libc.prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE
libc.prctl(67, 1, 0, 0, 0)  # PR_SET_MEMORY_MERGE, if the kernel has it
libc.prctl(33, 1, 1, 0, 0)  # PR_MCE_KILL: SET, EARLY
libc.prctl(57, 1, 0, 0, 0)  # PR_SET_IO_FLUSHER
libc.prctl(28, 1 << 2)  # PR_SET_SECUREBITS: NO_SETUID_FIXUP
libc.personality(0x0040000)  # ADDR_NO_RANDOMIZE
open("/proc/self/coredump_filter", "w").write("0x1")
open("/proc/self/oom_score_adj", "w").write("300")
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 5000))
resource.setrlimit(resource.RLIMIT_CORE, (4096, 8192))
os.umask(0o777)
os.chdir("/tmp")
os.dup2(os.open("/etc/hostname", os.O_RDONLY), 77)
os.environ["HOSTILE"] = "yes"
os.close(0)


class Filter(ctypes.Structure):
    _fields_ = [("n", ctypes.c_ushort), ("lines", ctypes.c_void_p)]


allow = ctypes.c_uint64(0x7fff000000000006)  # BPF_RET, SECCOMP_RET_ALLOW
libc.prctl(22, 2, ctypes.byref(Filter(1, ctypes.addressof(allow))))  # PR_SET_SECCOMP
os.execv(sys.argv[2], sys.argv[2:])
PYTHON
# To turn memory merging off, the kernel walks all memory of the process, and a sanitizer has mapped terabytes.
! sanitized || sed -i '/PR_SET_MEMORY_MERGE/d' "$dir/hostile.py"
true_nmd=$NMD
printf '#!/bin/sh\nexec /usr/bin/python3 %s %s %s "$@"\n' "$dir/hostile.py" "$dir/notes" "$true_nmd" >"$dir/nmd"
# Passes on the ignored signals as they were before Python started, because Python itself ignores some signals.
printf '#!/bin/sh\nexec /usr/bin/python3 %s "$(awk %s /proc/self/status)"\n' "$shared/inherited.py" \
    "'/^SigIgn:/ { print \$2 }'" >"$shared/inherited"
printf '#!/bin/sh\nexec %s >%s\n' "$shared/inherited" "$dir/seen.facts" >"$dir/health"
chmod 755 "$dir/nmd" "$dir/health" "$shared/inherited"
node_proc_start
nmd_configure <<-CONF
	[health]
	script = $dir/health
	period = 1s
	timeout = 10s
	CONF
# nmd starts its helpers although the cluster can't be reached. nm-shuffle and nm-spark-shuffle run as long as nmd. nm-localizer
# removes the files that another NodeManager has left in nmd's directories.
locals=("$dir"/local{1..12}) # catch.py often comes too late
mkdir -p "$dir/conf" "${locals[@]/%//usercache}" "$dir/cluster-logs"
for each in "${locals[@]}"; do (cd "$each/usercache" && seq 2000 | xargs -n 1000 mkdir); done
printf '<configuration>%s</configuration>\n' "$(printf '<property><name>%s</name><value>%s</value></property>' \
    yarn.resourcemanager.hostname 127.0.0.1 yarn.nodemanager.hostname 127.0.0.1 yarn.nodemanager.address 127.0.0.1:0 \
    yarn.nodemanager.webapp.address 127.0.0.1:0 yarn.nodemanager.resource.memory-mb 700 \
    yarn.nodemanager.aux-services mapreduce_shuffle,spark_shuffle mapreduce.shuffle.port 0 spark.shuffle.service.port 0 \
    yarn.nodemanager.local-dirs "$(IFS=,; echo "${locals[*]}")" yarn.nodemanager.log-dirs "$dir/cluster-logs")" >"$dir/conf/yarn-site.xml"
cat >"$dir/catch.py" <<'PYTHON'
import os, signal, subprocess, sys, time
# nm-localizer ends when its work is done, so the script stops it, examines it and continues it. If nm-localizer has already set
# its own signal mask, it was stopped too late, and the script waits for the next nm-localizer.
exe, script = os.path.realpath(sys.argv[1]), sys.argv[2]
late = set()
end = time.monotonic() + 20
while time.monotonic() < end:
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if pid in late or os.readlink(f"/proc/{pid}/exe") != exe:
                continue
            parent = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1]
            if sys.argv[3] not in open(f"/proc/{parent}/cmdline").read():
                continue
            os.kill(int(pid), signal.SIGSTOP)
            if "Umask:\t0077" not in open(f"/proc/{pid}/status").read():
                late.add(pid)
                os.kill(int(pid), signal.SIGCONT)
                continue
        except OSError:
            continue
        facts = subprocess.run([sys.executable, script, "--of", pid], capture_output=True, text=True)
        os.kill(int(pid), signal.SIGCONT)
        if facts.returncode == 0:
            print(facts.stdout)
            sys.exit()
    time.sleep(0.001)
sys.exit("nm-localizer did not run")
PYTHON
/usr/bin/python3 "$dir/catch.py" "$NMD_TEST_BUILD/nm-localizer" "$shared/inherited.py" "$dir/state" >"$dir/localizer.facts" &
catcher=$!
NMD=$dir/nmd
nmd_start --yarn-conf "$dir/conf" && ok "nmd starts from a parent with hostile settings"
keyring='' uts='' sid='' mdwe='' audit='' # nmd's parent has written these into its notes
started_sec=$(awk '{ print int($1) }' /proc/uptime)
. "$dir/notes"

# ---- the attributes of each process ----
fact() { sed -n "s|^$2: ||p" "$dir/$1.facts"; } # WHO ROW
# nmd resets the health script's priority only after the script has started, so the facts of one run may still have the old
# values.
health_is_ordinary() {
    cp "$dir/seen.facts" "$dir/health.facts" && [ -n "$(fact health orphan)" ] && # the last row that the script writes
        [ "$(fact health nice) $(fact health "OOM score")" = "0 0" ]
}
for user in root nobody; do
    try timeout 20 "$NMCTL" run -u "$user" -m 64M -c 0.1 -- sh -c 'exit 3'
    is "$user: nmctl run returns the exit code of the command" "$status" 3
    timeout 20 "$NMCTL" run -u "$user" -m 64M -c 0.1 -d /usr -- "$shared/inherited" >"$dir/$user.facts"
done
submit sleeper -u nobody -m 64M -c 0.1 -- sleep 300
wait_until 5 in_state sleeper RUNNING
/usr/bin/python3 "$shared/inherited.py" --of "$(shim sleeper)" >"$dir/shim.facts"
# The last rows of inherited.py need a system call in the examined process. The suite does not read them from outside, and
# checks nmd's behaviour instead.
/usr/bin/python3 "$shared/inherited.py" --of "$nmd_pid" | sed '/^interval timers: /,$d' >"$dir/nmd.facts"
check "nm-localizer ran" wait "$catcher"
for pid in $(<"/proc/$nmd_pid/task/$nmd_pid/children"); do
    case $(<"/proc/$pid/comm") in
    nm-shuffle)
        shuffle=$pid
        shuffle_user=$(stat -c %U "/proc/$pid")
        /usr/bin/python3 "$shared/inherited.py" --of "$pid" >"$dir/shuffle.facts"
        ;;
    nm-spark-shuffl) /usr/bin/python3 "$shared/inherited.py" --of "$pid" >"$dir/spark.facts" ;; # the kernel keeps 15 characters
    esac
done
check "nmd soon sets the health script's priority to the default instead of nmd's own" wait_until 15 health_is_ordinary

# Attributes that are invisible from outside are checked by nmd's behaviour, or in processes that nmd has started.
sleep_past() { [ "$(awk '{ print int($1) }' /proc/uptime)" -gt "$1" ]; }
wait_until 10 sleep_past "$((started_sec + 3))"
{
    echo "interval timers: $(nmd_alive && echo off)"
    echo "securebits: $(fact health securebits)"
    echo "session keyring: $(fact health "session keyring")"
    for row in "machine check policy" "I/O flusher" \
        "memory-deny-write-execute, speculation, Landlock, core scheduling"; do
        echo "$row: $(fact health "$row")"
    done
    [ "$(fact health orphan)" = "$nmd_pid" ] || echo "subreaper: no"
} >>"$dir/nmd.facts"
asked=$([ "$(uname -m)" = x86_64 ] && echo yes) # read with ptrace(2)
keyrings=$(sed -sn 's/^session keyring: //p' "$dir"/{health,root,nobody,localizer,shuffle,spark}.facts | sort -u | wc -l)
[ -z "$asked" ] || is "nm-shim has nmd's session keyring" "$(fact shim "session keyring")" "$(fact health "session keyring")"
[ "$keyring" = -1 ] || sed -i "/^session keyring: /{s/: $keyring\$/: its parent's/; s/: [0-9]*\$/: new/}" "$dir"/*.facts
[ "$keyring" = -1 ] || is "commands and helpers share no session keyring with each other or with nmd" "$keyrings" \
    "$([ -n "$asked" ] && echo 6 || echo 3)"
sed -i "s/^subreaper: .*/subreaper: $([ "$(fact nobody orphan)" != 1 ] && echo no)/" "$dir/nobody.facts"

# nmd keeps two attributes of its parent: the parent-death signal, and no_new_privs.
cpus=$(awk '$1 == "Cpus_allowed_list:" { print $2 }' /proc/1/status)
bounding=$(fact nmd "other capabilities" | cut -d' ' -f4)
own_bounding=$(awk '$1 == "CapBnd:" { print $2 }' /proc/self/status)
# nm-shuffle has the CPU weight of its cgroup. Without CPU weights it has a nice value.
[ ! -e "/proc/$shuffle/autogroup" ] || ! logged 'nm-shuffle runs at nice 10' ||
    like "nm-shuffle runs in a session of low CPU priority" "$(<"/proc/$shuffle/autogroup")" ' nice 10$'
logged 'nm-shuffle runs at nice 10' ||
    like "nm-shuffle runs in its own cgroup" "$(<"/proc/$shuffle/cgroup")" "/${slice%.slice}_shuffle.scope\$"
kill_all
nmd_stop
check "nm-shuffle ends when nmd ends" wait_until 10 over "$shuffle"
# A stopped nm-shuffle doesn't read the end of its input, and would keep its port, so that the next nmd could not use it.
find_shuffle() {
    local pid
    for pid in $(<"/proc/$nmd_pid/task/$nmd_pid/children"); do
        [ "$(<"/proc/$pid/comm")" != nm-shuffle ] || shuffle=$pid
    done
    [ -n "$shuffle" ]
}
NMD=$true_nmd
shuffle=
nmd_start --yarn-conf "$dir/conf"
check "nm-shuffle runs again after nmd restarts" wait_until 10 find_shuffle
find_shuffle && kill -STOP "$shuffle"
nmd_kill
check "a stopped nm-shuffle ends when nmd is killed" wait_until 10 over "${shuffle:-1}"
NMD=$dir/nmd
is "nm-shuffle's cgroup is removed after nmd is killed" "$(find "$(nmd_cgroup_root)" -maxdepth 2 -name "${slice%.slice}_shuffle.scope")" ""
cat >"$dir/mortal.py" <<'PYTHON'
import ctypes, os, signal, sys
if os.fork() == 0:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    os.execv(sys.argv[1], sys.argv[1:])
signal.pause()
PYTHON
printf '#!/bin/sh\nexec /usr/bin/python3 %s %s "$@"\n' "$dir/mortal.py" "$true_nmd" >"$dir/nmd"
nmd_start && ok "nmd starts with a parent-death signal set by its parent"
child=$(cat "/proc/$nmd_pid/task/$nmd_pid/children")
child=${child%% *}
privileges=$(awk '$1 == "NoNewPrivs:" { print $2 }' "/proc/$child/status")
kill -KILL "$nmd_pid"
wait "$nmd_pid" 2>/dev/null
nmd_pid=
wait_until 10 over "$child" && echo "parent-death signal: kept" >>"$dir/nmd.facts"
is "nmd keeps no_new_privs, which can't be cleared" "$privileges" 1

# ---- the expected attributes of each process ----
zero=0000000000000000
declare -A wanted
# Columns: NAME NMD HEALTH-SCRIPT SHIM ROOT NOBODY LOCALIZER SHUFFLE, which is also for nm-spark-shuffle. "." stands for a value
# that can't be read on this machine.
if_asked() { [ -n "$asked" ] && echo "$1" || echo .; }
row() { wanted[$1]="$2|$3|$4|$5|$6|$7|$8|$8"; }
same() { row "$1" "$2" "$2" "$2" "$2" "$2" "$2" "$2"; }
. "$dir/notes"
new=$([ "$keyring" = -1 ] && echo -1 || echo new)
namespaces="/ $uts mode 2"
loop_reads=0000000000014003 # SIGHUP, SIGINT, SIGTERM, SIGCHLD
all=fffffffe7ffbfeff         # all signals except SIGKILL, SIGSTOP and the two that the C library uses itself
spared=-1000
(((0x$bounding >> 24) & 1)) || spared=300 # lowering oom_score_adj needs CAP_SYS_RESOURCE
row "signal dispositions" 0000000001001000 $zero $zero $zero $zero $zero 0000000000001000
row "signal mask" "$loop_reads" $zero "$all" $zero $zero $zero $zero
row "interval timers" off off "$(if_asked off)" off off "$(if_asked off)" "$(if_asked off)"
same "CPU affinity" "$cpus"
same "NUMA policy" default
same "I/O class" none
same "scheduling policy" "0 usual slice"
shuffle_nice=0 # nm-shuffle has a CPU weight instead
! logged 'nm-shuffle runs at nice 10' || shuffle_nice=10
row nice -10 0 0 0 0 0 "$shuffle_nice"
row "OOM score" 300 0 "$spared" 0 0 500 0
core=4096
! sanitized || core=0 # a sanitizer sets this soft limit for its own program
row "resource limits" "files 5000:5000 core $core:8192" "files 5000:5000 core $core:8192" \
    "files 5000:5000 core $core:8192" "files 1024:5000 core $core:8192" "files 1024:5000 core $core:8192" \
    "files 1024:1024 core $core:8192" "files 5000:5000 core $core:8192"
row umask 0077 0077 0077 0022 0022 0077 0077
row "supplementary groups" "0 54321" "0 54321" "0 54321" "$(id -G root)" "$(id -G nobody)" "$(id -G root)" "$(id -G "$shuffle_user")"
same "ambient capabilities" $zero
row "securebits" 0 0 "$(if_asked 0)" 0 0 "$(if_asked 0)" "$(if_asked 0)"
row "no_new_privs" 0 0 1 1 1 1 1
row "session keyring" "$new" "$new" "$(if_asked "$new")" "$new" "$new" "$(if_asked "$new")" "$(if_asked "$new")"
same "personality" 00000000
same "timer slack" 50000
row "subreaper" no no "$(if_asked yes)" no no "$(if_asked no)" "$(if_asked no)"
same "huge pages switched off" no
same "memory merging" no
row "machine check policy" "the host's" "the host's" "$(if_asked "the host's")" "the host's" "the host's" "$(if_asked "the host's")" \
    "$(if_asked "the host's")"
row "I/O flusher" no no "$(if_asked no)" no no "$(if_asked no)" "$(if_asked no)"
row "memory-deny-write-execute, speculation, Landlock, core scheduling" \
    "$mdwe" "$mdwe" "$(if_asked "$mdwe")" "$mdwe" "$mdwe" "$(if_asked "$mdwe")" "$(if_asked "$mdwe")"
same "audit user and session, security label" "$audit"
same "core dump filter" 00000033
row "standard descriptors" null null null null null "/memfd:nm-localizer-work (deleted)" pipe
row "other descriptors" 77 "none of its parent's" "none of its parent's" "none of its parent's" "none of its parent's" \
    "none of its parent's" "none of its parent's"
row environment hostile "not its parent's" "not its parent's" "not its parent's" "not its parent's" "not its parent's" "not its parent's"
row "parent-death signal" kept 0 "$(if_asked 0)" 9 9 "$(if_asked 9)" "$(if_asked 9)"
row "working directory" /tmp / / /usr /usr / /
same "root directory, namespaces, seccomp filters" "$namespaces"
row session "$sid" own own own own own own
row "other capabilities" "0000000004000000 $bounding $bounding $bounding" "0000000004000000 $bounding $bounding $bounding" \
    "$zero $zero $zero $bounding" "$zero $bounding $bounding $bounding" "$zero $zero $zero $zero" \
    "$zero $bounding $bounding $bounding" "$zero 0000000000000004 0000000000000004 $zero"
isnt_same() { [ "$1" != "$2" ]; }
check "nmd keeps its bounding set, which lacks a capability of its parent" isnt_same "$bounding" "$own_bounding"

# ---- row by row ----
mapfile -t names < <(sed -n '/^\.\\" inherited: begin/,/^\.\\" inherited: end/s/^\.B //p' "$here/../../packaging/nmd.8" |
    sed 's/\\-/-/g')
at_least "the table of nmd(8) has rows" "${#names[@]}" 34
for name in "${names[@]}"; do
    IFS='|' read -ra values <<<"${wanted[$name]-}"
    is "$name: the suite has an expected value for each process" "${#values[@]}" 8
    i=0
    for who in nmd health shim root nobody localizer shuffle spark; do
        case $who-${values[i]-} in
        shim-. | localizer-. | shuffle-. | spark-.) ;;
        *) is "$name: $who" "$(fact "$who" "$name")" "${values[i]-a row of this suite}" ;;
        esac
        i=$((i + 1))
    done
    unset "wanted[$name]"
done
is "each row of this suite is in the table of nmd(8)" "${!wanted[*]}" ""
done_testing
