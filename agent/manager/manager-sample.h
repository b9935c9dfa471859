/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/manager/manager-state.h"

/* A sample reads all of each container, which takes milliseconds where there are many, or big ones without a memory
 * controller: out of turn no more than a twentieth of the time is spent on it. Is that time over since the newest? */
bool nm_sample_is_affordable(const struct nm_manager *m, uint64_t now_usec);

int nm_sample_all(struct nm_manager *m); /* node and all containers, afresh */
void nm_sample_live(struct nm_live *l, uint64_t now_usec);
/* n: of its whole life; ooms: how often its own limit was the reason, or NM_LAUNCH_OOMS_UNKNOWN */
void nm_sample_count_oom_kills(struct nm_live *l, uint64_t n, uint64_t ooms);
/* The slice's cpu.stat and memory.stat stay open. At the start, and again when the slice is another. */
void nm_sample_open_slice(struct nm_manager *m);
void nm_sample_close_slice(struct nm_manager *m); /* it has gone */
/* Has the kernel killed in it since the last look? Then that is counted and told. */
bool nm_sample_find_oom_kill(struct nm_live *l);
/* Lately, so that it is about to end: the kernel may be quicker than the sample that a kill was decided on. */
bool nm_sample_was_oom_killed(struct nm_live *l);
