#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
# beside: others
#
# log-formats.sh with the default version of Hadoop.
# shellcheck source=tests/yarn/log-formats.sh
. "$(dirname "$0")/log-formats.sh"
