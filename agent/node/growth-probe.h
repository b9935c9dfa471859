/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

struct nm_growth_probe *nm_growth_probe_new(void); /* NULL: no memory */
struct nm_growth_probe *nm_growth_probe_free(struct nm_growth_probe *g);
/* Returns when the CPU stall or surge that the probe follows began, or 0 if it follows none. */
uint64_t nm_growth_probe_event_usec(const struct nm_growth_probe *g);
int nm_growth_probe_start(struct nm_manager *m);
void nm_growth_probe_look_at_cpu(struct nm_manager *m); /* a stall, or a surge, may have begun */
/* after each round, when what it decided has begun; sampled: it had a sample of its own */
void nm_growth_probe_rearm(struct nm_manager *m, const struct nm_policy_verdict *v, bool sampled);
void nm_growth_probe_again(struct nm_manager *m); /* a round was left out: the glances go on */
