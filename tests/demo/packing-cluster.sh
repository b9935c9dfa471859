#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# For packing.py: a stock ResourceManager and ten light nodes, for as long as its standard input is open. It prints two
# addresses, the ResourceManager's REST and the light cluster's, and for the latter an exclude file is no concern.
#
#   packing-cluster.sh stock|packing
set -uo pipefail
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/../packing/lib.sh" >&2

# lib.sh speaks TAP, which nobody reads here; what is to be said goes to the log.
exec 3>&1 >&2
tap_done=1
settings=(--stock)
[ "$1" = stock ] || settings=("$pack_policy.pack.high-threshold=80")
rm_start "${settings[@]}" && cluster_start 10 10240:10 || exit 1
printf '%s http://127.0.0.1:%s\n' "$rm_web" "$cluster_port" >&3
exec 3>&-
cat >/dev/null
