# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions that query nmd about the node and its containers. The libraries of the suites on the host and in the VM source this file.

# gojq starts in a tenth of the time of jq 1.6. jq needs 30 ms, and half a second in an emulated guest.
jq() { gojq "$@"; }

# The queries below repeat the same commands until a condition holds. With sanitizers, nmctl needs ten times the CPU time, so
# ./check sets another nmctl for them. All other commands use the suite's own nmctl.
nmctl_query() { "${NMD_TEST_QUERY_NMCTL:-nmctl}" "$@" --json; } # COMMAND [ARGUMENT...]

status_of() { nmctl_query status | jq -r "$1"; } # JQ-EXPRESSION
status_is() { [ "$(status_of "$1")" = "$2" ]; }    # for wait_until

# Prints a field of a container. The container is found by its id or name: state_of ID, field_of ID .exit_code
field_of() { # ID JQ-EXPRESSION
    nmctl_query list --all | jq -r --arg id "$1" \
        '[.[] | select(.id == $id or .name == $id)] | last | '"$2"
}
state_of() { field_of "$1" .state; }
in_state() { # ID STATE...: for wait_until
    local id=$1 state
    shift
    state=$(state_of "$id")
    [[ " $* " == *" $state "* ]]
}
uses() { # ID MIB: for wait_until: the measured memory is at least MIB
    [ "$(field_of "$1" .memory_used_bytes)" -ge $(($2 << 20)) ]
}

# Prints the newest decision of this kind about a container as JSON.
decision_of() { # NAME KIND [JQ-EXPRESSION]
    nmctl_query explain "$1" | jq -r --arg kind "$2" \
        '[.[] | select(.kind == $kind)] | last | '"${3:-.}"
}
