#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
#
# The whole socket interface under fire, best with a sanitizer's build: tests/fuzz/drive-socket.py. A
# longer run: NMD_FUZZ_SECONDS=600 tests/integration/run --build DIR 70-socket-fuzz
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

nmd_configure <<END
[node]
vcores = 100
[interface]
socket-mode = 0666
[preemption]
kill-grace = 500ms
[containers]
max-containers = 50
END
# Where others may come, which the suite's own directory does not let them.
place=$(mktemp -d /tmp/nmd-socket.XXXXXX)
chmod 755 "$place"
remove_place() { rm -rf "$place"; }
at_exit remove_place
export NMD_SOCKET=$place/nmd.sock
nmd_start || exit 1
users=()
[ "$(id -u)" -ne 0 ] || users=(--uid 65534 --uid 54321)
check "nmd answers to the end" timeout 860 "$(dirname "$0")/../fuzz/drive-socket.py" \
    --socket "$NMD_SOCKET" --seconds "${NMD_FUZZ_SECONDS:-10}" \
    --seed "${NMD_FUZZ_SEED:-$RANDOM}" "${users[@]}"
check "and is the one that was started" nmd_alive
check "and does as asked" nmctl run -- true
status=0
nmd_stop || status=$? # not through check, whose subshell may not wait for it
is "it ends well" "$status" 0
done_testing
