# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # the script that sources this file sets `dir`
#
# Runs the commands of documents exactly as the documents show them, for the suites that commands.py names:
#
#   documents=DIRECTORY; docs_commands=commands.py's path; play RUNNER DOCUMENT...; all_are_played RUNNER
#
# Without the documents, docs_commands is a file NAME.json with the output of commands.py for all documents.
#
# The commands of a document run one after the other in one shell, so that later commands have the variables of earlier ones.
# Each command is a test: it must succeed. If the document shows its output, the command must print this output, except for
# numbers and ids. A suite may define before_command and after_command, which get the command in $command.

# Replaces numbers, sizes, times and ids, which differ between machines.
any_numbers() {
    sed -E 's/container_[0-9_]+/ID/g; s/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}/WHEN/g; s/[[:space:]]+/ /g
        s/[0-9]+(\.[0-9]+)? ?(([KMGT]iB|B|ms|us|s|min|h|%)\b)?/N/g'
}

# Checks that each shown line was printed, in this order. "..." matches any number of lines.
shows() { # SHOWN PRINTED: compares two files, and prints the first missing line
    any_numbers <"$2" | awk -v shown="$(any_numbers <"$1" | grep -v '^ *\.\.\. *$')" '
        BEGIN { n = split(shown, want, "\n"); at = 1 }
        at <= n && $0 == want[at] { at++ }
        END { if (at <= n) { print want[at]; exit 1 } }'
}

commands_of() { # RUNNER DOCUMENT...: prints the commands as JSON, one per line
    local runner=$1
    shift
    if [[ $docs_commands == *.json ]]; then
        cat "$docs_commands"
    else
        (cd "$documents" && /usr/bin/python3 -B "$docs_commands" "$@")
    fi | jq -c --arg runner "$runner" \
        --args 'select(.runner == $runner and ($ARGS.positional == [] or (.file | IN($ARGS.positional[]))))' "$@"
}

all_commands_of() { # RUNNER
    local names=()
    [[ $docs_commands == *.json ]] || mapfile -t names < <(cd "$documents" && printf '%s\n' README.md docs/*.md docs/decisions/*.md)
    commands_of "$1" "${names[@]}"
}

played=()
all_are_played() { # RUNNER: checks that all documents with commands of this runner were played
    is "all documents with commands of the runner $1 were played" "$(printf '%s\n' "${played[@]}" | sort -u)" \
        "$(all_commands_of "$1" | jq -r .file | sort -u)"
}

play() { # RUNNER DOCUMENT...
    local runner=$1 document n=0 i command status missing count
    shift
    for document in "$@"; do
        played+=("$document")
        commands_of "$runner" "$document" >"$dir/commands.json"
        count=$(wc -l <"$dir/commands.json")
        for ((i = 1; i <= count; i++)); do
            n=$((n + 1))
            command=$(sed -n "${i}p" "$dir/commands.json" | jq -r .command)
            sed -n "${i}p" "$dir/commands.json" | jq -r '.output[]' >"$dir/shown"
            ! declare -F before_command >/dev/null || before_command
            status=0
            # shellcheck disable=SC2294 # each line of a document is one command
            eval "$command" >"$dir/printed" 2>"$dir/printed.err" </dev/null || status=$?
            is "$document: $command" "$status" 0 || diag "$(tail -n 20 "$dir/printed" "$dir/printed.err")"
            if [ -s "$dir/shown" ]; then
                missing=$(shows "$dir/shown" "$dir/printed")
                is "$document: the command prints the output that the document shows" "$missing" "" || diag "$(tail -n 30 "$dir/printed")"
            fi
            ! declare -F after_command >/dev/null || after_command
        done
    done
    at_least "at least one command of the runner $runner was run" "$n" 1
}
