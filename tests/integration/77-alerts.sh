#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
#
# The alerts for Prometheus: promtool accepts them, each one is raised by its cause and by nothing else, and the real nmd has all metrics
# that they use.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

command -v promtool >/dev/null || skip_all "no promtool (Debian: prometheus)"
rules=$here/../../packaging/nmd-alerts.yml

out=$(promtool check rules "$rules" 2>&1)
is "promtool finds no mistake in the rules" $? 0 || diag "$out"
out=$(promtool test rules "${rules%.yml}.test.yml" 2>&1)
is "each alert is raised by its cause, and none by a healthy node" $? 0 || diag "$out"
untested() {
    local name
    sed -n 's/^ *- alert: //p' "$rules" | while read -r name; do
        grep -q "\"$name\"" "${rules%.yml}.test.yml" || echo "$name"
    done
}
is "each alert has such a test" "$(untested)" ""

node_proc_start
nmd_configure </dev/null
nmd_start || exit 1
samples 2
api GET /metrics
missing() { # WORD...: those that no metric begins with
    local word
    for word in "$@"; do grep -qF "$word" <<<"$api_body" || echo "$word"; done
}
mapfile -t names < <(grep -E '^ *expr:' "$rules" | grep -oE '\bnm_[a-z_]+' | sort -u)
# Metrics of a cluster are missing on a node without a cluster.
is "nmd has the metrics of the rules" "$(missing "${names[@]}")" "nm_upstream_running"
mapfile -t names < <(grep -oE 'nm_[a-z_]+\{reason="[a-z-]+"\}' "$rules" | sort -u)
is "nmd has the reasons of the rules" "$(missing "${names[@]}")" ""
done_testing
