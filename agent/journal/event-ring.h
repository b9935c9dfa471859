/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

struct nm_events *nm_events_new(void); /* NULL: no memory */
/* Ends all subscriptions. */
struct nm_events *nm_events_free(struct nm_events *e);

/* Before the first event: those of an earlier nmd; what comes from now on is kept for a later one. Returns the highest
 * number of a decision that they tell of; 0: of none. */
uint64_t nm_events_load(struct nm_manager *m);
/*
 * Events are on disk before anybody hears of them: who follows them over a restart goes on after the last number that
 * it has heard, which must not be given to another one. But not before what they tell of is in the journal: of what
 * dies with a transaction, a restarted nmd must not say that it was so. Readers are answered in a turn of their own, in
 * which no transaction is open. One that can't be written is shown as such, and this tries it again: it is called after
 * each write of the journal.
 */
void nm_events_keep(struct nm_manager *m);

void nm_events_tell_state(struct nm_live_container *l, enum nm_state from, enum nm_state to);
/* c: whose it is; NULL: of no container. */
void nm_events_tell_decision(struct nm_manager *m, const struct nm_container *c, const struct nm_decision *d);
/* An event of the node is logged, too, as information or at the level. */
void nm_events_tell_node(struct nm_manager *m, const char *text);
void nm_events_tell_node_at(struct nm_manager *m, int level, const char *text);

bool nm_events_have_subscribers(const struct nm_events *e);
/* The newest one; its number is 0 before the first. */
const struct nm_event_record *nm_events_newest(const struct nm_events *e);
