/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/*
 * A container has one open record at a time: begin (or by) opens the record, effective or failed closes it, and
 * regained adds the figures of the next sample. The other functions write a record that is complete at once.
 */

void nm_record_begin(struct nm_live_container *l, enum nm_decision_kind kind,
                     const struct nm_policy_action *a, const struct nm_policy_verdict *v,
                     enum nm_reason reason);
void nm_record_by(struct nm_live_container *l, enum nm_decision_kind kind, enum nm_reason reason,
                  const struct nm_caller *who);
/* Opens a record for a container that the kernel has killed, for want of memory of the slice or the node. The
 * container's end closes the record. */
void nm_record_kernel_kill(struct nm_live_container *l);
void nm_record_acted(struct nm_live_container *l);
void nm_record_told(struct nm_live_container *l); /* notes that the action was taken, and stores the record in the
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
void nm_record_tell_health(struct nm_manager *m);
