#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 330
#
# core.sh's jobs, under the version of the ResourceManager that all other suites have.
# shellcheck source=tests/yarn/core.sh
. "$(dirname "$0")/core.sh"
