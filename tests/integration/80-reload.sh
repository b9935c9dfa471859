#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
# beside: others
#
# Reload of the configuration while containers run: a valid file takes effect immediately and does not disturb containers. If
# any part of a file is invalid, the whole file is refused.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure </dev/null
write() { cat >"$nmd_conf"; }
write <<END
[node]
memory = 1000M
[sampling]
period = 100ms
END
nmd_start
submit a -m 100M -c 0.2 -- sleep 300
submit b --opportunistic -m 100M -c 0.2 -- sleep 300
wait_until 10 in_state b RUNNING
pids="$(field_of a .pid) $(field_of b .pid)"
same() { # WHAT
    is "$1: no container was stopped or restarted" "$(field_of a .pid) $(field_of b .pid) $(state_of a) $(state_of b)" \
        "$pids RUNNING RUNNING"
}
settings_are() { status_is '[.node.over_allocation_threshold.memory, .node.preemption_threshold.cpu,
    .queue.max_length, .node.sample.period_usec, .node.capacity.memory_bytes, .node.victim_order,
    .node.queue_order, .node.pause] | map(tostring) | join(" ")' "$1"; }

write <<END
[node]
memory = 900M
[over-allocation]
memory-threshold = 0.5
[preemption]
cpu-threshold = 0.9
victim-order = app-fair
pause = no
[queue]
max-length = 3
order = smallest-first
[sampling]
period = 200ms
END
kill -HUP "$nmd_pid"
check "SIGHUP applies all settings of the file" wait_until 5 settings_are "0.5 0.9 3 200000 $((900 << 20)) app-fair smallest-first false"
same "after SIGHUP"
like "an event reports that the configuration was reloaded" "$(nmctl events)" 'configuration reloaded'
now=$(status_of .counters.samples)
check "after the reload, samples are taken with the new period" wait_until 5 status_is ".counters.samples > $((now + 3))" true

write <<END
[node]
memory = 1000M
[sampling]
period = 100ms
END
check "nmctl config --reload succeeds" nmctl config --reload
check "a setting that was removed from the file has its default again after a reload" \
    settings_are "0.8 0.95 500 100000 $((1000 << 20)) reverse-arrival fifo true"
same "after --reload"

# ---- bad files ----
good=$(cat "$nmd_conf")
bad() { # NAME WORDS: a reload with the file from stdin is refused with these words, and changes no setting
    write
    try nmctl config --reload
    is "a reload is refused because of $1" "$status" 1
    like "$1: the error has the line and the reason" "$err" "$2"
    kill -HUP "$nmd_pid"
    try "$NMD" --config "$nmd_conf" --check-config
    is "$1: --check-config refuses the file too" "$status" 1
    like "$1: --check-config prints the same error" "$err" "$2"
    check "$1: the former settings stay in effect" settings_are "0.8 0.95 500 100000 $((1000 << 20)) reverse-arrival fifo true"
}
bad "an unknown key" 'nmd\.conf:4.*perriod.*period' <<END
[queue]
max-length = 3
[sampling]
perriod = 1s
END
bad "an unknown section" 'nmd\.conf:1.*qeue' <<END
[qeue]
max-length = 3
END
bad "a value out of range" 'nmd\.conf:2.*10ms.*100ms.*(60s|1min)' <<END
[sampling]
period = 10ms
END
bad "a value that is not a number" 'nmd\.conf:2.*max-length.*many' <<END
[queue]
max-length = many
END
bad "an alpha that is not below beta" '0\.96.*0\.95' <<END
[over-allocation]
memory-threshold = 0.96
END
bad "a file without sections" 'nmd\.conf:1' <<END
this is no configuration
END
write <<END
[node]
memory = 2000M
END
try nmctl config --reload
is "a reload with a capacity above the node's capacity is refused" "$status" 1
like "the refusal names the configured and the existing capacity" "$err" '\[node\] memory = 2\.0 GiB.*1000 MiB'
same "after all refused reloads"
write <<<"$good"
check "a valid file is accepted after the refused ones" nmctl config --reload
mkdir -p "$nmd_conf.d"
printf '[queue]\nmax-length = 4\n' >"$nmd_conf.d/10-a.conf"
printf '[queue]\nmax-length = 5\n' >"$nmd_conf.d/20-b.conf"
nmctl config --reload >/dev/null
check "the last drop-in overrides earlier drop-ins" status_is .queue.max_length 5
printf '[interface]\nsocket-mode = 0600\n' >"$nmd_conf.d/30-c.conf"
like "the reload names a changed setting that needs a restart" "$(nmctl config --reload)" \
    '^configuration reloaded; a restart of nmd is needed for \[interface\] socket-mode$'
like "nmd's events report the setting that needs a restart" "$(nmctl events | tail -n 2)" 'restart.*socket-mode'
like "each further reload names the setting until the restart" \
    "$(nmctl config --reload)" '; a restart of nmd is needed for \[interface\] socket-mode$'
like "status names the setting that needs a restart" \
    "$(nmctl status)" 'restart .*a restart of nmd is needed for \[interface\] socket-mode'
rm "$nmd_conf.d/30-c.conf"
is "the setting is not reported any more after it has its former value again" \
    "$(nmctl config --reload; status_of .node.needs_restart)" "configuration reloaded
null"
same "after changes of a setting that needs a restart"

# ---- a shorter queue --------------
for name in q1 q2 q3 q4 q5; do submit $name --opportunistic -m 950M -c 0.1 -- sleep 300; done
waiting() { nmctl list --json | jq -r '[.[] | select(.state == "SCHEDULED")] | sort_by(.queue_position) | map(.name) | join(" ")'; }
is "five containers fill the queue" "$(waiting)" "q1 q2 q3 q4 q5"
printf '[queue]\nmax-length = 3\n' >"$nmd_conf.d/20-b.conf"
nmctl config --reload >/dev/null
check "a reload with a queue limit of three discards the two newest queued containers" wait_until 5 in_state q4 COMPLETED
is "the other queued containers stay in the queue" "$(waiting)" "q1 q2 q3"
is "the discarded containers have the exit reason shed" "$(field_of q4 .exit_reason) $(field_of q5 .exit_reason)" "shed shed"
like "explain says that the limit of the queue was lowered" "$(nmctl explain q5)" 'limit of the queue was lowered'
try nmctl run --detach --opportunistic -m 950M -c 0.1 -- true
is "a fourth queued container is refused" "$status" 125
printf '[queue]\nmax-length = 2\n' >"$nmd_conf.d/20-b.conf"
nmd_stop
nmd_start
check "a queue limit that was lowered while nmd was stopped discards a container at the start" wait_until 5 in_state q3 COMPLETED
is "the remaining queued containers keep their order" "$(waiting)" "q1 q2"
is "no invariant of the policy was violated" "$(grep -c 'a rule of the policy was violated' "$dir/nmd.log")" 0
same "after all changes of the queue limit"
nmd_alive || not_ok "nmd still runs"
done_testing
