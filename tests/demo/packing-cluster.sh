#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# For packing.py: runs a stock ResourceManager and ten light nodes as long as standard input is open. It prints two addresses: of the
# ResourceManager's REST interface and of the light cluster. The light cluster does not use an exclude file.
#
#   packing-cluster.sh stock|packing
set -uo pipefail
# shellcheck source=tests/packing/lib.sh
. "$(dirname "$0")/../packing/lib.sh" >&2

# The TAP output of lib.sh is not used here. Messages go to the log.
exec 3>&1 >&2
tap_done=1
settings=(--stock)
[ "$1" = stock ] || settings=("$pack_policy.pack.high-threshold=80")
rm_start "${settings[@]}" && cluster_start 10 10240:10 || exit 1
printf '%s http://127.0.0.1:%s\n' "$rm_web" "$cluster_port" >&3
exec 3>&-
cat >/dev/null
