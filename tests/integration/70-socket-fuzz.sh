#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
# beside: others
#
# Fuzzes the whole socket interface for a few seconds. tests/fuzz/socket runs the same for a longer time and with a sanitizer.
# NMD_FUZZ_SECONDS and NMD_FUZZ_SEED set the options of tests/fuzz/socket here.
exec "$(dirname "$0")/../fuzz/socket" --build "$NMD_TEST_BUILD" \
    --seconds "${NMD_FUZZ_SECONDS:-10}" --seed "${NMD_FUZZ_SEED:-$RANDOM}"
