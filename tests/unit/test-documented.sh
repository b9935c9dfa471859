#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --help, the manuals and the completions must have the same options.

set -u
top=${srcdir:-.}
failed=0

# Prints a manual as plain text: \- becomes a dash, and fonts such as \fB are removed.
manual() { sed -E 's/\\-/-/g; s/\\f[A-Z]//g' "$top/packaging/$1"; }
# of_help() and of_manual() print long and short options, one per line. of_help() finds them in the first columns of --help.
# of_manual() finds them among all words of a manual.
of_help() { sed -nE 's/^ {2,6}(-[a-zA-Z], )?(--[a-z-]+).*/\1\n\2/p' | tr -d ', ' | grep -- - | sort -u; }
of_manual() { grep -v '^\.\\"' | grep -oE -- '(^|[^[:alnum:]-])--?[a-zA-Z][a-z-]*' | grep -oE -- '-.*' |
    grep -E -- '^(--.*|-.)$' | sort -u; }

same() { # WHAT WANTED GOT
    local difference
    difference=$(diff <(echo "$2") <(echo "$3") | sed -n 's/^</missing:/p; s/^>/too much:/p')
    [ -z "$difference" ] || { printf '%s:\n%s\n' "$1" "$difference"; failed=1; }
}
without() { grep -vxF -- "$1"; } # LINES

nmctl=${NMCTL_DIR:-$PWD/nmctl}/nmctl
everywhere=$("$nmctl" --help | of_help)
verbs=$("$nmctl" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$verbs")" -ge 18 ] || { echo "nmctl --help lists only: $verbs"; failed=1; }
for verb in $verbs; do
    # The verb's text extends to the next verb or section.
    section=$(manual nmctl.1 | awk -v verb="$verb" '
        /^\.(B|BR|BI) "?nmctl [a-z]/ { here = $0 ~ "nmctl " verb "( |\"|$)" }
        /^\.SH/ { here = 0 }
        here')
    [ -n "$section" ] || { echo "nmctl(1) has no $verb"; failed=1; continue; }
    [ "$verb" != help ] || continue # has no options
    helped=$("$nmctl" "$verb" --help | of_help)
    own=$(without "$everywhere" <<<"$helped")
    same "nmctl(1), $verb" "$own" "$(of_manual <<<"$section" | without "$everywhere")"
    same "completion of nmctl $verb" "$(grep -- '^--' <<<"$helped")" \
        "$("$nmctl" __complete -- "$verb" -- | cut -f1 | grep -- '^--' | sort -u)"
done
same "nmctl(1), options of every verb" "$everywhere" \
    "$(manual nmctl.1 | sed -n '/^\.SH OPTIONS/,/^\.SH RUNNING/p' | of_manual)"

# Prints only options of the section OPTIONS, because examples contain options of other commands, such as -d.
options_of() { # MANUAL
    manual "$1" | awk '/^\.SH/ { here = /OPTIONS/ } here && after { print; after = 0 } /^\.TP/ { after = 1 }' | of_manual
}
same "nmd(8)" "$("$PWD/nmd/nmd" --help | of_help)" "$(options_of nmd.8)"
nmsim=${NMSIM:-$PWD/sim/nmsim}
helped=$("$nmsim" --help | of_help)
same "nmsim(1)" "$helped" "$(options_of nmsim.1)"

nmscale=${NMSCALE:-$PWD/nmscale/nmscale}
takes=$("$nmscale" --help | of_help)
same "nmscale(1)" "$takes" "$(options_of nmscale.1)"
# shellcheck source=packaging/completion/nmscale.bash
. "$top/packaging/completion/nmscale.bash"
offer_options() {
    # shellcheck disable=SC2034 # read by _nmscale
    local -a COMP_WORDS=(nmscale --) COMP_CWORD=1
    _nmscale
    printf '%s\n' "${COMPREPLY[@]}" | sort -u
}
same "completion of nmscale (bash)" "$(grep -- '^--' <<<"$takes")" "$(offer_options)"
same "completion of nmscale (zsh)" "$(grep -- '^--' <<<"$takes")" \
    "$(grep -oE -- '--[a-z]+(-[a-z]+)*' "$top/packaging/completion/_nmscale" | sort -u)"

# nmsim's completions contain their own lists of options.
# shellcheck source=packaging/completion/nmsim.bash
. "$top/packaging/completion/nmsim.bash"
compopt() { :; }
offered=$(for command in '' run compare generate; do
    # shellcheck disable=SC2034 # read by _nmsim
    COMP_WORDS=(nmsim ${command:+"$command"} --)
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _nmsim
    printf '%s\n' "${COMPREPLY[@]}"
done | sort -u)
same "completion of nmsim (bash)" "$(grep -- '^--' <<<"$helped")" "$offered"
same "completion of nmsim (zsh)" "$(grep -- '^--' <<<"$helped")" \
    "$(grep -oE -- '--[a-z]+' "$top/packaging/completion/_nmsim" | sort -u)"

# If groff warns about a manual, the manual is displayed wrongly.
if command -v groff >/dev/null; then
    for page in nmctl.1 nmd.8 nmd.conf.5 nmsim.1 nmscale.1; do
        warnings=$(groff -man -Tutf8 -ww "$top/packaging/$page" 2>&1 >/dev/null)
        [ -z "$warnings" ] || { printf 'groff about %s:\n%s\n' "$page" "$warnings"; failed=1; }
    done
fi
exit $failed
