/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files of slots beside the journal: functions for all such files, and the three files of this kind: events, the
 * history of the node's last day, and summaries of ended applications. Only this room and tests call these functions;
 * the status uses NM_ENDED_APPS alone. Functions return 0 or -errno.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/status.h"
#include "monitor/monitor.h"

/*
 * ---- slot-file.c -----------------------------------------------------------------------------
 *
 * Files of slots of one size. Each slot has a checksum and a text, padded with zeroes. Such files hold data beside the
 * journal on which no decision depends. A file does not grow and is written one slot at a time. The checksum detects a
 * slot that was written partly or by another program; such a slot counts as empty.
 */

#define NM_SLOT_SUM_BYTES 9 /* eight digits and a blank, before the text */
#define NM_SLOT_BYTES_MAX 1024

/* `text` has slot_bytes - NM_SLOT_SUM_BYTES bytes; the checksum covers all of them. */
void nm_slot_seal(const char *text, char *slot, size_t slot_bytes);
/* Returns false if the slot is damaged. `text` has room for the slot's text and one more byte, which is set to 0. */
bool nm_slot_open(const char *slot, size_t slot_bytes, char *text);

/* Opens state_dir/name, and makes the file if it is missing. Returns a descriptor owned by the caller, or -errno. */
int nm_slot_file_open(const char *state_dir, const char *name);
/* Reads the text of slot i, terminated by NUL. Returns false if the slot has no valid text. */
bool nm_slot_file_get(int fd, uint64_t i, size_t slot_bytes, char *text);
/* Returns 0 or -errno. */
int nm_slot_file_put(int fd, uint64_t i, size_t slot_bytes, const char *text);

/*
 * ---- event-file.c ----------------------------------------------------------------------------
 *
 * Keeps the newest events in a file beside the journal, so that they can still be queried after a restart of nmd. The
 * file has NM_EVENT_RING slots, like the ring in memory, and does not grow. Each slot holds one event as a line of text
 * with its checksum. No decision depends on the file: an unreadable slot counts as an event that is no longer kept, and
 * a failure to write the file has no other effect.
 */

#define NM_EVENT_SLOT_BYTES 640

/* Prints the event and pads the slot with zeroes. */
void nm_event_print(const struct nm_event_record *e, char slot[NM_EVENT_SLOT_BYTES]);
/* Returns -EBADMSG if the slot has no complete event. */
int nm_event_parse(const char slot[NM_EVENT_SLOT_BYTES], struct nm_event_record *ret);
/* Parses the text after the checksum, which it modifies. */
int nm_event_parse_body(char *body, struct nm_event_record *ret);

/* Reads the events of an earlier nmd into `ring`, each at its number modulo NM_EVENT_RING. *ret_next: the next event's
 * number. Returns the descriptor for nm_event_file_put(), or -errno. */
int nm_event_file_open(const char *state_dir, struct nm_event_record *ring, uint64_t *ret_next);
/* Returns 0 or -errno. */
int nm_event_file_put(int fd, const struct nm_event_record *e);

/*
 * ---- long-history.c --------------------------------------------------------------------------
 *
 * Keeps the history of the node's last day; monitor/history.c has only the last minutes, in memory. Its points have the
 * same figures for longer steps: two hours in steps of 12 s and a day in steps of 144 s. The points use the time of
 * day, so the history continues after a restart of nmd or of the host. Each completed step is written to a file in the
 * state directory, which has one slot per step and does not grow. Unreadable slots are left out. Steps that cannot be
 * written are kept until nmd exits.
 */

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

/* Print a point as the file stores it, padded with zeroes, and parse such a text. Parsing returns 0 or -EBADMSG and
 * modifies the text. */
void nm_long_history_print(const struct nm_history_point *p, char *text, size_t size);
int nm_long_history_parse(char *text, struct nm_history_point *ret);

/*
 * ---- ended-apps.c ----------------------------------------------------------------------------
 *
 * Summarizes the ended containers of each application. A summary is kept for a day, long after the containers
 * themselves were removed. The number of summaries is limited, in total and per user; a new summary replaces the
 * summary that was updated least recently. A file in the state directory has a slot for each summary, so that
 * summaries survive a restart of nmd. No decision depends on summaries.
 */

#define NM_ENDED_APPS 240
#define NM_ENDED_APPS_PER_USER 80 /* does not apply to root */
#define NM_ENDED_APPS_USEC (24 * 3600 * NM_USEC_PER_SEC)
#define NM_ENDED_APP_SLOT_BYTES 384

struct nm_ended_apps;

/* Reads the file of an earlier nmd. Returns 0 or -ENOMEM; *ret_error is the reason why this nmd cannot write the file,
 * or 0. */
int nm_ended_apps_new(const char *state_dir, struct nm_ended_apps **ret, int *ret_error);
struct nm_ended_apps *nm_ended_apps_free(struct nm_ended_apps *a);
NM_DEFINE_CLEANUP(struct nm_ended_apps *, nm_ended_apps_free)

/* Counts the end of a container for its application, if the container has an application. Returns 1 if the count is on
 * disk, 0 if there is no change or no file, or -errno. */
int nm_ended_apps_add(struct nm_ended_apps *a, const struct nm_container *c);

/* Returns entry i of NM_ENDED_APPS; the entries are not ordered. NULL: the entry is empty, or older than since_usec. */
const struct nm_ended_app *nm_ended_apps_get(const struct nm_ended_apps *a, unsigned i, uint64_t since_usec);

/* Print an entry as the file stores it, padded with zeroes, and parse such a text. Parsing returns 0 or -EBADMSG and
 * modifies the text. */
void nm_ended_app_print(const struct nm_ended_app *e, char *text, size_t size);
int nm_ended_app_parse(char *text, struct nm_ended_app *ret);
