/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Formats the node's metrics for Prometheus, text format 0.0.4. Uses base units only: bytes, seconds, cores, ratios. */

#include "agent/status.h"

/* Writes the metrics that only this kind of upstream has. */
typedef void (*nm_metrics_upstream_cb_t)(void *userdata, const struct nm_metric_writer *w);

/* Formats all metrics. The caller frees *ret. more() is called once. Returns 0 or -ENOMEM. */
int nm_metrics_format(const struct nm_status *s, nm_metrics_upstream_cb_t more, void *userdata, char **ret,
                      size_t *ret_len);
