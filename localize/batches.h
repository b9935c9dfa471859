/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What workers are to do, and the lines of it. A batch is for one worker: resources to fetch for one account, or one
 * to remove. Fetches and removals have lines of their own, in which slots are shared fairly (line.h) between those who
 * have asked, whoever the worker runs as. A worker that doesn't get on is ended, whatever state it is in, and its slot
 * doesn't wait for its death. An id stands for each resource.
 */

#include "localize/job.h"

struct nm_batch;
struct nm_batches;

struct nm_batches_params {
    sd_event *event;
    int program_fd; /* nm-localizer's; it stays the caller's */
    unsigned max_workers; /* that fetch; line.h may have some more */
    uint64_t worker_max_bytes;
    uint64_t silent_usec; /* a worker that reports nothing for this long is killed */
    /* The end of each id: one of these is called, once. None of them may add or free batches. */
    void (*fetched)(uint64_t id, uint64_t bytes, void *userdata);
    void (*failed)(uint64_t id, const char *message, void *userdata);
    /* It will fail, but its worker may write for a moment still: `failed` comes when that has ended. */
    void (*abandoned)(uint64_t id, const char *message, void *userdata);
    void (*removed)(uint64_t id, void *userdata);
    void (*not_removed)(uint64_t id, const char *message, void *userdata);
    void (*progress)(uint64_t id, const struct nm_said *said, void *userdata);
    void (*has_room)(void *userdata); /* a worker has ended: nm_batches_start() may start another */
    void *userdata;
};

int nm_batches_new(const struct nm_batches_params *params, struct nm_batches **ret);
struct nm_batches *nm_batches_free(struct nm_batches *bs);
NM_DEFINE_CLEANUP(struct nm_batches *, nm_batches_free)

/* As whom a worker runs. */
struct nm_batch_owner {
    uid_t uid;
    gid_t gid;
    const char *account; /* whose supplementary groups it has, copied; NULL: those of the uid's first account */
};

/* `settings` are copied into its work (work.h); they may be NULL. user: whose slot it takes. It has room for n
 * resources, or for one removal. */
int nm_batch_new(const json_t *settings, const char *user, const struct nm_batch_owner *owner, size_t n,
                 struct nm_batch **ret);
struct nm_batch *nm_batch_free(struct nm_batch *b);
NM_DEFINE_CLEANUP(struct nm_batch *, nm_batch_free)
int nm_batch_add_fetch(struct nm_batch *b, uint64_t id, json_t *resource); /* takes `resource` over */
int nm_batch_add_removal(struct nm_batch *b, uint64_t id, const char *target);

/* Is called when all that will be done of it has been done; it may put other batches. */
void nm_batch_on_end(struct nm_batch *b, void (*ended)(void *userdata), void *userdata);

/* Takes it over, into the line; an empty one is dropped. -ENOMEM: it is dropped, and its fetches have failed. */
int nm_batches_put(struct nm_batches *bs, struct nm_batch *b);
void nm_batches_start(struct nm_batches *bs);
/* Gives up each fetch of which no resource is wanted: a waiting fetch fails at once, a running one is abandoned. */
void nm_batches_give_up(struct nm_batches *bs, bool (*is_wanted)(uint64_t id, void *userdata));
