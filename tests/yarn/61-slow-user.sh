#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: all
#
# One user tries to prevent nmd from fetching files for other users. Containers of another user must start as fast as without
# this. The cluster is the one of lib.sh with one local directory, in which the application master finds the fetched files.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'only root can start containers as other users'
timeout=12 # seconds after which nmd ends a worker without progress; longer than all starts together
make_shared_dir
mkdir -m 1777 "$shared/files"
rm_configure --stock "${node_site[@]}" "yarn.nodemanager.local-dirs=$shared/local" "yarn.nodemanager.log-dirs=$shared/logs1,$shared/logs2" \
    yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users=false yarn.nodemanager.resource.cpu-vcores=32 \
    "nmd.yarn.localizer-timeout-ms=${timeout}000" \
    yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=100
need "the host's memory can be simulated" node_proc_start 4000 8
nmd_configure <<END
[containers]
min-uid = 1
END
need 'nmd starts' node_start
while IFS=$'\t' read -r name got wanted; do
    is "$name" "$got" "$wanted"
done < <(python3 "$(dirname "$0")/slow-user.py" "${rm_ports[2]}" node07 "$node_port" "$nmd_pid" "$shared/files" "$shared/local" \
    "$timeout" 2>"$dir/slow-user.err")
is 'the application master has sent all its requests' "$(cat "$dir/slow-user.err")" ''
c=$(nmctl list --all --json | jq -r '[.[] | select(.id | endswith("_000021")) | .id][0]')
like 'nmctl explain says that the container failed because its worker made no progress' \
    "$(nmctl explain "$c")" "drops-21: nm-localizer made no progress for $timeout seconds"
like 'the events say that the container failed because its worker made no progress' \
    "$(nmctl events --json "$c")" "made no progress for $timeout seconds"
nmd_stop
is 'nmd ends with exit status 0' "$?" 0
kill_all 2>/dev/null
done_testing
