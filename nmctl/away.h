/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Waiting for nmd to return: an upgrade restarts it, and containers run on meanwhile. Every verb that follows something
 * uses this, so that all of them say the same and have the same patience. */

#include "nmctl/nmctl.h"

struct nm_away {
    uint64_t since_usec; /* CLOCK_BOOTTIME of the loss; 0: nmd is there */
    uint64_t retry_usec; /* when to try again */
    uint64_t said_usec;  /* of the last message */
};

/* Is r (from rpc/local/client.h) what an nmd that ends or starts makes of a call? */
bool nm_away_is_loss(int r);
/* Notes that nmd can't be reached, with r as the reason. The first time it says so, with `goes_on` ("web goes on", or
 * ""); later it keeps a message on a terminal up to date. Returns NM_CTL_OK, or after a minute NM_CTL_UNREACHABLE and
 * has said why. */
int nm_away_lost(struct nm_away *a, const struct nm_ctl *ctl, int r, const char *goes_on);
/* Says that nmd is back. */
void nm_away_back(struct nm_away *a);
