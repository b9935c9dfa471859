/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The node's figures for Prometheus, text format 0.0.4. Base units only: bytes, seconds, cores,
 * ratios. */

#include "agent/status.h"

/* *ret is the caller's to free. Returns 0 or -ENOMEM. */
int nm_metrics_format(const struct nm_status *s, char **ret, size_t *ret_len);
