/* SPDX-License-Identifier: Apache-2.0 */

/* See localizer.h. The cache (cache.h) contains the entries, batches (batches.h) do the work, and localizer-request.c
 * handles the requests. */

#include "localize/localizer-state.h"

#include <assert.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <syslog.h>

#include "localize/layout.h"
#include "localize/leftovers.h"
#include "localize/worker-protocol.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/parse.h"

#define SILENT_USEC (300 * NM_USEC_PER_SEC) /* longer than finishing a large archive or waiting for a slow disk takes */
/* A command may start Java, get tickets and contact several servers before its first byte arrives. */
#define SILENT_TIMES 4
/* Avoids repeated checks when containers start shortly after each other. Programs that clean up temporary files run
 * only once a day. */
#define CHECKED_USEC (10 * NM_USEC_PER_SEC)
/* Half of a worker's own interval, because the intervals between the arrivals of lines vary. */
#define REPORT_USEC (NM_WORKER_REPORT_INTERVAL_USEC / 2)
#define NO_ENTRY UINT64_MAX /* the id for removals of paths that aren't in the cache (nm_localizer_remove()) */

/* ---- results of batches ---- */

/* Ends all waits for the resource. The end of a request that this causes is reported in a later turn of the event
 * loop. */
static void end_waits(struct nm_localizer *l, uint64_t id, const char *message)
{
    struct nm_localizer_fetch *f = nm_cache_find(l->cache, id)->fetch;
    struct nm_localizer_wait *w;

    while (f && (w = LIST_FIRST(&f->waits))) {
        LIST_REMOVE(w, link);
        w->request->n_waiting -= w->n;
        w->n = 0;
        if (message)
            nm_localizer_request_fail(w->request, f->is_full ? -ENOSPC : -EIO, message);
        else
            nm_localizer_request_settle(w->request);
        w->request = NULL;
    }
}

/* Ends the fetch, after its last batch. */
static void end_fetch(struct nm_localizer *l, uint64_t id, const char *message)
{
    struct nm_localizer_fetch *f = nm_cache_find(l->cache, id)->fetch;

    end_waits(l, id, message);
    assert(!f || LIST_EMPTY(&f->batches));
    nm_cache_attach(l->cache, id, NULL);
    free(f);
    (void)nm_localizer_begin_turn(l);
}

/* Stores the state on the disk before the worker starts. If nmd ends meanwhile, the next nmd reads there that a part of
 * the resource may have to be removed. The state isn't stored earlier, because a request for thousands of resources may
 * fail at the first resource. A removal continues even if the state can't be stored, because the removal makes room. */
static int on_begins(uint64_t id, void *userdata)
{
    struct nm_localizer *l = userdata;
    int r = id == NO_ENTRY ? 0 : nm_cache_file_note(l->state_fd, l->cache, id, l->boot_id);

    return id == NO_ENTRY || nm_cache_find(l->cache, id)->state == NM_CACHE_LEAVING ? 0 : r;
}

static void on_no_space(uint64_t id, void *userdata)
{
    struct nm_localizer *l = userdata;
    struct nm_localizer_fetch *f = nm_cache_find(l->cache, id)->fetch;

    f->is_full = true;
}

/* Fails all requests that wait for the resource, with the same message. The next request tries again. */
static void on_failed(uint64_t id, const char *message, void *userdata)
{
    struct nm_localizer *l = userdata;

    nm_cache_failed(l->cache, id);
    end_fetch(l, id, message);
}

/* Abandons an entry: the next request fetches the resource into another directory. The entry's files are removed only
 * after its worker has ended. */
static void on_abandoned(uint64_t id, const char *message, void *userdata)
{
    struct nm_localizer *l = userdata;

    nm_cache_invalidate(l->cache, id);
    end_waits(l, id, message);
}

static void on_fetched(uint64_t id, const struct nm_worker_reply *reply, void *userdata)
{
    struct nm_localizer *l = userdata;

    /* The size comes from the worker. A user could forge the size, so it is limited to the cache's limit. */
    nm_cache_fetched(l->cache, id, NM_MIN(reply->bytes, l->params.cache_max_bytes));
    nm_cache_checked(l->cache, id, nm_now_usec());
    if (reply->is_listed)
        nm_cache_listed(l->cache, id);
    /* If the state can't be stored, this nmd uses the resource, but the next nmd considers the resource incomplete. */
    (void)nm_cache_file_note(l->state_fd, l->cache, id, l->boot_id);
    end_fetch(l, id, NULL);
}

/* Removes the entry's file last. Until then the file shows that parts of the resource may have to be removed. */
static void remove_record(struct nm_localizer *l, uint64_t id)
{
    nm_leftovers_gone(l->leftovers, nm_cache_find(l->cache, id)->key.user, id);
    if (nm_cache_find(l->cache, id)->noted != NM_CACHE_NOT_NOTED)
        (void)nm_cache_file_remove(l->state_fd, id);
    nm_cache_removed(l->cache, id);
}

/* Logs the message. The worker's message is untrusted, because a user controls the worker. Replaces characters other
 * than printable ASCII. */
static void report_leftovers(const struct nm_localizer *l, const char *message)
{
    char sentence[500];
    int n = snprintf(sentence, sizeof sentence, "%.300s", message);

    for (int i = 0; i < n && sentence[i]; i++)
        if (sentence[i] < ' ' || sentence[i] > '~')
            sentence[i] = '?';
    n = (int)strlen(sentence);
    (void)snprintf(sentence + n, sizeof sentence - (size_t)n, "; nmd retries at intervals that grow up to one hour, "
                   "and doesn't log later failures of this user");
    if (l->params.report_cb)
        l->params.report_cb(LOG_WARNING, sentence);
}

/* An entry's bytes count until its files are removed. If the path isn't in the cache, its removal isn't tried again
 * here, because the caller of the removal handles the failure. */
static void on_not_removed(uint64_t id, const char *message, void *userdata)
{
    struct nm_localizer *l = userdata;

    if (id != NO_ENTRY &&
        nm_leftovers_put(l->leftovers, nm_cache_find(l->cache, id)->key.user, id) == NM_LEFTOVERS_E_FIRST)
        report_leftovers(l, message);
}

/* Returns whether the files of an entry may still exist after its removal. A worker removes files by path, so it finds
 * none while the disk of the local directory isn't mounted. */
static bool may_be_left(const struct nm_localizer *l, uint64_t id)
{
    _cleanup_free_ char *path = nm_layout_target(".", nm_cache_find(l->cache, id));
    _cleanup_close_ int fd = path ? nm_open_plain_beneath(l->local_fd, path, O_PATH | O_NOFOLLOW) : -ENOMEM;

    return fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP;
}

static void on_removed(uint64_t id, void *userdata)
{
    struct nm_localizer *l = userdata;
    char message[PATH_MAX + 120];

    if (id == NO_ENTRY)
        return;
    if (!may_be_left(l, id)) {
        remove_record(l, id);
        return;
    }
    (void)snprintf(message, sizeof message, "can't remove resource %" PRIu64 " in %s: its disk isn't mounted, or has "
                   "failed", id, l->local_dir);
    on_not_removed(id, message, l);
}

static void on_room(void *userdata)
{
    (void)nm_localizer_begin_turn(userdata);
}

/* Returns whether progress may be reported again. Returns false if the last report is too recent. */
static bool is_due(uint64_t *reported_usec, uint64_t now_usec)
{
    if (*reported_usec > 0 && now_usec - *reported_usec < REPORT_USEC)
        return false;
    *reported_usec = now_usec;
    return true;
}

/* Forwards progress. A user controls the number of lines, of resources, and of requests that wait for a resource. The
 * rate of reports is therefore limited for each fetch and for each request. */
static void on_progress(uint64_t id, const struct nm_worker_reply *reply, void *userdata)
{
    const uint64_t now_usec = nm_clock_usec(CLOCK_MONOTONIC);
    struct nm_localizer *l = userdata;
    struct nm_localizer_fetch *f = nm_cache_find(l->cache, id)->fetch;
    struct nm_localizer_wait *w;

    if (!is_due(&f->reported_usec, now_usec))
        return;
    LIST_FOREACH(w, &f->waits, link) {
        struct nm_localizer_request *request = w->request;
        const struct nm_localizer_progress progress = {
            .n_done = request->n_requested - request->n_waiting,
            .n = request->n,
            .bytes = reply->bytes,
            .total_bytes = reply->total_bytes,
            .is_unpacking = reply->state == NM_REPLY_UNPACKING,
        };

        if (!request->has_ended && !request->has_failed && request->listener.progress &&
            is_due(&request->reported_usec, now_usec))
            request->listener.progress(request, &progress, request->listener.userdata);
    }
}

/* ---- removals ---- */

/* The removals that one turn of the event loop starts, with one batch per account. */
struct removals {
    struct nm_batch *batches[NM_LOCALIZER_PIECE];
    size_t n;
};

static int batch_for(struct removals *rs, const char *user, const struct nm_batch_owner *owner, struct nm_batch **ret)
{
    int r;

    for (size_t i = 0; i < rs->n; i++)
        if (nm_batch_is_for(rs->batches[i], user, owner)) {
            *ret = rs->batches[i];
            return 0;
        }
    r = nm_batch_new(NULL, user, owner, NM_LOCALIZER_PIECE, ret);
    if (r >= 0)
        rs->batches[rs->n++] = *ret;
    return r;
}

/* Adds a removal. The worker runs as the owner of the account's base directory, which is in a directory that belongs to
 * nmd. An entry for which no worker was ever started has no files. */
static int begin_to_remove(struct nm_localizer *l, const struct nm_cache_entry *e, struct removals *rs)
{
    _cleanup_free_ char *target = nm_layout_target(l->local_dir, e);
    struct nm_batch_owner owner = {0};
    struct nm_batch *b;
    int r = e->noted == NM_CACHE_NOT_NOTED ? -ENOENT
                                           : nm_layout_owner(l->local_fd, &e->key, &owner.uid, &owner.gid);

    if (r == -ENOENT) {
        remove_record(l, e->id);
        return 0;
    }
    if (r >= 0)
        r = target ? batch_for(rs, e->key.user, &owner, &b) : -ENOMEM;
    return r < 0 ? r : nm_batch_add_removal(b, e->id, target);
}

static void remove_entry(struct nm_localizer *l, const struct nm_cache_entry *e, struct removals *rs)
{
    char message[120];
    int r = begin_to_remove(l, e, rs);

    if (r >= 0)
        return;
    (void)snprintf(message, sizeof message, "can't remove resource %" PRIu64 " in %s: %s", e->id, l->local_dir,
                   strerror(-r));
    on_not_removed(e->id, message, l);
}

static void put_removals(struct nm_localizer *l, struct removals *rs)
{
    for (size_t i = 0; i < rs->n; i++)
        (void)nm_batches_put(l->batches, rs->batches[i]); /* reports a failure through callbacks */
}

int nm_localizer_remove(struct nm_localizer *l, const char *user, uid_t uid, gid_t gid, const char *const *paths,
                        size_t n, void (*ended)(void *userdata), void *userdata)
{
    _cleanup_(nm_batch_freep) struct nm_batch *b = NULL;
    int r = nm_batch_new(NULL, user, &(struct nm_batch_owner){.uid = uid, .gid = gid}, n, &b);

    assert(n > 0 && n <= NM_BATCH_MAX);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = nm_batch_add_removal(b, NO_ENTRY, paths[i]);
    if (r >= 0 && ended)
        r = nm_batch_on_end(b, ended, userdata);
    if (r >= 0)
        r = nm_localizer_begin_turn(l);
    if (r < 0)
        return r;
    return nm_batches_put(l->batches, STEAL_PTR(b));
}

/* Starts some removals. Does so only after running containers have requested their resources again, because before that
 * all resources seem to be unused. Starts none while the local directory can't be used. Returns whether more work may
 * be left. */
static bool start_removals(struct nm_localizer *l)
{
    const struct nm_cache_entry *e;
    const uint64_t end_usec = nm_localizer_end_of_turn();
    struct removals rs = {.n = 0};
    bool more = false;

    l->removes = l->removes || (l->may_remove && TAILQ_EMPTY(&l->requesting) && TAILQ_EMPTY(&l->checking));
    for (size_t n = 0; l->removes && l->local_fd >= 0 && !more && (e = nm_cache_next_to_evict(l->cache)); n++) {
        remove_entry(l, e, &rs);
        more = n + 1 == NM_LOCALIZER_PIECE || nm_now_usec() >= end_usec;
    }
    put_removals(l, &rs);
    return more;
}

static void on_retry(uint64_t id, void *userdata)
{
    struct nm_localizer *l = userdata;
    struct removals rs = {.n = 0};

    remove_entry(l, nm_cache_find(l->cache, id), &rs);
    put_removals(l, &rs);
    (void)nm_localizer_begin_turn(l);
}

/* ---- turns ---- */

/* Reports the ends of requests. Takes the first request of the list each time, because a listener may free any request.
 * Returns whether requests are left in the list. */
static bool report_ends(struct nm_localizer *l)
{
    struct nm_localizer_request *request;

    for (unsigned n = 0; n < NM_LOCALIZER_PIECE && (request = TAILQ_FIRST(&l->ending)); n++) {
        TAILQ_REMOVE(&l->ending, request, end_link);
        request->is_ending = false;
        request->has_ended = true;
        request->listener.ended(request, request->result, request->message, request->listener.userdata);
    }
    return !TAILQ_EMPTY(&l->ending);
}

/* Does all deferred work in a separate turn of the event loop, so that callbacks are never called during a function of
 * localizer.h. The work is done in pieces, because users control the number of resources. Requests to nmd (rpc/local)
 * are processed between two pieces. */
static int on_turn(sd_event_source *source, void *userdata)
{
    struct nm_localizer *l = userdata;
    bool more;

    (void)source;
    more = nm_localizer_release_some(l);
    more = start_removals(l) || more;
    more = nm_localizer_request_some(l) || more;
    more = nm_batches_start(l->batches, nm_localizer_end_of_turn()) || more;
    more = report_ends(l) || more;
    return more ? nm_localizer_begin_turn(l) : 0;
}

/* ---- the localizer ---- */

void nm_localizer_allow_removals(struct nm_localizer *l)
{
    l->may_remove = true;
    (void)nm_localizer_begin_turn(l);
}

/* Ends an application. A resource that is still in use is removed when the last container that uses it has ended. */
void nm_localizer_end_application(struct nm_localizer *l, const char *user, const char *application)
{
    nm_cache_end_application(l->cache, user, application);
    (void)nm_localizer_begin_turn(l);
}

size_t nm_localizer_count_known(const struct nm_localizer *l, const struct nm_localizer_user *user,
                                const struct nm_localizer_resource *resources, size_t n)
{
    size_t known = 0;

    for (size_t i = 0; i < n; i++) {
        const struct nm_cache_key key = nm_localizer_key(user, &resources[i]);

        known += nm_cache_has(l->cache, &key);
    }
    return known;
}

uint64_t nm_localizer_count_missing_bytes(const struct nm_localizer *l, const struct nm_localizer_user *user,
                                          const struct nm_localizer_resource *resources, size_t n)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        const struct nm_cache_key key = nm_localizer_key(user, &resources[i]);

        if (!nm_cache_has(l->cache, &key))
            bytes = nm_add_u64(bytes, resources[i].room_bytes);
    }
    return bytes;
}

void nm_localizer_set_room(struct nm_localizer *l, uint64_t cache_max_bytes)
{
    nm_cache_set_room(l->cache, cache_max_bytes);
    (void)nm_localizer_begin_turn(l);
}

uint64_t nm_localizer_bytes(const struct nm_localizer *l)
{
    return nm_cache_bytes(l->cache);
}

/* The directories of accounts are created by name in the local directory. */
static int open_local(struct nm_localizer *l)
{
    _cleanup_close_ int fd = RET_NERRNO(open(l->local_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    if (fd < 0)
        return fd;
    if (nm_check_private_dir(fd) < 0)
        return -EPERM;
    if (mkdirat(fd, "usercache", 0755) < 0) {
        if (errno != EEXIST)
            return -errno;
    } else if (fchmodat(fd, "usercache", 0755, 0) < 0) /* so that users can search it, whatever nmd's umask is */
        return -errno;
    l->local_fd = STEAL_FD(fd);
    return 0;
}

int nm_localizer_set_usable(struct nm_localizer *l, bool is_usable)
{
    int r;

    if (!is_usable)
        l->local_fd = nm_close(l->local_fd);
    if (!is_usable || l->local_fd >= 0)
        return 0;
    r = open_local(l);
    if (r < 0)
        return r;
    nm_leftovers_restart(l->leftovers);
    return nm_localizer_begin_turn(l);
}

static int open_dirs(struct nm_localizer *l)
{
    int r;

    l->program_fd = RET_NERRNO(open(l->params.program, O_PATH | O_CLOEXEC));
    if (l->program_fd < 0)
        return l->program_fd;
    l->state_fd = RET_NERRNO(open(l->params.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (l->state_fd < 0)
        return l->state_fd;
    r = nm_check_private_dir(l->state_fd) < 0 ? -EPERM : open_local(l);
    return r;
}

static int make_batches(struct nm_localizer *l)
{
    const uint64_t silent_usec = l->params.silent_usec > 0 ? l->params.silent_usec : SILENT_USEC;
    const struct nm_batches_params params = {
        .event = l->params.event,
        .program_fd = l->program_fd,
        .max_workers = l->params.max_workers,
        .worker_max_bytes = l->params.worker_max_bytes,
        .silent_usec = silent_usec,
        .stalled_usec = l->params.stalled_usec > 0 ? l->params.stalled_usec : SILENT_TIMES * silent_usec,
        .begins = on_begins,
        .fetched = on_fetched,
        .failed = on_failed,
        .found_full = on_no_space,
        .abandoned = on_abandoned,
        .removed = on_removed,
        .not_removed = on_not_removed,
        .checked = nm_localizer_on_checked,
        .progress = on_progress,
        .has_room = on_room,
        .userdata = l,
    };

    return nm_batches_new(&params, &l->batches);
}

static int make_leftovers(struct nm_localizer *l)
{
    const struct nm_leftovers_params params = {
        .event = l->params.event,
        .first_usec = l->params.retry_first_usec,
        .most_usec = l->params.retry_most_usec,
        .retry = on_retry,
        .userdata = l,
    };

    return nm_leftovers_new(&params, &l->leftovers);
}

int nm_localizer_new(const struct nm_localizer_params *params, struct nm_localizer **ret)
{
    _cleanup_(nm_localizer_freep) struct nm_localizer *l = calloc(1, sizeof *l);
    int r;

    if (!l)
        return -ENOMEM;
    TAILQ_INIT(&l->requests);
    TAILQ_INIT(&l->requesting);
    TAILQ_INIT(&l->checking);
    TAILQ_INIT(&l->ending);
    TAILQ_INIT(&l->releasing);
    l->params = *params;
    l->params.checked_usec = params->checked_usec > 0 ? params->checked_usec : CHECKED_USEC;
    l->program_fd = l->local_fd = l->state_fd = -EBADF;
    l->params.settings = json_incref(params->settings);
    l->local_dir = strdup(params->local_dir);
    l->boot_id = strdup(params->boot_id);
    l->cache = nm_cache_new(params->cache_max_bytes);
    if (!l->local_dir || !l->boot_id || !l->cache)
        return -ENOMEM;
    r = open_dirs(l);
    if (r >= 0)
        r = make_leftovers(l);
    if (r >= 0)
        r = make_batches(l);
    if (r >= 0)
        r = nm_cache_file_load(l->state_fd, l->boot_id, l->cache);
    if (r >= 0)
        r = nm_loop_add_work(params->event, "localizer", on_turn, l, &l->turn);
    if (r >= 0)
        r = nm_localizer_begin_turn(l);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(l);
    return 0;
}

struct nm_localizer *nm_localizer_free(struct nm_localizer *l)
{
    const struct nm_cache_entry *e;

    if (!l)
        return NULL;
    assert(TAILQ_EMPTY(&l->requests));
    while (nm_localizer_release_some(l))
        ;
    (void)nm_batches_free(l->batches);
    for (size_t i = 0; l->cache && (e = nm_cache_at(l->cache, i)); i++) {
        free(e->fetch);
        nm_localizer_free_checks(e);
    }
    (void)nm_leftovers_free(l->leftovers);
    (void)sd_event_source_disable_unref(l->turn);
    (void)nm_cache_free(l->cache);
    (void)nm_close(l->program_fd);
    (void)nm_close(l->local_fd);
    (void)nm_close(l->state_fd);
    json_decref(l->params.settings);
    free(l->local_dir);
    free(l->boot_id);
    free(l);
    return NULL;
}
