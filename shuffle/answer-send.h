/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sends an answer. */

#include "shuffle/answer-state.h"

/* Adds bytes that fit. */
void nm_shuffle_out_put(struct nm_shuffle_answer *a, const void *data, size_t size);
/* Sends the collected bytes. more: further data follows, so that a packet need not end here. Returns 0,
 * NM_SHUFFLE_E_WAIT or -errno. */
int nm_shuffle_out_flush(struct nm_shuffle_answer *a, bool more);

/* The steps of sending: each returns 0, NM_SHUFFLE_E_WAIT or -errno, and sets the next phase. */
int nm_shuffle_send_begin(struct nm_shuffle_answer *a);
int nm_shuffle_send_map(struct nm_shuffle_answer *a);
int nm_shuffle_send_heads(struct nm_shuffle_answer *a);
int nm_shuffle_send_part(struct nm_shuffle_answer *a);
