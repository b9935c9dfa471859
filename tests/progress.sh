# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For scripts that run or wait for a long time: . tests/progress.sh. It prints progress lines on standard error, so that a
# script is never silent for more than two seconds. It waits as long as there is progress instead of a fixed time.
# tests/demo/progress.py does the same for Python.

[ -z "${progress_every:-}" ] || return 0
progress_every=1.8 # seconds between two lines; on a terminal the line is redrawn three times as often

# Prints the last line of a log that has text, without control characters.
progress_last() { # LOG
    tail -c 2000 "$1" 2>/dev/null | tr '\r' '\n' | tr -d '\000-\010\013-\037\177' | sed -n '/[^[:space:]]/h; ${x;p}'
}
# Prints the text, or as many of its words as fit. A single word that is too long is cut.
progress_cut() { # WIDTH TEXT
    local text=${2:0:$1}
    if [ "${#2}" -gt "$1" ]; then
        text=${2:0:$1 - 3}
        [[ $text != *[![:space:]]' '* ]] || text=${text% *}
        text=${text%"${text##*[!' ,;:']}"}...
    fi
    printf '%s' "$text"
}
progress_text=progress_last # prints the progress text for a LOG; a script whose log has no readable lines sets its own function
progress_took() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); } # SECONDS
# Prints "STEP  1:05  the last line of its log", not wider than the terminal.
progress_line() { # STEP SECONDS LOG
    local line width=${COLUMNS:-0}
    [ "$width" -gt 20 ] || width=100
    line=$(printf '%-17s %s  %s' "$1" "$(progress_took "$2")" "$("$progress_text" "$3")")
    line=$(progress_cut $((width - 1)) "$line")
    printf '%s' "${line%  }"
}
# Prints progress until the process has ended: on a terminal one line that is rewritten, otherwise one line each time.
progress_while() { # PID STEP LOG [BEGUN]: BEGUN is a value of SECONDS
    local pid=$1 step=$2 log=$3 begun=${4:-$SECONDS} COLUMNS=${COLUMNS:-}
    if [ -t 2 ]; then
        [ -n "$COLUMNS" ] || COLUMNS=$(stty size <&2 2>/dev/null | cut -d ' ' -f 2)
        while kill -0 "$pid" 2>/dev/null; do
            printf '\r\033[K%s' "$(progress_line "$step" $((SECONDS - begun)) "$log")" >&2
            sleep 0.6
        done
        printf '\r\033[K' >&2
        return
    fi
    COLUMNS=140
    while kill -0 "$pid" 2>/dev/null; do
        printf '%s\n' "$(progress_line "$step" $((SECONDS - begun)) "$log")" >&2
        progress_pause "$pid"
    done
}
# Sleeps for the time between two lines, or until the process has ended.
progress_pause() { # PID
    local i
    for ((i = 0; i < 5; i++)); do
        sleep 0.3
        kill -0 "$1" 2>/dev/null || return 0
    done
}
# Runs the command with its output in the log, prints progress, and returns the command's exit status. The command has its own
# process group. The script must call progress_end at its end, which ends this whole group.
progress_pid=''
progress_run() { # STEP LOG COMMAND...
    local step=$1 log=$2 status=0
    shift 2
    set -m
    "$@" >"$log" 2>&1 </dev/null &
    progress_pid=$!
    set +m
    progress_while "$progress_pid" "$step" "$log"
    wait "$progress_pid" || status=$?
    progress_pid=''
    return "$status"
}
progress_end() { [ -z "$progress_pid" ] || kill -TERM -- "-$progress_pid" 2>/dev/null; }

# ---- waiting as long as there is progress ----

# Prints figures that change while processes make progress: the sizes of their logs, and their CPU time in whole seconds. Within
# patience_seconds, an idle process uses less than a second, and a process that works on a busy machine uses more.
patience_seconds=60
patience_most=900 # a process that endlessly repeats a message also makes progress
progress_figure() { # PID=LOG...
    local pair stat ticks
    for pair in "$@"; do
        stat=$(cat "/proc/${pair%%=*}/stat" 2>/dev/null)
        read -r -a ticks <<<"${stat##*) }"
        printf '%s:%s ' "$(stat -c %s "${pair#*=}" 2>/dev/null)" $(((${ticks[11]:-0} + ${ticks[12]:-0}) / 100))
    done
}
# Prints the PID=LOG pair of the first process that has ended. If none has ended, prints the first pair.
progress_culprit() { # PID=LOG...
    local pair
    for pair in "$@"; do
        kill -0 "${pair%%=*}" 2>/dev/null || { echo "$pair"; return; }
    done
    echo "$1"
}
progress_give_up() { # WHAT WHY SECONDS PID=LOG...
    local what=$1 why=$2 seconds=$3 log load
    shift 3
    log=$(progress_culprit "$@")
    log=${log#*=}
    read -r load _ </proc/loadavg
    printf '%s\n' "gave up after $seconds s: $what: $why; the last lines of ${log##*/}:"
    grep -v '^\s*at ' "$log" 2>/dev/null | tail -n 12 | cut -c 1-300 | sed 's/^/    /'
    if [ "${load%.*}" -gt "$(nproc)" ]; then
        printf '%s\n' "This machine is busy (load $load on $(nproc) CPUs): try again when it is quieter."
    else
        printf '%s\n' "The machine is not busy (load $load on $(nproc) CPUs): the lines above say what is wrong."
    fi
} >&2
# Waits until the command succeeds, as long as all processes are running and at least one of them makes progress. When it gives
# up, it prints a message with the reason and returns 1.
patient_until() { # WHAT PID=LOG... -- COMMAND...
    local what=$1 watched=() begun=$SECONDS moved=$SECONDS before='' now pair
    shift
    while [ "$1" != -- ]; do watched+=("$1"); shift; done
    shift
    until "$@" >/dev/null 2>&1; do
        pair=$(progress_culprit "${watched[@]}")
        if ! kill -0 "${pair%%=*}" 2>/dev/null; then
            progress_give_up "$what" 'its process has ended' $((SECONDS - begun)) "${watched[@]}"
            return 1
        fi
        now=$(progress_figure "${watched[@]}")
        [ "$now" = "$before" ] || moved=$SECONDS
        before=$now
        if [ $((SECONDS - moved)) -ge "$patience_seconds" ]; then
            progress_give_up "$what" "nothing has happened for $patience_seconds s" $((SECONDS - begun)) "${watched[@]}"
            return 1
        elif [ $((SECONDS - begun)) -ge "$patience_most" ]; then
            progress_give_up "$what" 'it is still at work' $((SECONDS - begun)) "${watched[@]}"
            return 1
        fi
        sleep "${poll_seconds:-0.1}"
    done
}

# ---- a busy machine ----

# Measures for a second, and prints how many percent of the CPUs are used. PROC is /proc or a test's directory.
busy_percent() { # PROC
    local proc=$1 first second
    first=$(awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 + $9, $5 + $6 }' "$proc/stat")
    sleep 1
    second=$(awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 + $9, $5 + $6 }' "$proc/stat")
    awk '{ used = $3 - $1; all = used + $4 - $2; printf "%d\n", (all > 0 ? 100 * used / all : 0) }' <<<"$first $second"
}
