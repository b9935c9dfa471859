/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What workers are to do, and the lines of it. A batch is for one worker: resources to fetch, to remove or to check for
 * one account. Fetches, removals and checks have lines of their own, in which slots are shared fairly (line.h) between
 * those who have asked, whoever the worker runs as. A worker that doesn't get on is ended, whatever state it is in, and
 * its slot doesn't wait for its death. An id stands for each resource.
 *
 * One resource may be in a batch of its own in several users' lines: the first of these that begins fetches it, and
 * the others are dropped then. So nobody waits for what is before it in another user's line.
 */

#include <sys/queue.h>

#include "localize/job.h"

/* How many resources a batch may have: when it ends there is a callback for each of them, in one turn of the loop. */
#define NM_BATCH_MAX 64U

struct nm_batch;
struct nm_batches;

struct nm_batches_params {
    sd_event *event;
    int program_fd; /* nm-localizer's; it stays the caller's */
    unsigned max_workers; /* that fetch; line.h may have some more */
    uint64_t worker_max_bytes;
    uint64_t silent_usec; /* a worker that reports nothing for this long is killed */
    uint64_t stalled_usec; /* and one that reports, while no byte of its resource comes */
    /* A worker is about to be started for the resource. If this returns a negative errno, the worker is not started,
     * and all resources of its batch fail. May be NULL. */
    int (*begins)(uint64_t id, void *userdata);
    /* The end of each id: one of these is called, once. None of them may add or free batches. */
    void (*fetched)(uint64_t id, const struct nm_worker_reply *said, void *userdata);
    void (*failed)(uint64_t id, const char *message, void *userdata);
    /* Before `failed`: it fails since there was no room for it. */
    void (*found_full)(uint64_t id, void *userdata);
    /* It will fail, but its worker may write for a moment still: `failed` comes when that has ended. */
    void (*abandoned)(uint64_t id, const char *message, void *userdata);
    void (*removed)(uint64_t id, void *userdata);
    void (*not_removed)(uint64_t id, const char *message, void *userdata);
    /* user: in whose line it was. What couldn't be looked at is whole. */
    void (*checked)(uint64_t id, const char *user, bool is_whole, void *userdata);
    void (*progress)(uint64_t id, const struct nm_worker_reply *said, void *userdata);
    void (*has_room)(void *userdata); /* a worker has ended: nm_batches_start() may start another */
    void *userdata;
};

int nm_batches_new(const struct nm_batches_params *params, struct nm_batches **ret);
struct nm_batches *nm_batches_free(struct nm_batches *bs);
NM_DEFINE_CLEANUP(struct nm_batches *, nm_batches_free)

/* All places that one resource has in batches which are to fetch it. The caller keeps the list beside the resource's
 * id, zeroed at first, and may free it when `failed` or `fetched` has been called for the id. */
struct nm_batch_entry;
LIST_HEAD(nm_batch_places, nm_batch_entry);

/* As whom a worker runs. */
struct nm_batch_owner {
    uid_t uid;
    gid_t gid;
    const char *account; /* whose supplementary groups it has, copied; NULL: those of the uid's first account */
};

/* `settings` are copied into its work (work.h); they may be NULL. user: whose slot it takes. It has room for n. */
int nm_batch_new(const json_t *settings, const char *user, const struct nm_batch_owner *owner, size_t n,
                 struct nm_batch **ret);
struct nm_batch *nm_batch_free(struct nm_batch *b);
NM_DEFINE_CLEANUP(struct nm_batch *, nm_batch_free)
/* Takes `resource` over. What has a place already may only be put alone into another batch. */
int nm_batch_add_fetch(struct nm_batch *b, uint64_t id, struct nm_batch_places *places, json_t *resource);
int nm_batch_add_removal(struct nm_batch *b, uint64_t id, const char *target);
int nm_batch_add_check(struct nm_batch *b, uint64_t id, const char *target);
bool nm_batch_is_for(const struct nm_batch *b, const char *user, const struct nm_batch_owner *owner);

/* Is called when all that will be done of it has been done; it may put other batches. */
void nm_batch_on_end(struct nm_batch *b, void (*ended)(void *userdata), void *userdata);

/* Takes it over, into the line; an empty one is dropped. -ENOMEM: it is dropped, and its fetches have failed. */
int nm_batches_put(struct nm_batches *bs, struct nm_batch *b);
/* Gives a slot to the next of each line, and starts the worker of one of those that have a slot. Where `begins` isn't
 * done by end_usec for all of its resources, the rest is left to later calls. Returns whether there may be more. */
bool nm_batches_start(struct nm_batches *bs, uint64_t end_usec);

/* Is a worker fetching the resource now, or is it in the user's own line? */
bool nm_batches_serve(const struct nm_batch_places *places, const char *user);
/* The caller doesn't want the resource any more. A batch none of whose resources is wanted is given up: if it still
 * waits in line its fetches fail at once, and if its worker runs they are abandoned. `places` may be freed by that. */
void nm_batches_give_up(struct nm_batch_places *places);
/* The caller wants the resource again, after nm_batches_give_up(). */
void nm_batches_want(struct nm_batch_places *places);
