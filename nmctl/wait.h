/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Waiting for the end of a container that is there, with words on stderr about what is waited for and why. */

#include <jansson.h>

#include "nmctl/nmctl.h"

/* Waits, also over a restart of nmd. c: the container as nmd has told it. deadline_usec: CLOCK_BOOTTIME; UINT64_MAX:
 * none. Returns NM_CTL_OK with *ret (the caller's reference) as it ended, NM_CTL_TIMED_OUT at the deadline, or another
 * exit status. What isn't NM_CTL_OK has been said. */
int nm_wait_for_end(struct nm_ctl *ctl, json_t *c, uint64_t deadline_usec, json_t **ret);
