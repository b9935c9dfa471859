/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Waiting for the end of an existing container, with messages on stderr that say what nmctl waits for and why. */

#include <jansson.h>

#include "nmctl/nmctl.h"

/* Waits, also during a restart of nmd. c: the container as nmd sent it. deadline_usec: CLOCK_BOOTTIME; UINT64_MAX:
 * none. Returns NM_CTL_OK and the ended container in *ret (the caller's reference), NM_CTL_TIMED_OUT at the deadline,
 * or another exit status. A message has been printed unless it is NM_CTL_OK. */
int nm_wait_for_end(struct nm_ctl *ctl, json_t *c, uint64_t deadline_usec, json_t **ret);
