# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # who sources it has set `here`
#
# Runs the suites of a folder and prints their results as TAP. tests/integration/run and the run programs of other folders set
# `here` (their folder), define the functions below, source this file and call run_suites "$@".
#
#   prepare           prepares what the suites need; `build` is the directory of --build, or empty. Fails if no suite can run.
#   show_logs DIR     prints the important lines of the logs in DIR, the directory of a failed suite.
#
# A suite is a file NN-name.sh. Its time limit is in a line "# deadline: SECONDS". Without this line the limit is default_deadline.
# A suite that measures no time may have a line "# beside: others". The program that sources this file sets beside_lanes, the number
# of such suites that run beside the other suites. The other suites run one after the other. A suite that also waits for most of its
# time may have a line "# beside: all" instead. Of these, all_lanes further suites run beside all others. The environment of a suite has
# NMD_TEST_BUILD, NMD_TEST_NAME and NMD_TEST_DIR, which is an empty directory for this suite only. With NMD_TEST_DEADLINE in the
# environment of run, this is the time limit of each suite, in seconds. With NMD_TEST_ONCE=1, a failed suite does not run again.
set -uo pipefail

default_deadline=${default_deadline:-60}
beside_lanes=${beside_lanes:-1}
all_lanes=${all_lanes:-0}
build=''
suites_program=${here##*/} # the program's path below tests/, for messages
usage() { awk 'NR > 3 && !/^#/ { exit } NR > 3 { sub(/^# ?/, ""); print }' "$0"; }

chosen_suites() { # NAME...: prints each suite that begins with one of the names, or all suites
    local file name want
    for file in "$here"/[0-9]*.sh; do
        [ -e "$file" ] || continue
        name=$(basename "$file" .sh)
        [ $# -gt 0 ] || echo "$name"
        for want in "$@"; do
            want=$(basename "$want" .sh)
            [[ $name != "$want"* ]] || echo "$name"
        done
    done
}

says() { sed -n "s/^# $2: *\([0-9a-z]*\).*/\1/p" "$here/$1.sh" | head -n 1; } # SUITE WORD
deadline_of() { # SUITE
    local deadline
    deadline=${NMD_TEST_DEADLINE:-$(says "$1" deadline)}
    echo "${deadline:-$default_deadline}"
}

run_suite() { # NAME: runs a suite, and sets $status
    mkdir -m 700 "$work/$1" # a suite that runs jobs as another user calls make_shared_dir for their files
    NMD_TEST_BUILD=$build NMD_TEST_DIR=$work/$1 NMD_TEST_NAME=$1 \
        timeout -k 20 "$(deadline_of "$1")" bash "$here/$1.sh" \
        </dev/null >"$work/$1.tap" 2>"$work/$1.err" &
    running=$!
    status=0
    wait "$running" || status=$?
    running=
}
suite_is_bad() { [[ $status != 0 && $status != 77 ]] || grep -q '^not ok' "$work/$1.tap"; } # NAME

# Prints a suite's TAP lines without numbers. Adds a failed line if only the suite's exit status shows a failure.
report() { # NAME
    local line suite_failed=
    while IFS= read -r line; do
        case $line in
            'ok '* | 'not ok '*)
                [[ $line != not* ]] || suite_failed=1
                sed -E "s/^(not )?ok +[0-9]* *(- )?/\1ok - $1: /" <<<"$line"
                ;;
            '1..0'*) echo "ok - $1: the whole suite${line#1..0}" ;;
            '#'*) echo "$line" ;;
        esac
    done <"$work/$1.tap"
    case $status in
        0 | 77) ;;
        124 | 137) echo "not ok - $1: meets its deadline of $(deadline_of "$1") s"; suite_failed=1 ;;
        *) [ -n "$suite_failed" ] || echo "not ok - $1: exits with 0 (it was $status)"
            suite_failed=1 ;;
    esac
    [ -n "$suite_failed" ] || return 0
    tail -n 40 "$work/$1.err" | sed 's/^/# stderr: /'
    show_logs "$work/$1"
}

# Prints the CPU time of the children for which a process has waited, in seconds.
cpu_of_children() { # PID
    awk -v hz="$(getconf CLK_TCK)" '{ sub(/^.*\) /, ""); print int(($14 + $15) / hz) }' "/proc/$1/stat"
}

run_and_report() { # NAME
    local begun=$SECONDS lane=$BASHPID cpu status
    cpu=$(cpu_of_children "$lane")
    run_suite "$1"
    # Suites use real processes, so a busy host can disturb their measurements. A failed suite therefore runs a second time, and
    # this result counts. The first failure stays in the log.
    if suite_is_bad "$1" && [ -z "${NMD_TEST_ONCE:-}" ]; then
        echo "# $1 failed at its first try (status $status) with this output:"
        grep -A8 '^not ok' "$work/$1.tap" | sed 's/^/#   /'
        tail -n 10 "$work/$1.err" | sed 's/^/#   stderr: /'
        rm -rf "${work:?}/$1"
        run_suite "$1"
    fi
    report "$1"
    echo "# $1 used $(($(cpu_of_children "$lane") - cpu)) s of CPU time"
    echo "# $1 took $((SECONDS - begun)) s"
    rm -rf "${work:?}/$1"
}

# Takes the next suite off a list, and sets name. Fails if the list is empty.
take() { # LIST
    local rest lock
    exec {lock}>>"$work/$1.lock"
    flock "$lock"
    { read -r name; mapfile -t rest; } <"$work/$1"
    [ "${#rest[@]}" -eq 0 ] || printf '%s\n' "${rest[@]}" >"$work/$1.rest"
    [ "${#rest[@]}" -gt 0 ] || : >"$work/$1.rest"
    mv "$work/$1.rest" "$work/$1"
    exec {lock}>&-
    [ -n "$name" ]
}

# Runs the given suites, and then those of the lists, one list after the other, until no suite is left. Prints the name of each suite
# when its report is complete.
run_lane() { # LISTS NAME...
    local name list lists=$1 running=
    shift
    trap '[ -z "$running" ] || { kill -TERM "$running" 2>/dev/null; wait "$running" 2>/dev/null; }; exit 143' TERM
    for name in "$@"; do
        run_and_report "$name" >"$work/$name.report"
        echo "$name"
    done
    for list in $lists; do
        while take "$list"; do
            run_and_report "$name" >"$work/$name.report"
            echo "$name"
        done
    done
}

run_lanes() { # NAME...
    local name i pids=() main_lane=()
    : >"$work/others"
    : >"$work/all"
    for name in "$@"; do
        case $(says "$name" beside) in
            others) echo "$name" >>"$work/others" ;;
            all) echo "$name" >>"$work/all" ;;
            *) main_lane+=("$name") ;;
        esac
    done
    run_lane 'others all' "${main_lane[@]}" &
    pids=($!)
    for ((i = 0; i < beside_lanes; i++)); do
        run_lane 'others all' &
        pids+=($!)
    done
    for ((i = 0; i < all_lanes; i++)); do
        run_lane all &
        pids+=($!)
    done
    trap 'kill -TERM "${pids[@]}" 2>/dev/null; wait' TERM
    wait
}

on_exit() {
    local status=$?
    trap - EXIT
    [ -z "$lanes_pid" ] || { kill -TERM "$lanes_pid" 2>/dev/null; wait "$lanes_pid" 2>/dev/null; }
    rm -rf "$work"
    exit "$status"
}

run_suites() { # takes the arguments of the program
    local list='' wanted=() suites count=0 failed=0 ready name suite_failed line
    while [ $# -gt 0 ]; do
        case $1 in
            --build) build=${2:?--build needs a directory}; shift ;;
            --list) list=1 ;;
            -*) usage; exit 2 ;;
            *) wanted+=("$1") ;;
        esac
        shift
    done
    mapfile -t suites < <(chosen_suites "${wanted[@]}")
    [ -z "$list" ] || { printf '%s\n' "${suites[@]}"; exit 0; }
    [ "${#suites[@]}" -gt 0 ] || { echo "tests/$suites_program/run: no such suite" >&2; exit 2; }
    prepare || exit
    work=$(mktemp -d "${TMPDIR:-/tmp}/nmd-$suites_program.XXXXXX")
    chmod 711 "$work" # each suite opens its own directory if it has to
    lanes_pid=
    trap on_exit EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM

    exec {ready}< <(run_lanes "${suites[@]}")
    lanes_pid=$!
    while read -r name <&"$ready"; do
        suite_failed=
        while IFS= read -r line; do
            case $line in
                'ok - '* | 'not ok - '*)
                    [[ $line != not* ]] || suite_failed=1
                    count=$((count + 1))
                    echo "${line/ - / $count - }"
                    ;;
                *) echo "$line" ;;
            esac
        done <"$work/$name.report"
        failed=$((failed + ${suite_failed:-0}))
    done
    echo "1..$count"
    [ "$failed" -eq 0 ]
}
