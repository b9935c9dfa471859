#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
# beside: others
#
# Output of nmctl: other programs rely on the JSON of status and list, and the text for users has the same numbers.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[containers]
keep-ended = 2s
[queue]
backfill = 0s
END
nmd_start

# Prints the members of the wanted JSON that are missing from the JSON of nmctl, or that have another type there. A string
# "type|type" allows both types.
lacking() { # WANTED GOT
    jq -nr --argjson want "$1" --argjson got "$2" '
        def types: if type == "string" and test("^[a-z]+([|][a-z]+)*$") then split("|")
                   else [type] end;
        [$want | paths(scalars)] | .[] as $p
        | ($want | getpath($p) | types) as $t
        | ($got | try getpath($p) catch "absent" | type) as $g
        | select(($t | index($g)) == null)
        | "\($p | map(tostring) | join(".")) is \($g), wanted \($t | join(" or "))"'
}

# ---- status ----
contract='{"node":{"state":"string","backend":"string","capacity":{"memory_bytes":0,"vcores":0},
  "allocated":{"guaranteed":{"memory_bytes":0,"vcores":0},"opportunistic":{"memory_bytes":0,"vcores":0}},
  "utilization":{"memory":0.0,"cpu":0.0},"over_allocation_threshold":{"memory":0.8,"cpu":0.8},
  "preemption_threshold":{"memory":0.95,"cpu":0.95},
  "sample":{"age_usec":0,"period_usec":3000000,"cost_usec":0}},
 "containers":{"guaranteed_running":0,"opportunistic_running":0,"paused":0,"preparing":0,"queued":0,"completed":0},
 "queue":{"length":0,"max_length":500,"upstream_limit":"number|null"},
 "preemptions":{"paused":0,"resumed":0,"killed":0,"reclaimed_bytes":0,"running_reclaims":0},
 "upstream":"null"}'
s=$(nmctl status --json)
is "status --json has all documented members, with the right types" "$(lacking "$contract" "$s")" ""
values() { jq -c "[$1]" <<<"$s" | sed 's/\.0\([],]\)/\1/g'; }
is "an idle node reports its state, backend and upstream" \
    "$(values '.node.state, .node.backend, .upstream')" \
    '["running","direct",null]'
is "status --json has the configured capacity" "$(values '.node.capacity | .memory_bytes, .vcores')" \
    "[$((1000 << 20)),2]"
is "status --json has the default thresholds" \
    "$(values '.node | .over_allocation_threshold, .preemption_threshold | .memory, .cpu')" \
    '[0.8,0.8,0.95,0.95]'
is "status --json has the configured sampling period" "$(values .node.sample.period_usec)" '[100000]'
check "the last sample is at most a few periods old" wait_until 5 status_is '.node.sample.age_usec < 500000' true
is "status --json counts no containers on an idle node" "$(values '.containers[], .queue.length, .queue.max_length, .preemptions[]')" \
    '[0,0,0,0,0,0,0,500,0,0,0,0,0]'

hog busy -m 300M -c 1.5 --app shop -- 100
submit waits --opportunistic -m 870M -c 0.25 -- sleep 300
submit small --opportunistic -m 64M -c 0.125 -- sleep 300 # waits behind the container "waits"
check "the memory use of a container is measured" wait_until 10 uses busy 100
wait_until 10 settled busy
check "the memory use of the container is part of the node's utilization" wait_until 10 status_is \
    '.node.utilization.memory > 0.1 and .node.utilization.memory < 0.2' true
s=$(nmctl status --json)
is "status reports the allocation of guaranteed and of opportunistic containers" \
    "$(values '.node.allocated | .guaranteed, .opportunistic | .memory_bytes, .vcores')" \
    "[$((300 << 20)),1.5,0,0]"
is "status counts the running and the queued containers" \
    "$(values '.containers | .guaranteed_running, .opportunistic_running, .queued')" '[1,0,2]'
is "status reports the length of the queue and its limit" "$(values '.queue | .length, .max_length')" '[2,500]'
node_memory 180
check "memory used by processes outside the containers counts in the node's utilization" \
    wait_until 5 status_is '.node.utilization.memory == 0.18' true
node_cpu 1500
check "CPU time used by processes outside the containers counts in the node's utilization" wait_until 5 status_is \
    '.node.utilization.cpu > 0.74 and .node.utilization.cpu < 0.76' true
try nmctl status
like "the text of status names the node's state and backend" "$out" 'running, direct backend'
like "the text of status says which limits are not enforced, and why" "$out" 'memory limits: not enforced, because this cgroup2 mount'
like "the text of status has the memory utilization" "$out" 'memory .* 18 % of 1000 MiB: 180 MiB used'
like "the text of status has the used CPU in cores" "$out" 'CPU .* 75 % of 2\.00 cores: 1\.50 used'
like "the text of status has the requested CPU in vcores" "$out" 'allocated .* of 2\.00 vcores'
like "the text of status divides the use into containers and others" "$out" 'used by containers, .*used by others'
like "the text of status marks alpha and beta" "$out" 'α.*β'
like "the text of status has the length of the queue and its limit" "$out" '2 of 500'
node_cpu 0

# ---- list ----
row='{"id":"string","name":"string|null","app":"string|null","execution_type":"string","state":"string",
 "memory_bytes":0,"vcores":0,"memory_used_bytes":0,"cpu_used_millicores":0,"memory_peak_bytes":0,
 "pid":"number|null","submitted_usec":0,"started_usec":"number|null","finished_usec":"number|null",
 "exit_code":"number|null","exit_reason":"string|null"}'
l=$(nmctl list --json)
is "list --json is an array of the live containers, in order of arrival" "$(jq -c 'map(.name)' <<<"$l")" \
    '["busy","waits","small"]'
for i in 0 1 2; do
    is "list --json: element $i has all documented members" "$(lacking "$row" "$(jq ".[$i]" <<<"$l")")" ""
done
is "list --json: the members of a running container have the right values" \
    "$(jq -c '.[0] | [.execution_type, .state, .app, .memory_bytes, .vcores,
    .pid > 0, .started_usec >= .submitted_usec, .finished_usec, .exit_code, .exit_reason]' <<<"$l")" \
    "[\"GUARANTEED\",\"RUNNING\",\"shop\",$((300 << 20)),1.5,true,true,null,null,null]"
is "list --json: the members of the first queued container have the right values" \
    "$(jq -c '.[1] | [.execution_type, .state, .memory_used_bytes,
    .cpu_used_millicores, .pid, .started_usec, .queue_position, .hold]' <<<"$l")" \
    '["OPPORTUNISTIC","SCHEDULED",0,0,null,null,1,"would-exceed-beta"]'
is "list --json: the members of the second queued container have the right values" \
    "$(jq -c '.[2] | [.state, .queue_position, .hold]' <<<"$l")" \
    '["SCHEDULED",2,"behind-others"]'
now=$(date +%s%6N)
is "list --json: the submission time is in microseconds and from the last minute" \
    "$(jq ".[0].submitted_usec | . < $now and . > $now - 60000000" <<<"$l")" true
at_least "list --json: the peak of memory is at least the current use" "$(jq '.[0] | .memory_peak_bytes - .memory_used_bytes' <<<"$l")" 0
try nmctl list
like "the text of list has a line for each running container" "$out" 'busy +guaranteed +RUNNING'
like "the text of list has a line for each queued container" "$out" 'waits +opportunistic +QUEUED'
try nmctl list --json --socket "$NMD_SOCKET"
is "--socket has the same effect as NMD_SOCKET" "$(jq length <<<"$out")" 3
socket=$NMD_SOCKET
NMD_SOCKET=/nowhere try nmctl list --socket "$socket"
is "--socket overrides NMD_SOCKET" "$status" 0
NMD_SOCKET=/nowhere try nmctl list
is "the exit status is 3 when nmd can't be reached" "$status" 3
like "the error message names the socket that nmctl tried" "$err" '/nowhere'

node_memory 0
nmctl kill --now --wait waits small >/dev/null
check "list --all also shows ended containers" [ "$(nmctl list --all --json | jq -c '[.[].name] | sort')" = '["busy","small","waits"]' ]
is "list without --all shows no ended containers" "$(nmctl list --json | jq -c '[.[].name]')" '["busy"]'
is "list --json --all: the members of a container that was killed in the queue have the right values" \
    "$(jq -c '.[] | select(.name == "waits") |
    [.state, .exit_code, .exit_reason, .started_usec, .pid, .finished_usec > .submitted_usec]' \
    <<<"$(nmctl list --all --json)")" '["COMPLETED",null,"killed",null,null,true]'
try nmctl run --name over -m 16M -c 0.1 -- sh -c 'exit 7'
is "list --json --all: the members of a container that exited have the right values" \
    "$(field_of over '[.state, .exit_code, .exit_reason, .started_usec > 0,
    .finished_usec >= .started_usec] | tojson')" '["COMPLETED",7,"exited",true,true]'
is "status counts the ended containers" "$(status_of .containers.completed)" 3
is "the text of list shows the result of ended containers in its first columns" \
    "$(nmctl list --all | sed -nE 's/.* (over|waits) +(guaranteed|opportunistic) +([^ ]+ \([^)]*\)) .*/\1: \3/p')" \
    $'waits: Killed (on request)\nover: Failed (7)'
is "list --json has the state name of the text table beside the API's state" \
    "$(field_of over '[.state, .state_text] | tojson')" '["COMPLETED","Failed (7)"]'
is "list --state accepts the state names of the text table" \
    "$(nmctl list --state failed --json | jq -r '.[].name') $(nmctl list -q --state succeeded | wc -l)" "over 0"
try nmctl pause over
like "a refused pause reports the state as the text table names it" \
    "$err" 'over.* has ended \(Failed \(7\)\)|container_[0-9_]+ has ended \(Failed \(7\)\)'

# ---- the other verbs ----
try nmctl show busy
like "show prints the memory use and limit of the container" "$out" 'memory +10[0-9.]+ MiB of 300 MiB'
is "show --json prints the same object as list --json" "$(nmctl show --json busy | jq -c '[.name, .app]')" '["busy","shop"]'
try nmctl events
like "events prints the state changes of a container" "$out" 'busy\)  QUEUED -> RUNNING'
is "events --json prints one numbered object per line" "$(nmctl events --json | jq -s 'map(.number) | . == sort and length > 5')" true
last=$(nmctl events --json | tail -n 1 | jq .number)
nmctl events -f --after "$last" >"$dir/events" &
follower=$!
submit follow-me -m 16M -c 0.1 -- true
check "events -f prints new events" wait_until 10 grep -q 'follow-me).*ENDED: exited' "$dir/events"
kill "$follower"
wait "$follower" 2>/dev/null
is "explain NAME prints only the decisions about the container NAME" \
    "$(nmctl explain --json busy | jq -r '[.[].container_name] | unique[]')" busy
at_least "explain without a name prints the decisions of all containers" "$(nmctl explain --json --last 20 | jq length)" 3
is "top --json is an array" "$(nmctl top --json | jq -r 'type')" array
is "config --json has the value that is in effect" \
    "$(nmctl config --json | jq -r '.[] | select(.section == "node" and .key == "memory") | .value')" 1000M
is "config --json WORD prints the keys that contain the word" \
    "$(nmctl config --json warmup | jq -r 'map(.key) | sort | join(" ")')" "warmup warmup-samples"
is "config --json --changed prints only values that differ from the default" \
    "$(nmctl config --json --changed | jq 'map(.is_default) | any')" false
like "config --changed prints only values that differ from the default" "$(nmctl config --changed)" 'node\.memory +1000M'
is "version --json has the same version as the text of version" \
    "$(nmctl version --json | jq -r .version)" "$(nmctl version | awk '$1 == "nmd" { print $2 }')"

# ---- memory that no process has mapped ----
# 60 MiB in a memfd, and a full socket buffer. The kernel's memory controller counts them, but they are not in /proc.
submit hidden -m 200M -c 0.1 -- python3 -c '
import os, socket, time
f = os.memfd_create("hidden")
for _ in range(60):
    os.write(f, b"x" * (1 << 20))
s = socket.socketpair()
s[0].setblocking(False)
try:
    while True:
        s[0].send(b"x" * 4096)
except BlockingIOError:
    print("holds", flush=True)
time.sleep(1000)'
holds() { [ "$(nmctl logs hidden)" = holds ]; }
check "a container holds memory that is mapped by no process (memfd, socket buffer)" wait_until 20 holds
counted_or_reported() {
    [ "$(field_of hidden .memory_used_bytes)" -ge $((60 << 20)) ] ||
        status_is '[.node.notes[] | select(test("without the memory that only sockets, memfd and tmpfs hold"))] | length' 1
}
check "memory that is mapped by no process is counted, or status says that it is not counted" wait_until 5 counted_or_reported
nmctl kill --now --wait hidden >/dev/null

missing=
for verb in run status list show logs events explain top pause resume kill promote demote update \
    drain undrain close-breaker config version; do
    nmctl "$verb" --help | grep -qw "^nmctl $verb" || missing+=" $verb"
done
is "each verb has a --help" "$missing" ""

# ---- removal of ended containers ----
# nmd removes ended containers every 10 s.
check "ended containers are removed after keep-ended" wait_until 15 status_is .containers.completed 0
is "live containers are not removed after keep-ended" "$(nmctl list --all --json | jq -c '[.[].name]')" '["busy"]'
is "the removed containers leave no files behind" "$(find "$dir/state/containers" "$dir/state/logs" -mindepth 1 -maxdepth 1 | wc -l)" 2
nmd_alive || not_ok "nmd still runs"
done_testing
