#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
# beside: others
#
# Configurations that would place all containers on one node, or that contradict themselves: the ResourceManager exits with a
# message.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

# Starts a ResourceManager that must exit, and checks the policy's message in its log.
refused() { # NAME REGEX NAME=VALUE...
    local name=$1 regex=$2
    shift 2
    rm_log=$dir/rm-$tap_count.log
    rm_configure "$@"
    rm_launch
    wait_until 90 rm_gone_or_answers
    if rm_answers; then
        not_ok "$name: the ResourceManager does not start" 'it responds'
        rm_stop
        return
    fi
    end_process "$rm_pid"
    is "$name: the ResourceManager exits" "$?" 255
    rm_pid=''
    like "$name: the log of the ResourceManager gives the reason" \
        "$(grep -F "The ResourceManager can't start: " "$rm_log" | head -n 1)" "$regex"
}
one_node='would go to one node'
refused 'a queue without a policy' "queue root\.default $one_node.*Set $pack_policy to the name of a policy" "$pack_policy="
refused 'a queue whose parent has one' "queue root\.a\.b $one_node" "$pack_policy=" "$cs.root.queues=default,a" \
    "$cs.root.default.capacity=50" "$cs.root.a.capacity=50" "$cs.root.a.queues=b" "$cs.root.a.b.capacity=100" \
    "$cs.root.default.multi-node-sorting.policy=pack" "$cs.root.a.multi-node-sorting.policy=pack"
refused 'a policy that is not registered' "queue root\.default $one_node.*$pack_policy\.names.*Add it there" "$pack_policy.names="
refused 'a misspelt key' "pack\.treshold: unknown key" "$pack_policy.pack.treshold=80"
# packing/src/test has unit tests of further configurations.
# This shows why such configurations are refused: if one queue has no policy, Hadoop's own policy starts with this queue, and
# places all containers on one node.
rm_log=$dir/rm.log
need 'the ResourceManager starts with another policy instead of packing' rm_start "$pack_policy.names=default" "$pack_policy="
need 'ten light nodes register' cluster_start 10 10240:10
ask 20
check 'ten of 20 containers are never placed with this policy' settle 10
is 'all other containers are placed on one node with this policy' "$(containers_per_node)" '10 0 0 0 0 0 0 0 0 0'
done_testing
