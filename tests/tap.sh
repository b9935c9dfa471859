# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# TAP output for shell suites on the host and in the VM: one line per test, on stdout. A suite sources this file first and calls
# done_testing last. A suite that ends before done_testing counts as failed, so that an early exit does not look like a pass.

[ -z "${tap_count:-}" ] || return 0 # a suite may source two libraries that both source this file

tap_count=0
tap_failed=0
tap_done=

ok() { # NAME
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s\n' "$tap_count" "$1"
}

not_ok() { # NAME [DETAIL...]
    local name=$1
    shift
    tap_count=$((tap_count + 1))
    tap_failed=$((tap_failed + 1))
    printf 'not ok %d - %s\n' "$tap_count" "$name"
    [ $# -eq 0 ] || diag "$@"
}

skip() { # NAME REASON
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

skip_all() { # REASON: no test of this suite can run here
    printf '1..0 # SKIP %s\n' "$1"
    tap_done=1
    exit 77
}

diag() {
    printf '%s\n' "$@" | sed 's/^/# /'
}

check() { # NAME COMMAND...: passes if the command succeeds; otherwise prints the command's output
    local name=$1 out status=0
    shift
    out=$("$@" 2>&1) || status=$?
    if [ "$status" -eq 0 ]; then
        ok "$name"
    else
        not_ok "$name" "command: $*" "status: $status" "$(head -n 40 <<<"$out")"
        return 1
    fi
}

is() { # NAME GOT WANTED
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        not_ok "$1" "got:    $2" "wanted: $3"
        return 1
    fi
}

like() { # NAME TEXT REGEX
    if grep -Eq -- "$3" <<<"$2"; then
        ok "$1"
    else
        not_ok "$1" "no match of: $3" "in: $(head -n 40 <<<"$2")"
        return 1
    fi
}

at_least() { # NAME GOT MINIMUM
    if [ "${2:-0}" -ge "$3" ] 2>/dev/null; then
        ok "$1"
    else
        not_ok "$1" "got:    $2" "wanted: at least $3"
        return 1
    fi
}

# Runs the command every poll_seconds until it succeeds. Fails if it has not succeeded after SECONDS.
wait_until() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep "${poll_seconds:-0.1}"
    done
}

done_testing() {
    tap_done=1
    printf '1..%d\n' "$tap_count"
    [ "$tap_failed" -eq 0 ] || exit 1
    exit 0
}

tap_exit_hooks=()
at_exit() { # COMMAND: runs when the suite ends, latest first
    tap_exit_hooks=("$1" "${tap_exit_hooks[@]}")
}

tap_on_exit() {
    local status=$? hook
    trap - EXIT
    set +e
    [ -n "$tap_done" ] || not_ok "the suite runs to its end" "it ended early, with status $status"
    for hook in "${tap_exit_hooks[@]}"; do
        eval "$hook"
    done
    [ -n "$tap_done" ] || exit 1
    exit "$status"
}
trap tap_on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
