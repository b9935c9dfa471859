#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Calls nmsim's bash completion as bash does, and checks that nmsim accepts the offered words.

set -u
# shellcheck source=packaging/completion/nmsim.bash
. "${srcdir:-.}/packaging/completion/nmsim.bash"
nmsim=${NMSIM:-$PWD/sim/nmsim}
failed=0
compopt() { :; } # the builtin is only valid during a completion by bash

complete_words() { # WORD...: completes the last WORD
    COMP_WORDS=(nmsim "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _nmsim
}

check() { # EXPECTED WORD...: checks that the completion of the last WORD offers EXPECTED
    local expected=$1
    shift
    complete_words "$@"
    if [[ ${COMPREPLY[*]} != "$expected" ]]; then
        echo "nmsim $*: got '${COMPREPLY[*]}', not '$expected'"
        failed=1
    fi
}

check 'compare' com
check 'run compare generate' ''
check 'steady diurnal bursty adversarial' generate ''
check 'bursty' compare --generate b
check '--config --case --cpus --containers' compare --c
check '--json --jobs' run --j
check '--output' generate --o
check 'alpha=' compare --sweep a
check '' run --seed ''
# nmsim has each option that the completion offers.
for command in run compare generate; do
    complete_words "$command" --
    for option in "${COMPREPLY[@]}"; do
        "$nmsim" --help | grep -q -- "$option\\b" || { echo "$command $option: nmsim has no such option"; failed=1; }
    done
done
exit $failed
