#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
#
# Actions that take long: a kill that misses a process, leftover processes that can't be killed, a freeze that hangs. Actions
# that must not take long: the first admission after a restart, and the reaction to pressure in a slice that was removed and
# created again.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
END
mnt=$dir/mnt
mkdir "$mnt"
truncate -s 32M "$dir/disk.img"
mkfs.ext4 -q "$dir/disk.img"
mount -o loop "$dir/disk.img" "$mnt" || skip_all "no file system can be mounted here"
thaw_disk() { fsfreeze --unfreeze "$mnt" 2>/dev/null; }
at_exit 'thaw_disk; umount -l "$mnt"'
nmd_start

# While the file system is frozen, the writer's write() hangs in the kernel (state D), and SIGKILL has no effect on the writer.
writer='echo $$ >"$0.pid"; while :; do echo x >>"$0"; sleep 0.05; done'
hangs() { # NAME: hangs for longer than one write
    for _ in 1 2 3 4; do
        grep -q '^State:.D' "/proc/$(cat "$mnt/$1.pid")/status" || return
        sleep 0.1
    done
}
freeze_disk() { # NAME: freezes the file system while the container writes to it
    check "container $1 writes to the file system" wait_until 10 test -s "$mnt/$1"
    fsfreeze --freeze "$mnt"
    check "container $1 hangs in a write" wait_until 10 hangs "$1"
}
enter_cgroup() { # CGROUP: puts a new process, whose PID is in $late, into CGROUP
    late=$(setsid sleep 300 </dev/null >/dev/null 2>&1 & echo $!)
    echo "$late" >"$1/cgroup.procs"
}

# ---- a kill that misses a process ----
submit stays -m 50M -c 0.1 -- sh -c "$writer" "$mnt/stays"
freeze_disk stays
cgroup=$(cgroup_of stays)
nmctl kill --now stays
check "nmd is killing the container with the hanging process" wait_until 5 in_state stays KILLING
enter_cgroup "$cgroup"
check "nmd kills a process that enters the cgroup after the kill" wait_until 10 over "$late"
enter_cgroup "$cgroup"
check "nmd kills each further process that enters the cgroup" wait_until 10 over "$late"
check "the node is unhealthy when a process has survived SIGKILL for ten seconds" wait_until 20 status_is .node.healthy false
check "status names the process that survives SIGKILL" logged "can't be killed: .* hangs in the kernel (state D), for example [0-9]* (sh)"
is "nmd does not report the end of a container with a surviving process" "$(state_of stays)" KILLING
thaw_disk
check "the container ends as soon as its hanging process can exit" wait_until 10 in_state stays COMPLETED
check "the node is healthy again after the hanging process has exited" wait_until 10 status_is .node.healthy true

# ---- processes that a command leaves ----
submit leaves -m 50M -c 0.1 -- sh -c 'sh -c "$1" "$0" & while [ ! -e "$2" ]; do sleep 0.05; done' \
    "$mnt/leaves" "$writer" "$dir/go"
freeze_disk leaves
cgroup=$(cgroup_of leaves)
touch "$dir/go"
ended() { [ "$(wc -l <"$cgroup/cgroup.procs")" = 1 ]; }
check "a command exits, and leaves a hanging process behind" wait_until 10 ended
enter_cgroup "$cgroup"
check "nmd kills a process that enters the cgroup after the command has exited" wait_until 10 over "$late"
thaw_disk
check "the container ends when all its processes have exited" wait_until 10 in_state leaves COMPLETED
is "the container has the exit status of its command" "$(field_of leaves .exit_code)" 0

# ---- a freeze that hangs ----
submit hung --opportunistic -m 50M -c 0.3 -- sh -c 'sh -c "$1" "$0" & while :; do echo x >>"$2"; sleep 0.05; done' \
    "$mnt/hung" "$writer" "$dir/sibling"
freeze_disk hung
nmctl pause hung
check "nmd decides to pause a container with a hanging process" wait_until 5 in_state hung PAUSING
size=$(stat -c %s "$dir/sibling")
check "nmd undoes an incomplete freeze after ten seconds" wait_until 20 in_state hung RUNNING
sibling_goes_on() { [ "$(stat -c %s "$dir/sibling")" -gt "$size" ]; }
check "when the freeze is undone, the other processes of the container run again" wait_until 10 sibling_goes_on
is "the decision record has a failed pause" "$(decision_of hung pause .outcome)" failed
like "the decision record of the failed pause names the hanging process" \
    "$(decision_of hung pause .error)" 'not frozen within 10 s: process [0-9]* \(sh\) hangs'
is "the next decision names the failed pause as its reason" "$(decision_of hung resume .reason)" freeze-hangs
like "explain describes the failed pause in text" "$(nmctl explain hung)" 'it was not frozen within 10 s'
thaw_disk
nmctl pause hung
check "the container can be paused when its process does not hang any more" wait_until 10 in_state hung PAUSED
kill_all

# ---- an admission immediately after a restart ----
reconfigure sampling period 3s
hog promised -m 900M -c 0.1 -- 10
wait_until 10 settled promised
nmd_stop
nmd_start
begun=$(date +%s%3N)
submit gap --opportunistic -m 300M -c 0.1 -- sleep 300
check "after a restart, a request starts in memory that an adopted container does not use" wait_until 10 in_state gap RUNNING
took=$(($(date +%s%3N) - begun))
diag "started after $took ms"
at_least "after a restart, a request does not wait for a whole sampling period" $((2500 - took)) 0
kill_all

# ---- a slice that was removed and created again ----
if [ -e "$(slice_dir)/cpu.pressure" ]; then
    reconfigure sampling period 200ms
    old=$(stat -c %i "$(slice_dir)")
    rmdir "$(slice_dir)"
    submit spins -m 50M -c 0.1 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do while :; do :; done & done; wait'
    check "nmd creates a removed slice again for the next container" wait_until 10 test "$(slice_dir)" != ""
    check "the new slice has another inode than the removed one" test "$(stat -c %i "$(slice_dir)")" != "$old"
    samples 3
    events=$(status_of .counters.pressure_events)
    check "nmd reacts to memory pressure in the new slice" wait_until 20 status_is ".counters.pressure_events > $events" true
fi
kill_all
# ---- a container with many processes ----
# Each process appends one byte to a file for each SIGTERM, and keeps running. The first process reports when all are running.
cat >"$dir/crowd.py" <<'END'
import os, signal, sys, time
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
signal.signal(signal.SIGTERM, lambda *_: os.write(out, b"x"))
for _ in range(int(sys.argv[2]) - 1):
    if os.fork() == 0:
        break
else:
    print("all", flush=True)
while True:
    signal.pause()
END
# Requests the status repeatedly. On SIGTERM, prints the longest time of a response in ms.
cat >"$dir/ask.py" <<'END'
import signal, socket, sys, time
worst, on = 0, True
def stop(*_):
    global on
    on = False
signal.signal(signal.SIGTERM, stop)
while on:
    begun = time.monotonic()
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(sys.argv[1])
        s.sendall(b"GET /v1/status HTTP/1.0\r\n\r\n")
        while s.recv(65536):
            pass
    worst = max(worst, time.monotonic() - begun)
    time.sleep(0.01)
print(int(worst * 1000))
END
crowd=2500
submit crowd -m 900M -c 0.1 -- python3 "$dir/crowd.py" "$dir/got-term" "$crowd"
all_there() { [ "$(wc -l <"$(cgroup_of crowd)/cgroup.procs")" -gt "$crowd" ]; } # one more process: the shim
check "a container with many processes is running" wait_until 60 all_there
samples 3
python3 "$dir/ask.py" "$NMD_SOCKET" >"$dir/worst" &
asker=$!
nmctl kill crowd >/dev/null
each_got_term() { [ "$(stat -c %s "$dir/got-term")" -eq "$crowd" ]; }
check "each process of the container gets SIGTERM" wait_until 30 each_got_term
is "no process of the container gets SIGTERM twice" "$(stat -c %s "$dir/got-term")" "$crowd"
group=$(cgroup_of crowd)
is "the container is still running after SIGTERM" "$(wc -l <"$group/cgroup.procs")" $((crowd + 1))
nmctl kill --now crowd >/dev/null
check "the container is killed after the grace period" wait_until 30 in_state crowd COMPLETED
check "all processes of the container are killed" wait_until 10 test ! -e "$group"
kill "$asker"
wait "$asker"
# If nmd ends before all processes have got SIGTERM, the next nmd sends it to the others.
rm "$dir/got-term"
submit crowd -m 900M -c 0.1 -- python3 "$dir/crowd.py" "$dir/got-term" "$crowd"
check "a second container with many processes is running" wait_until 60 all_there
nmctl kill crowd >/dev/null
nmd_kill
count_is_stable() { [ "$(stat -c %s "$dir/got-term")" = "$was" ] || { was=$(stat -c %s "$dir/got-term"); false; }; }
was=
wait_until 10 count_is_stable
diag "$was of $crowd processes had got SIGTERM when nmd ended"
nmd_start
all_got_term() { [ "$(stat -c %s "$dir/got-term")" -ge "$crowd" ]; }
check "a restarted nmd sends SIGTERM to the processes that had not got it" wait_until 30 all_got_term
nmctl kill --now crowd >/dev/null
check "all processes of the second container are killed" wait_until 30 in_state crowd COMPLETED
diag "the slowest response took $(cat "$dir/worst") ms"
at_least "nmd answers requests while it signals many processes" $((2000 - $(cat "$dir/worst"))) 0
kill_all
nmd_alive || not_ok "nmd still runs"
done_testing
