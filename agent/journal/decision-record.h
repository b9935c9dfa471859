/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state of decision-record.c. Only decision-record.c and its tests use this header; records.h has the functions. */

#include "agent/journal/records.h"

struct nm_decisions {
    uint64_t next;              /* number of the next decision */
    struct nm_decision refusal; /* the newest refusal; equal refusals that follow are merged into it */
    /* name of the user whose request led to the newest decision that a user caused */
    char name[sizeof(((struct nm_decision *)0)->by_user)];
    uid_t name_uid;
    uint64_t name_usec; /* time at which `name` was looked up; 0 if no name was looked up yet */
    struct nm_histogram reaction_pause, reaction_kill;
};
