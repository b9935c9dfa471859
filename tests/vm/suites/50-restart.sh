#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 600
#
# Fifty containers in all states, while nmd is restarted, killed, upgraded and reloaded: no container is lost or runs twice, and
# nmd keeps the data of all containers.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

quick_nmd "[over-allocation]" "warmup = 1s" "[preemption]" "cpu-samples = 100" "squeeze = no" \
    "pause-deadline = 1h" "kill-grace = 1h" "[queue]" "max-length = 20"
rm -rf /tmp/runs
mkdir -m 1777 /tmp/runs
rm -rf /tmp/terms
mkdir -m 1777 /tmp/terms

# Each container writes a line when it starts. Two lines mean that the container ran twice.
job='echo started >>/tmp/runs/$0; exec sleep 3000'
batch() { # HOW-MANY NAME OPTION...
    local n=$1 name=$2 i
    shift 2
    for ((i = 1; i <= n; i++)); do
        nmctl run -D --name "$name$i" "$@" -- bash -c "$job" "$name$i" || echo "$name$i was refused"
    done
}
batch 30 steady -m 8M -c 0.01
batch 8 guest --opportunistic -m 8M -c 0.01
all_run() { [ "$(nmctl list --json | jq '[.[] | select(.state == "RUNNING")] | length')" -ge 38 ]; }
check "38 containers are running" wait_until 120 all_run
check "a user pauses five containers" nmctl pause guest1 guest2 guest3 guest4 guest5
batch 7 waiting --opportunistic -m 1690M -c 0.01
# Containers that are being killed: they ignore SIGTERM, and nmd sends SIGKILL after an hour.
for i in 1 2 3; do
    nmctl run -D --name "dying$i" -m 8M -c 0.01 -- \
        bash -c 'trap "echo term >>/tmp/terms/\$0" TERM; echo started >>/tmp/runs/$0; while :; do sleep 1; done' "dying$i"
done >/dev/null
running() { [ "$(nmctl list --json | jq '[.[] | select(.name | test("^dying")) |
    select(.state == "RUNNING")] | length')" = 3 ]; }
wait_until 60 running
nmctl kill dying1 dying2 dying3 >/dev/null

# Prints the data that must not change as one text. Times are rounded, because their conversion from the boot clock to the wall
# clock may differ by a microsecond.
picture() {
    nmctl list --json | jq -r 'def about: if . then . / 20000000 | round else . end;
        sort_by(.id) | .[] | select(.name | test("^brief") | not) | [.id, .name, .execution_type,
        .state, .pid, (.started_usec | about), .queue_position, (.pause_deadline_usec | about),
        .memory_bytes, .vcores] | @tsv'
}
decisions() { nmctl explain -n 1 --json | jq '[.. | .number? // empty] | max'; }
settled() { [ "$(status_of .containers.paused)" = 5 ] && [ "$(status_of .queue.length)" = 7 ]; }
check "five containers are paused and seven are queued" wait_until 60 settled
picture >/tmp/before
number=$(decisions)
is "nmd lists all containers" "$(wc -l </tmp/before)" 48
is "three containers are being killed" "$(cut -f4 /tmp/before | grep -c KILLING)" 3

up() { nmctl status; }
same() { # NAME
    check "$1: nmd responds again" wait_until 60 up
    picture >/tmp/after
    is "$1: the data of all containers are unchanged" "$(diff /tmp/before /tmp/after)" ""
    is "$1: no container ran twice" "$(wc -l /tmp/runs/* | awk '$1 > 1 && $2 != "total"')" ""
    at_least "$1: the number of the last decision is unchanged or higher" "$(decisions)" "$number"
}

# Starts a container that ends while nmd is not running. The next nmd must find its exit status.
brief() { # NAME STATUS
    rm -f "/tmp/go-$1"
    nmctl run -D --name "$1" -m 8M -c 0.01 -- \
        bash -c "echo started >>/tmp/runs/$1; until [ -e /tmp/go-$1 ]; do sleep 0.1; done; exit $2"
}
ends_meanwhile() { # NAME ID STATUS
    check "$1: a container that ended in the meantime is shown as ended" wait_until 20 in_state "$2" COMPLETED
    is "$1: a container that ended in the meantime has its exit status" "$(field_of "$2" '"\(.exit_code) \(.exit_reason)"')" "$3 exited"
}

id=$(brief brief1 41)
wait_until 30 in_state "$id" RUNNING
systemctl stop nmd.service
touch /tmp/go-brief1
wait_until 20 none_runs /tmp/go-brief1
systemctl start nmd.service
check "nmd responds after a stop and a start" wait_until 60 up
ends_meanwhile "stop" "$id" 41
same "stop"

systemctl restart nmd.service
same "restart"

pid=$(unit_prop nmd.service MainPID)
kill -9 "$pid"
replaced() { [ "$(unit_prop nmd.service MainPID)" != "$pid" ] && nmctl status; }
check "systemd restarts nmd after kill -9" wait_until 60 replaced
same "kill -9"

check "systemctl daemon-reload succeeds" systemctl daemon-reload
same "daemon-reload"
check "systemctl daemon-reexec succeeds" systemctl daemon-reexec
same "daemon-reexec"

id=$(brief brief2 42)
wait_until 30 in_state "$id" RUNNING
pid=$(unit_prop nmd.service MainPID)
(sleep 2; touch /tmp/go-brief2) &
check "the package can be upgraded" bash -c \
    'DEBIAN_FRONTEND=noninteractive dpkg -i /mnt/nmd/upgrade/nmd.deb'
check "a new nmd process runs after the upgrade" replaced
ends_meanwhile "upgrade" "$id" 42
same "upgrade"

is "each container that is being killed got only one SIGTERM" \
    "$(wc -l /tmp/terms/* | awk '$2 != "total" { print $1 }' | paste -sd' ')" "1 1 1"
check "a container in its grace period of an hour can be killed immediately" nmctl kill --now --wait dying1
is "the container's record says that a user killed it" "$(nmctl list --all --json | jq -r '.[] | select(.name == "dying1") |
    "\(.exit_code) \(.exit_reason)"')" "137 killed"

# ---- killed scopes, and a scope that nmd does not know ------------------------------------------

id_of() { awk -v name="$1" '$2 == name { print $1 }' /tmp/before; }
killed=$(id_of steady1) killed_alone=$(id_of guest2) # guest2 is paused
systemctl kill -s KILL "nm-$killed.scope"
check "a container ends when its scope is killed" wait_until 20 in_state "$killed" COMPLETED
is "a container whose scope was killed has the exit reason signaled" \
    "$(field_of "$killed" '"\(.exit_code) \(.exit_reason)"')" "137 signaled"
like "the message of a container whose scope was killed says that another program killed it" \
    "$(field_of "$killed" .message)" 'from outside nmd'
systemctl stop nmd.service
systemctl kill -s KILL "nm-$killed_alone.scope"
systemd-run -q --scope --slice=nm.slice --unit=nm-container_1_000001 sleep 3000 </dev/null >/dev/null 2>&1 &
orphan=$cg/nm.slice/nm-container_1_000001.scope
wait_until 20 test -d "$orphan"
echo 1 >"$orphan/cgroup.freeze"
wait_until 20 grep -qx 'frozen 1' "$orphan/cgroup.events"
systemctl start nmd.service
check "a container whose scope was killed while nmd was stopped is shown as ended" wait_until 60 in_state "$killed_alone" COMPLETED
is "a container whose scope was killed while nmd was stopped has the exit reason signaled" \
    "$(field_of "$killed_alone" '"\(.exit_code) \(.exit_reason)"')" "137 signaled"
check "nmd thaws a frozen scope that is not in the journal" wait_until 20 grep -qx 'frozen 0' "$orphan/cgroup.events"
is "nmd does not kill a scope that is not in the journal" "$(field "$orphan/cgroup.events" populated)" 1
like "status reports a scope that is not in the journal" "$(nmctl status | tr -s ' \n' ' ')" 'not in the journal'
systemctl kill -s KILL nm-container_1_000001.scope

# Only a live container that can be thawed can be resumed.
check "a paused container can be resumed at the end" nmctl resume guest1
check "the resumed container is running at the end" wait_until 20 in_state "$(awk '$2 == "guest1" { print $1 }' /tmp/before)" RUNNING
done_testing
