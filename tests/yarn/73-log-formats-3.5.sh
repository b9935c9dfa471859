#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
# beside: others
#
# log-formats.sh with version 3.5.0 of Hadoop.
NMD_TEST_HADOOP=3.5.0
# shellcheck source=tests/yarn/log-formats.sh
. "$(dirname "$0")/log-formats.sh"
