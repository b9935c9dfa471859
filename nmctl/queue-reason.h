/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Why a container waits, in a sentence with the figures of the moment. */

#include <jansson.h>
#include <stddef.h>

/* hold: nmd's word for it ("over-alpha"); c: the container, NULL if it isn't known; status: of GET /v1/status, NULL if
 * it is not to be had. "" if hold is "". */
void nm_queue_reason_text(const char *hold, const json_t *c, const json_t *status, char *buf, size_t size);
