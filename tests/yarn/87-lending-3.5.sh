#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
# beside: others
#
# Unmodified jobs on two nodes whose memory is allocated by services that use almost nothing, with version 3.5.0 of the
# ResourceManager and of MapReduce: the jobs of lending.table, each in its mode. Without a rule they wait. With it they run as lent
# containers. Maps survive the death of nmd, are lost to a surge, and are promoted when the services end. With NMD_TEST_LENDING=all
# in the environment, each job also runs in each mode (with NMD_TEST_DEADLINE=3600).
NMD_TEST_HADOOP=3.5.0
# shellcheck source=tests/yarn/lent-matrix.sh
. "$(dirname "$0")/lent-matrix.sh"

lent_matrix
