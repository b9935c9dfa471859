/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Formats the node's metrics for Prometheus, text format 0.0.4. Uses base units only: bytes, seconds, cores, ratios. */

#include "agent/status.h"

/* Appends the upstream's own metrics, for example the metrics of the YARN connection. */
typedef void (*nm_metrics_upstream_cb_t)(void *userdata, const struct nm_metric_writer *w);

/* Formats all metrics, and calls more() once. The caller frees *ret. Returns 0 or -ENOMEM. */
int nm_metrics_format(const struct nm_status *s, nm_metrics_upstream_cb_t more, void *userdata, char **ret,
                      size_t *ret_len);
