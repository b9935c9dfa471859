/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

struct nm_glance *nm_glance_new(void); /* NULL: no memory */
struct nm_glance *nm_glance_free(struct nm_glance *g);
/* Returns when the CPU stall or surge began that is being looked into; 0: there is none. */
uint64_t nm_glance_event_usec(const struct nm_glance *g);
int nm_glance_start(struct nm_manager *m);
void nm_glance_look_at_cpu(struct nm_manager *m); /* a stall, or a surge, may have begun */
/* after each round, when what it decided has begun; sampled: it had a sample of its own */
void nm_glance_rearm(struct nm_manager *m, const struct nm_policy_verdict *v, bool sampled);
void nm_glance_again(struct nm_manager *m); /* a round was left out: the glances go on */
