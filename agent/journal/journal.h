/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Persistent state other than containers, decisions and events: counters and figures about applications, the history of
 * the node's last day with summaries of ended applications, and the journal itself, which is replaced when it is
 * damaged. Failed writes are logged or passed to nm_record_store_result(). Times are in microseconds.
 */

#include "agent/state/manager-state.h"

/* ---- durable.c: counters and figures about applications ---------------------------------------- */

struct nm_durable *nm_durable_new(void); /* NULL: out of memory */
struct nm_durable *nm_durable_free(struct nm_durable *d);
void nm_durable_save(struct nm_manager *m); /* saves changes since the last call; without changes it writes no data */
void nm_durable_save_app(struct nm_manager *m, uint32_t app);
void nm_durable_save_drain(struct nm_manager *m);
void nm_durable_load(struct nm_manager *m);

/* ---- durable.c: a damaged journal ------------------------------------------------------------ */

/* Replaces a damaged journal: sets it aside and writes all known state to a new one. Within a transaction this call has
 * no effect, and a later call replaces the journal. */
void nm_journal_replace(struct nm_manager *m);
/* Logs that the journal was damaged or removed, with the numbers of containers and decisions that could be read from
 * it, and publishes the same sentence as an event of the node. rest: the end of the sentence, such as "; a new journal
 * has all containers that nmd knows". */
void nm_journal_report_damage(struct nm_manager *m, const struct nm_store_opened *o, const char *rest);

/* ---- saved-history.c: history of the node's last day, and ended applications -------------------------- */

/* Reads the files of an earlier nmd in the state directory and logs read errors. Returns -ENOMEM if memory is short. */
int nm_saved_history_load(struct nm_manager *m);
struct nm_saved_history *nm_saved_history_free(struct nm_saved_history *p);

/* Sets the span of the fine history from now on. */
void nm_saved_history_set_span(struct nm_saved_history *p, uint64_t span_usec);
void nm_saved_history_add_point(struct nm_manager *m, const struct nm_history_point *point);
/* Counts the end of a container for its application. */
void nm_saved_history_add_end(struct nm_manager *m, const struct nm_container *c);
/* Returns the history that covers the span; it is valid until the next point. */
const struct nm_history *nm_saved_history_get(const struct nm_manager *m, uint64_t span_usec);
/* Returns the application in slot i, from 0 to NM_ENDED_APPS - 1. NULL: the slot is empty, or its application ended
 * before since_usec. */
const struct nm_ended_app *nm_saved_history_ended_app(const struct nm_saved_history *p, unsigned i,
                                                      uint64_t since_usec);
