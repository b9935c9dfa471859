/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Schedules further attempts for removals that have failed. Each user has rounds of a few attempts, oldest items first.
 * The pause between rounds doubles while all attempts fail. Any number of items that can never be removed therefore
 * needs few attempts, and the other items are removed soon after a temporary fault. Each item is identified by an id.
 */

#include <stdint.h>
#include <systemd/sd-event.h>

#include "util/macros.h"

#define NM_LEFTOVERS_ROUND 8U /* attempts of one user at the same time */
#define NM_LEFTOVERS_FIRST_USEC (30 * NM_USEC_PER_SEC)
#define NM_LEFTOVERS_MOST_USEC (3600 * NM_USEC_PER_SEC)

struct nm_leftovers;

struct nm_leftovers_params {
    sd_event *event;
    uint64_t first_usec, most_usec; /* shortest and longest pause; 0: the defaults above */
    /* Starts another attempt. The callee reports the result by nm_leftovers_put() or nm_leftovers_gone(), possibly
     * during this call. */
    void (*retry)(uint64_t id, void *userdata);
    void *userdata;
};

int nm_leftovers_new(const struct nm_leftovers_params *params, struct nm_leftovers **ret);
struct nm_leftovers *nm_leftovers_free(struct nm_leftovers *l);
NM_DEFINE_CLEANUP(struct nm_leftovers *, nm_leftovers_free)

enum {
    NM_LEFTOVERS_E_FIRST = 1, /* the failed item is the user's only one */
};

/* Reports that an attempt has failed, either the first or another one. Returns 0 or NM_LEFTOVERS_E_FIRST. -ENOMEM: no
 * further attempts are made. */
int nm_leftovers_put(struct nm_leftovers *l, const char *user, uint64_t id);
/* Reports that the item was removed. Has no effect if no attempt for this id has failed. */
void nm_leftovers_gone(struct nm_leftovers *l, const char *user, uint64_t id);
/* Starts the next round of each user, because the cause of the failures may be gone. The pauses grow from the shortest
 * one again. */
void nm_leftovers_restart(struct nm_leftovers *l);
