/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Returns how many bytes per stream (stdout, stderr) a starting container may keep on disk. If space is short,
 * truncates the logs of ended containers. */
uint64_t nm_output_allowance(struct nm_manager *m);
/* Measures how much disk space the log of an ended container takes. */
void nm_output_ended(struct nm_manager *m, struct nm_container *c);
/* Checks periodically that all logs are within their share and that the journal has space. */
void nm_output_tidy(struct nm_manager *m);
/* Reads the latest output into the log before the container's processes are killed. */
void nm_output_keep_last(struct nm_live_container *l);
