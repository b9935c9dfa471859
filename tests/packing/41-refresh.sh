#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: others
#
# Queues that an administrator adds with rmadmin -refreshQueues while the ResourceManager runs.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

own=multi-node-sorting.policy
one=("$pack_policy.pack.high-threshold=80" "$pack_policy=" "$cs.root.default.$own=pack")
need 'the ResourceManager starts with one queue, whose policy is set for this queue' rm_start "${one[@]}"
need 'ten light nodes register' cluster_start 10 10240:10
two=("${one[@]}" "$cs.root.queues=default,new" "$cs.root.default.capacity=50" "$cs.root.new.capacity=50"
    "$cs.root.new.maximum-capacity=100" "$cs.root.new.user-limit-factor=100")
rm_configure "${two[@]}"
check 'a queue without a policy can be added' rm_admin -refreshQueues
wait_until 30 grep -q 'Queue root.new has no valid policy' "$rm_log"
like 'the log of the ResourceManager reports the queue without a policy' \
    "$(grep -F 'Queue root.new has no valid policy' "$rm_log")" "ERROR.*Set $pack_policy"
check '20 containers of the queue without a policy are placed' ask_and_settle 20 queue=new
is 'these 20 containers are packed' "$(containers_per_node)" '8 8 4 0 0 0 0 0 0 0'
check 'all containers of this queue can be released' release_all queue=new
rm_configure "${two[@]}" "$pack_policy=pack" "$cs.root.queues=default,new,third" "$cs.root.new.capacity=25" \
    "$cs.root.third.capacity=25" "$cs.root.third.maximum-capacity=100" "$cs.root.third.user-limit-factor=100"
check 'a third queue can be added together with a policy for all queues' rm_admin -refreshQueues
check '20 containers of the third queue are placed' ask_and_settle 20 queue=third
is 'the containers of the third queue are packed' "$(containers_per_node)" '8 8 4 0 0 0 0 0 0 0'
is 'the log does not report the third queue' "$(grep -c 'Queue root.third has no valid policy' "$rm_log")" 0
done_testing
