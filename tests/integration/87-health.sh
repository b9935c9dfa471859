#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
#
# An unhealthy node admits no containers and reports the reason. Running containers continue, and a healthy node admits containers
# again. Tests the operator's script (YARN's convention) and the space of the file systems. Unkillable containers need a file system that
# hangs, and are tested by the suites of the VM.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
script=$dir/health
nmd_configure <<END
[node]
memory = 1000M
[health]
script = $script
period = 1s
timeout = 1s
END
script_is() { # LINE...: in place at once, or nmd might run half of it
    printf '%s\n' '#!/bin/sh' "$@" >"$script.new"
    chmod 755 "$script.new"
    mv "$script.new" "$script"
}
health() { status_of '"\(.node.healthy) \(.node.health_reason // "")"'; }
# shellcheck disable=SC2053 # a pattern is what is meant
health_is() { [[ $(health) == $1 ]]; } # PATTERN: for wait_until

mkdir -p "$dir/state"
mount -t tmpfs -o size=16M,mode=0755 nmdtest "$dir/state" ||
    skip_all "no tmpfs can be mounted here"
at_exit 'umount -l "$dir/state"'

# ---- a broken script must not stop a cluster ----
nmd_start
check "a missing script is reported" wait_until 10 logged 'health script .* this result is ignored, and the node stays healthy'
is "a missing script does not make the node unhealthy" "$(health)" "true "
script_is 'echo all is well; exit 3'
check "a script that fails without printing ERROR is reported" wait_until 10 logged 'exited with status 3 and printed no ERROR line'
is "a script that fails without printing ERROR does not make the node unhealthy" "$(health)" "true "
script_is 'echo "there is no ERROR here"'
submit before --opportunistic -m 50M -c 0.1 -- sleep 300
is "/healthz answers" "$(api GET /healthz; echo "$api_status $api_body")" "200 ok"
check "a healthy node admits" wait_until 5 in_state before RUNNING

# ---- a line that begins with ERROR ----
script_is 'echo fine so far' 'echo "ERROR: the array lost two disks"' 'echo more'
check "ERROR makes the node unhealthy, with the script's text as the reason" wait_until 10 health_is 'false *the array lost two disks*'
like "nmctl status has the reason" "$(nmctl status)" 'unhealthy.*
.*the array lost two disks'
is "/healthz has the reason" "$(api GET /healthz; echo "$api_status $api_body")" \
    "503 $(status_of .node.health_reason)"
is "the metrics report the unhealthy node" "$(api GET /metrics; grep '^nm_node_healthy' <<<"$api_body")" "nm_node_healthy 0"
submit opp --opportunistic -m 50M -c 0.1 -- sleep 300
submit guar -m 50M -c 0.1 -- sleep 300
check "an unhealthy node admits no opportunistic container" wait_until 5 hold_is opp unhealthy
check "an unhealthy node admits no guaranteed container" wait_until 5 hold_is guar unhealthy
samples 5
is "both containers wait" "$(state_of opp) $(state_of guar)" "SCHEDULED SCHEDULED"
is "running containers keep running" "$(state_of before)" RUNNING
like "explain gives the reason" "$(nmctl explain opp)" 'unhealthy'
check "an event reports the unhealthy node" grep -q 'unhealthy and admits no containers: .*the array lost two disks' <<<"$(nmctl events)"
check "a queued container can be cancelled" nmctl kill opp
script_is 'true'
check "the node is healthy when the script prints no ERROR" wait_until 10 health_is 'true '
check "the queued container starts on the healthy node" wait_until 5 in_state guar RUNNING

# nmd has a raised priority, and the processes that it starts do not.
script_is "ps -o ni= -p \$\$ >$dir/nice.new; tr -d ' ' </proc/self/autogroup >>$dir/nice.new; mv $dir/nice.new $dir/nice"
check "a script runs" wait_until 10 test -s "$dir/nice"
is "the script has the default priority" "$(head -n 1 "$dir/nice" | tr -d ' ')" 0
[ ! -e /proc/self/autogroup ] || like "the session of the script has the default priority" "$(tail -n 1 "$dir/nice")" 'nice0$'

# ---- a script that hangs ----
script_is "echo \$\$ >$dir/hung" 'sleep 300 & echo $! >>'"$dir/hung"'; wait'
check "a script that hangs makes the node unhealthy" wait_until 10 health_is 'false *did not end in time*'
all_gone() { # of the newest run; the next one begins within the period
    local pid
    for pid in $hung; do ! kill -0 "$pid" 2>/dev/null || return 1; done
}
script_is 'true'
check "the node is healthy when the script no longer hangs" wait_until 10 health_is 'true '
hung=$(cat "$dir/hung")
check "no process of the script or its children is left" wait_until 5 all_gone

# ---- space ----
free_share=$(df --output=avail,size "$dir/state" | awk 'NR == 2 { printf "%d", 100 * $1 / $2 }')
at_least "the file system is nearly empty" "$free_share" 50
fallocate -l 15500K "$dir/state/filler"
check "a file system that is too full makes the node unhealthy" \
    wait_until 10 health_is "false only * of the file system of $dir/state are free, below the 5 % of disk-min-free"
submit late -m 50M -c 0.1 -- sleep 300
check "a file system that is too full holds the queue" wait_until 5 hold_is late unhealthy
rm "$dir/state/filler"
check "the queue continues when space is available" wait_until 10 in_state late RUNNING

# ---- health is checked before the first admission ----
script_is 'echo "ERROR not yet"'
wait_until 10 health_is 'false *'
submit waiting -m 50M -c 0.1 -- sleep 300
wait_until 5 hold_is waiting unhealthy
nmd_stop
nmd_start
check "a restarted nmd finds the same file system" wait_until 10 health_is 'false *not yet*'
is "the restarted nmd has started no container" "$(state_of waiting)" SCHEDULED
script_is 'true'
check "the queued container starts in the end" wait_until 10 in_state waiting RUNNING
nmd_alive || not_ok "nmd still runs"
done_testing
