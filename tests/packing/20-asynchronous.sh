#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# Asynchronous scheduling proposes several containers before it commits the first one, so that some nodes are filled beyond the
# threshold. These are few, because the order of empty nodes does not change.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/lib.sh"

async() { # THREADS
    need "the ResourceManager starts with $1 scheduling threads" rm_start "$pack_policy.pack.high-threshold=80" \
        "$cs.schedule-asynchronously.enable=true" "$cs.schedule-asynchronously.maximum-threads=$1"
    need 'ten light nodes register' cluster_start 10 10240:10
    check "$1: 20 containers are placed" ask_and_settle 20
    diag "$1 threads: $(containers_per_node)"
    at_least "$1: seven nodes are empty" "$(empty_nodes)" 7
    empties=''
    for round in {1..8}; do
        churn "$round" || break
        empties+="$(empty_nodes) "
    done
    at_least "$1: seven nodes stay empty in eight rounds of churn ($empties)" \
        "$(tr ' ' '\n' <<<"$empties" | sed '/^$/d' | sort -n | head -n 1)" 7
    check "$1: 80 more are placed" ask_and_settle 80
    is "$1: all slots are used" "$(containers_per_node)" '10 10 10 10 10 10 10 10 10 10'
    cluster_stop
    rm_stop
}
async 1
async 8
done_testing
