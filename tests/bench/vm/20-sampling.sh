#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
#
# Measures a sampling round that reads memory.stat, with the benchmark of tests/bench and fewer containers, because an emulated machine is
# slow. Only the ratio to the reference is meaningful.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"

"$NMD_VM_DATA/sampling-bench" --rounds 10 300 >"$NMD_VM_STATE/table" 2>&1 || not_ok "the measurement runs to its end"
diag "$(cat "$NMD_VM_STATE/table")"
check "the measured samples read memory.stat of the memory controller" grep -q "memory from memory.stat" "$NMD_VM_STATE/table"
done_testing
