/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/*
 * Each function journals its intent and then carries it out. Inside a round, all intents are first written in one
 * transaction, and nm_act_carry_out() follows.
 */

void nm_act_carry_out(struct nm_live_container *l);
void nm_act_admit(struct nm_live_container *l);
void nm_act_pause(struct nm_live_container *l, bool by_user);
void nm_act_resume(struct nm_live_container *l);
void nm_act_reclaim(struct nm_live_container *l, uint64_t bytes, uint64_t within_usec); /* within_usec 0: no time
                                                                                           limit */
/* Ends the container's processes so that it can run again (nm_container.rerun). */
void nm_act_rerun(struct nm_live_container *l);
/* reason becomes the container's exit reason. now: sends SIGKILL at once. */
void nm_act_kill(struct nm_live_container *l, enum nm_exit_reason reason, bool now);
/* Removes a waiting container from the queue and ends it. */
void nm_act_discard(struct nm_live_container *l, enum nm_exit_reason reason);
