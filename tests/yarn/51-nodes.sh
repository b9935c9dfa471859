#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 600
#
# Several nodes: pi runs on two nodes of nmd and a Java NodeManager, with its files on HDFS, and on three nodes of nmd. Reducers
# on each kind of node fetch map outputs from the other kind. A node with a longer queue than others gives back its latest
# containers, and the job continues on other nodes. The ResourceManager's page shows the same figures of each node as nmctl
# status at the same time.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"

nodes_of() { # NAME KIND: prints the nodes on which maps (m) or reducers (r) of a job have left their logs
    local n job
    job=$(job_id "$1")
    for n in 1 2 3 4; do
        ! grep -qs "attempt_${job}_$2_" "$shared/node$n/logs"/*/"application_$job"/*/syslog || echo "node0$n"
    done | paste -sd ' '
}
# Prints a job's counters without the counters of attempts. A busy node gives opportunistic containers back, so that they have
# further attempts.
results() { counters "$1" | grep -Ev '^(Launched|Killed) map tasks='; } # NAME
pi_succeeds() { # NAME PERCENT
    local status=0
    pi "$1" "$2" 4 || status=$?
    is "$1: pi with $2 % of its maps opportunistic succeeds" "$status" 0 || job_trouble "$1"
    is "$1: pi has the same counters as on the Java NodeManager" "$(results "$1")" "$(results java)"
}
join() { # N
    nmd_node_start "$1" && wait_until 30 node_is "$1" RUNNING
}

job_deadline=180
need 'a cluster with HDFS can be configured' jobs_configure yarn.resourcemanager.nm-container-queuing.min-queue-length=2 \
    yarn.resourcemanager.nm-container-queuing.sorting-nodes-interval-ms=200
need 'a stock ResourceManager answers' rm_again
java_node_start 4
need "the host's memory can be simulated" node_proc_start 6000 8
need 'a Java NodeManager registers' wait_until 60 node_is 4 RUNNING
need 'pi runs on the Java NodeManager' pi java 0 4
like 'pi on the Java NodeManager prints its result' "$(counters java)" '^Estimated value of Pi is 3\.'

# ---- a mixed cluster ------------------------------------------------------------------------------

need 'one node of nmd joins' join 1
need 'a second node of nmd joins' join 2
pi_succeeds mixed 2 # two of four maps: MapReduce makes the first N of each hundred maps opportunistic
like 'pi has read its input files from HDFS' \
    "$(hdfs_rest "/staging%20area%20100%25/$job_user/.staging?op=GETFILESTATUS")" '"type":"DIRECTORY"'

# Eight maps and eight reducers whose requests fill the nodes, so that each node has maps and reducers.
mkdir "$shared/work/words"
seq 1 8000 | sed 's/.*/word & of many/' | split -l 1000 - "$shared/work/words/part."
job_begin words org.apache.hadoop.examples.ExampleDriver wordcount -Dmapreduce.job.reduces=8 \
    -Dmapreduce.map.memory.mb=640 -Dmapreduce.reduce.memory.mb=640 "file://$shared/work/words" "file://$shared/work/counted"
job_ends
is 'a job with a reducer on each node succeeds' "$?" 0 || job_trouble words
is 'all nodes have run maps of the job' "$(nodes_of words m)" 'node01 node02 node04'
is 'all nodes have run reducers of the job' "$(nodes_of words r)" 'node01 node02 node04'
is 'each word is counted' "$(grep -hE '^(of|many)' "$shared"/work/counted/part-* | sort | tr '\t\n' '  ')" 'many 8000 of 8000 '
# The logs of maps have a line at their end. The logs of reducers name the maps whose output they fetch.
logs_on() { cat "$shared/node$1/logs"/*/"application_$(job_id words)"/*/"$2"; } # N FILE
maps_on() { logs_on "$1" syslog | sed -nE "s/.*Task '(attempt_[0-9_]+_m_[0-9_]+)' done.*/\\1/p"; } # N
fetched_from() { # N: prints the nodes from which the reducers of node N have fetched
    local n
    for n in 1 2 4; do
        ! logs_on "$1" syslog.shuffle | grep -o 'about to shuffle output of map attempt_[0-9_m]*' |
            grep -qFf <(maps_on "$n") || echo "node0$n"
    done | paste -sd ' '
}
all='node01 node02 node04'
is 'the reducers on the Java NodeManager have fetched from all nodes' "$(fetched_from 4)" "$all"
is "the reducers on nodes of nmd have fetched from all nodes" "$(fetched_from 1), $(fetched_from 2)" "$all, $all"
like 'no fetch has failed' "$(counters words)" 'Failed Shuffles=0'

# ---- three nodes of nmd ---------------------------------------------------------------------------

java_node_stop 4
need 'a third node of nmd joins' join 3
need 'the Java NodeManager unregisters' wait_until 30 node_is 4 SHUTDOWN
pi_succeeds three 100

# ---- unequal queues -------------------------------------------------------------------------------

nmd_node_stop 2
nmd_node_stop 3
need 'the third node of nmd unregisters' wait_until 30 node_is 3 SHUTDOWN
need 'the second node of nmd unregisters' wait_until 30 node_is 2 SHUTDOWN
use_node 1
node_memory 5950 # so that no opportunistic container can start
pi_begin shed 100 8
queued_are() { use_node "$1"; [ "$(nmctl status --json | jq .queue.length)" = "$2" ]; } # N LENGTH
check 'all maps of a job are queued on one node' wait_until 90 queued_are 1 8

# Figures of a node from the ResourceManager's page, from its REST interface and from nmctl status. They are compared only if
# nmd's figures are the same before and after the comparison, so that all figures are of the same time.
page() { curl -s "$rm_web/cluster/nodes" | python3 "$(dirname "$0")/nodes-page.py" "$1"; } # N
rest() { rm_get nodes | jq -r --arg n "node0$1" '[.nodes.node[] | select(.nodeHostName == $n)] | last |
    "\(.numRunningOpportContainers) \(.usedMemoryOpportGB) \(.usedVirtualCoresOpport) \(.numQueuedContainers)"'; } # N
ours() { # N
    use_node "$1"
    nmctl status --json | jq -r '"\(.containers.opportunistic_running) \(.node.allocated.opportunistic |
        "\(.memory_bytes / 1073741824 | ceil) \(.vcores | ceil)") \(.queue.length)"'
}
agree() { # N PATTERN
    local before shown
    before=$(ours "$1")
    [[ $before =~ ^$2$ ]] || return
    shown="$(page "$1"), $(rest "$1")"
    [ "$(ours "$1")" = "$before" ] && [ "$shown" = "$before, $before" ]
}
agrees() { # WHAT N PATTERN
    check "$1: nmctl, the ResourceManager's page and its REST interface agree" wait_until 60 agree "$2" "$3" ||
        diag "ours: $(ours "$2"), page: $(page "$2"), REST: $(rest "$2")"
}
# N...: prints the number of shed containers on these nodes.
shed_of() { local n; for n; do use_node "$n"; nmctl list --all --json | jq -r '.[] | select(.exit_reason == "shed") | .id'; done | wc -l; }
agrees 'eight wait and none runs' 1 '0 [0-9]+ [0-9]+ 8'

# Prints the containers that node 1 has given back. It gives some back before the ResourceManager permits one node to queue all
# of them.
given_back() { use_node 1; nmctl list --all --json | jq -r --arg job "$(job_id shed)" \
    '.[] | select((.id | contains($job)) and .exit_reason == "shed") | .id' | sort; }
before=$(given_back)
queue=$(nmctl list --json | jq -r '[.[] | select(.queue_position)] | sort_by(.queue_position) | .[].id')
need 'the second node of nmd joins again' join 2
need 'the third node of nmd joins again' join 3
now_given_back() { comm -13 <(printf '%s\n' "$before") <(given_back); }
some_given_back() { [ -n "$(now_given_back)" ]; }
check 'the first node gives back maps, because the queues of the other nodes are shorter' wait_until 60 some_given_back
given=$(now_given_back)
is 'the first node gives back the latest maps in its queue' "$given" "$(tail -n "$(wc -l <<<"$given")" <<<"$queue" | sort)"
has_some() { use_node "$1"; [ "$(nmctl list --json | jq length)" -gt 0 ]; } # N
tried_elsewhere() { has_some 2 || has_some 3; }
check 'the maps that were given back run on another node' wait_until 60 tried_elsewhere
node_memory 0
agrees 'with memory to spare some run' 1 '[1-9]+ [1-9][0-9]* [1-9][0-9]* [0-9]+'
job_ends
is 'the job whose maps were given back succeeds' "$?" 0 || job_trouble shed
is 'each map that was given back has another attempt' \
    "$(counters shed | sed -n 's/^Killed map tasks=//p')" "$(shed_of 1 2 3)"
like 'the job whose maps were given back prints the result of pi' "$(counters shed)" '^Estimated value of Pi is 3\.'
like 'some maps of this job ran on another node' "$(nodes_of shed m)" 'node02|node03'
agrees 'no container is running or queued at the end' 1 '0 0 0 0'
done_testing
