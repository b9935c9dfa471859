#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 330
#
# Tez' OrderedWordCount, unmodified, on a node of ours: its tasks spill, their outputs have data and index in different local
# directories, and are fetched from nm-shuffle. Nothing of an application is removed here, so that it can be seen where its files were.
# shellcheck source=tests/yarn/jobs.sh
. "$(dirname "$0")/jobs.sh"
# shellcheck source=tests/yarn/tez/lib.sh
. "$(dirname "$0")/tez/lib.sh"

job_deadline=200 # a Tez client says nothing until its master has registered
need 'a cluster can be made' jobs_configure yarn.am.liveness-monitor.expiry-interval-ms=120000
need 'Tez is there' tez_find
tez_configure
need 'a stock ResourceManager answers' rm_again
need 'a machine to measure' node_proc_start 4000 4
own=$place/node1 node_mb=3072
need 'nmd starts' nmd_node_start 1 yarn.nodemanager.delete.debug-delay-sec=600
need 'it registers' wait_until 60 node_is 1 RUNNING

# Outputs of an application of which one directory has the data, and another one the index.
outputs_apart() { # ID: without its kind
    local data
    for data in "$own"/local/*/usercache/*/appcache/"application_$1"/output/*/file.out; do
        [ -e "$data" ] && [ ! -e "$data.index" ] && basename "$(dirname "$data")"
    done
}
some_apart() { [ -n "$(outputs_apart "$1")" ]; }

mkdir "$place/work/text"
for file in 1 2 3; do
    awk -v seed="$file" 'BEGIN { srand(seed); for (i = 0; i < 60000; i++) print "w" int(200 * rand()), "many" int(20000 * rand()) }' \
        >"$place/work/text/$file"
done
counted() { tr -s ' ' '\n' | sort | uniq -c | awk '{ print $2 "\t" $1 }' | sort; }
job_libs=$place/tez job_begin words org.apache.tez.examples.OrderedWordCount -counter -Dtez.grouping.split-count=3 \
    "file://$place/work/text" "file://$place/work/counted" 2
job_ends
is 'it succeeds' "$?" 0 || job_trouble words
is 'it counts the words' "$(cat "$place"/work/counted/part-* | sort | md5sum)" "$(cat "$place"/work/text/* | counted | md5sum)"
check 'and puts them into order' sort -n -c -k 2,2 "$place"/work/counted/part-*
counter() { sed -nE "s/.*[[:space:]]$1=([0-9]+).*/\1/p" "$dir/words.log" | tail -n 1; } # NAME
at_least 'the outputs came over the network' "$(counter SHUFFLE_BYTES)" 100000
is 'and none of them from the disk' "$(counter SHUFFLE_BYTES_DISK_DIRECT)" 0
is 'no fetch failed' "$(counter NUM_FAILED_SHUFFLE_INPUTS)" 0
tez_app() { sed -nE 's/.*Submitted application application_([0-9_]+).*/\1/p' "$dir/words.log" | head -n 1; }
check 'some outputs had their index on another disk' some_apart "$(tez_app)"
done_testing
