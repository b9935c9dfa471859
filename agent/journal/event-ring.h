/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

struct nm_events *nm_events_new(void); /* NULL: out of memory */
/* Ends all subscriptions. */
struct nm_events *nm_events_free(struct nm_events *e);

/* Loads the events of an earlier nmd, before the first new event; new events are stored for a later nmd. Returns the
 * highest decision number among the loaded events, or 0 if no event has a decision number. */
uint64_t nm_events_load(struct nm_manager *m);
/*
 * Writes events to disk before readers get them: a reader that continues after a restart starts after the last number
 * that it received, so this number must not be given to another event. An event is not written before its change is in
 * the journal, because a transaction may still be rolled back. Readers are answered in a turn of their own, in which no
 * transaction is open. An event that cannot be written is shown as unsaved; this function, called after each journal
 * write, tries again.
 */
void nm_events_keep(struct nm_manager *m);

void nm_events_tell_state(struct nm_live_container *l, enum nm_state from, enum nm_state to);
/* c: the container; NULL: the decision concerns no container. */
void nm_events_tell_decision(struct nm_manager *m, const struct nm_container *c, const struct nm_decision *d);
/* Adds an event of the node and logs it, at level info or at the given level. */
void nm_events_tell_node(struct nm_manager *m, const char *text);
void nm_events_tell_node_at(struct nm_manager *m, int level, const char *text);

bool nm_events_have_subscribers(const struct nm_events *e);
/* Returns the newest event; the event's number is 0 before the first event. */
const struct nm_event_record *nm_events_newest(const struct nm_events *e);
