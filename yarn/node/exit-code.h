/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Converts the end of a container to YARN's exit statuses (ContainerExitStatus) and to the texts of Hadoop 3.4.2's
 * NodeManager. The code is pure. Application masters act on the status: MapReduce counts a task with -100, -102 or -108
 * as killed and not as failed. nmd therefore uses these three statuses for containers that the node ended or lost.
 */

#include <stdio.h>

#include "agent/status.h"
#include "rpc/hadoop/arena.h"

/* Maximum length of one container's diagnostics. Hadoop's own limit is 10,000 characters. */
#define NM_YARN_DIAGNOSTICS_MAX 8192u

/* Returns the exit status. The container must have ended. */
int32_t nm_yarn_exit_code(const struct nm_container *c);

/* Returns true if the command itself failed. The command's last output may then explain the failure. */
bool nm_yarn_exit_is_failure(const struct nm_container *c);

/* Returns true if a signal from outside ended the command: SIGTERM or SIGKILL, also by a request for a signal. As with
 * Hadoop, an exit with 143 or 137 counts as such an end, and the diagnostics have no output. */
bool nm_yarn_exit_is_external(const struct nm_container *c);

/* Returns true if nmd, a user or the cluster ended the container. */
bool nm_yarn_exit_is_kill(const struct nm_container *c);

/* Writes "[2026-11-23 12:00:00.000]" in local time, as Hadoop does. */
void nm_yarn_put_time(uint64_t realtime_usec, FILE *out);
/* Returns the diagnostics of the container, in the arena. They consist of one line per reason, each with the time of
 * the end, and output_tail, the end of the command's output. Returns "" if the command exited with 0, NULL without
 * memory. */
const char *nm_yarn_exit_text(const struct nm_container *c, const char *output_tail, struct nm_arena *arena);
