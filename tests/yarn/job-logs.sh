# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables that the sourcing suite sets and uses
#
# Compares what stock `yarn logs` prints with what the containers wrote, for suites that have sourced jobs.sh or core.sh. The local
# logs of all nodes are compared, so log aggregation must not remove them, unless the suite calls keep_logs.

job_logs_printer=$(realpath "$(dirname "${BASH_SOURCE[0]}")/printed-logs.py")
yarn_logs() { # USER APPLICATION-ID [OPTION...]
    hadoop_java org.apache.hadoop.yarn.client.cli.LogsCLI -applicationId "$2" -appOwner "$1" "${@:3}" 2>"$dir/client.log"
}
# Prints a line for each log: container, name, size and checksum. With TFile, each upload of a file is a piece of its own, and
# `yarn logs` prints the pieces in the order of the uploads.
printed() { # USER APPLICATION-ID
    yarn_logs "$1" "$2" >"$dir/printed" || { cat "$dir/client.log"; return 1; }
    python3 "$job_logs_printer" --joined <"$dir/printed" 2>&1 | LC_ALL=C sort
}
# Prints the same for the local logs of an application.
kept_in=''
local_logs() { # APPLICATION-ID
    local file
    find "$shared"/node?/logs/*${kept_in:+/$kept_in}/"$1"/container_* -type f | while read -r file; do
        printf '%s %s %s %s\n' "$(basename "$(dirname "$file")")" "$(basename "$file")" "$(stat -c %s "$file")" \
            "$(sha256sum <"$file" | cut -d ' ' -f 1)"
    done | LC_ALL=C sort
}
same_logs() { # WHAT USER APPLICATION-ID
    is "$1: yarn logs prints byte for byte what the containers wrote" \
        "$(diff <(printed "$2" "$3") <(local_logs "$3") && [ -n "$(local_logs "$3")" ] && echo same)" same
}
# Keeps a second link to each log file of a node's containers, so that local_logs finds the files after they have been removed.
keep_logs() { # N
    kept_in=kept
    while :; do
        for disk in "$shared/node$1"/logs/*; do
            mkdir -p "$disk/kept" && cp -rlf "$disk"/application_* "$disk/kept/" 2>/dev/null
        done
        sleep 0.2
    done &
    at_exit "end_process $!"
}

rm_status() { rm_get "apps/$1" | jq -r .app.logAggregationStatus; }  # APPLICATION-ID
status_is_now() { [ "$(rm_status "$1")" = "$2" ]; }                  # APPLICATION-ID STATUS: for wait_until
aggregated() { # WHAT APPLICATION-ID
    check "$1: the ResourceManager shows that log aggregation has succeeded" wait_until 60 status_is_now "$2" SUCCEEDED ||
        diag "the status is $(rm_status "$2")" "$(nmctl status --json | jq .upstream.logs)" "$(tail -qn 20 "$dir"/nmd?.log)"
}

# Prints the bytes of one log in the output of `yarn logs` for one log of one container.
cut_log() { sed -e '1,/^LogContents:$/d' -e '/^End of LogType:/,$d'; }
# Compares the log of a running container, to which lines are added all the time, with the beginning of its file.
same_beginning() { # WHAT USER APPLICATION-ID CONTAINER-ID LOG
    local file size
    file=$(existing "$shared/node?/logs/*/$3/$4/$5")
    yarn_logs "$2" "$3" -containerId "$4" -log_files "$5" >"$dir/printed"
    like "$1: the log is read from the node" "$(grep -m 1 LogAggregationType "$dir/printed")" LOCAL
    cut_log <"$dir/printed" >"$dir/log"
    size=$(stat -c %s "$dir/log")
    at_least "$1: the log has bytes" "$size" 1
    check "$1: yarn logs prints what the running container has written" cmp -n "$size" "$dir/log" "$file" ||
        diag "$(head -n 20 "$dir/printed")" "$(cat "$dir/client.log")"
}
