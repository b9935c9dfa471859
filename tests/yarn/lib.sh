# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # much of it is for those who source it
#
# Library for the suites of this folder that have an nmd: . "$(dirname "$0")/lib.sh". The ResourceManager comes from
# tests/packing/lib.sh. nmd comes from tests/integration/lib.sh, with artificial figures of the node. The cluster is simpler
# than the one of jobs.sh, on which real jobs run: it has one node, the local file system, no ACLs, and the local and log
# directories that a suite names. The head of each suite says which parts of a real cluster the suite omits.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../packing/lib.sh"
# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../integration/lib.sh"

node_port=$(free_port)
# The properties for a node in the cluster's files.
node_site=(yarn.nodemanager.hostname=node07 "yarn.nodemanager.address=\${yarn.nodemanager.hostname}:$node_port"
    yarn.nodemanager.resource.memory-mb=800 yarn.nodemanager.resource.cpu-vcores=2
    yarn.nodemanager.opportunistic-containers-use-pause-for-preemption=true
    yarn.resourcemanager.connect.retry-interval.ms=200)

# Sets node_dirs to the properties for three local directories and two log directories. Must be called after make_shared_dir.
set_node_dirs() {
    node_dirs=("yarn.nodemanager.local-dirs=$shared/local1,$shared/local2,$shared/local3"
        "yarn.nodemanager.log-dirs=$shared/logs1,$shared/logs2")
}

node_configure() {
    nmd_configure </dev/null
}
node_start() { nmd_start --yarn-conf "$conf"; }

of_node() { rm_get "nodes/node07:$node_port" | jq -r ".node | $1"; } # JQ-EXPRESSION
rm_state_is() { [ "$(of_node .state)" = "$1" ]; }                       # STATE: for wait_until
upstream_of() { nmctl status --json | jq -r ".upstream | $1"; }     # JQ-EXPRESSION
upstream_is() { [ "$(upstream_of .state)" = "$1" ]; }               # STATE: for wait_until
