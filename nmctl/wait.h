/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Waiting for the ends of existing containers, with messages on stderr that say what nmctl waits for and why. */

#include <jansson.h>

#include "nmctl/nmctl.h"
#include "rpc/local/client/client.h"

struct nm_waited {
    json_t *c;  /* as nmd described it last; the owner's reference */
    bool over;  /* it has ended, or can't be waited for: status is final */
    int status; /* the exit status that corresponds to its end, or NM_CTL_* */
    struct nm_client *call;         /* for nm_wait_for_ends() alone */
    struct nm_client_answer answer;
};

typedef void (*nm_wait_end_cb_t)(struct nm_ctl *ctl, const json_t *ended);

bool nm_wait_has_ended(const json_t *c);
/* Waits for those of n containers that aren't over, also during a restart of nmd, and calls ended_cb for each in the
 * order of their ends. deadline_usec: CLOCK_BOOTTIME; UINT64_MAX: none. Then all are over, with the status
 * NM_CTL_TIMED_OUT where the deadline came first. Whatever isn't NM_CTL_OK has been said, but for a command's own
 * status. */
void nm_wait_for_ends(struct nm_ctl *ctl, struct nm_waited *all, size_t n, uint64_t deadline_usec,
                      nm_wait_end_cb_t ended_cb);
/* Waits for one without a deadline. c: the container as nmd sent it. Returns NM_CTL_OK and the ended container in *ret
 * (the caller's reference), or another exit status after having said why. */
int nm_wait_for_end(struct nm_ctl *ctl, json_t *c, json_t **ret);
