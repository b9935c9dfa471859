#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 60
# beside: others
#
# The alerts for Prometheus: promtool accepts the rules, each alert is raised only by its cause, and the real nmd has all
# metrics that the rules use.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

command -v promtool >/dev/null || skip_all "no promtool (Debian: prometheus)"
rules=$here/../../packaging/nmd-alerts.yml

out=$(promtool check rules "$rules" 2>&1)
is "promtool accepts the alert rules" $? 0 || diag "$out"
out=$(promtool test rules "${rules%.yml}.test.yml" 2>&1)
is "each alert is raised by its cause, and no alert is raised for a healthy node" $? 0 || diag "$out"
untested() {
    local name
    sed -n 's/^ *- alert: //p' "$rules" | while read -r name; do
        grep -q "\"$name\"" "${rules%.yml}.test.yml" || echo "$name"
    done
}
is "each alert has a test with its cause" "$(untested)" ""

node_proc_start
nmd_configure </dev/null
nmd_start || exit 1
samples 2
api GET /metrics
missing() { # WORD...: prints the words with which no metric starts
    local word
    for word in "$@"; do grep -qF "$word" <<<"$api_body" || echo "$word"; done
}
mapfile -t names < <(grep -E '^ *expr:' "$rules" | grep -oE '\bnm_[a-z_]+' | sort -u)
# A node without a cluster has no metrics of a cluster.
is "nmd has all metrics of the rules, except the metrics of a cluster" "$(missing "${names[@]}" | xargs)" \
    "nm_aux_service_up nm_lending_containers_total nm_log_uploads_given_up_total nm_upstream_running"
mapfile -t names < <(grep -oE 'nm_[a-z_]+\{reason="[a-z-]+"\}' "$rules" | sort -u)
is "nmd has all reasons that the rules name" "$(missing "${names[@]}")" ""
done_testing
