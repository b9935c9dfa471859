#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
#
# Fuzzes the whole socket interface for a few seconds. tests/fuzz/socket does so for a longer time, and with a sanitizer's build.
# NMD_FUZZ_SECONDS and NMD_FUZZ_SEED set its options here.
exec "$(dirname "$0")/../fuzz/socket" --build "$NMD_TEST_BUILD" \
    --seconds "${NMD_FUZZ_SECONDS:-10}" --seed "${NMD_FUZZ_SEED:-$RANDOM}"
