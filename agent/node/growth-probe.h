/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

struct nm_growth_probe *nm_growth_probe_new(void); /* NULL: out of memory */
struct nm_growth_probe *nm_growth_probe_free(struct nm_growth_probe *g);
/* Returns when the CPU stall or surge that the probe follows began, or 0 if the probe follows no stall and no surge. */
uint64_t nm_growth_probe_event_usec(const struct nm_growth_probe *g);
int nm_growth_probe_start(struct nm_manager *m);
/* Takes CPU samples, because a stall or a surge may have begun. */
void nm_growth_probe_look_at_cpu(struct nm_manager *m);
/* Arms the probe again after a round whose actions have begun. sampled: the round took its own sample. */
void nm_growth_probe_rearm(struct nm_manager *m, const struct nm_policy_verdict *v, bool sampled);
void nm_growth_probe_again(struct nm_manager *m); /* continues the glances after a round was skipped */
