/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Work for workers, in batches that wait in lines. A batch is for one worker: resources to fetch, to remove or to check
 * for one account. Fetches, removals and checks have separate lines. Each line shares its slots fairly (line.h) between
 * the users who have asked, whatever account the worker runs as. A worker that makes no progress is killed in any
 * state, and its slot is reused before the worker has died. An id stands for each resource.
 *
 * A resource may be in several users' lines, in a batch of its own in each. The first of these batches that begins
 * fetches the resource, and the other batches are dropped. So no user waits for the batches that are ahead of the
 * resource in another user's line.
 */

#include <sys/queue.h>

#include "localize/job.h"

/* Limit on the resources of a batch. When a batch ends, each of them gets a callback in the same turn of the loop. */
#define NM_BATCH_MAX 64U

struct nm_batch;
struct nm_batches;

struct nm_batches_params {
    sd_event *event;
    int program_fd; /* open file of nm-localizer; owned by the caller */
    unsigned max_workers; /* limit on fetching workers; line.h may allow a few more */
    uint64_t worker_max_bytes;
    uint64_t silent_usec; /* a worker that sends no report for this long is killed */
    uint64_t stalled_usec; /* a worker that reports, but receives no byte for this long, is killed */
    /* A worker is about to be started for the resource. If the callback returns a negative errno, the worker is not
     * started, and all resources of its batch fail. May be NULL. */
    int (*begins)(uint64_t id, void *userdata);
    /* Exactly one of fetched, failed, removed, not_removed and checked is called for an id, once: its result. The
     * callbacks below may not add or free batches. */
    void (*fetched)(uint64_t id, const struct nm_worker_reply *reply, void *userdata);
    void (*failed)(uint64_t id, const char *message, void *userdata);
    /* Called before `failed`: the cause of the failure is a lack of room. */
    void (*found_full)(uint64_t id, void *userdata);
    /* The id will fail, but its worker may still write for a moment. `failed` is called when the worker has ended. */
    void (*abandoned)(uint64_t id, const char *message, void *userdata);
    void (*removed)(uint64_t id, void *userdata);
    void (*not_removed)(uint64_t id, const char *message, void *userdata);
    /* user: owner of the line that had the check. A resource that could not be looked at is reported as whole. */
    void (*checked)(uint64_t id, const char *user, bool is_whole, void *userdata);
    void (*progress)(uint64_t id, const struct nm_worker_reply *reply, void *userdata);
    void (*has_room)(void *userdata); /* a worker has ended: nm_batches_start() may start another */
    void *userdata;
};

int nm_batches_new(const struct nm_batches_params *params, struct nm_batches **ret);
struct nm_batches *nm_batches_free(struct nm_batches *bs);
NM_DEFINE_CLEANUP(struct nm_batches *, nm_batches_free)

/* The places of one resource in the batches that are to fetch it. The caller keeps the list beside the resource's id,
 * zeroed at first, and may free it when `failed` or `fetched` has been called for the id. */
struct nm_batch_entry;
LIST_HEAD(nm_batch_places, nm_batch_entry);

/* The account that a worker runs as. */
struct nm_batch_owner {
    uid_t uid;
    gid_t gid;
    const char *account; /* account whose supplementary groups are used, copied; NULL: the uid's first account */
};

/* Makes a batch with room for n resources. `settings`, which may be NULL, are copied into the batch's work (work.h).
 * user: the user whose slot the batch takes. */
int nm_batch_new(const json_t *settings, const char *user, const struct nm_batch_owner *owner, size_t n,
                 struct nm_batch **ret);
struct nm_batch *nm_batch_free(struct nm_batch *b);
NM_DEFINE_CLEANUP(struct nm_batch *, nm_batch_free)
/* Takes ownership of `resource`. A resource that has a place already may only be added to another batch that is
 * empty. */
int nm_batch_add_fetch(struct nm_batch *b, uint64_t id, struct nm_batch_places *places, json_t *resource);
int nm_batch_add_removal(struct nm_batch *b, uint64_t id, const char *target);
int nm_batch_add_check(struct nm_batch *b, uint64_t id, const char *target);
bool nm_batch_is_for(const struct nm_batch *b, const char *user, const struct nm_batch_owner *owner);

/* Sets a function that is called once the batch has ended. The function may put other batches. */
void nm_batch_on_end(struct nm_batch *b, void (*ended)(void *userdata), void *userdata);

/* Takes ownership of the batch and puts the batch into its line. An empty batch is dropped. -ENOMEM: the batch is
 * dropped, and its fetches have failed. */
int nm_batches_put(struct nm_batches *bs, struct nm_batch *b);
/* Gives a slot to the next batch of each line, and starts the worker of one batch that has a slot. If `begins` has not
 * been called for all resources of the batch by end_usec, later calls continue. Returns whether work may be left. */
bool nm_batches_start(struct nm_batches *bs, uint64_t end_usec);

/* Returns whether a worker is fetching the resource now, or the resource is in the user's own line. */
bool nm_batches_serve(const struct nm_batch_places *places, const char *user);
/* Marks the resource as no longer wanted. A batch without any wanted resource is given up: if it still waits in line,
 * its fetches fail at once, and if its worker runs, they are abandoned. The call may free `places`. */
void nm_batches_give_up(struct nm_batch_places *places);
/* Marks the resource as wanted again, after nm_batches_give_up(). */
void nm_batches_want(struct nm_batch_places *places);
