/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The node's last day, beside the last minutes that monitor/history.c has in memory: the same points in longer
 * steps, two hours in steps of 12 s and a day in steps of 144 s. By the time of day, so that they go on after a
 * restart of nmd or of the host: each step that is over is written to a file in the state directory, which has a
 * slot for each and doesn't grow. What can't be read there is left out; what can't be written is there until nmd
 * ends.
 */

#include "monitor/monitor.h"

#define NM_LONG_HISTORY_SLOT_BYTES 512
#define NM_LONG_HISTORY_SPAN_USEC (24 * 3600 * NM_USEC_PER_SEC)

struct nm_long_history;

/* Reads the file of an earlier nmd. Returns 0 or -ENOMEM; *ret_error is why this one can't write to it, or 0. */
int nm_long_history_new(const char *state_dir, uint64_t realtime_usec, struct nm_long_history **ret, int *ret_error);
struct nm_long_history *nm_long_history_free(struct nm_long_history *h); /* writes the steps that have begun */
NM_DEFINE_CLEANUP(struct nm_long_history *, nm_long_history_free)

/* Adds a point of the short history. Returns 1 if that ended a step, which is on disk now, 0 if there is nothing to
 * write or no file, or -errno. */
int nm_long_history_add(struct nm_long_history *h, const struct nm_history_point *p);

/* The finest one that goes back so far, or the day's; its points' at_usec is the time of day. */
const struct nm_history *nm_long_history_get(const struct nm_long_history *h, uint64_t span_usec);

/* A point as it is in the file, filled up with zeroes; and back: 0 or -EBADMSG. The text is taken apart. */
void nm_long_history_print(const struct nm_history_point *p, char *text, size_t size);
int nm_long_history_parse(char *text, struct nm_history_point *ret);
