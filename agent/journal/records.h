/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Records of decisions, and the events that subscribers get. A record or an event that can't be written to disk stays
 * in memory and is written later, so most functions have no result.
 */

#include "agent/state/manager-state.h"

/* ---- decision-record.c ----------------------------------------------------------------------- */

struct nm_decisions *nm_decisions_new(void); /* NULL: out of memory */
struct nm_decisions *nm_decisions_free(struct nm_decisions *d);
/* Fills in the times from cause to effect of pauses and kills. */
void nm_decisions_fill(const struct nm_decisions *d, struct nm_status *ret);

/*
 * A container has one open record at a time: nm_record_begin() or nm_record_by() opens the record,
 * nm_record_effective() or nm_record_failed() closes it, and nm_record_regained() adds the figures of the next sample.
 * The other functions write a complete record.
 */

void nm_record_begin(struct nm_live_container *l, enum nm_decision_kind kind,
                     const struct nm_policy_action *a, const struct nm_policy_verdict *v,
                     enum nm_reason reason);
void nm_record_by(struct nm_live_container *l, enum nm_decision_kind kind, enum nm_reason reason,
                  const struct nm_caller *who);
/* Opens a record for a container that the kernel has killed because the slice or the node was out of memory. The
 * container's end closes the record. */
void nm_record_kernel_kill(struct nm_live_container *l);
void nm_record_acted(struct nm_live_container *l);
void nm_record_commit(struct nm_live_container *l); /* notes that the action was taken, and stores the record in the
                                                     journal for the next nmd */
void nm_record_effective(struct nm_live_container *l);
void nm_record_failed(struct nm_live_container *l, const char *why);
void nm_record_regained(struct nm_live_container *l, const struct nm_resources *regained);
void nm_record_refusal(struct nm_manager *m, const struct nm_submit *s,
                       const struct nm_resources *request, enum nm_reason reason);
void nm_record_shadow(struct nm_live_container *l, enum nm_decision_kind kind,
                      const struct nm_policy_action *a, const struct nm_policy_verdict *v);
/* Counts the event, for its reason and in the total of its kind. */
void nm_record_count(struct nm_manager *m, enum nm_counted what, enum nm_reason why);
/* Records that the squeeze of this verdict began, ended, or changed its reason. */
void nm_record_squeeze(struct nm_manager *m, const struct nm_policy_verdict *v);
/* Makes the next decision's number higher than this number. */
void nm_record_begin_after(struct nm_manager *m, uint64_t number);
/* Reports the result r of the newest journal write, when this result differs from the previous result. */
void nm_record_store_result(struct nm_manager *m, int r);
/* Reports the known result of journal writes to health, once health exists. */
void nm_record_report_health(struct nm_manager *m);

/* ---- event-ring.c ---------------------------------------------------------------------------- */

struct nm_events *nm_events_new(void); /* NULL: out of memory */
/* Ends all subscriptions. */
struct nm_events *nm_events_free(struct nm_events *e);

/* Loads the events of an earlier nmd, before the first new event; new events are stored for a later nmd. Returns the
 * highest decision number among the loaded events, or 0 if no event has a decision number. */
uint64_t nm_events_load(struct nm_manager *m);
/*
 * Writes events to disk before readers get them: a reader that continues after a restart starts after the last number
 * that it received, so this number must not be given to another event. An event is not written before its change is in
 * the journal, because a transaction may still be rolled back. Readers are answered in a separate turn of the event
 * loop, in which no transaction is open. An event that cannot be written is shown as unsaved; this function, called
 * after each journal write, tries again.
 */
void nm_events_write_unsaved(struct nm_manager *m);

void nm_events_publish_state(struct nm_live_container *l, enum nm_state from, enum nm_state to);
/* c: the container; NULL: the decision concerns no container. */
void nm_events_publish_decision(struct nm_manager *m, const struct nm_container *c, const struct nm_decision *d);
/* Adds an event of the node and logs it, at level info or at the given level. */
void nm_events_publish_node(struct nm_manager *m, const char *text);
void nm_events_publish_node_at(struct nm_manager *m, int level, const char *text);

bool nm_events_have_subscribers(const struct nm_events *e);
/* Returns the newest event; the event's number is 0 before the first event. */
const struct nm_event_record *nm_events_newest(const struct nm_events *e);
