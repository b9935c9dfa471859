/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Waits for existing containers to end, and prints on stderr which containers nmctl waits for and why. */

#include <jansson.h>

#include "nmctl/nmctl.h"
#include "rpc/local/client/client.h"

struct nm_wait_result {
    json_t *c;  /* the latest JSON of the container from nmd; the owner of this struct owns the reference */
    bool over;  /* the wait is over, because the container has ended or can't be waited for; status is final */
    int status; /* exit status for the container's end, or NM_CTL_* */
    struct nm_client *call;         /* call in progress, used by nm_wait_for_ends() only */
    struct nm_client_answer answer;
};

typedef void (*nm_wait_end_cb_t)(struct nm_ctl *ctl, const json_t *ended);

bool nm_wait_has_ended(const json_t *c);
/* Waits for those of the n containers whose wait isn't over, also across a restart of nmd. Calls ended_cb for each
 * container in the order of their ends. deadline_usec: CLOCK_BOOTTIME; UINT64_MAX: no deadline. At the deadline `over`
 * is set for the remaining containers, with the status NM_CTL_TIMED_OUT. For each status other than NM_CTL_OK an error
 * message has been printed, except if it is the exit status of a command. */
void nm_wait_for_ends(struct nm_ctl *ctl, struct nm_wait_result *all, size_t n, uint64_t deadline_usec,
                      nm_wait_end_cb_t ended_cb);
/* Waits for one container without a deadline. c: the container's JSON. Returns NM_CTL_OK and the ended container in
 * *ret, a reference that the caller owns, or another exit status after printing the reason. */
int nm_wait_for_end(struct nm_ctl *ctl, json_t *c, json_t **ret);
