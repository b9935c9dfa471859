/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How a container ended, in YARN's numbers and words (ContainerExitStatus, and what Hadoop 3.4.2's NodeManager says
 * with each). Pure. Masters go by the number: of what has -100, -102 or -108 MapReduce thinks that it was killed and
 * not that it failed, so these are for what the node took or lost.
 */

#include <stdio.h>

#include "agent/status.h"
#include "rpc/hadoop/arena.h"

/* Of one container; Hadoop's own limit is 10,000 characters. */
#define NM_YARN_DIAGNOSTICS_MAX 8192u

/* c has ended. */
int32_t nm_yarn_exit_code(const struct nm_container *c);

/* Is it the program's own failure, of which its last words may tell more? */
bool nm_yarn_exit_is_failure(const struct nm_container *c);

/* "[2026-11-23 12:00:00.000]", by the node's own clock as Hadoop's. */
void nm_yarn_put_time(uint64_t realtime_usec, FILE *out);
/* For people: why, with what is known, each line with the time of the end; and then last_words. In the arena; NULL: no
 * memory. */
const char *nm_yarn_exit_text(const struct nm_container *c, const char *last_words, struct nm_arena *arena);
