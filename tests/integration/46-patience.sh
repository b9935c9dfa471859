#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
#
# Actions that take long: a kill that misses a process, leftover processes that don't die, a freeze that hangs. And actions that must
# not take long: the first admission after a restart, and the reaction to pressure of a slice that was created again.
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

# While the file system is frozen, the writer's write() hangs in the kernel (state D), and SIGKILL has no effect.
writer='echo $$ >"$0.pid"; while :; do echo x >>"$0"; sleep 0.05; done'
hangs() { # NAME: for good, and not for the length of a write
    for _ in 1 2 3 4; do
        grep -q '^State:.D' "/proc/$(cat "$mnt/$1.pid")/status" || return
        sleep 0.1
    done
}
freeze_disk() { # NAME: with this writer in it
    check "$1 writes" wait_until 10 test -s "$mnt/$1"
    fsfreeze --freeze "$mnt"
    check "$1 hangs" wait_until 10 hangs "$1"
}
slip_in() { # CGROUP: a process that nobody has killed yet, in $late
    late=$(setsid sleep 300 </dev/null >/dev/null 2>&1 & echo $!)
    echo "$late" >"$1/cgroup.procs"
}

# ---- a kill that misses a process ----
submit stays -m 50M -c 0.1 -- sh -c "$writer" "$mnt/stays"
freeze_disk stays
cgroup=$(cgroup_of stays)
nmctl kill --now stays
check "the container with a hanging process is being killed" wait_until 5 in_state stays KILLING
slip_in "$cgroup"
check "a process that enters the cgroup after the kill is killed" wait_until 10 over "$late"
slip_in "$cgroup"
check "each process that enters the cgroup is killed" wait_until 10 over "$late"
check "the node is unhealthy after ten seconds" wait_until 20 status_is .node.healthy false
check "status names the hanging process" logged "can't be killed: .* hangs in the kernel (state D), for example [0-9]* (sh)"
is "the container is not reported as ended" "$(state_of stays)" KILLING
thaw_disk
check "the container ends as soon as its process can end" wait_until 10 in_state stays COMPLETED
check "the node is healthy again" wait_until 10 status_is .node.healthy true

# ---- processes that a command leaves ----
submit leaves -m 50M -c 0.1 -- sh -c 'sh -c "$1" "$0" & while [ ! -e "$2" ]; do sleep 0.05; done' \
    "$mnt/leaves" "$writer" "$dir/go"
freeze_disk leaves
cgroup=$(cgroup_of leaves)
touch "$dir/go"
ended() { [ "$(wc -l <"$cgroup/cgroup.procs")" = 1 ]; }
check "the command ends, and leaves a hanging process" wait_until 10 ended
slip_in "$cgroup"
check "a process that enters the cgroup of the ended command is killed" wait_until 10 over "$late"
thaw_disk
check "the container ends when all its processes have ended" wait_until 10 in_state leaves COMPLETED
is "the container has the command's exit status" "$(field_of leaves .exit_code)" 0

# ---- a freeze that hangs ----
submit hung --opportunistic -m 50M -c 0.3 -- sh -c 'sh -c "$1" "$0" & while :; do echo x >>"$2"; sleep 0.05; done' \
    "$mnt/hung" "$writer" "$dir/sibling"
freeze_disk hung
nmctl pause hung
check "the policy decides to pause the container" wait_until 5 in_state hung PAUSING
size=$(stat -c %s "$dir/sibling")
check "the freeze is undone after ten seconds" wait_until 20 in_state hung RUNNING
sibling_goes_on() { [ "$(stat -c %s "$dir/sibling")" -gt "$size" ]; }
check "the other processes of the container keep running" wait_until 10 sibling_goes_on
is "the decision is a failed pause" "$(decision_of hung pause .outcome)" failed
like "the decision names the process that hangs" "$(decision_of hung pause .error)" 'not frozen within 10 s: process [0-9]* \(sh\) hangs'
is "the next decision has the reason" "$(decision_of hung resume .reason)" freeze-hangs
like "explain describes the failed pause in words" "$(nmctl explain hung)" 'it was not frozen within 10 s'
thaw_disk
nmctl pause hung
check "the container can be paused when no process hangs" wait_until 10 in_state hung PAUSED
kill_all

# ---- at once after a restart ----
reconfigure sampling period 3s
hog promised -m 900M -c 0.1 -- 10
wait_until 10 settled promised
nmd_stop
nmd_start
begun=$(date +%s%3N)
submit gap --opportunistic -m 300M -c 0.1 -- sleep 300
check "a request that fits into the unused part of an adopted container starts" wait_until 10 in_state gap RUNNING
took=$(($(date +%s%3N) - begun))
diag "started after $took ms"
at_least "the request does not wait for a period" $((2500 - took)) 0
kill_all

# ---- a slice that was created again ----
if [ -e "$(slice_dir)/cpu.pressure" ]; then
    reconfigure sampling period 200ms
    old=$(stat -c %i "$(slice_dir)")
    rmdir "$(slice_dir)"
    submit spins -m 50M -c 0.1 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do while :; do :; done & done; wait'
    check "the removed slice is created again for the next container" wait_until 10 test "$(slice_dir)" != ""
    check "the slice has another inode" test "$(stat -c %i "$(slice_dir)")" != "$old"
    samples 3
    events=$(status_of .counters.pressure_events)
    check "stalls in the new slice are noticed" wait_until 20 status_is ".counters.pressure_events > $events" true
fi
kill_all
# ---- a container with many processes ----
# Each process appends one byte for each SIGTERM, and goes on. The first one says when all are there.
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
# Asks for the status again and again, and prints the longest time of an answer in ms when it is ended.
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
submit crowd -m 900M -c 0.1 -- python3 "$dir/crowd.py" "$dir/heard" "$crowd"
all_there() { [ "$(wc -l <"$(cgroup_of crowd)/cgroup.procs")" -gt "$crowd" ]; } # with the shim
check "a container has many processes" wait_until 60 all_there
samples 3
python3 "$dir/ask.py" "$NMD_SOCKET" >"$dir/worst" &
asker=$!
nmctl kill crowd >/dev/null
heard() { [ "$(stat -c %s "$dir/heard")" -eq "$crowd" ]; }
check "each of its processes gets SIGTERM" wait_until 30 heard
is "each process gets SIGTERM once" "$(stat -c %s "$dir/heard")" "$crowd"
group=$(cgroup_of crowd)
is "the container is still running" "$(wc -l <"$group/cgroup.procs")" $((crowd + 1))
nmctl kill --now crowd >/dev/null
check "the container is killed" wait_until 30 in_state crowd COMPLETED
check "all processes of the container are killed" wait_until 10 test ! -e "$group"
kill "$asker"
wait "$asker"
# Processes that have not got SIGTERM when nmd ends get it from the next one.
rm "$dir/heard"
submit crowd -m 900M -c 0.1 -- python3 "$dir/crowd.py" "$dir/heard" "$crowd"
check "a second container has many processes" wait_until 60 all_there
nmctl kill crowd >/dev/null
nmd_kill
sleep_on() { [ "$(stat -c %s "$dir/heard")" = "$was" ] || { was=$(stat -c %s "$dir/heard"); false; }; }
was=
wait_until 10 sleep_on
diag "$was of $crowd processes had SIGTERM when nmd ended"
nmd_start
heard_all() { [ "$(stat -c %s "$dir/heard")" -ge "$crowd" ]; }
check "a restarted nmd sends SIGTERM to the processes that did not get it" wait_until 30 heard_all
nmctl kill --now crowd >/dev/null
check "the processes of the second container are killed" wait_until 30 in_state crowd COMPLETED
diag "the slowest answer took $(cat "$dir/worst") ms"
at_least "nmd has answered all the time" $((2000 - $(cat "$dir/worst"))) 0
kill_all
nmd_alive || not_ok "nmd still runs"
done_testing
