/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/*
 * A container has one record at a time: begin (or by) opens it, effective or failed closes it, regained adds what
 * the next sample shows. The others tell of something that is over as soon as it is told.
 */

void nm_record_begin(struct nm_live_container *l, enum nm_decision_kind kind,
                     const struct nm_policy_action *a, const struct nm_policy_verdict *v,
                     enum nm_reason reason);
void nm_record_by(struct nm_live_container *l, enum nm_decision_kind kind, enum nm_reason reason,
                  const struct nm_caller *who);
/* The kernel has killed it, for want of memory of the slice or the node. Its end closes the record. */
void nm_record_kernel_kill(struct nm_live_container *l);
void nm_record_acted(struct nm_live_container *l);
void nm_record_told(struct nm_live_container *l); /* acted, and the next nmd must know that, too */
void nm_record_effective(struct nm_live_container *l);
void nm_record_failed(struct nm_live_container *l, const char *why);
void nm_record_regained(struct nm_live_container *l, const struct nm_resources *regained);
void nm_record_refusal(struct nm_manager *m, const struct nm_submit *s,
                       const struct nm_resources *request, enum nm_reason reason);
void nm_record_shadow(struct nm_live_container *l, enum nm_decision_kind kind,
                      const struct nm_policy_action *a, const struct nm_policy_verdict *v);
/* Counts it, by its reason and among all of its kind. */
void nm_record_count(struct nm_manager *m, enum nm_counted what, enum nm_reason why);
/* The squeeze of this verdict began, ended, or has another reason now. */
void nm_record_squeeze(struct nm_manager *m, const struct nm_policy_verdict *v);
/* The next decision has a higher number than that one. */
void nm_record_begin_after(struct nm_manager *m, uint64_t number);
/* r: what the newest write of the journal returned. Told when it changes. */
void nm_record_store_result(struct nm_manager *m, int r);
/* What is known of that already when health comes into being. */
void nm_record_tell_health(struct nm_manager *m);
