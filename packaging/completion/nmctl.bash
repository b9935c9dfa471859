# bash completion for nmctl                                  -*- shell-script -*-
# SPDX-License-Identifier: Apache-2.0
#
# nmctl itself knows the possible words ("nmctl __complete"). This function only passes them to the shell.

_nmctl()
{
    local line word join='' current=${COMP_WORDS[COMP_CWORD]} words=() candidates=()

    # readline has split "--sort=cpu" into three words. nmctl gets them as one word. Only the last of the three is replaced.
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ ($word == '=' || -n $join) && ${#words[@]} -gt 0 ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        [[ $word == '=' ]] && join=yes || join=''
    done
    [[ $current == '=' ]] && current=''

    while IFS= read -r line; do
        case $line in
            :file) compopt -o filenames; mapfile -t candidates < <(compgen -f -- "$current") ;;
            :dir) compopt -o filenames; mapfile -t candidates < <(compgen -d -- "$current") ;;
            :user) mapfile -t candidates < <(compgen -u -- "$current") ;;
            :command) mapfile -t candidates < <(compgen -c -- "$current") ;;
            *) candidates+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete -- "${words[@]}" 2>/dev/null)
    COMPREPLY=("${candidates[@]}")
}

complete -F _nmctl nmctl
