# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions that read the output of grower.py, for suites on the host and in the VM. LOG is the file with its standard output.

holds() { [ "$(awk '$1 == "at" { mib = $2 } END { print mib }' "$1" 2>/dev/null)" = "$2" ]; } # LOG MIB: for wait_until
growths() { grep -c '^grown' "$1" 2>/dev/null; }                                  # LOG: prints how often the process has grown
# Prints the duration of the last growth in ms, and the duration without the time that the process waited for a CPU.
last_growth() { awk '$1 == "grown" { last = $4 " " $5 } END { print last }' "$1"; } # LOG
# Prints the time in ms at which the process first held MIB. Reads its output from LINE on.
held_at() { tail -n "+$3" "$1" | awk -v mib="$2" '$1 == "at" && $2 >= mib { print $3; exit }'; } # LOG MIB LINE
lines_of() { wc -l <"$1"; }                                                       # LOG
# Prints the work rates from the process's output from LINE on. The speed of the process is their median.
rates_since() { tail -n "+$2" "$1" | awk '$1 == "rate" { print $3 }'; }           # LOG LINE
worked_since() { [ "$(rates_since "$1" "$2" | wc -l)" -ge "$3" ]; }               # LOG LINE TIMES: for wait_until
rate_since() { rates_since "$1" "$2" | sort -n | awk '{ r[NR] = $1 } END { print r[int((NR + 1) / 2)] }'; } # LOG LINE
seconds() { awk -v ms="$1" 'BEGIN { printf ms < 9950 ? "%.2f" : "%.0f", ms / 1000 }'; } # MS

# The table of results that both suites print when they end.
table_row() { printf '| %-16s | %-16s | %-25s | %-52s | %-22s |\n' "$@"; }
table_head() { table_row '' 'B, guaranteed' 'B, opportunistic' 'A uses all of its memory: B' "A's growth"; }
table_nmd() { # MS until B runs, MS until it is killed, MS until it is gone, MS of A's growth, MS of A's growth without B
    table_row nmd 'no, while A runs' "runs after $(seconds "$1") s" \
        "killed $(seconds "$2") s after 95 % is crossed, gone in $(seconds "$3") s" "$(seconds "$4") s (alone $(seconds "$5") s)"
}
