# bash completion for nmscale                                -*- shell-script -*-
# SPDX-License-Identifier: Apache-2.0

_nmscale()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local options='--rm --idle-for --min-nodes --min-per-label --at-most --ask-nodes --trust-rm --all --json --watch
        --interval --state --max-gap --http-timeout --apply --exclude-file --rmadmin --timeout --force-after --poll --readmit
        --help --version'

    COMPREPLY=()
    case $prev in
        -x | --exclude-file | --state)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
            ;;
        --rmadmin) mapfile -t COMPREPLY < <(compgen -c -- "$cur"); return ;;
        --readmit) mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur"); return ;;
        -r | --rm)
            compopt -o nospace
            mapfile -t COMPREPLY < <(compgen -W 'http:// https://' -- "$cur")
            return
            ;;
        -i | -m | --idle-for | --min-nodes | --min-per-label | --at-most | --interval | --max-gap | --http-timeout | \
            --timeout | --force-after | --poll) return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
}

complete -F _nmscale nmscale
