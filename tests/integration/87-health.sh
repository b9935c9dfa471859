#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
# beside: others
#
# An unhealthy node admits no containers and reports the reason. Running containers continue. When the node is healthy again, it
# admits containers. Tests the operator's health script (YARN's convention) and the free space of the file systems. Unkillable
# containers need a file system that hangs, so the suites of the VM test them.
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
script_is() { # LINE...: replaces the script atomically, because nmd might run a part of it
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

# ---- a faulty script must not make the nodes of a cluster unhealthy ----
nmd_start
check "nmd's log reports a missing health script" wait_until 10 logged 'health script .* does not make the node unhealthy'
is "a missing health script does not make the node unhealthy" "$(health)" "true "
script_is 'echo all is well; exit 3'
check "nmd's log reports a health script that fails without printing ERROR" \
    wait_until 10 logged 'exited with status 3 and printed no ERROR line'
is "a health script that fails without printing ERROR does not make the node unhealthy" "$(health)" "true "
script_is 'echo "there is no ERROR here"'
submit before --opportunistic -m 50M -c 0.1 -- sleep 300
is "/healthz responds with ok on a healthy node" "$(api GET /healthz; echo "$api_status $api_body")" "200 ok"
check "a healthy node admits containers" wait_until 5 in_state before RUNNING

# ---- a line that begins with ERROR ----
script_is 'echo fine so far' 'echo "ERROR: the array lost two disks"' 'echo more'
check "a line with ERROR makes the node unhealthy, and its text is the reason" wait_until 10 health_is 'false *the array lost two disks*'
like "nmctl status prints the health script's text" "$(nmctl status)" 'unhealthy.*
.*the array lost two disks'
is "/healthz responds with the health script's text" "$(api GET /healthz; echo "$api_status $api_body")" \
    "503 $(status_of .node.health_reason)"
is "the metric nm_node_healthy is 0 on an unhealthy node" "$(api GET /metrics; grep '^nm_node_healthy' <<<"$api_body")" "nm_node_healthy 0"
submit opp --opportunistic -m 50M -c 0.1 -- sleep 300
submit guar -m 50M -c 0.1 -- sleep 300
check "an unhealthy node admits no opportunistic container" wait_until 5 queue_reason_is opp unhealthy
check "an unhealthy node admits no guaranteed container" wait_until 5 queue_reason_is guar unhealthy
samples 5
is "the containers wait on an unhealthy node" "$(state_of opp) $(state_of guar)" "SCHEDULED SCHEDULED"
is "running containers keep running on an unhealthy node" "$(state_of before)" RUNNING
like "explain says that containers wait because the node is unhealthy" "$(nmctl explain opp)" 'unhealthy'
check "an event reports that the node became unhealthy" \
    grep -q 'unhealthy and admits no containers: .*the array lost two disks' <<<"$(nmctl events)"
check "a queued container can be killed on an unhealthy node" nmctl kill opp
script_is 'true'
check "the node is healthy again when the script prints no ERROR line" wait_until 10 health_is 'true '
check "the queued container starts when the node is healthy again" wait_until 5 in_state guar RUNNING

# nmd has a raised CPU priority. The processes that nmd starts have the default priority.
script_is "ps -o ni= -p \$\$ >$dir/nice.new; tr -d ' ' </proc/self/autogroup >>$dir/nice.new; mv $dir/nice.new $dir/nice"
check "the health script runs" wait_until 10 test -s "$dir/nice"
is "the health script has the default nice value" "$(head -n 1 "$dir/nice" | tr -d ' ')" 0
[ ! -e /proc/self/autogroup ] || like "the health script's session has the default priority" "$(tail -n 1 "$dir/nice")" 'nice0$'

# ---- a script that hangs ----
script_is "echo \$\$ >$dir/hung" 'sleep 300 & echo $! >>'"$dir/hung"'; wait'
check "a health script that does not end in time makes the node unhealthy" wait_until 10 health_is 'false *did not end in time*'
all_gone() { # the processes of the latest run have ended; the next run starts after the period
    local pid
    for pid in $hung; do ! kill -0 "$pid" 2>/dev/null || return 1; done
}
script_is 'true'
check "the node is healthy again when the script ends in time" wait_until 10 health_is 'true '
hung=$(cat "$dir/hung")
check "no process of the script that did not end is left" wait_until 5 all_gone

# ---- free space of file systems ----
free_share=$(df --output=avail,size "$dir/state" | awk 'NR == 2 { printf "%d", 100 * $1 / $2 }')
at_least "most of the file system is free at first" "$free_share" 50
fallocate -l 15500K "$dir/state/filler"
check "the node is unhealthy when a file system is too full" \
    wait_until 10 health_is "false only * of the file system of $dir/state are free, below the 5 % of disk-min-free"
submit late -m 50M -c 0.1 -- sleep 300
check "queued containers wait when a file system is too full" wait_until 5 queue_reason_is late unhealthy
rm "$dir/state/filler"
check "the queued container starts when the file system has space again" wait_until 10 in_state late RUNNING

# ---- health is checked before the first admission ----
script_is 'echo "ERROR not yet"'
wait_until 10 health_is 'false *'
submit waiting -m 50M -c 0.1 -- sleep 300
wait_until 5 queue_reason_is waiting unhealthy
nmd_stop
nmd_start
check "a restarted nmd runs the health script" wait_until 10 health_is 'false *not yet*'
is "a restarted nmd admits no container before the first result of the health script" "$(state_of waiting)" SCHEDULED
script_is 'true'
check "the queued container starts when the health script reports no error" wait_until 10 in_state waiting RUNNING
nmd_alive || not_ok "nmd still runs"
done_testing
