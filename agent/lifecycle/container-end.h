/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Is it over? Then its end is dealt with in a turn of its own; what the command left running is killed. */
void nm_end_check(struct nm_live_container *l);
/* the same, by who has just seen that its cgroup is empty, or gone */
void nm_end_is_empty(struct nm_live_container *l);
void nm_end_check_all(struct nm_manager *m); /* now and then: what lacked memory for it is done after all */
/* SIGKILL to all of it, and again for as long as something is there. */
int nm_end_kill(struct nm_live_container *l);
/* Nothing of it is left to be killed: it has ended, and only waits for the turn in which that is dealt with. Not so
 * what couldn't be started, which would then go back into the queue. */
bool nm_end_is_over(const struct nm_live_container *l);
/* How c ended, by l->end (with has_end), else by what else is known. Fills in exit_* and message. */
void nm_end_classify(struct nm_live_container *l);
/* Before anything ran: the container ends here, and says why. */
void nm_end_fail_launch(struct nm_live_container *l, enum nm_launch_stage stage, int error, const char *message);
/* Not now (no room on the disk): back into the queue as soon as nothing is left of it, until the next sample. */
void nm_end_hold_launch(struct nm_live_container *l);
