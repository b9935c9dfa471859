/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keeps the history of the node's last day; monitor/history.c has only the last minutes, in memory. The points are the
 * same in longer steps: two hours in steps of 12 s and a day in steps of 144 s. They use the time of day, so the
 * history continues after a restart of nmd or of the host. Each completed step is written to a file in the state
 * directory, which has one slot per step and does not grow. Unreadable slots are left out. Steps that cannot be written
 * are kept until nmd exits.
 */

#include "monitor/monitor.h"

#define NM_LONG_HISTORY_SLOT_BYTES 512
#define NM_LONG_HISTORY_SPAN_USEC (24 * 3600 * NM_USEC_PER_SEC)

struct nm_long_history;

/* Reads the file of an earlier nmd. Returns 0 or -ENOMEM; *ret_error is the reason why this nmd cannot write the file,
 * or 0. */
int nm_long_history_new(const char *state_dir, uint64_t realtime_usec, struct nm_long_history **ret, int *ret_error);
struct nm_long_history *nm_long_history_free(struct nm_long_history *h); /* writes the unfinished steps */
NM_DEFINE_CLEANUP(struct nm_long_history *, nm_long_history_free)

/* Adds a point of the short history. Returns 1 if the point completed a step, which is on disk now, 0 if no step was
 * completed or there is no file, or -errno. */
int nm_long_history_add(struct nm_long_history *h, const struct nm_history_point *p);

/* Returns the finest history that covers the span, or else the history of the day. at_usec of its points is the time of
 * day. */
const struct nm_history *nm_long_history_get(const struct nm_long_history *h, uint64_t span_usec);

/* Print a point as the file stores it, padded with zeroes, and parse it: 0 or -EBADMSG. Parsing modifies the text. */
void nm_long_history_print(const struct nm_history_point *p, char *text, size_t size);
int nm_long_history_parse(char *text, struct nm_history_point *ret);
