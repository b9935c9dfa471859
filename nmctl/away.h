/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Waits for nmd to return: an upgrade restarts it while containers keep running. Every verb that follows something
 * uses this code, so that messages and time limits are the same. */

#include "nmctl/nmctl.h"

struct nm_away {
    uint64_t since_usec; /* CLOCK_BOOTTIME at which the connection was lost; 0: nmctl is connected */
    uint64_t retry_usec; /* time of the next attempt */
    uint64_t said_usec;  /* time of the last message */
};

/* Returns whether r (from rpc/local/client/client.h) is an error that occurs while nmd ends or starts. */
bool nm_away_is_loss(int r);
/* Notes that nmd can't be reached, with the error r. The first call prints a message with `goes_on` ("web goes on", or
 * ""). Later calls update the message on a terminal. Returns NM_CTL_OK, or NM_CTL_UNREACHABLE after one minute, with
 * an error message. */
int nm_away_lost(struct nm_away *a, const struct nm_ctl *ctl, int r, const char *goes_on);
/* Prints that nmd is reachable again. */
void nm_away_back(struct nm_away *a);
