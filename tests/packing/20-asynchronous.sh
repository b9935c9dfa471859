#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# Asynchronous scheduling proposes several containers before it commits the first one, so that some nodes are filled above the
# threshold. Only a few nodes are affected, because the order of empty nodes does not change.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

async() { # THREADS
    need "the ResourceManager starts with $1 scheduling threads" rm_start "$pack_policy.pack.high-threshold=80" \
        "$cs.schedule-asynchronously.enable=true" "$cs.schedule-asynchronously.maximum-threads=$1"
    need 'ten light nodes register' cluster_start 10 10240:10
    check "$1 threads: the scheduler places 20 containers" ask_and_settle 20
    diag "$1 threads: $(containers_per_node)"
    at_least "$1 threads: seven nodes are empty" "$(empty_nodes)" 7
    empties=''
    for round in {1..8}; do
        churn "$round" || break
        empties+="$(empty_nodes) "
    done
    at_least "$1 threads: seven nodes stay empty in eight rounds of churn ($empties)" \
        "$(tr ' ' '\n' <<<"$empties" | sed '/^$/d' | sort -n | head -n 1)" 7
    check "$1 threads: the scheduler places 80 more containers" ask_and_settle 80
    is "$1 threads: all slots are used" "$(containers_per_node)" '10 10 10 10 10 10 10 10 10 10'
    cluster_stop
    rm_stop
}
async 1
async 8
done_testing
