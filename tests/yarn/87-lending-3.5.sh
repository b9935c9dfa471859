#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 480
# beside: others
#
# Lending with version 3.5.0 of the ResourceManager and of MapReduce: the jobs of lent.sh that run with each version.
NMD_TEST_HADOOP=3.5.0
# shellcheck source=tests/yarn/lent.sh
. "$(dirname "$0")/lent.sh"

lent_cluster held 256 pi 256 plain 256
lent_core
lent_end
