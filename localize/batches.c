/* SPDX-License-Identifier: Apache-2.0 */

/* See batches.h. */

#include "localize/batches.h"

#include <assert.h>
#include <errno.h>
#include <sys/queue.h>

#include "localize/line.h"
#include "localize/work.h"
#include "util/clock.h"

#define MORE_WORKERS 8U /* beyond max_workers, so that each user has a slot */
#define REMOVALS_MAX 2U
#define FETCH_USEC NM_WORK_TIME_USEC /* of one resource, as its worker has it, who may not keep to it */
#define REMOVAL_USEC (3600 * NM_USEC_PER_SEC)

/* One worker's work. It is a list, since a process costs more than most files do: a container with twenty resources
 * has one or two workers. */
struct nm_batch {
    struct nm_line_item item; /* first: an item is its batch */
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
    uint64_t heard_usec, begun_usec; /* its last word; when it began what it is at */
    void (*ended)(void *userdata);
    void *userdata;
};

TAILQ_HEAD(batch_list, nm_batch);

struct nm_batches {
    struct nm_batches_params params;
    struct nm_line fetches, removals;
    struct batch_list waiting, running;
    sd_event_source *watch; /* the next deadline of a worker */
};

static struct nm_line *line_of(struct nm_batch *b)
{
    return b->is_removal ? &b->all->removals : &b->all->fetches;
}

/* ---- deadlines of workers ---- */

/* Without the time that the host slept, in which a worker couldn't get on. */
static uint64_t now_usec(void)
{
    return nm_clock_usec(CLOCK_MONOTONIC);
}

/* A worker that makes progress reports it several times a second, also while it waits for a server or a command. The
 * limit on the whole time is for a removal that would never end because a user keeps making files. */
static uint64_t deadline(const struct nm_batch *b)
{
    const uint64_t silent_usec = b->all->params.silent_usec;
    const uint64_t whole_usec = b->is_removal ? REMOVAL_USEC : nm_add_u64(FETCH_USEC, silent_usec);

    return NM_MIN(nm_add_u64(b->heard_usec, silent_usec), nm_add_u64(b->begun_usec, whole_usec));
}

static void arm(struct nm_batches *bs)
{
    uint64_t first = UINT64_MAX;
    const struct nm_batch *b;

    TAILQ_FOREACH(b, &bs->running, link)
        if (!b->item.is_written_off)
            first = NM_MIN(first, deadline(b));
    (void)sd_event_source_set_time(bs->watch, first);
    (void)sd_event_source_set_enabled(bs->watch, first == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

/* Calls `tell` for each item whose end has not been reported. The message names the item, since whoever asked for it
 * may have asked for many. */
static void tell_rest(struct nm_batch *b, void (*tell)(uint64_t id, const char *message, void *userdata),
                      const char *why)
{
    const json_t *list = json_object_get(b->work, b->is_removal ? "removals" : "resources");

    for (size_t i = 0; i < b->n; i++) {
        const json_t *item = json_array_get(list, i);
        const char *what = json_string_value(b->is_removal ? item : json_object_get(item, "uri"));
        _cleanup_free_ char *message = NULL;

        if (b->ids[i] == 0)
            continue;
        if (asprintf(&message, "%s: %s", what, why) < 0)
            message = NULL;
        tell(b->ids[i], message ?: why, b->all->params.userdata);
    }
}

/* SIGKILL ends a stopped process, too. A process that waits for a disk dies only when the disk answers, if ever: the
 * other batches continue without it. */
static void write_off(struct nm_batch *b, const char *message)
{
    nm_line_write_off(line_of(b), &b->item);
    nm_job_kill(b->job);
    if (!b->is_removal)
        tell_rest(b, b->all->params.abandoned, message);
}

/* A silent worker has been stopped, or is in a system call that doesn't return. The other one reports progress, but
 * exceeds the limit on the whole time. */
static void explain_end(const struct nm_batch *b, uint64_t now, char *message, size_t size)
{
    const uint64_t silent_usec = nm_sub_u64(now, b->heard_usec), sec = NM_USEC_PER_SEC;

    if (silent_usec >= b->all->params.silent_usec)
        (void)snprintf(message, size, "nm-localizer made no progress for %ju seconds and was ended",
                       (uintmax_t)(silent_usec / sec));
    else
        (void)snprintf(message, size, "nm-localizer reached the time limit after %ju seconds and was ended",
                       (uintmax_t)(nm_sub_u64(now, b->begun_usec) / sec));
}

static int on_watch(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_batches *bs = userdata;
    const uint64_t now = now_usec();
    struct nm_batch *b;
    char message[120];

    (void)source, (void)usec;
    TAILQ_FOREACH(b, &bs->running, link) {
        if (b->item.is_written_off || now < deadline(b))
            continue;
        explain_end(b, now, message, sizeof message);
        write_off(b, message);
    }
    arm(bs);
    bs->params.has_room(bs->params.userdata);
    return 0;
}

/* ---- batches ---- */

int nm_batches_new(const struct nm_batches_params *params, struct nm_batches **ret)
{
    _cleanup_(nm_batches_freep) struct nm_batches *bs = calloc(1, sizeof *bs);
    const unsigned max = params->max_workers;
    int r;

    assert(max > 0 && params->silent_usec > 0);
    if (!bs)
        return -ENOMEM;
    bs->params = *params;
    TAILQ_INIT(&bs->waiting);
    TAILQ_INIT(&bs->running);
    /* a container has two batches at most: what is PUBLIC, and what is its user's */
    nm_line_init(&bs->fetches, max, NM_MIN(max, 2U), max + MORE_WORKERS);
    nm_line_init(&bs->removals, REMOVALS_MAX, 1, REMOVALS_MAX + MORE_WORKERS);
    r = sd_event_add_time(params->event, &bs->watch, CLOCK_MONOTONIC, UINT64_MAX, 0, on_watch, bs);
    if (r >= 0)
        r = sd_event_source_set_enabled(bs->watch, SD_EVENT_OFF);
    if (r < 0)
        return r;
    (void)sd_event_source_set_description(bs->watch, "localizer-deadlines");
    *ret = STEAL_PTR(bs);
    return 0;
}

static void free_list(struct batch_list *list)
{
    struct nm_batch *b;

    while ((b = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, b, link);
        nm_line_leave(line_of(b), &b->item);
        (void)nm_batch_free(b);
    }
}

struct nm_batches *nm_batches_free(struct nm_batches *bs)
{
    if (!bs)
        return NULL;
    free_list(&bs->waiting);
    free_list(&bs->running);
    (void)sd_event_source_disable_unref(bs->watch);
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

/* ---- those that run ---- */

/* The worker is the user's, who may have it say anything: an id has one end, and only those of its batch have any. */
static void on_said(struct nm_job *job, const struct nm_said *said, void *userdata)
{
    struct nm_batch *b = userdata;
    const struct nm_batches_params *p = &b->all->params;
    uint64_t id;

    (void)job;
    b->heard_usec = now_usec();
    if (b->item.is_written_off && !b->is_removal)
        return; /* that is said already: it failed */
    if (said->is_removal != b->is_removal || said->index >= b->n || b->ids[said->index] == 0)
        return;
    id = b->ids[said->index];
    if (said->state == NM_SAID_FETCHING || said->state == NM_SAID_UNPACKING || said->state == NM_SAID_REMOVING) {
        if (!b->is_removal)
            p->progress(id, said, p->userdata);
        return;
    }
    b->ids[said->index] = 0;
    b->begun_usec = b->heard_usec;
    if (said->state == NM_SAID_FAILED && !b->is_removal)
        p->failed(id, said->error, p->userdata);
    else if (said->state == NM_SAID_FAILED)
        p->not_removed(id, said->error, p->userdata);
    else if (b->is_removal)
        p->removed(id, p->userdata);
    else
        p->fetched(id, said->bytes, p->userdata);
}

/* Reports the items that a dead worker had not begun as failed: the worker has said nothing about them. */
static void fail_rest(struct nm_batch *b, const char *message)
{
    tell_rest(b, b->is_removal ? b->all->params.not_removed : b->all->params.failed, message);
}

static void on_ended(struct nm_job *job, const char *reason, void *userdata)
{
    struct nm_batch *b = userdata;
    struct nm_batches *bs = b->all;

    (void)job;
    fail_rest(b, reason); /* what it has said nothing of */
    TAILQ_REMOVE(&bs->running, b, link);
    nm_line_leave(line_of(b), &b->item);
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

static void start_next(struct nm_batches *bs, struct nm_batch *b)
{
    int r = start(bs, b);

    TAILQ_REMOVE(&bs->waiting, b, link);
    if (r >= 0) {
        b->heard_usec = b->begun_usec = now_usec();
        TAILQ_INSERT_TAIL(&bs->running, b, link);
        return;
    }
    nm_line_leave(line_of(b), &b->item);
    fail_rest(b, "nm-localizer can't be started");
    end_batch(b);
}

static void start_line(struct nm_batches *bs, struct nm_line *line)
{
    struct nm_line_item *item;

    while ((item = nm_line_next(line)))
        start_next(bs, (struct nm_batch *)(void *)item);
}

void nm_batches_start(struct nm_batches *bs)
{
    start_line(bs, &bs->fetches);
    start_line(bs, &bs->removals);
    arm(bs);
}

int nm_batches_put(struct nm_batches *bs, struct nm_batch *b)
{
    const char *user = json_string_value(json_object_get(b->work, "user"));
    int r;

    if (b->n == 0) {
        (void)nm_batch_free(b);
        return 0;
    }
    b->all = bs;
    r = nm_line_put(line_of(b), &b->item, user);
    if (r < 0) {
        fail_rest(b, "there is no memory for it");
        (void)nm_batch_free(b);
        return r;
    }
    TAILQ_INSERT_TAIL(&bs->waiting, b, link);
    return 0;
}

static bool has_wanted(const struct nm_batch *b, bool (*is_wanted)(uint64_t id, void *userdata))
{
    for (size_t i = 0; i < b->n; i++)
        if (b->ids[i] != 0 && is_wanted(b->ids[i], b->all->params.userdata))
            return true;
    return false;
}

/* A worker that runs is killed and ends by itself, in its own turn: its end is where its batch goes, and nowhere
 * else. Until then who asks for the same must not be given this one. */
void nm_batches_give_up(struct nm_batches *bs, bool (*is_wanted)(uint64_t id, void *userdata))
{
    struct nm_batch *b, *next;

    for (b = TAILQ_FIRST(&bs->waiting); b; b = next) {
        next = TAILQ_NEXT(b, link);
        if (b->is_removal || has_wanted(b, is_wanted))
            continue;
        TAILQ_REMOVE(&bs->waiting, b, link);
        nm_line_leave(line_of(b), &b->item);
        fail_rest(b, "nobody waits for it any more");
        (void)nm_batch_free(b);
    }
    TAILQ_FOREACH(b, &bs->running, link)
        if (!b->is_removal && !b->item.is_written_off && !has_wanted(b, is_wanted))
            write_off(b, "nobody waits for it any more");
}
