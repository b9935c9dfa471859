/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Waits for existing containers to end, and prints on stderr which containers nmctl waits for and why. */

#include <jansson.h>

#include "nmctl/nmctl.h"
#include "rpc/local/client/client.h"

struct nm_waited {
    json_t *c;  /* the container's latest JSON from nmd; a reference that this struct's owner owns */
    bool over;  /* the container has ended or can't be waited for, and status is final */
    int status; /* exit status for the container's end, or NM_CTL_* */
    struct nm_client *call;         /* call in progress, used by nm_wait_for_ends() only */
    struct nm_client_answer answer;
};

typedef void (*nm_wait_end_cb_t)(struct nm_ctl *ctl, const json_t *ended);

bool nm_wait_has_ended(const json_t *c);
/* Waits for those of n containers that aren't over, also across a restart of nmd, and calls ended_cb for each in the
 * order of their ends. deadline_usec: CLOCK_BOOTTIME; UINT64_MAX: no deadline. At the deadline the remaining containers
 * become over with the status NM_CTL_TIMED_OUT. An error message has been printed for each status other than NM_CTL_OK,
 * except for the exit status of a command. */
void nm_wait_for_ends(struct nm_ctl *ctl, struct nm_waited *all, size_t n, uint64_t deadline_usec,
                      nm_wait_end_cb_t ended_cb);
/* Waits for one container without a deadline. c: the container's JSON. Returns NM_CTL_OK and the ended container in
 * *ret, a reference that the caller owns, or another exit status after printing the reason. */
int nm_wait_for_end(struct nm_ctl *ctl, json_t *c, json_t **ret);
