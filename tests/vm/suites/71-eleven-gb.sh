#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
# host: yarn
#
# The 11 GB experiment with real memory limits (tests/yarn/55-eleven-gb compares nmd with a Java NodeManager). The node has 12
# units of 60 MiB. A is guaranteed, requests 10 units and uses 1. B requests 10 units, is refused as guaranteed, and runs as
# opportunistic until A uses its guaranteed memory. nmd has its default settings as a node of the cluster.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"
# shellcheck source=tests/vm/data/yarn.sh
. "$NMD_VM_DATA/yarn.sh"
# shellcheck source=tests/vm/data/grower.sh
. "$NMD_VM_DATA/grower.sh"
check "the ResourceManager and the application master on the host respond" wait_until 30 light apps

unit=60 # a multiple of the step in which grower.py grows
full=$((10 * unit - 20)) # ten units minus the memory of the interpreter
# The size at which A's growth reaches nmd's threshold of 95 %, with B's memory and two interpreters of about 8 MiB.
over=$((12 * unit * 95 / 100 - full - 16))
growers=/var/tmp/eleven
install -d -m 755 $growers
install -m 755 "$NMD_VM_DATA/grower.py" $growers/
at_exit "rm -rf $growers"
want() { echo "$2" >"$growers/$1.part" && mv "$growers/$1.part" "$growers/$1"; } # APP MIB: sets the memory that the process of APP must use
ten() { one_more "app=$1" mb=$((10 * unit)) "cmd=exec python3 $growers/grower.py $growers/$1" "${@:2}"; } # APP [KEY=VALUE]
# Waits for the log. The command opens it shortly after the container is reported as running.
log_of() { wait_until 30 has_log "$1"; find "$logs" -path "*/$1/stdout"; } # ID
has_log() { [ -n "$(find "$logs" -path "*/$1/stdout")" ]; }
# Prints the time in which at least one process of the container waited for memory, in microseconds.
waited_for() { sed -nE 's/^some .*total=([0-9]+)$/\1/p' "$cg/nm.slice/nm-$1.scope/memory.pressure"; } # ID

yarn_site $((12 * unit))
let_through
swapoff -a
at_exit 'swapon -a'
rm -f /etc/nmd/nmd.conf.d/80-quick.conf
conf "[yarn]" "enabled = yes" "conf-dir = /etc/hadoop/conf"
systemctl reset-failed nmd.service 2>/dev/null
systemctl restart nmd.service
check "the node joins the cluster" wait_until 60 status_is .upstream.state running || done_testing
has_its_size() { [ "$(rm_node .availMemoryMB)" = $((12 * unit)) ]; }
check "the ResourceManager has the node with its memory" wait_until 30 has_its_size

# ---- A alone ----------------------------------------------------------------------------------------

want a $unit
a=$(ten a)
check "the guaranteed container of A with ten units is running" wait_until 60 in_state "$a" RUNNING
loga=$(log_of "$a")
check "A uses one unit" wait_until 60 holds "$loga" $unit
want b $full
light ask app=b n=1 mb=$((10 * unit)) cmd=true >/dev/null
b_app=$(light apps | jq -r '.[] | select(.pending == 1) | .id')
pending_mib() { rm_get "apps/$b_app" | jq '.app.resourceInfo.resourceUsagesByPartition[0].pending.memory'; }
refused() { [ "$(pending_mib)" = $((10 * unit)) ] && [ -z "$(containers b 'select(.type == "GUARANTEED")')" ]; }
check "B requests a guaranteed container with ten units, and does not get it" wait_until 20 refused
# Only the second growth is measured, because the first access to the guest's memory is slow.
for turn in first second; do
    want a $full
    check "application A uses 10 units of memory without B ($turn time)" wait_until 60 holds "$loga" $full
    line=$(lines_of "$loga")
    [ $turn = first ] || check "A uses all its ten units without B" wait_until 60 worked_since "$loga" "$line" 5
    want a $unit
    check "A shrinks to one unit without B ($turn time)" wait_until 60 holds "$loga" $unit
done
read -r alone alone_own < <(last_growth "$loga")
rate=$(rate_since "$loga" "$line")
at_rest() { status_is ".node.used_or_reserved.memory_bytes < $((2 * unit << 20))" true; }
check "nmd reports that nine of A's ten units are unused" wait_until 60 at_rest
check "B still does not get a guaranteed container" refused

# ---- B as opportunistic -----------------------------------------------------------------------------

since=$(date +%s%3N)
b=$(ten b type=OPPORTUNISTIC)
check "B's container is running as opportunistic" wait_until 60 in_state "$b" RUNNING
b_waited=$(($(field_of "$b" .started_usec) / 1000 - since))
logb=$(log_of "$b")
check "B uses all ten units" wait_until 60 holds "$logb" $full
check "B does not get a guaranteed container while A uses one unit" refused
eleven_in_use() { [ "$(cat "$cg/nm.slice/memory.current")" -gt $((107 * unit / 10 << 20)) ]; }
check "eleven of the node's twelve units are in use" wait_until 20 eleven_in_use

# ---- A uses its guaranteed memory -----------------------------------------------------------------------

line=$(lines_of "$loga")
before=$(waited_for "$a")
want a $full
check "application A uses 10 units of memory while B is running" wait_until 60 holds "$loga" $full
check "B's container is killed" wait_until 30 in_state "$b" COMPLETED
waited=$((($(waited_for "$a") - before) / 1000))
read -r beside beside_own < <(last_growth "$loga")
crossed=$(held_at "$loga" $over "$line")
decided=$(($(decision_of "$b" kill .time_usec) / 1000)) gone=$(($(field_of "$b" .finished_usec) / 1000))
check "B's application master gets the end of the container" wait_until 20 ended "$b" b
like "B's application master is informed that the node ended the container, which is not a failure of B" \
    "$(ends "$b" b)" '^-108 .*ended by the node'
is "the decision record of the kill has the reason memory-over-beta" "$(decision_of "$b" kill .reason)" memory-over-beta
at_least "nmd decided at most 0.5 s after A's memory had crossed the threshold" $((crossed + 500)) "$decided"
is "the kernel's OOM killer has killed no process" "$(field $cg/nm.slice/memory.events oom_kill)" 0
at_least "A has waited for memory for at most 0.25 s" 250 "$waited"
at_least "A's growth took at most twice as long as without B plus 0.5 s, without the time that A waited for CPU" \
    $((2 * alone_own + 500)) "$beside_own"
line=$(lines_of "$loga")
check "A continues to work after its growth" wait_until 60 worked_since "$loga" "$line" 5
rate_after=$(rate_since "$loga" "$line")
at_least "A's work rate is at least two thirds of its rate before B was running" "$rate_after" $((rate * 2 / 3))
is "A's container is still running" "$(state_of "$a") $(ends "$a" a)" "RUNNING "
check "B still does not get a guaranteed container after the kill" refused
for app in a b; do light finish "app=$app" >/dev/null; done
check "A's container ends with its application" wait_until 60 in_state "$a" COMPLETED

limit_met=$(field $cg/nm.slice/memory.events max)
diag "a node of $((12 * unit)) MiB, where A is guaranteed $((10 * unit)) and uses $unit; then B requests $((10 * unit)):" "$(table_head)" \
    "$(table_nmd "$b_waited" $((decided - crossed)) $((gone - decided)) "$beside" "$alone")" \
    "A's pieces of work in a second: $rate before B, $rate_after after it" \
    "its growth without waiting for CPUs: $beside_own ms ($alone_own alone)" \
    "for memory it waited $waited ms; the slice met its limit $limit_met times"
done_testing
