/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Explains in a sentence with current figures why a container waits. */

#include <jansson.h>
#include <stddef.h>

/* reason: nmd's queue reason ("over-alpha"); c: the container, NULL if unknown; status: answer of GET /v1/status, NULL
 * if unavailable. The result is "" if reason is "". */
void nm_queue_reason_text(const char *reason, const json_t *c, const json_t *status, char *buf, size_t size);
