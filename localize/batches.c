/* SPDX-License-Identifier: Apache-2.0 */

/* See batches.h. */

#include "localize/batches.h"

#include <assert.h>
#include <errno.h>

#include "localize/user-queue.h"
#include "localize/worker-protocol.h"
#include "util/clock.h"
#include "util/json-text.h"

#define MORE_WORKERS 8U /* additional slots beyond max_workers, so that each user has a slot */
#define REMOVALS_MAX 2U
#define FETCH_USEC NM_WORK_TIME_USEC /* time limit for one resource; the worker has the same limit, but a faulty worker
                                        may exceed it */
#define REMOVAL_USEC (3600 * NM_USEC_PER_SEC)
/* Time limit for a check. A worker spends at most NM_LISTING_CHECK_USEC on a check. But on a busy host the worker may
 * start late, and a slow disk may delay it. After CHECK_USEC nmd ends the worker, and the waiting containers get the
 * tree without a check. */
#define CHECK_USEC (10 * NM_USEC_PER_SEC)
#define CHECKS_MAX 4U
#define JOIN_LOOKS 16U

/* The position of a resource in the worker's list. The worker's lines refer to this position. */
struct nm_batch_entry {
    LIST_ENTRY(nm_batch_entry) link;
    struct nm_batch_refs *refs; /* all entries of this resource in batches; NULL for a removal or a check */
    struct nm_batch *batch;
    uint64_t id; /* 0: the result for the resource has been reported */
    bool is_wanted;
};

/* The work of one worker. A batch has several items because a process costs more time than fetching most files. For
 * example, a container with twenty PRIVATE resources needs only one worker. */
struct nm_batch {
    struct nm_user_queue_item item; /* must be the first member: the addresses of item and batch are the same */
    TAILQ_ENTRY(nm_batch) link;
    struct nm_batches *all;
    struct nm_localizer_job *job; /* the running worker; NULL: the batch is waiting in its queue */
    uid_t uid;
    gid_t gid;
    char *user, *account; /* account NULL: the first account with this uid */
    json_t *settings, *items;
    struct nm_batch_entry *entries;
    size_t n, room, n_wanted, n_begun;
    enum nm_worker_reply_list list;
    bool is_beginning;
    uint64_t last_line_usec, begun_usec; /* time of the worker's last line; start of its current item */
    uint64_t moved_usec;             /* time of the worker's last progress; the next members contain its state at this
                                        time */
    size_t index;
    enum nm_worker_reply_state state;
    uint64_t bytes;
    struct batch_end *ends; /* one for each batch that was joined to this one, the first to call first */
};

/* A function to call when a batch has ended. */
struct batch_end {
    struct batch_end *next;
    void (*ended)(void *userdata);
    void *userdata;
};

TAILQ_HEAD(batch_list, nm_batch);

struct nm_batches {
    struct nm_batches_params params;
    struct nm_user_queue queues[NM_REPLY_LISTS];
    struct batch_list waiting, beginning, running; /* beginning: batches that have a slot and for which `begins` is
                                                      being called */
    sd_event_source *watch; /* timer for the next deadline of a worker */
};

static bool is_fetch(const struct nm_batch *b)
{
    return b->list == NM_REPLY_RESOURCE;
}

static struct nm_user_queue *queue_of(struct nm_batch *b)
{
    return &b->all->queues[b->list];
}

/* ---- deadlines of workers ---- */

/* Returns a time that doesn't advance while the host is suspended, because a worker makes no progress then. */
static uint64_t now_usec(void)
{
    return nm_clock_usec(CLOCK_MONOTONIC);
}

/* Returns the worker's deadline, the first of three limits. silent_usec limits the time without a report, because a
 * worker reports several times a second, also while it waits for a server or a command. stalled_usec is longer, and
 * limits such a wait. The limit on the whole time ends a removal that would never end because a user keeps creating
 * files. */
static uint64_t deadline(const struct nm_batch *b)
{
    const uint64_t silent_usec = b->all->params.silent_usec;
    const uint64_t whole_usec = is_fetch(b) ? nm_add_u64(FETCH_USEC, silent_usec) : REMOVAL_USEC;
    const uint64_t stalled_usec = is_fetch(b) ? b->all->params.stalled_usec : UINT64_MAX;
    const uint64_t first = NM_MIN(nm_add_u64(b->last_line_usec, silent_usec), nm_add_u64(b->begun_usec, whole_usec));

    if (b->list == NM_REPLY_CHECK)
        return nm_add_u64(b->begun_usec, CHECK_USEC);
    return NM_MIN(first, nm_add_u64(b->moved_usec, stalled_usec));
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

/* Detaches the resource from its batch: later lines of the worker about the resource are ignored. */
static void end_entry(struct nm_batch_entry *e)
{
    if (e->refs)
        LIST_REMOVE(e, link);
    e->refs = NULL;
    e->batch->n_wanted -= e->is_wanted;
    e->is_wanted = false;
    e->id = 0;
}

/* Ends the remaining checks. Trees that couldn't be checked, for any reason, count as complete. */
static void end_checks(struct nm_batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        const uint64_t id = b->entries[i].id;

        if (id == 0)
            continue;
        end_entry(&b->entries[i]);
        b->all->params.checked(id, b->user, true, b->all->params.userdata);
    }
}

/* Reports a failure with a message that names the item, because a caller may have requested many items. */
static void report_failure(struct nm_batch *b, size_t i, uint64_t id,
                           void (*call)(uint64_t id, const char *message, void *userdata), const char *why)
{
    const json_t *item = json_array_get(b->items, i);
    const char *what = json_string_value(is_fetch(b) ? json_object_get(item, "uri") : item);
    _cleanup_free_ char *message = NULL;

    if (asprintf(&message, "%s: %s", what, why) < 0)
        message = NULL;
    call(id, message ?: why, b->all->params.userdata);
}

/* Kills the worker and frees its slot immediately. SIGKILL also ends a stopped process. A process that waits for a disk
 * exits only when the disk answers, which may never happen. Other batches continue meanwhile. */
static void write_off(struct nm_batch *b, const char *message)
{
    nm_user_queue_release_slot(queue_of(b), &b->item);
    nm_localizer_job_kill(b->job);
    for (size_t i = 0; is_fetch(b) && i < b->n; i++)
        if (b->entries[i].id != 0)
            report_failure(b, i, b->entries[i].id, b->all->params.abandoned, message);
    if (b->list == NM_REPLY_CHECK)
        end_checks(b);
}

/* Explains why the worker is ended. A worker that sends no reports has been stopped, or is in a system call that
 * doesn't return. Any other worker sends reports, but receives no bytes or exceeds the limit on the whole time. */
static void explain_end(const struct nm_batch *b, uint64_t now, char *message, size_t size)
{
    const uint64_t silent_usec = nm_sub_u64(now, b->last_line_usec), sec = NM_USEC_PER_SEC;
    const uint64_t stalled_usec = nm_sub_u64(now, b->moved_usec);

    if (silent_usec >= b->all->params.silent_usec)
        (void)snprintf(message, size, "nm-localizer made no progress for %ju seconds and was killed",
                       (uintmax_t)(silent_usec / sec));
    else if (is_fetch(b) && stalled_usec >= b->all->params.stalled_usec)
        (void)snprintf(message, size, "nm-localizer received no data for %ju seconds and was killed",
                       (uintmax_t)(stalled_usec / sec));
    else
        (void)snprintf(message, size, "nm-localizer reached the time limit after %ju seconds and was killed",
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

    assert(max > 0 && params->silent_usec > 0 && params->stalled_usec > 0);
    if (!bs)
        return -ENOMEM;
    bs->params = *params;
    TAILQ_INIT(&bs->waiting);
    TAILQ_INIT(&bs->beginning);
    TAILQ_INIT(&bs->running);
    /* each user has a second slot, which can be used if one worker hangs */
    nm_user_queue_init(&bs->queues[NM_REPLY_RESOURCE], max, NM_MIN(max, 2U), max + MORE_WORKERS);
    nm_user_queue_init(&bs->queues[NM_REPLY_REMOVAL], REMOVALS_MAX, 1, REMOVALS_MAX + MORE_WORKERS);
    nm_user_queue_init(&bs->queues[NM_REPLY_CHECK], CHECKS_MAX, 2, CHECKS_MAX + MORE_WORKERS);
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
        nm_user_queue_remove(queue_of(b), &b->item);
        (void)nm_batch_free(b);
    }
}

struct nm_batches *nm_batches_free(struct nm_batches *bs)
{
    if (!bs)
        return NULL;
    free_list(&bs->waiting);
    free_list(&bs->beginning);
    free_list(&bs->running);
    (void)sd_event_source_disable_unref(bs->watch);
    free(bs);
    return NULL;
}

/* Makes a batch. All batches share the settings: each batch holds a reference, and no batch changes them. */
int nm_batch_new(const json_t *settings, const char *user, const struct nm_batch_owner *owner, size_t n,
                 struct nm_batch **ret)
{
    _cleanup_(nm_batch_freep) struct nm_batch *b = calloc(1, sizeof *b);

    if (!b)
        return -ENOMEM;
    b->uid = owner->uid;
    b->gid = owner->gid;
    b->user = strdup(user);
    b->account = owner->account ? strdup(owner->account) : NULL;
    b->room = n;
    b->entries = calloc(n, sizeof *b->entries);
    b->settings = json_incref((json_t *)settings);
    b->items = json_array();
    if (!b->user || (owner->account && !b->account) || !b->entries || !b->items)
        return -ENOMEM;
    *ret = STEAL_PTR(b);
    return 0;
}

static void free_ends(struct batch_end *ends)
{
    while (ends) {
        struct batch_end *next = ends->next;

        free(ends);
        ends = next;
    }
}

struct nm_batch *nm_batch_free(struct nm_batch *b)
{
    if (!b)
        return NULL;
    for (size_t i = 0; i < b->n; i++)
        if (b->entries[i].id != 0)
            end_entry(&b->entries[i]);
    (void)nm_localizer_job_free(b->job);
    free_ends(b->ends);
    json_decref(b->settings);
    json_decref(b->items);
    free(b->user);
    free(b->account);
    free(b->entries);
    free(b);
    return NULL;
}

static int add(struct nm_batch *b, uint64_t id, struct nm_batch_refs *refs, json_t *item)
{
    struct nm_batch_entry *e = &b->entries[b->n];

    assert(b->n < b->room && id > 0);
    if (json_array_append_new(b->items, item) < 0)
        return -ENOMEM;
    *e = (struct nm_batch_entry){.refs = refs, .batch = b, .id = id, .is_wanted = true};
    if (refs)
        LIST_INSERT_HEAD(refs, e, link);
    b->n++;
    b->n_wanted++;
    return 0;
}

int nm_batch_on_end(struct nm_batch *b, void (*ended)(void *userdata), void *userdata)
{
    struct batch_end *end = calloc(1, sizeof *end);

    assert(!b->ends);
    if (!end)
        return -ENOMEM;
    *end = (struct batch_end){.ended = ended, .userdata = userdata};
    b->ends = end;
    return 0;
}

/* Ends a batch that has been removed from all lists. Frees the batch before it calls the batch's owners, because an
 * owner may make another batch or free all batches. */
static void end_batch(struct nm_batch *b)
{
    struct batch_end *ends = STEAL_PTR(b->ends);

    (void)nm_batch_free(b);
    for (const struct batch_end *end = ends; end; end = end->next)
        end->ended(end->userdata);
    free_ends(ends);
}

int nm_batch_add_fetch(struct nm_batch *b, uint64_t id, struct nm_batch_refs *refs, json_t *resource)
{
    assert(is_fetch(b) && (LIST_EMPTY(refs) || b->room == 1));
    return add(b, id, refs, resource);
}

int nm_batch_add_removal(struct nm_batch *b, uint64_t id, const char *target)
{
    assert(b->n == 0 || b->list == NM_REPLY_REMOVAL);
    b->list = NM_REPLY_REMOVAL;
    return add(b, id, NULL, json_string(target));
}

int nm_batch_add_check(struct nm_batch *b, uint64_t id, const char *target)
{
    assert(b->n == 0 || b->list == NM_REPLY_CHECK);
    b->list = NM_REPLY_CHECK;
    return add(b, id, NULL, json_string(target));
}

bool nm_batch_is_for(const struct nm_batch *b, const char *user, const struct nm_batch_owner *owner)
{
    return b->uid == owner->uid && b->gid == owner->gid && nm_streq(b->user, user);
}

/* ---- running batches ---- */

/* Ends a batch without wanted resources. Kills its worker. The batch is freed only in a later turn of the event loop,
 * when the worker's end is detected. Until then no new request may join this batch. */
static void give_up_unwanted(struct nm_batch *b)
{
    bool has_rest = false;

    for (size_t i = 0; i < b->n && !has_rest; i++)
        has_rest = b->entries[i].id != 0;
    if (b->n_wanted == 0 && has_rest && !b->item.is_written_off)
        write_off(b, "no container waits for this resource any more");
}

/* Records progress. A worker that reports the same state again is alive, but makes no progress. */
static void note_progress(struct nm_batch *b, const struct nm_worker_reply *reply)
{
    if (reply->index == b->index && reply->state == b->state && reply->bytes == b->bytes)
        return;
    b->index = reply->index;
    b->state = reply->state;
    b->bytes = reply->bytes;
    b->moved_usec = b->last_line_usec;
}

static void report_end(const struct nm_batch *b, uint64_t id, const struct nm_worker_reply *reply)
{
    const struct nm_batches_params *p = &b->all->params;
    const bool has_failed = reply->state == NM_REPLY_FAILED;

    if (reply->is_full && is_fetch(b))
        p->found_full(id, p->userdata);
    if (b->list == NM_REPLY_CHECK)
        p->checked(id, b->user, !has_failed, p->userdata);
    else if (has_failed && is_fetch(b))
        p->failed(id, reply->error, p->userdata);
    else if (has_failed)
        p->not_removed(id, reply->error, p->userdata);
    else if (is_fetch(b))
        p->fetched(id, reply, p->userdata);
    else
        p->removed(id, p->userdata);
}

/* Handles a report. The user controls the worker and can forge reports. Each id therefore gets only one result, and a
 * report can't give a result to ids of other batches. */
static void on_reply(struct nm_localizer_job *job, const struct nm_worker_reply *reply, void *userdata)
{
    struct nm_batch *b = userdata;
    const struct nm_batches_params *p = &b->all->params;
    uint64_t id;

    (void)job;
    b->last_line_usec = now_usec();
    if (b->item.is_written_off && is_fetch(b))
        return; /* the failure of this id has already been reported */
    if (reply->list != b->list || reply->index >= b->n || b->entries[reply->index].id == 0)
        return;
    note_progress(b, reply);
    id = b->entries[reply->index].id;
    if (reply->state == NM_REPLY_FETCHING || reply->state == NM_REPLY_UNPACKING || reply->state == NM_REPLY_REMOVING) {
        if (is_fetch(b))
            p->progress(id, reply, p->userdata);
        return;
    }
    end_entry(&b->entries[reply->index]);
    b->begun_usec = b->last_line_usec;
    report_end(b, id, reply);
    give_up_unwanted(b);
}

/* Reports a failure for the items for which a worker that has ended reported no result. A resource that is in another
 * batch as well isn't reported, because the other batch will fetch it. */
static void fail_rest(struct nm_batch *b, const char *why)
{
    const struct nm_batches_params *p = &b->all->params;

    if (b->list == NM_REPLY_CHECK)
        end_checks(b);
    for (size_t i = 0; i < b->n; i++) {
        struct nm_batch_entry *e = &b->entries[i];
        const struct nm_batch_refs *refs = e->refs;
        const uint64_t id = e->id;

        if (id == 0)
            continue;
        end_entry(e);
        if (!refs || LIST_EMPTY(refs))
            report_failure(b, i, id, is_fetch(b) ? p->failed : p->not_removed, why);
    }
}

static void on_overran(struct nm_localizer_job *job, void *userdata)
{
    struct nm_batch *b = userdata;
    struct nm_batches *bs = b->all;

    (void)job;
    if (b->item.is_written_off)
        return;
    write_off(b, "nm-localizer wrote more to its pipe than the protocol permits and was killed; another process of "
              "the user may have written to the pipe");
    arm(bs);
    bs->params.has_room(bs->params.userdata);
}

static void on_ended(struct nm_localizer_job *job, const char *reason, void *userdata)
{
    struct nm_batch *b = userdata;
    struct nm_batches *bs = b->all;

    (void)job;
    fail_rest(b, reason); /* reports a failure for the items without a result */
    TAILQ_REMOVE(&bs->running, b, link);
    nm_user_queue_remove(queue_of(b), &b->item);
    end_batch(b);
    bs->params.has_room(bs->params.userdata);
}

/* Formats the work as text. This is done only when the worker starts, so that waiting batches need little memory. */
static char *make_work(const struct nm_batch *b)
{
    static const char *const keys[] = {
        [NM_REPLY_RESOURCE] = "resources", [NM_REPLY_REMOVAL] = "removals", [NM_REPLY_CHECK] = "checks"};
    json_auto_t *work = b->settings ? json_copy(b->settings) : json_object();

    if (json_object_set_new(work, "user", json_string(b->user)) < 0 ||
        json_object_set_new(work, "resources", json_array()) < 0 ||
        json_object_set(work, keys[b->list], b->items) < 0)
        return NULL;
    return nm_json_text(work, JSON_COMPACT);
}

/* Reports a full disk if nmd's own files about resources, which are on the same disk, can't be written. */
static void report_full_disk(const struct nm_batch *b)
{
    for (size_t i = 0; is_fetch(b) && i < b->n; i++)
        if (b->entries[i].id != 0)
            b->all->params.found_full(b->entries[i].id, b->all->params.userdata);
}

enum { BEGIN_E_MORE = 1 };

/* Calls `begins` for each resource before the worker can create files. Each call may wait for a disk, so the calls are
 * distributed over several turns of the event loop. */
static int report_begin(struct nm_batch *b, uint64_t end_usec)
{
    const struct nm_batches_params *p = &b->all->params;
    /* The owner has to prepare for files that a worker creates or removes. A check does neither. */
    const bool has_callback = p->begins && b->list != NM_REPLY_CHECK;

    for (bool is_first = true; has_callback && b->n_begun < b->n; is_first = false, b->n_begun++) {
        const uint64_t id = b->entries[b->n_begun].id;
        int r;

        if (!is_first && nm_now_usec() >= end_usec)
            return BEGIN_E_MORE;
        r = id != 0 ? p->begins(id, p->userdata) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int start(struct nm_batches *bs, struct nm_batch *b)
{
    _cleanup_free_ char *work = make_work(b);
    const struct nm_localizer_job_params params = {
        .event = bs->params.event,
        .program_fd = bs->params.program_fd,
        .uid = b->uid,
        .gid = b->gid,
        .account = b->account,
        .work = work,
        .n = b->n,
        .most_memory_bytes = bs->params.worker_max_bytes,
        .replied = on_reply,
        .ended = on_ended,
        .overran = on_overran,
        .userdata = b,
    };

    return work ? nm_localizer_job_new(&params, &b->job) : -ENOMEM;
}

static void take_out(struct nm_batch *b)
{
    TAILQ_REMOVE(b->is_beginning ? &b->all->beginning : &b->all->waiting, b, link);
    nm_user_queue_remove(queue_of(b), &b->item);
}

/* Drops the batches in other users' queues for the resources that this batch begins to fetch. */
static void drop_others(struct nm_batch *b)
{
    struct nm_batch_entry *e, *next;

    for (size_t i = 0; is_fetch(b) && i < b->n; i++)
        for (e = LIST_FIRST(b->entries[i].refs); e; e = next) {
            next = LIST_NEXT(e, link);
            if (e->batch == b)
                continue;
            take_out(e->batch);
            (void)nm_batch_free(e->batch);
        }
}

static void start_or_fail(struct nm_batches *bs, struct nm_batch *b, int r)
{
    const bool begins = r >= 0;
    char why[160];

    TAILQ_REMOVE(&bs->beginning, b, link);
    b->is_beginning = false;
    if (r == -ENOSPC || r == -EDQUOT)
        report_full_disk(b);
    if (r >= 0)
        r = start(bs, b);
    if (r >= 0) {
        b->last_line_usec = b->begun_usec = b->moved_usec = now_usec();
        TAILQ_INSERT_TAIL(&bs->running, b, link);
        return;
    }
    nm_user_queue_remove(queue_of(b), &b->item);
    (void)snprintf(why, sizeof why, "nm-localizer can't be started%s: %s",
                   begins ? "" : ", because nmd can't save the list of resources", strerror(-r));
    fail_rest(b, why);
    end_batch(b);
}

/* Gives a slot to the next batch of the queue. Returns whether a batch was waiting in the queue. */
static bool begin_next(struct nm_batches *bs, struct nm_user_queue *queue)
{
    struct nm_batch *b = (struct nm_batch *)(void *)nm_user_queue_next(queue);

    if (!b)
        return false;
    drop_others(b);
    TAILQ_REMOVE(&bs->waiting, b, link);
    TAILQ_INSERT_TAIL(&bs->beginning, b, link);
    b->is_beginning = true;
    return true;
}

/* Calls `begins` for one batch that has a slot. If more calls are left, the batch goes to the end of the list, so that
 * small batches don't wait for large ones. */
static void begin_some(struct nm_batches *bs, uint64_t end_usec)
{
    struct nm_batch *b = TAILQ_FIRST(&bs->beginning);
    int r;

    if (!b)
        return;
    r = report_begin(b, end_usec);
    if (r != BEGIN_E_MORE) {
        start_or_fail(bs, b, r);
        return;
    }
    TAILQ_REMOVE(&bs->beginning, b, link);
    TAILQ_INSERT_TAIL(&bs->beginning, b, link);
}

bool nm_batches_start(struct nm_batches *bs, uint64_t end_usec)
{
    bool more = false;

    for (size_t i = 0; i < NM_ARRAY_SIZE(bs->queues); i++)
        more = begin_next(bs, &bs->queues[i]) || more;
    begin_some(bs, end_usec);
    arm(bs);
    return more || !TAILQ_EMPTY(&bs->beginning);
}

static bool can_join(const struct nm_batch *to, const struct nm_batch *b)
{
    const struct nm_batch_owner owner = {.uid = b->uid, .gid = b->gid};

    return to->list == NM_REPLY_REMOVAL && nm_batch_is_for(to, b->user, &owner) && to->n + b->n <= NM_BATCH_MAX;
}

/* Moves the removals of `b`, and the functions to call at its end, to the waiting batch `to`. With -ENOMEM, both
 * batches are unchanged. */
static int join(struct nm_batch *to, struct nm_batch *b)
{
    struct nm_batch_entry *entries = reallocarray(to->entries, to->n + b->n, sizeof *entries);
    struct batch_end **last = &to->ends;

    if (!entries)
        return -ENOMEM;
    to->entries = entries;
    if (json_array_extend(to->items, b->items) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < b->n; i++) {
        entries[to->n] = b->entries[i];
        entries[to->n++].batch = to;
    }
    to->room = to->n;
    to->n_wanted += b->n_wanted;
    b->n = b->n_wanted = 0;
    while (*last)
        last = &(*last)->next;
    *last = STEAL_PTR(b->ends);
    return 0;
}

/* Looks for a waiting batch that can remove the files of this one, too: a process for each of many small removals would
 * take more time than they do. Looks at the newest ones only, because very many batches may wait. */
static bool join_waiting(struct nm_batches *bs, struct nm_batch *b)
{
    struct nm_batch *to;
    unsigned n = 0;

    if (b->list != NM_REPLY_REMOVAL)
        return false;
    TAILQ_FOREACH_REVERSE(to, &bs->waiting, batch_list, link) {
        if (can_join(to, b))
            return join(to, b) == 0;
        if (++n == JOIN_LOOKS)
            break;
    }
    return false;
}

int nm_batches_put(struct nm_batches *bs, struct nm_batch *b)
{
    int r;

    if (b->n == 0 || join_waiting(bs, b)) {
        (void)nm_batch_free(b);
        return 0;
    }
    b->all = bs;
    r = nm_user_queue_put(queue_of(b), &b->item, b->user);
    if (r < 0) {
        fail_rest(b, "out of memory");
        (void)nm_batch_free(b);
        return r;
    }
    TAILQ_INSERT_TAIL(&bs->waiting, b, link);
    return 0;
}

/* ---- waiting for resources ---- */

bool nm_batches_serve(const struct nm_batch_refs *refs, const char *user)
{
    const struct nm_batch_entry *e;

    LIST_FOREACH(e, refs, link)
        if (e->batch->job || e->batch->is_beginning || nm_streq(e->batch->user, user))
            return true;
    return false;
}

void nm_batches_set_unwanted(struct nm_batch_refs *refs)
{
    struct nm_batch_entry *e, *next;

    for (e = LIST_FIRST(refs); e; e = next) {
        struct nm_batch *b = e->batch;

        /* The next entry is in another batch, so it remains valid when this batch is freed. After the last entry, the
         * list itself may have been freed and must not be read. */
        next = LIST_NEXT(e, link);
        b->n_wanted -= e->is_wanted;
        e->is_wanted = false;
        if (b->n_wanted > 0)
            continue;
        if (b->job) {
            give_up_unwanted(b);
            continue;
        }
        take_out(b);
        fail_rest(b, "no container waits for this resource any more");
        (void)nm_batch_free(b);
    }
}

void nm_batches_set_wanted(struct nm_batch_refs *refs)
{
    struct nm_batch_entry *e;

    LIST_FOREACH(e, refs, link) {
        e->batch->n_wanted += !e->is_wanted;
        e->is_wanted = true;
    }
}
