# bash completion for nmsim                                  -*- shell-script -*-
# SPDX-License-Identifier: Apache-2.0

_nmsim()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} word command=''
    local kinds='steady diurnal bursty adversarial' made_up='--seed --hours --memory --cpus --containers'

    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
            run | compare | generate) command=$word; break ;;
        esac
    done
    case $prev in
        -g | --generate) mapfile -t COMPREPLY < <(compgen -W "$kinds" -- "$cur"); return ;;
        -c | --config | -p | --plot | -o | --output)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
            ;;
        -s | --set | --sweep)
            compopt -o nospace
            mapfile -t COMPREPLY < <(compgen -W 'alpha= beta= victims=' -- "$cur")
            return
            ;;
        --case | --interference | --seed | --hours | --memory | --cpus | --containers) return ;;
    esac
    case $command:$cur in
        :-*) word='--help --version' ;;
        :*) word='run compare generate' ;;
        run:-*) word="--generate --config --set --plot --json --jobs --interference $made_up" ;;
        compare:-*) word="--generate --config --set --case --sweep --plot --json --interference $made_up" ;;
        generate:-*) word="--output $made_up" ;;
        generate:*) word=$kinds ;;
        *) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$word" -- "$cur")
}

complete -F _nmsim nmsim
