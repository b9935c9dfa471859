#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
# beside: all
#
# A cluster with two ResourceManagers: nmd finds the one that responds, and changes to the other one when the first one ends.
# The cluster is the one of lib.sh, with Hadoop's default directories, because the ResourceManagers start no container here.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"

read -r first second < <(free_ports 2)
rm_configure --stock "${node_site[@]}" yarn.resourcemanager.ha.enabled=true yarn.resourcemanager.ha.rm-ids=one,two \
    "yarn.resourcemanager.resource-tracker.address.one=127.0.0.1:$first" \
    "yarn.resourcemanager.resource-tracker.address.two=127.0.0.1:$second"
need "the host's memory can be simulated" node_proc_start 1000 2
node_configure

pids=()
rms_end() { for pid in "${pids[@]}"; do end_process "$pid"; done; }
at_exit rms_end
well() { # PORT: starts a ResourceManager that responds correctly
    python3 "$(dirname "$0")/faulty-rm.py" "$1" well 1 >>"$dir/rms.out" 2>&1 &
    pids+=("$!")
}
runs_at() { upstream_is running && [ "$(upstream_of .address)" = "127.0.0.1:$1" ]; } # PORT

need 'nmd starts without a ResourceManager' node_start
check 'nmd reports that no ResourceManager is reachable' wait_until 10 upstream_is unreachable
well "$second"
check 'nmd connects to the second ResourceManager if only the second one runs' wait_until 30 runs_at "$second"
well "$first"
end_process "${pids[0]}"
check 'nmd connects to the first ResourceManager when the second one ends' wait_until 30 runs_at "$first"
nmd_stop
is 'nmd ends with exit status 0' "$?" 0
done_testing
