# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # much of it is for those who source it
#
# Library for suites with jobs whose application masters use a node's proxy: . "$(dirname "$0")/proxied.sh", instead of jobs.sh.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "${BASH_SOURCE[0]}")/jobs.sh"

jobs_fs=local # the file system has no effect on the proxy, and half of the maps get only the CPU time that other processes leave

proxy=yarn.nodemanager.amrmproxy
distributed=yarn.nodemanager.distributed-scheduling.enabled

# Starts pi with its application master on this node. The master sends requests to SCHEDULER, by default the node's proxy.
through=() # more options of these jobs
pi_begin_on() { # N NAME PERCENT MAPS [SCHEDULER]
    job_begin "$2" org.apache.hadoop.examples.ExampleDriver pi "-Dmapreduce.job.am.strict-locality=node0$1" \
        "-Dyarn.resourcemanager.scheduler.address=${5:-node0$1:8049}" "${through[@]}" \
        "-Dmapreduce.job.num-opportunistic-maps-percent=$3" "$4" 100
}
# Runs several jobs at the same time, one per line, and waits for the end of all of them.
jobs_succeed() { # "N NAME PERCENT MAPS [SCHEDULER]"...
    local line words pids=() status
    for line; do
        read -r -a words <<<"$line"
        pi_begin_on "${words[@]}"
        pids+=("$job_pid")
    done
    for line; do
        read -r -a words <<<"$line"
        status=0
        wait "${pids[0]}" || status=$?
        pids=("${pids[@]:1}")
        is "pi succeeds: master on node0${words[0]}, ${words[2]} % of ${words[3]} maps opportunistic (${words[1]})" "$status" 0 ||
            job_trouble "${words[1]}"
    done
    job_pid=''
}

# Prints the numbers of a job's containers on a node, from their log directories. Numbers that nodes assign count down from 2^40,
# and are printed without the epoch.
numbers_on() { # N NAME
    local log
    for log in $(logs_of "$1" "application_$(job_id "$2")"); do
        echo "${log##*_}"
    done | sort -u
}
numbers() { local n; for n in 1 2 3 4; do numbers_on "$n" "$1"; done | sort; } # NAME
placed_by_node() { "$1" "${@:2}" | grep '^10995'; }         # numbers|numbers_on ARG...
placed_by_rm() { "$1" "${@:2}" | grep -vc '^10995'; }       # numbers|numbers_on ARG...: prints their number
first_numbers() { seq $((1099511627776 - $1)) 1099511627775; } # N: prints the N numbers that a node assigns first: -1, -2 and so on
nodes_with() { # NAME: prints the nodes on which containers that were placed by a node have run
    local n
    for n in 1 2 3 4; do
        ! placed_by_node numbers_on "$n" "$1" >/dev/null || echo "node0$n"
    done | xargs
}
# Prints figures of the node's proxy since the start of nmd.
masters() { nmctl status --json | jq -cr ".upstream.masters | $1"; } # JQ-EXPRESSION
pipeline_of() { masters ".pipelines[] | select(.attempt_id | contains(\"$1\")) | ${2:-.attempt_id}"; } # ID [JQ-EXPRESSION]
# Prints the reasons for the placements of a job's containers. Containers of one heartbeat are placed together and have the same
# wait.
placements() { # NAME: prints an object for each placement by the current node
    local number
    for number in $(placed_by_node numbers "$1"); do
        curl -sS --unix-socket "$NMD_SOCKET" "http://nmd/v1/placements/container_$(job_id "$1")_01_$number"
    done | jq -sc .
}
heartbeats() { placements "$1" | jq 'map(.waited_usec) | unique | length'; } # NAME: in how many heartbeats
# Prints the same numbers for a running application, from nmctl's list.
own_numbers() { # ID: of an application or attempt, without its prefix
    nmctl list --all --json | jq -r --arg of "$1" '.[] | select(.id | contains($of)) | .id | sub(".*_"; "")' | sort |
        grep ^10995 | xargs
}

# ---- tokens ----

proxy_tokens() { python3 "$(dirname "$0")/proxy-tokens.py" "$@"; }
# Reports each line of the program's output as a test of the suite.
facts() { # FILE
    local name got wanted
    while IFS=$'\t' read -r name got wanted; do is "$name" "$got" "$wanted"; done <"$1"
}
# The proxy's keys are replaced periodically. Each new key has the next number.
key_now() { proxy_tokens keys "$dir/nmd1/state"; }
rolled() { [ "$(key_now)" -ge "$1" ]; } # NUMBER: for wait_until
