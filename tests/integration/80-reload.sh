#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
#
# Reload of the configuration while containers run: a valid file applies at once and does not disturb containers. An invalid file is
# refused as a whole.
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
    is "$1: the containers keep running" "$(field_of a .pid) $(field_of b .pid) $(state_of a) $(state_of b)" \
        "$pids RUNNING RUNNING"
}
told() { status_is '[.node.over_allocation_threshold.memory, .node.preemption_threshold.cpu,
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
check "after SIGHUP all settings are in force" wait_until 5 told "0.5 0.9 3 200000 $((900 << 20)) app-fair smallest-first false"
same "after SIGHUP"
like "an event reports the reload" "$(nmctl events)" 'configuration reloaded'
now=$(status_of .counters.samples)
check "samples are taken in the new period" wait_until 5 status_is ".counters.samples > $((now + 3))" true

write <<END
[node]
memory = 1000M
[sampling]
period = 100ms
END
check "nmctl config --reload has the same effect" nmctl config --reload
check "a removed setting has its default again" told "0.8 0.95 500 100000 $((1000 << 20)) reverse-arrival fifo true"
same "after --reload"

# ---- bad files ----
good=$(cat "$nmd_conf")
bad() { # NAME WORDS; the file on stdin: refused with these words, nothing changes
    write
    try nmctl config --reload
    is "$1 is refused" "$status" 1
    like "$1: the error has the place and the reason" "$err" "$2"
    kill -HUP "$nmd_pid"
    try "$NMD" --config "$nmd_conf" --check-config
    is "$1: --check-config refuses the file too" "$status" 1
    like "$1: --check-config gives the same error" "$err" "$2"
    check "$1: the old settings stay in force" told "0.8 0.95 500 100000 $((1000 << 20)) reverse-arrival fifo true"
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
is "a capacity above the node's is refused" "$status" 1
like "the refusal has both amounts" "$err" '\[node\] memory = 2\.0 GiB.*1000 MiB'
same "after all that"
write <<<"$good"
check "a valid file is accepted afterwards" nmctl config --reload
mkdir -p "$nmd_conf.d"
printf '[queue]\nmax-length = 4\n' >"$nmd_conf.d/10-a.conf"
printf '[queue]\nmax-length = 5\n' >"$nmd_conf.d/20-b.conf"
nmctl config --reload >/dev/null
check "of several drop-ins the last one counts" status_is .queue.max_length 5
printf '[interface]\nsocket-mode = 0600\n' >"$nmd_conf.d/30-c.conf"
like "a setting that needs a restart is reported" "$(nmctl config --reload)" \
    '^configuration reloaded; a restart of nmd is needed for \[interface\] socket-mode$'
like "the log reports the setting that needs a restart" "$(nmctl events | tail -n 2)" 'restart.*socket-mode'
like "each further reload reports it until the restart" \
    "$(nmctl config --reload)" '; a restart of nmd is needed for \[interface\] socket-mode$'
like "status reports the setting that needs a restart" \
    "$(nmctl status)" 'restart .*a restart of nmd is needed for \[interface\] socket-mode'
rm "$nmd_conf.d/30-c.conf"
is "the report ends when the setting has its former value" "$(nmctl config --reload; status_of .node.needs_restart)" "configuration reloaded
null"
same "at the end"

# ---- a shorter queue --------------
for name in q1 q2 q3 q4 q5; do submit $name --opportunistic -m 950M -c 0.1 -- sleep 300; done
waiting() { nmctl list --json | jq -r '[.[] | select(.state == "SCHEDULED")] | sort_by(.queue_position) | map(.name) | join(" ")'; }
is "five containers wait, which is the limit" "$(waiting)" "q1 q2 q3 q4 q5"
printf '[queue]\nmax-length = 3\n' >"$nmd_conf.d/20-b.conf"
nmctl config --reload >/dev/null
check "a limit of three discards the newest two" wait_until 5 in_state q4 COMPLETED
is "no other container is discarded" "$(waiting)" "q1 q2 q3"
is "the discarded containers have the reason" "$(field_of q4 .exit_reason) $(field_of q5 .exit_reason)" "shed shed"
like "explain describes the reason in words" "$(nmctl explain q5)" 'limit of the queue was lowered'
try nmctl run --detach --opportunistic -m 950M -c 0.1 -- true
is "a fourth request is refused" "$status" 125
printf '[queue]\nmax-length = 2\n' >"$nmd_conf.d/20-b.conf"
nmd_stop
nmd_start
check "a limit that was lowered while nmd was stopped has the same effect" wait_until 5 in_state q3 COMPLETED
is "the remaining containers keep their order" "$(waiting)" "q1 q2"
is "no rule of the policy was broken" "$(grep -c 'a rule of the policy was violated' "$dir/nmd.log")" 0
same "after all this"
nmd_alive || not_ok "nmd still runs"
done_testing
