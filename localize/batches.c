/* SPDX-License-Identifier: Apache-2.0 */

/* See batches.h. */

#include "localize/batches.h"

#include <assert.h>
#include <errno.h>
#include <sys/queue.h>

/* One worker's work. It is a list, since a process costs more than most files do: a container with twenty resources
 * has one or two workers. */
struct nm_batch {
    TAILQ_ENTRY(nm_batch) link;
    struct nm_batches *all;
    struct nm_job *job; /* NULL: it waits in line */
    uid_t uid;
    gid_t gid;
    char *account; /* NULL: any with that uid */
    json_t *work;
    uint64_t *ids; /* 0: of that one the end has been heard */
    size_t n, room;
    bool is_removal;
    void (*ended)(void *userdata);
    void *userdata;
};

TAILQ_HEAD(batch_list, nm_batch);

/* The line is first come, first served, but for removals, which nobody waits for. */
struct nm_batches {
    struct nm_batches_params params;
    struct batch_list waiting, running;
    unsigned n_running;
};

int nm_batches_new(const struct nm_batches_params *params, struct nm_batches **ret)
{
    struct nm_batches *bs = calloc(1, sizeof *bs);

    assert(params->max_workers > 0);
    if (!bs)
        return -ENOMEM;
    bs->params = *params;
    TAILQ_INIT(&bs->waiting);
    TAILQ_INIT(&bs->running);
    *ret = bs;
    return 0;
}

static void free_list(struct batch_list *list)
{
    struct nm_batch *b;

    while ((b = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, b, link);
        (void)nm_batch_free(b);
    }
}

struct nm_batches *nm_batches_free(struct nm_batches *bs)
{
    if (!bs)
        return NULL;
    free_list(&bs->waiting);
    free_list(&bs->running);
    free(bs);
    return NULL;
}

/* The settings are copied one level deep: the lists in them are shared, and nobody changes those. */
int nm_batch_new(const json_t *settings, const char *user, const struct nm_batch_owner *owner, size_t n,
                 struct nm_batch **ret)
{
    _cleanup_(nm_batch_freep) struct nm_batch *b = calloc(1, sizeof *b);

    if (!b)
        return -ENOMEM;
    b->uid = owner->uid;
    b->gid = owner->gid;
    b->account = owner->account ? strdup(owner->account) : NULL;
    b->room = n;
    b->ids = calloc(n, sizeof *b->ids);
    b->work = settings ? json_copy((json_t *)settings) : json_object();
    if ((owner->account && !b->account) || !b->ids || json_object_set_new(b->work, "user", json_string(user)) < 0 ||
        json_object_set_new(b->work, "removals", json_array()) < 0 ||
        json_object_set_new(b->work, "resources", json_array()) < 0)
        return -ENOMEM;
    *ret = STEAL_PTR(b);
    return 0;
}

struct nm_batch *nm_batch_free(struct nm_batch *b)
{
    if (!b)
        return NULL;
    (void)nm_job_free(b->job);
    json_decref(b->work);
    free(b->account);
    free(b->ids);
    free(b);
    return NULL;
}

/* The place in the worker's list is the place in ids: by that its lines are understood. */
static int add(struct nm_batch *b, uint64_t id, const char *list, json_t *item)
{
    assert(b->n < b->room && id > 0);
    if (json_array_append_new(json_object_get(b->work, list), item) < 0)
        return -ENOMEM;
    b->ids[b->n++] = id;
    return 0;
}

void nm_batch_on_end(struct nm_batch *b, void (*ended)(void *userdata), void *userdata)
{
    b->ended = ended;
    b->userdata = userdata;
}

/* It is in no list any more. Freed before its owner hears of it: the owner may make another one, or take all of them
 * down. */
static void end_batch(struct nm_batch *b)
{
    void (*ended)(void *) = b->ended;
    void *userdata = b->userdata;

    (void)nm_batch_free(b);
    if (ended)
        ended(userdata);
}

int nm_batch_add_fetch(struct nm_batch *b, uint64_t id, json_t *resource)
{
    assert(!b->is_removal);
    return add(b, id, "resources", resource);
}

int nm_batch_add_removal(struct nm_batch *b, uint64_t id, const char *target)
{
    assert(b->n == 0);
    b->is_removal = true;
    return add(b, id, "removals", json_string(target));
}

/* What a container waits for goes before what is only in the way; a removal that never had its turn would be done
 * after nmd's next start. */
void nm_batches_put(struct nm_batches *bs, struct nm_batch *b)
{
    struct nm_batch *other;

    if (b->n == 0) {
        (void)nm_batch_free(b);
        return;
    }
    b->all = bs;
    TAILQ_FOREACH(other, &bs->waiting, link)
        if (other->is_removal && !b->is_removal) {
            TAILQ_INSERT_BEFORE(other, b, link);
            return;
        }
    TAILQ_INSERT_TAIL(&bs->waiting, b, link);
}

/* ---- those that run ---- */

/* The worker is the user's, who may have it say anything: an id has one end, and only those of its batch have any. */
static void on_said(struct nm_job *job, const struct nm_said *said, void *userdata)
{
    struct nm_batch *b = userdata;
    const struct nm_batches_params *p = &b->all->params;
    uint64_t id;

    (void)job;
    if (said->is_removal != b->is_removal || said->index >= b->n || b->ids[said->index] == 0)
        return;
    id = b->ids[said->index];
    if (said->state == NM_SAID_FETCHING || said->state == NM_SAID_UNPACKING) {
        p->progress(id, said, p->userdata);
        return;
    }
    b->ids[said->index] = 0;
    if (said->state == NM_SAID_FAILED && !b->is_removal)
        p->failed(id, said->error, p->userdata);
    else if (said->state == NM_SAID_DONE && b->is_removal)
        p->removed(id, p->userdata);
    else if (said->state == NM_SAID_DONE)
        p->fetched(id, said->bytes, p->userdata);
}

/* A worker that dies says nothing of what it had not come to. Of a removal nobody is told: it is done again after
 * nmd's next start. */
static void fail_rest(struct nm_batch *b, const char *message)
{
    const struct nm_batches_params *p = &b->all->params;

    for (size_t i = 0; i < b->n && !b->is_removal; i++)
        if (b->ids[i] != 0)
            p->failed(b->ids[i], message, p->userdata);
}

static void on_ended(struct nm_job *job, const char *reason, void *userdata)
{
    struct nm_batch *b = userdata;
    struct nm_batches *bs = b->all;

    (void)job;
    fail_rest(b, reason); /* what it has said nothing of */
    TAILQ_REMOVE(&bs->running, b, link);
    bs->n_running--;
    end_batch(b);
    bs->params.has_room(bs->params.userdata);
}

/* Text is made of the work only now: what waits in line is small. */
static int start(struct nm_batches *bs, struct nm_batch *b)
{
    _cleanup_free_ char *work = json_dumps(b->work, JSON_COMPACT);
    const struct nm_job_params params = {
        .event = bs->params.event,
        .program_fd = bs->params.program_fd,
        .uid = b->uid,
        .gid = b->gid,
        .account = b->account,
        .work = work,
        .most_memory_bytes = bs->params.worker_max_bytes,
        .said = on_said,
        .ended = on_ended,
        .userdata = b,
    };

    return work ? nm_job_new(&params, &b->job) : -ENOMEM;
}

/* No account has all of the workers while there are several: with a server that is slow enough it would keep the
 * others from theirs for as long as it likes. */
static bool may_run(const struct nm_batches *bs, const struct nm_batch *b)
{
    const struct nm_batch *other;
    unsigned n = 0;

    TAILQ_FOREACH(other, &bs->running, link)
        n += other->uid == b->uid;
    return n == 0 || n + 1 < bs->params.max_workers;
}

/* Not simply the first in line: one whose account has its share is passed over for the next. */
static struct nm_batch *next_to_run(struct nm_batches *bs)
{
    struct nm_batch *b;

    if (bs->n_running >= bs->params.max_workers)
        return NULL;
    TAILQ_FOREACH(b, &bs->waiting, link)
        if (may_run(bs, b))
            return b;
    return NULL;
}

void nm_batches_start(struct nm_batches *bs)
{
    struct nm_batch *b;

    while ((b = next_to_run(bs))) {
        int r = start(bs, b);

        TAILQ_REMOVE(&bs->waiting, b, link);
        if (r >= 0) {
            TAILQ_INSERT_TAIL(&bs->running, b, link);
            bs->n_running++;
            continue;
        }
        fail_rest(b, "nm-localizer can't be started");
        end_batch(b);
    }
}

static bool has_wanted(const struct nm_batch *b, bool (*is_wanted)(uint64_t id, void *userdata))
{
    for (size_t i = 0; i < b->n; i++)
        if (b->ids[i] != 0 && is_wanted(b->ids[i], b->all->params.userdata))
            return true;
    return false;
}

/* A worker that runs is killed and ends by itself, in its own turn: its end is where its batch goes, and nowhere
 * else. */
void nm_batches_give_up(struct nm_batches *bs, bool (*is_wanted)(uint64_t id, void *userdata))
{
    struct nm_batch *b, *next;

    for (b = TAILQ_FIRST(&bs->waiting); b; b = next) {
        next = TAILQ_NEXT(b, link);
        if (b->is_removal || has_wanted(b, is_wanted))
            continue;
        TAILQ_REMOVE(&bs->waiting, b, link);
        fail_rest(b, "nobody waits for it any more");
        (void)nm_batch_free(b);
    }
    TAILQ_FOREACH(b, &bs->running, link)
        if (!b->is_removal && !has_wanted(b, is_wanted))
            nm_job_kill(b->job);
}
