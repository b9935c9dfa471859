/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What couldn't be removed, and when that is tried again: of each user's a few at a time, those that have waited
 * longest first, after a pause that doubles for as long as nothing of the user's goes. So what stays for good costs
 * next to nothing, however much it is, and what went wrong for a while goes soon after that. An id stands for each.
 */

#include <stdint.h>
#include <systemd/sd-event.h>

#include "util/macros.h"

#define NM_LEFTOVERS_ROUND 8U /* of one user's that are tried at the same time */
#define NM_LEFTOVERS_FIRST_USEC (30 * NM_USEC_PER_SEC)
#define NM_LEFTOVERS_MOST_USEC (3600 * NM_USEC_PER_SEC)

struct nm_leftovers;

struct nm_leftovers_params {
    sd_event *event;
    uint64_t first_usec, most_usec; /* the shortest pause and the longest; 0: those above */
    /* Begins to remove it once more; how that went is told by one of the two below, also from within. */
    void (*retry)(uint64_t id, void *userdata);
    void *userdata;
};

int nm_leftovers_new(const struct nm_leftovers_params *params, struct nm_leftovers **ret);
struct nm_leftovers *nm_leftovers_free(struct nm_leftovers *l);
NM_DEFINE_CLEANUP(struct nm_leftovers *, nm_leftovers_free)

enum {
    NM_LEFTOVERS_E_FIRST = 1, /* nothing else of the user's is left over */
};

/* It couldn't be removed, for the first time or once more. 0, or NM_LEFTOVERS_E_FIRST. -ENOMEM: it isn't tried any
 * more. */
int nm_leftovers_put(struct nm_leftovers *l, const char *user, uint64_t id);
/* It was removed; that it was left over needn't be known. */
void nm_leftovers_gone(struct nm_leftovers *l, const char *user, uint64_t id);
