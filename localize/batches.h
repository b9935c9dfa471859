/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Work for workers, in batches that wait in queues. A batch is for one worker and one account: resources to fetch, to
 * remove or to check. Fetches, removals and checks have separate queues. Each queue shares its slots fairly
 * (user-queue.h) between the users who made the requests, whatever account the worker runs under. A worker that makes
 * no progress is killed, and its slot is used again even before the worker has exited. Each resource is identified by
 * an id.
 *
 * A resource may be in the queues of several users, in a separate batch for each user. The first of these batches that
 * begins fetches the resource, and the other batches are dropped. A user therefore never waits for batches that are
 * ahead of the resource in another user's queue.
 */

#include <sys/queue.h>

#include "localize/job.h"

/* Maximum number of resources of a batch. When a batch ends, a callback is called for each of them in the same turn of
 * the event loop. */
#define NM_BATCH_MAX 64U

struct nm_batch;
struct nm_batches;

struct nm_batches_params {
    sd_event *event;
    int program_fd; /* open file of nm-localizer; owned by the caller */
    unsigned max_workers; /* limit on fetching workers; user-queue.h may allow a few more */
    uint64_t worker_max_bytes;
    uint64_t silent_usec; /* a worker that sends no report for this time is killed */
    uint64_t stalled_usec; /* a worker that sends reports, but receives no byte for this time, is killed */
    /* Called before a worker is started for the resource. If the callback returns a negative errno, the worker isn't
     * started, and all resources of its batch fail. May be NULL. */
    int (*begins)(uint64_t id, void *userdata);
    /* For each id exactly one of fetched, failed, removed, not_removed and checked is called, once, with the result.
     * The callbacks below must not add or free batches. */
    void (*fetched)(uint64_t id, const struct nm_worker_reply *reply, void *userdata);
    void (*failed)(uint64_t id, const char *message, void *userdata);
    /* Called before `failed` if the cause of the failure is a lack of room. */
    void (*found_full)(uint64_t id, void *userdata);
    /* The fetch of this id will fail, but its worker may still write for a moment. `failed` is called when the worker
     * has ended. */
    void (*abandoned)(uint64_t id, const char *message, void *userdata);
    void (*removed)(uint64_t id, void *userdata);
    void (*not_removed)(uint64_t id, const char *message, void *userdata);
    /* user: owner of the queue in which the check was waiting. A resource that couldn't be checked is reported as
     * complete. */
    void (*checked)(uint64_t id, const char *user, bool is_whole, void *userdata);
    void (*progress)(uint64_t id, const struct nm_worker_reply *reply, void *userdata);
    void (*has_room)(void *userdata); /* called when a worker has ended: nm_batches_start() may start another worker */
    void *userdata;
};

int nm_batches_new(const struct nm_batches_params *params, struct nm_batches **ret);
struct nm_batches *nm_batches_free(struct nm_batches *bs);
NM_DEFINE_CLEANUP(struct nm_batches *, nm_batches_free)

/* The entries of one resource in the batches that may fetch it. The caller stores this list beside the resource's id,
 * zeroed at first, and may free it after `failed` or `fetched` has been called for the id. */
struct nm_batch_entry;
LIST_HEAD(nm_batch_refs, nm_batch_entry);

/* The account under which a worker runs. */
struct nm_batch_owner {
    uid_t uid;
    gid_t gid;
    const char *account; /* account whose supplementary groups are used; the string is copied; NULL: the uid's first
                            account */
};

/* Makes a batch for at most n resources. `settings`, which may be NULL, are copied into the batch's work
 * (worker/work.h). user: the user whose slot the batch uses. */
int nm_batch_new(const json_t *settings, const char *user, const struct nm_batch_owner *owner, size_t n,
                 struct nm_batch **ret);
struct nm_batch *nm_batch_free(struct nm_batch *b);
NM_DEFINE_CLEANUP(struct nm_batch *, nm_batch_free)
/* Adds a resource to fetch. Takes ownership of `resource`. A resource that is already in a batch may only be added to
 * another batch that is empty. */
int nm_batch_add_fetch(struct nm_batch *b, uint64_t id, struct nm_batch_refs *refs, json_t *resource);
int nm_batch_add_removal(struct nm_batch *b, uint64_t id, const char *target);
int nm_batch_add_check(struct nm_batch *b, uint64_t id, const char *target);
bool nm_batch_is_for(const struct nm_batch *b, const char *user, const struct nm_batch_owner *owner);

/* Sets a function that is called once the batch has ended. Must be called at most once. The function may put other
 * batches into queues. Returns 0 or -ENOMEM. */
int nm_batch_on_end(struct nm_batch *b, void (*ended)(void *userdata), void *userdata);

/* Takes ownership of the batch and puts it into its queue. Removals join a batch of the same user and owner that is
 * still waiting, so that one worker does them all; such a batch ends only with all of them. An empty batch is dropped.
 * -ENOMEM: the batch was dropped, and its fetches have failed. */
int nm_batches_put(struct nm_batches *bs, struct nm_batch *b);
/* Gives a slot to the next batch of each queue, and starts the worker of one batch that has a slot. If `begins`
 * hasn't been called for all resources of the batch by end_usec, later calls continue. Returns whether more work may
 * be left. */
bool nm_batches_start(struct nm_batches *bs, uint64_t end_usec);

/* Returns whether a worker is fetching the resource now, or whether the resource is in the queue of this user. */
bool nm_batches_serve(const struct nm_batch_refs *refs, const char *user);
/* Marks the resource as no longer wanted. If a batch has no wanted resource any more, the batch ends. If it is still
 * waiting in its queue, its fetches fail immediately. If its worker is running, its fetches are abandoned. The call may
 * free `refs`. */
void nm_batches_set_unwanted(struct nm_batch_refs *refs);
/* Marks the resource as wanted again, after nm_batches_set_unwanted(). */
void nm_batches_set_wanted(struct nm_batch_refs *refs);
