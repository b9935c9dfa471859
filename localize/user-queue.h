/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Chooses the item of work that runs next. Items wait in one queue per user, and run in slots that are shared fairly.
 * The code has no clock, and its caller starts the items.
 *
 *  - The user with the fewest running items goes first. Among such users, the item that has waited longest goes first.
 *  - Each user has `own` slots that other users can't take. For these slots `max` may be exceeded, as long as at most
 *    `most` items run.
 *  - Beyond its own slots, a user may take all but one of the slots up to `max`.
 *
 * A user who fills slots with work that never ends therefore doesn't delay other users.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct nm_user_queue_user;

/* An item, which is a member of the caller's object. All members are zero while it is in no queue. */
struct nm_user_queue_item {
    TAILQ_ENTRY(nm_user_queue_item) link;
    struct nm_user_queue_user *user;
    uint64_t arrival;
    bool is_running, is_written_off;
};

struct nm_user_queue {
    unsigned max, own, most; /* slots; own <= max <= most */
    TAILQ_HEAD(nm_user_queue_users, nm_user_queue_user) users;
    unsigned n_running;
    uint64_t n_arrived;
};

void nm_user_queue_init(struct nm_user_queue *queue, unsigned max, unsigned own, unsigned most);

/* Puts the item at the end of the user's queue. -ENOMEM. */
int nm_user_queue_put(struct nm_user_queue *queue, struct nm_user_queue_item *item, const char *user);
/* Returns the next item that may run, and gives it a slot. NULL: no item may run. */
struct nm_user_queue_item *nm_user_queue_next(struct nm_user_queue *queue);
/* Frees the slot of an item that is being ended and may need a long time to end. The item still counts as a running
 * item of its user. */
void nm_user_queue_release_slot(struct nm_user_queue *queue, struct nm_user_queue_item *item);
/* Removes an item that is no longer waiting, or has ended. */
void nm_user_queue_remove(struct nm_user_queue *queue, struct nm_user_queue_item *item);
