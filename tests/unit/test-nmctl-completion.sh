#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Calls the bash completion of nmctl as bash does. Needs no nmd, because another test of nmctl covers the completion of containers.

set -u
PATH=${NMCTL_DIR:-$PWD/nmctl}:$PATH
# shellcheck source=packaging/completion/nmctl.bash
. "${srcdir:-.}/packaging/completion/nmctl.bash"
unset NMD_SOCKET
failed=0
compopt() { :; } # the builtin is only valid during a completion by bash

# check EXPECTED WORD...: checks that the completion of the last WORD offers EXPECTED
check() {
    local expected=$1 got
    shift
    COMP_WORDS=(nmctl "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _nmctl
    got="${COMPREPLY[*]}"
    if [[ $got != "$expected" ]]; then
        echo "nmctl $*: got '$got', not '$expected'"
        failed=1
    fi
}

check 'promote' pro
check 'exec events explain' e
check '--interactive' exec --i
check '--memory --min-runtime' run --m
check '--socket' --so
check '--opportunistic' run -m 512M --opp
check '' run -m ''
check 'cpu' top --sort c
check 'cpu' top --sort = c
check 'cpu memory time age name' top --sort =
check '--now --no-color' kill --no
check 'update undrain' help u
check '' --socket /nonexistent/nmd.sock kill ''
check '' nosuchverb ''
check '' list ''
check 'running' list --state run
check 'killing killed' list --state kil
check '--timeout' wait --ti
check '--filter' top --f
check '' --socket /nonexistent/nmd.sock config q
check 'root' run -u roo

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
mkdir "$directory/sub"
touch "$directory/subfile"
check "$directory/sub" run -d "$directory/s"
rm "$directory/subfile"; touch "$directory/other"
check "$directory/other" run cat "$directory/o"
for words in 'run bas' 'exec -t web bas' 'exec web -- bas'; do
    read -ra COMP_WORDS <<<"nmctl $words"
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _nmctl
    [[ " ${COMPREPLY[*]} " == *' bash '* ]] || { echo "nmctl $words: bash is not offered"; failed=1; }
done
exit $failed
