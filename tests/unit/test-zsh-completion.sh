#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests the zsh completions as a user sees them: an interactive zsh with its completion system runs on a pseudo-terminal, and receives
# a line and the Tab key. A function that replaces compadd prints the offered words.

command -v zsh >/dev/null || {
    echo "zsh is not installed: the zsh completions are not tested"
    exit 77
}
top=$(cd "${srcdir:-.}" && pwd)
PATH=${NMCTL_DIR:-$PWD/nmctl}:${NMSIM_DIR:-$PWD/sim}:$PATH
unset NMD_SOCKET
ZDOTDIR=$(mktemp -d)
export ZDOTDIR
trap 'rm -rf "$ZDOTDIR"' EXIT

cat >"$ZDOTDIR/.zshrc" <<END
PROMPT= RPROMPT=
fpath=($top/packaging/completion \$fpath)
autoload -U compinit
compinit -u -d "$ZDOTDIR/dump"
bindkey '^I' complete-word
END
cat >>"$ZDOTDIR/.zshrc" <<'END'
print_begin() { print -n '@begin@' }
print_end() { print -n '@end@'; exit }
compprefuncs=(print_begin)
comppostfuncs=(print_end)
compadd() {
    local -a hits
    # this call only queries the matches
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
        builtin compadd "$@"
        return
    fi
    builtin compadd -A hits "$@"
    builtin compadd "$@"
    (( $#hits )) && print -n -- "<${(j:><:)hits}>"
}
print -n '@ready@'
END
cat >"$ZDOTDIR/driver" <<'END'
zmodload zsh/zpty
failed=0
offer() { # LINE: prints the words that Tab offers at the end of LINE, sorted
    local out
    zpty shell zsh -i
    zpty -r -m shell out '*@ready@*'
    zpty -w -n shell "$1"$'\t'
    zpty -r -m shell out '*@end@*'
    zpty -d shell
    out=${${out##*@begin@}%%@end@*}
    print -r -- ${(uo)${(M)${(s:<:)out}:#*>*}%%>*}
}
check() { # EXPECTED LINE
    local got=$(offer "$2")
    [[ $got == "$1" ]] || { print -r "'$2': got '$got', not '$1'"; failed=1 }
}
check promote 'nmctl pro'
check 'events exec explain' 'nmctl e'
check '--memory --min-runtime' 'nmctl run --m'
check '--opportunistic' 'nmctl run -m 512M --opp'
check 'cpu' 'nmctl top --sort=c'
check 'cpu' 'nmctl top --sort c'
check 'root' 'nmctl run -u roo'
check '' 'nmctl nosuchverb '
check 'compare' 'nmsim com'
check 'adversarial bursty diurnal steady' 'nmsim generate '
check 'bursty' 'nmsim compare --generate b'
check '--case --config --containers --cpus' 'nmsim compare --c'
check '--output' 'nmsim generate --o'
check 'alpha=' 'nmsim compare --sweep a'
check '--min-nodes --min-per-label' 'nmscale --min'
check '' 'nmscale --idle-for '
exit $failed
END
zsh -f "$ZDOTDIR/driver"
