#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: others
#
# Some of 50 containers end, some are paused and some are killed. Meanwhile nmd is killed with SIGKILL at random times.
# NMD_SEED=N repeats a run as far as times can be repeated. NMD_DEATHS=N sets how often nmd is killed.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

seed=${NMD_SEED:-$((SRANDOM % 100000))}
deaths=${NMD_DEATHS:-10}
diag "seed $seed"
node_proc_start
nmd_configure <<END_CONF
[node]
memory = 1000M
vcores = 10
[over-allocation]
enabled = no
[queue]
max-length = 100
[preemption]
kill-grace = 500ms
END_CONF
runs=$dir/runs
mkdir -p "$runs"
nmd_start

# 10 guaranteed containers keep running, 20 containers exit, 10 are to be paused and 10 are to be killed. The guaranteed
# containers are started first, so that no other container must be killed to start them. Some of the other containers wait in
# the queue.
for i in {0..45..5} {1..4} {6..9} {11..14} {16..19} {21..24} {26..29} {31..34} {36..39} {41..44} {46..49}; do
    kind=(--opportunistic -m 40M -c 0.2)
    case $((i % 5)) in
        0) name=stay$i kind=(-m 10M -c 0.1) body='exec sleep 1000' ;;
        1 | 2) name=end$i body="sleep $((i % 4)).$i; exit $((i + 1))" ;;
        3) name=pause$i body='exec sleep 1000' ;;
        4) name=kill$i body='exec sleep 1000' ;;
    esac
    submit "$name" "${kind[@]}" -- sh -c "echo \$\$ >>$runs/$name; $body"
done

# Sends random requests. A request may fail while nmd is not running.
chaos() {
    local i n
    for ((n = 0; n < 400; n++)); do
        for i in 3 8 13 18 23 28 33 38 43 48; do
            case $((RANDOM % 3)) in
                0) nmctl pause "pause$i" ;;
                1) nmctl resume "pause$i" ;;
                2) [ $((n % 4)) != 3 ] || nmctl kill "kill$((i + 1))" ;;
            esac
            [ ! -e "$dir/enough" ] || return 0
        done
    done >/dev/null 2>&1
}
RANDOM=$seed
chaos &
chaos_pid=$!
at_exit 'touch "$dir/enough"'
pids() { nmctl list --json | jq -c '[.[] | select(.name | startswith("stay")) | [.name, .pid]] | sort'; }
all_stay() { [ "$(pids | jq '[.[] | select(.[1] != null)] | length')" = 10 ]; }
wait_until 20 all_stay
stayed=$(pids)

came_back=0
for ((death = 0; death < deaths; death++)); do
    sleep "0.$((RANDOM % 900 + 100))"
    nmd_kill
    nmd_start && came_back=$((came_back + 1))
done
is "nmd starts again after each of $deaths kills" "$came_back" "$deaths"
is "the guaranteed containers keep running through all kills of nmd" "$(pids)" "$stayed"

touch "$dir/enough"
wait "$chaos_pid"
# Frees resources for the queue until all containers of the kind that exits have exited.
all_ended() {
    nmctl list --all --json | jq -e '[.[] | select(.name | startswith("end")) | .state == "COMPLETED"] | all'
}
for ((i = 0; i < 50; i++)); do
    case $((i % 5)) in
        3) nmctl kill --now "pause$i" ;;
        4) nmctl kill --now "kill$i" ;;
    esac
done >/dev/null 2>&1
check "all containers whose commands exit have ended" wait_until 40 all_ended
kill_all
all=$(nmctl list --all --json)
is "all 50 containers are listed" "$(jq '[.[] | select(.state == "COMPLETED") | .name] | unique | length' <<<"$all")" 50
is "each container is listed once" "$(jq 'length' <<<"$all")" 50
is "each container has the exit status of its command" "$(jq -r '.[] | select(.name | startswith("end")) |
    select("\(.exit_code) \(.exit_reason)" != "\((.name[3:] | tonumber) + 1) exited") |
    "\(.name) \(.exit_code) \(.exit_reason)"' <<<"$all")" ""
is "only containers that were killed have the exit reason killed" "$(jq -r '.[] | select(.name | startswith("end") | not) |
    select(.exit_reason != "killed") | "\(.name) \(.exit_code) \(.exit_reason)"' <<<"$all")" ""
twice=$(grep -c . "$runs"/* | grep -v ':1$')
is "no container ran twice" "$twice" ""
never=$(jq -r '.[] | select(.name | startswith("end")) | .name' <<<"$all" |
    while read -r name; do [ -e "$runs/$name" ] || echo "$name"; done)
is "each container whose command exits has run" "$never" ""
is "each decision record has an outcome" "$(nmctl explain --json --last 5000 | jq -r '.[] | select(.outcome == "pending") |
    "\(.number) \(.kind) \(.container_id)"')" ""
is "no cgroup is left in the slice" "$(find "$(slice_dir)" -mindepth 1 -type d)" ""

# ---- decisions and events that were shown ----
# The test has over-allocation and pressure. Readers record all decisions and events that nmd sends to them.
nmd_stop
rm -rf "$dir/state" "$dir/enough"
nmd_configure <<END_CONF
[node]
memory = 1000M
vcores = 10
[queue]
max-length = 20
[preemption]
kill-grace = 50ms
cpu-samples = 2
END_CONF
mkdir -p "$dir/state"
try timeout 60 /usr/bin/python3 "$here/durable-reads.py" "$NMD_SOCKET" "$node_proc" "$seed" 9 "$NMD" --config "$nmd_conf" \
    --socket "$NMD_SOCKET" --state-dir "$dir/state" --runtime-dir "$dir/run" --slice "$slice" --backend direct \
    --node-proc "$node_proc"
diag "$(tail -n 1 <<<"$out")"
is "decisions that were shown before nmd was killed are shown after its restart" "$(grep '^round ' <<<"$out")" ""
is "the random test has found no other violation" "$status $(tail -n 5 <<<"$err" | grep Error)" "0 "
like "nmd was killed at least twice, and containers were paused" "$(tail -n 1 <<<"$out")" "^rounds=([2-9]|[1-9][0-9]+) .* pause=[1-9]"
done_testing
