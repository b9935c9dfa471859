#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# Permissions of real users on the installed service, confinement of containers in scopes, rights that the unit keeps and their
# reasons, a thousand clients, a full cgroup tree, and a fork bomb.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

socket=/run/nmd/nmd.sock
mkdir -p /etc/systemd/system/nmd.socket.d
printf '[Socket]\nSocketMode=0666\n' >/etc/systemd/system/nmd.socket.d/suite.conf
at_exit 'rm -rf /etc/systemd/system/nmd.socket.d; systemctl daemon-reload'
systemctl daemon-reload
systemctl stop nmd.service nmd.socket
systemctl start nmd.socket
quick_nmd "[containers]" "pids-max = 40"
useradd -m -G nmd carol
usermod -aG games alice

# ---- the unit ----------------------------------------------------------------------------------------

systemd-analyze security --no-pager --json=short nmd.service >/tmp/security.json
cat >/tmp/reasons.py <<'PY'
import json, re, sys
lines = open("/lib/systemd/system/nmd.service").read().splitlines()
comments = " ".join(l for l in lines if l.startswith("#"))
explained = set()  # directives with a comment directly above them, or above their block
for before, line in zip(lines, lines[1:]):
    key = line.split("=")[0]
    if not line.startswith("#") and "=" in line and (before.startswith("#") or before.split("=")[0] in explained):
        explained.add(key)
n = 0
for item in json.load(open("/tmp/security.json")):
    if item["exposure"] in (None, "0.0"):
        continue
    n += 1
    keys, _, value = item["name"].partition("=")
    if "~@" in value:
        good = value in comments
    else:
        good = any(k in explained or k + "=" in comments for k in re.findall(r"\w+", keys + " " + value) if k != "")
    if not good:
        print("no reason is given for", item["name"], item["description"])
print(n, "exceptions")
PY
like "each right that the unit keeps has a comment with the reason" "$(python3 /tmp/reasons.py | paste -sd' ')" '^[1-9][0-9] exceptions$'

# ---- users ------------------------------------------------------------------------------------------------

ask() { # USER METHOD PATH [BODY]: prints the response and its status
    runuser -u "$1" -- curl -sS --max-time 60 --unix-socket $socket -X "$2" -w ' %{http_code}' \
        ${4+-H 'Content-Type: application/json' --data-binary "$4"} "http://nmd$3"
}
answers() { # NAME WANTED USER METHOD PATH [BODY]
    local name=$1 wanted=$2
    shift 2
    like "$name" "$(ask "$@" | tr -d '\n')" "$wanted"
}
c=/v1/containers
job='"memory_bytes":16777216,"vcores":0.01,"command":["sh","-c","echo secret; exec sleep 1000"]'
id=$(ask alice POST $c "{\"name\":\"hers\",$job}" | jq -r '.id' 2>/dev/null | head -n 1)
like "an ordinary user can run a container" "$id" '^container_'
check "the container of the ordinary user is running" wait_until 30 in_state "$id" RUNNING
is "the container's process runs as its user" "$(ps -o user= -p "$(field_of "$id" .pid)")" alice
is "the container's process has the groups of its user" "$(field "/proc/$(field_of "$id" .pid)/status" Groups: | wc -w) $(
    grep -c "^Groups:.*\b$(getent group games | cut -d: -f3)\b" "/proc/$(field_of "$id" .pid)/status")" "1 1"
answers "another user does not see the container in the list" '^\[\]' bob GET $c?all=true
for row in "GET $c/$id" "GET $c/$id/logs" "GET $c/$id/decisions" "GET $c/hers/wait" "POST $c/$id/pause" \
    "POST $c/$id/kill" "DELETE $c/hers" "POST $c/$id/promote"; do
    read -r method path <<<"$row"
    answers "another user gets not-found for $method ${path/$id/ID}" 'not-found.*There is no container.* 404$' bob "$method" "$path"
done
answers "another user can't drain the node" 'forbidden.* 403$' bob POST /v1/drain
answers "another user can't run a container as alice" 'run containers as yourself only.* 403$' bob POST $c "{\"user\":\"alice\",$job}"
answers "another user can't run a container as root" 'run containers as yourself only.* 403$' bob POST $c "{\"user\":\"root\",$job}"
answers "another user can't run a container with new privileges" 'forbidden.* 403$' bob POST $c "{\"allow_new_privs\":true,$job}"
answers "a member of the group nmd can't run a container as root" 'min-uid = 1000.* 403$' carol POST $c "{\"user\":\"root\",$job}"
answers "a member of the group nmd can't run a container as a system user, named by UID" \
    'min-uid = 1000.* 403$' carol POST $c "{\"user\":\"1\",$job}"
answers "a request of root without a user is refused" 'No user is named.*min-uid = 1000.* 400$' root POST $c "{$job}"
answers "a system user can't run containers" 'min-uid = 1000.* 403$' daemon POST $c "{$job}"
answers "a member of the group nmd sees the containers of all users" "\"id\":\"$id\".* 200$" carol GET $c
answers "the owner of a container can read its log" '^secret' alice GET "$c/$id/logs"
log=/var/lib/nmd/logs/$id/stdout
is "root owns the log and its directory, and no other user can read them" \
    "$(stat -c '%U %a' "$log" "${log%/*}" | paste -sd' ')" "root 600 root 700"

# ---- from inside ----------------------------------------------------------------------------------------------

relay() { # NAME LINES, of inside.py
    local line end=
    while IFS= read -r line; do
        case $line in
            'ok - '*) count=$((count + 1)) ;;
            'not ok - '*) not_ok "$1: ${line#not ok - }" ;;
            '1..0 the end') end=yes ;;
            *) diag "$line" ;;
        esac
    done <<<"$2"
    is "$1: the program that checks the confinement runs to its end" "$end" yes
}
runuser -u bob -- sleep 10000 &
wait_until 10 pgrep -u bob sleep
outside=$(pgrep -u bob sleep | head -n 1)
at_exit 'kill "$outside"'
inside() { # SCORE OPTION...: runs inside.py in containers of bob, while alice has other containers
    local score=$1
    shift
    timeout 100 nmctl run -u bob -m 64M -c 0.1 "$@" -- python3 -c "$(cat "$NMD_VM_DATA/inside.py")" \
        "nmd=$(unit_prop nmd.service MainPID)" "outside=$outside" "socket=$socket" "groups=$(id -G bob | tr ' ' ,)" cwd=/home/bob \
        "score=$score" resource=yes "cgroup=$cg" ${closed:+"reach=/var/lib/nmd/"} "reach=/var/lib/nmd/nmd.db" \
        "reach=/var/lib/nmd/logs/$id/" "reach=$log" "reach=/var/lib/nmd/containers/$id/record" 2>&1
}
count=0
chmod 755 /var/lib/nmd # the confinement must hold even with this mistake of an administrator
closed='' && relay "guaranteed" "$(inside 0)"
chmod 700 /var/lib/nmd
closed=yes && relay "opportunistic" "$(inside 1000 --opportunistic)"
at_least "at least 150 checks ran inside containers" "$count" 150

# ---- overload --------------------------------------------------------------------------------------------------

timeout 60 nmctl run -u bob -m 64M -c 0.1 -- python3 -c '
import os, sys, time
n = 0
try:
    while n < 100:
        if os.fork() == 0:
            time.sleep(1000)
        n += 1
except BlockingIOError:
    sys.exit(n)' && forks=0 || forks=$?
is "a fork bomb in a container is stopped at pids-max" "$((forks > 30 && forks < 40))" 1
check "the cgroup of the fork bomb is removed" wait_until 30 bash -c \
    '[ "$(find /sys/fs/cgroup/nm.slice -mindepth 1 -maxdepth 1 -type d | wc -l)" = 1 ]'

echo 1 >$cg/nm.slice/cgroup.max.descendants
out=$(timeout 60 nmctl run -m 16M -c 0.01 true 2>&1) && status=0 || status=$?
is "a container is not started when the cgroup tree is full" "$status" 125
diag "$out"
like "the error says that the cgroup tree is full" "$out" "cgroup tree is full"
is "the failed start leaves no cgroup" "$(nmctl list --json | jq length)" 1
echo max >$cg/nm.slice/cgroup.max.descendants
check "a container starts when the limit of the cgroup tree was raised" timeout 60 nmctl run -m 16M -c 0.01 true
is "the container that was running before keeps its process" "$(state_of "$id")" RUNNING

fds() { find "/proc/$(unit_prop nmd.service MainPID)/fd" -mindepth 1 | wc -l; }
before=$(fds)
answers=$(python3 "$NMD_VM_DATA/thousand.py" $socket 20 2>&1)
diag "$answers"
is "each of a thousand simultaneous clients gets a response" "$(jq -c '."GET 200", ."POST 201"' <<<"$answers" | paste -sd' ')" "980 20"
ended() { [ "$(nmctl list --all --json | jq '[.[] | select(.app == "thousand" and .exit_code == 0)] | length')" = 20 ]; }
check "all containers of these clients end" wait_until 60 ended
few() { [ "$(fds)" -le "$before" ]; }
check "nmd has no more open file descriptors than before" wait_until 30 few
nmctl kill --now --wait "$id" >/dev/null
done_testing
