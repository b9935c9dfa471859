#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 480
# beside: others
#
# The jobs of core.sh with version 3.5.0 of the ResourceManager and of MapReduce.
NMD_TEST_HADOOP=3.5.0
# shellcheck source=tests/yarn/core.sh
. "$(dirname "$0")/core.sh"

core_cluster
core_jobs
core_logs
core_end
