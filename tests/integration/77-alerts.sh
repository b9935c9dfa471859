#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
#
# The alerts for Prometheus: promtool finds no fault in them, what should raise each one does and nothing else, and all
# that they look at is among the metrics of the real nmd.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

command -v promtool >/dev/null || skip_all "no promtool (Debian: prometheus)"
rules=$here/../../packaging/nmd-alerts.yml

out=$(promtool check rules "$rules" 2>&1)
is "promtool finds no fault in the rules" $? 0 || diag "$out"
out=$(promtool test rules "${rules%.yml}.test.yml" 2>&1)
is "each is raised by its cause, and none where all is well" $? 0 || diag "$out"
is "there is no alert without such a test" \
    "$(sed -n 's/^ *- alert: //p' "$rules" | while read -r name; do grep -q "\"$name\"" "${rules%.yml}.test.yml" || echo "$name"; done)" ""

node_proc_start
nmd_configure </dev/null
nmd_start || exit 1
samples 2
api GET /metrics
# What belongs to a cluster isn't there without one.
is "nmd has what they look at" "$(grep -E '^ *expr:' "$rules" | grep -oE '\bnm_[a-z_]+' | sort -u | grep -v '^nm_upstream_' |
    while read -r name; do grep -q "^$name[{ ]" <<<"$api_body" || echo "$name"; done)" ""
is "and the reasons" "$(grep -oE 'nm_[a-z_]+\{reason="[a-z-]+"\}' "$rules" | sort -u |
    while read -r sample; do grep -qF "$sample" <<<"$api_body" || echo "$sample"; done)" ""
done_testing
