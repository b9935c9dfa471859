#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
# beside: all
#
# The benchmark tests/bench/scale with a small number of nodes: all of them become nodes of a stock ResourceManager and stay so, and
# the benchmark leaves neither a process nor a cgroup. Figures of so few nodes and so short a time are not checked.
# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"

[ "$(id -u)" = 0 ] || skip_all 'the nodes need root'
slices() { find "$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)" -maxdepth 1 -name 'nmscale*.slice'; }
nodes() { pgrep -fc '/nmd-scale\.'; }
figures=$NMD_TEST_DIR/figures
before=$(slices) nodes_before=$(nodes)
check 'twenty nmds register with a stock ResourceManager' \
    bash -c "'$(dirname "$0")/../bench/scale' --seconds 8 20 >'$figures'"
diag "$(cat "$figures")"
like 'the benchmark prints the time until all nodes are registered' "$(cat "$figures")" '^from the start .* registered +[0-9]+\.[0-9]+ s$'
like 'the benchmark prints the memory of all nodes' "$(cat "$figures")" '^resident memory .* [1-9][0-9]* MiB$'
like 'the benchmark prints the CPU time of all nodes' "$(cat "$figures")" '^CPUs that all nmds use.* [0-9]+\.[0-9]+$'
is 'the benchmark removes its cgroups' "$(slices)" "$before"
is 'the benchmark ends its processes' "$(nodes)" "$nodes_before"
done_testing
