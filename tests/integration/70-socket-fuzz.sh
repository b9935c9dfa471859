#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
#
# The whole socket interface under fire, for a moment. For longer, and with a sanitizer's build, see
# tests/fuzz/socket --help; NMD_FUZZ_SECONDS and NMD_FUZZ_SEED reach it from here, too.
exec "$(dirname "$0")/../fuzz/socket" --build "$NMD_TEST_BUILD" \
    --seconds "${NMD_FUZZ_SECONDS:-10}" --seed "${NMD_FUZZ_SEED:-$RANDOM}"
