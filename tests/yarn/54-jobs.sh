#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
#
# Unmodified jobs on two nodes of nmd, with the version of the ResourceManager that all other suites use: first the jobs of
# core.sh, then Tez and Spark. All run on one cluster.
jobs_of=(tez spark)
# shellcheck source=tests/yarn/core.sh
. "$(dirname "$0")/core.sh"

core_cluster
need 'Tez is available' tez_install
need 'PySpark is available' spark_install
tez_configure
core_jobs
tez_job
spark_jobs
core_end
