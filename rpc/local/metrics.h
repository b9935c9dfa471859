/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Formats the node's metrics for Prometheus, text format 0.0.4. Uses base units only: bytes, seconds, cores, ratios. */

#include "agent/status.h"

/* The caller frees *ret. Returns 0 or -ENOMEM. */
int nm_metrics_format(const struct nm_status *s, char **ret, size_t *ret_len);
