#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
# beside: all
#
# A cleaner of temporary files removes a part of an unpacked archive. Containers that request the archive afterwards get the
# complete archive. The cluster is the one of lib.sh with one local directory, in which the application master finds the fetched
# files.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'only root can start containers as other users'
make_shared_dir
mkdir -m 1777 "$shared/files"
rm_configure --stock "${node_site[@]}" "yarn.nodemanager.local-dirs=$shared/local" "yarn.nodemanager.log-dirs=$shared/logs1" \
    yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users=false \
    yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage=100
need "the host's memory can be simulated" node_proc_start 4000 8
nmd_configure <<END
[containers]
min-uid = 1
END
need 'nmd starts' node_start
while IFS=$'\t' read -r name got wanted; do
    is "$name" "$got" "$wanted"
done < <(python3 "$(dirname "$0")/cleaner.py" "${rm_ports[2]}" node07 "$node_port" "$shared/files" "$shared/local" 2>"$dir/cleaner.err")
is 'the application master has sent all its requests' "$(cat "$dir/cleaner.err")" ''
nmd_stop
is 'nmd ends with exit status 0' "$?" 0
kill_all 2>/dev/null
done_testing
