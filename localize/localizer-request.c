/* SPDX-License-Identifier: Apache-2.0 */

/* See localizer-request.h. A user chooses how many resources a container has. Resources are therefore requested,
 * checked and released in pieces, one piece per turn of the event loop. Each fetch has a list of the requests that wait
 * for it. */

#include "localize/localizer-state.h"

#include <assert.h>

#include "localize/layout.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/parse.h"
#include "util/utf8.h"

/* ---- the request ---- */

static bool is_text(const char *s)
{
    return !s || s[nm_utf8_prefix(s)] == '\0';
}

static bool is_resource(const struct nm_localizer_user *user, const struct nm_localizer_resource *res)
{
    return nm_localizer_key(user, res).type != UINT32_MAX && res->timestamp_msec <= INT64_MAX && is_text(res->uri) &&
           is_text(res->pattern);
}

/* Calls visit() once for each string of the request. */
static void visit_strings(struct nm_localizer_request_spec *w, size_t n,
                          void (*visit)(const char **string, void *userdata), void *userdata)
{
    visit(&w->user.name, userdata);
    visit(&w->user.application, userdata);
    visit(&w->user.account, userdata);
    for (size_t i = 0; i < n; i++) {
        visit(&w->resources[i].uri, userdata);
        visit(&w->resources[i].type, userdata);
        visit(&w->resources[i].pattern, userdata);
        visit(&w->resources[i].name, userdata);
    }
}

static void measure(const char **word, void *userdata)
{
    *(size_t *)userdata += *word ? strlen(*word) + 1 : 0;
}

static void move(const char **word, void *userdata)
{
    char **to = userdata, *copy = *to;

    if (!*word)
        return;
    *to = stpcpy(copy, *word) + 1;
    *word = copy;
}

/* Copies the request and all its strings into one allocation. */
static int copy_spec(const struct nm_localizer_user *user, const struct nm_localizer_resource *resources, size_t n,
                     struct nm_localizer_request_spec **ret)
{
    const size_t list_size = n * sizeof *resources;
    struct nm_localizer_request_spec *w = malloc(sizeof *w + list_size), *all;
    size_t size = 0;
    char *words;

    if (!w)
        return -ENOMEM;
    w->user = *user;
    if (n > 0)
        memcpy(w->resources, resources, list_size);
    visit_strings(w, n, measure, &size);
    all = realloc(w, sizeof *w + list_size + size);
    if (!all) {
        free(w);
        return -ENOMEM;
    }
    words = (char *)(all->resources + n);
    visit_strings(all, n, move, &words);
    *ret = all;
    return 0;
}

/* ---- the end of a request ---- */

/* Ends the request if it is complete or has failed. The first failure ends the request, because a container needs all
 * of its resources. */
void nm_localizer_request_settle(struct nm_localizer_request *request)
{
    struct nm_localizer *l = request->localizer;

    if (request->has_ended || request->is_ending ||
        (!request->has_failed && (request->n_requested < request->n || request->n_waiting > 0)))
        return;
    request->is_ending = true;
    TAILQ_INSERT_TAIL(&l->ending, request, end_link);
    (void)nm_localizer_begin_turn(l);
}

void nm_localizer_request_fail(struct nm_localizer_request *request, int result, const char *message)
{
    if (request->has_failed || request->has_ended)
        return;
    request->has_failed = true;
    request->result = result;
    request->message = strdup(message);
    nm_localizer_request_settle(request);
}

/* ---- requesting ---- */

static int make_resource(struct nm_localizer *l, const struct nm_localizer_resource *res, uint64_t id, json_t **ret)
{
    _cleanup_free_ char *target = nm_layout_target(l->local_dir, nm_cache_find(l->cache, id));
    json_t *json;

    if (!target)
        return -ENOMEM;
    json = json_pack("{s:s, s:s, s:I, s:b, s:s}", "uri", res->uri, "type", res->type, "timestamp",
                     (json_int_t)res->timestamp_msec, "public", res->visibility == NM_VISIBILITY_PUBLIC, "target",
                     target);
    if (!json)
        return -EINVAL; /* the name of a directory isn't UTF-8 */
    if (res->pattern && json_object_set_new(json, "pattern", json_string(res->pattern)) < 0) {
        json_decref(json);
        return -EINVAL;
    }
    *ret = json;
    return 0;
}

static bool is_removed(const struct nm_localizer *l, uint64_t id, const char *name)
{
    return !nm_layout_is_unchanged(l->local_fd, nm_cache_find(l->cache, id), name);
}

/* Requests the resource from the cache, and checks that it is still on the disk. Programs that clean up temporary files
 * may have removed it because of its age. */
static int request_entry(struct nm_localizer *l, const struct nm_cache_key *key, const char *name, uint64_t *ret_id)
{
    const uint64_t now_usec = nm_now_usec();
    int r = nm_cache_request(l->cache, key, now_usec, ret_id);

    if (r != NM_CACHE_E_READY || !is_removed(l, *ret_id, name))
        return r;
    nm_localizer_invalidate(l, *ret_id);
    nm_cache_release(l->cache, *ret_id, now_usec);
    return nm_cache_request(l->cache, key, now_usec, ret_id);
}

/* One piece of one request. Each PUBLIC resource gets a separate batch, so that it can be in another user's queue as
 * well. The other resources share a batch. */
struct piece {
    struct nm_localizer_request *request;
    const struct nm_localizer_user *user;
    struct nm_batch *batch; /* for resources that aren't PUBLIC; NULL: no such resource needs a fetch until now */
    size_t room;
    bool has_base[2]; /* whether the base directories exist: of PUBLIC resources [1], of other resources [0] */
};

static int new_batch(struct piece *p, bool is_public, size_t room, struct nm_batch **ret)
{
    const struct nm_localizer *l = p->request->localizer;
    const struct nm_batch_owner owner = {
        .uid = is_public ? l->params.public_uid : p->user->uid,
        .gid = is_public ? l->params.public_gid : p->user->gid,
        .account = is_public ? NULL : p->user->account,
    };
    int r = p->has_base[is_public]
                ? 0
                : nm_layout_make_base(l->local_fd, p->user->name, is_public, owner.uid, owner.gid);

    if (r < 0)
        return r;
    p->has_base[is_public] = true;
    return nm_batch_new(l->params.settings, p->user->name, &owner, room, ret);
}

static int add_public(struct piece *p, const struct nm_localizer_resource *res, uint64_t id,
                      struct nm_localizer_fetch *f)
{
    struct nm_localizer *l = p->request->localizer;
    _cleanup_(nm_batch_freep) struct nm_batch *b = NULL;
    json_t *json;
    int r = new_batch(p, true, 1, &b);

    if (r >= 0)
        r = make_resource(l, res, id, &json);
    if (r >= 0)
        r = nm_batch_add_fetch(b, id, &f->batches, json);
    return r < 0 ? r : nm_batches_put(l->batches, STEAL_PTR(b));
}

static int add_own(struct piece *p, const struct nm_localizer_resource *res, uint64_t id,
                   struct nm_localizer_fetch *f)
{
    json_t *json;
    int r = p->batch ? 0 : new_batch(p, false, p->room, &p->batch);

    if (r >= 0)
        r = make_resource(p->request->localizer, res, id, &json);
    return r < 0 ? r : nm_batch_add_fetch(p->batch, id, &f->batches, json);
}

static int begin_fetch(struct piece *p, const struct nm_localizer_resource *res, uint64_t id)
{
    struct nm_localizer *l = p->request->localizer;
    struct nm_localizer_fetch *f = calloc(1, sizeof *f);
    int r = f ? 0 : -ENOMEM;

    if (f)
        nm_cache_attach(l->cache, id, f);
    if (r >= 0)
        r = res->visibility == NM_VISIBILITY_PUBLIC ? add_public(p, res, id, f) : add_own(p, res, id, f);
    /* the failure may have been reported already */
    if (r < 0 && nm_cache_find(l->cache, id)->state == NM_CACHE_FETCHING) {
        nm_cache_attach(l->cache, id, NULL);
        nm_cache_failed(l->cache, id);
        free(f);
    }
    return r;
}

/* Adds a resource that another user has requested to the queue of this request's user as well, because the other user's
 * queue may be long. */
static int join_fetch(struct piece *p, const struct nm_localizer_resource *res, uint64_t id)
{
    const struct nm_cache_entry *e = nm_cache_find(p->request->localizer->cache, id);
    struct nm_localizer_fetch *f = e->fetch;

    if (e->users == 1)
        nm_batches_set_wanted(&f->batches);
    if (res->visibility != NM_VISIBILITY_PUBLIC || nm_batches_serve(&f->batches, p->user->name))
        return 0;
    return add_public(p, res, id, f);
}

/* Returns the index of the request's first resource that has the same id as resource i; the result may be i itself. */
static size_t find_first(struct nm_localizer_request *request, size_t i)
{
    const uint64_t spread = UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(request->ids[i] * spread >> 32) & (request->n_firsts - 1);

    while (request->firsts[at] > 0 && request->ids[request->firsts[at] - 1] != request->ids[i])
        at = (at + 1) & (request->n_firsts - 1);
    if (request->firsts[at] == 0)
        request->firsts[at] = (uint32_t)i + 1;
    return request->firsts[at] - 1;
}

/* Makes the request wait for resource i. A container may have one resource under thousands of names. The request has
 * only one wait for all these names, so a report of the worker, or the end of the fetch, costs the event loop no time
 * per name. */
static void wait_for(struct nm_localizer_request *request, size_t i)
{
    struct nm_localizer_fetch *f = nm_cache_find(request->localizer->cache, request->ids[i])->fetch;
    struct nm_localizer_wait *w = &request->waits[find_first(request, i)];

    if (!w->request) {
        w->request = request;
        LIST_INSERT_HEAD(&f->waits, w, link);
    }
    w->n++;
    request->n_waiting++;
}

static int request_resource(struct piece *p, const struct nm_localizer_resource *res)
{
    struct nm_localizer_request *request = p->request;
    struct nm_localizer *l = request->localizer;
    const struct nm_cache_key key = nm_localizer_key(p->user, res);
    const size_t i = request->n_requested;
    uint64_t id;
    int r = request_entry(l, &key, res->name, &id), found = r;

    if (r < 0)
        return r;
    request->found[i] = (uint8_t)found;
    request->ids[i] = id;
    request->n_requested++;
    if (found == NM_CACHE_E_READY) {
        (void)nm_cache_file_touch(l->state_fd, id, nm_now_usec());
        return 0;
    }
    r = found == NM_CACHE_E_NEW ? begin_fetch(p, res, id) : join_fetch(p, res, id);
    if (r >= 0)
        wait_for(request, i);
    return r;
}

static int request_piece(struct nm_localizer_request *request)
{
    struct nm_localizer *l = request->localizer;
    struct piece p = {
        .request = request, .user = &request->spec->user,
        .room = NM_MIN(request->n - request->n_requested, NM_LOCALIZER_PIECE)};
    int r = 0, put = 0;

    if (!nm_localizer_check_piece(request, p.room))
        return 0;
    for (size_t i = 0; r >= 0 && i < p.room; i++)
        r = request_resource(&p, &request->spec->resources[request->n_requested]);
    /* the resources are in the cache by now, so freeing the request also removes them from the queue */
    if (p.batch)
        put = nm_batches_put(l->batches, p.batch);
    return r < 0 ? r : put;
}

/* Ends the part in which a request names its resources: it has named all of them, has failed, or is freed. */
static void end_requesting(struct nm_localizer_request *request)
{
    if (!request->spec)
        return;
    nm_localizer_end_checking(request);
    TAILQ_REMOVE(&request->localizer->requesting, request, requesting_link);
    free(request->spec);
    request->spec = NULL;
}

/* Requests the resources of one piece of one request. Requests with further resources take turns. */
bool nm_localizer_request_some(struct nm_localizer *l)
{
    struct nm_localizer_request *request = TAILQ_FIRST(&l->requesting);
    char message[100];
    int r;

    if (!request)
        return false;
    TAILQ_REMOVE(&l->requesting, request, requesting_link);
    TAILQ_INSERT_TAIL(&l->requesting, request, requesting_link);
    r = request->has_failed ? 0 : request_piece(request);
    if (r < 0) {
        (void)snprintf(message, sizeof message, "Can't start localizing the container's files: %s", strerror(-r));
        nm_localizer_request_fail(request, r == -ENOSPC || r == -EDQUOT ? -ENOSPC : -EIO, message);
    }
    if (request->has_failed || request->n_requested == request->n)
        end_requesting(request);
    nm_localizer_request_settle(request);
    return true;
}

static int make_lists(struct nm_localizer_request *request, size_t n)
{
    for (request->n_firsts = 1; request->n_firsts < 2 * (n + 1);)
        request->n_firsts *= 2;
    request->ids = calloc(n + 1, sizeof *request->ids);
    request->found = calloc(n + 1, sizeof *request->found);
    request->waits = calloc(n + 1, sizeof *request->waits);
    request->firsts = calloc(request->n_firsts, sizeof *request->firsts);
    return request->ids && request->found && request->waits && request->firsts ? 0 : -ENOMEM;
}

static void free_request(struct nm_localizer_request *request)
{
    free(request->ids);
    free(request->found);
    free(request->waits);
    free(request->firsts);
    free(request->check_waits);
    free(request->message);
    free(request);
}

/* Makes a request and puts it into the list before it has any resource. If a later step fails, freeing the request
 * therefore releases everything. */
static int new_request(struct nm_localizer *l, size_t n, const struct nm_localizer_listener *listener,
                       struct nm_localizer_request **ret)
{
    struct nm_localizer_request *request = calloc(1, sizeof *request);

    if (!request)
        return -ENOMEM;
    if (make_lists(request, n) < 0) {
        free_request(request);
        return -ENOMEM;
    }
    request->n = n;
    request->requested_usec = nm_now_usec();
    request->localizer = l;
    request->listener = *listener;
    TAILQ_INSERT_TAIL(&l->requests, request, link);
    *ret = request;
    return 0;
}

/* Requests the first piece immediately, because most containers have only one piece. */
int nm_localizer_request(struct nm_localizer *l, const struct nm_localizer_user *user,
                         const struct nm_localizer_resource *resources, size_t n,
                         const struct nm_localizer_listener *listener, struct nm_localizer_request **ret)
{
    _cleanup_(nm_localizer_request_freep) struct nm_localizer_request *request = NULL;
    int r;

    assert(listener->ended);
    if (!nm_user_name_is_valid(user->name) || !nm_name_is_valid(user->application))
        return -EINVAL;
    for (size_t i = 0; i < n; i++)
        if (!is_resource(user, &resources[i]))
            return -EINVAL;
    r = new_request(l, n, listener, &request);
    if (r >= 0)
        r = copy_spec(user, resources, n, &request->spec);
    if (r < 0)
        return r;
    TAILQ_INSERT_TAIL(&l->requesting, request, requesting_link);
    r = request_piece(request);
    if (r >= 0)
        r = nm_localizer_begin_turn(l);
    if (r < 0)
        return r;
    if (request->n_requested == n)
        end_requesting(request);
    nm_localizer_request_settle(request);
    *ret = STEAL_PTR(request);
    return 0;
}

/* ---- releasing ---- */

static void release(struct nm_localizer_request *request, size_t i)
{
    struct nm_cache *cache = request->localizer->cache;
    struct nm_localizer_fetch *f = nm_cache_find(cache, request->ids[i])->fetch;

    if (request->waits[i].request)
        LIST_REMOVE(&request->waits[i], link);
    nm_cache_release(cache, request->ids[i], nm_now_usec());
    if (f && nm_cache_find(cache, request->ids[i])->users == 0)
        nm_batches_set_unwanted(&f->batches);
}

/* Releases resources, starting with those that were requested last. The waiting resources therefore leave the queue
 * before a running fetch is ended. Otherwise a waiting resource would get the slot of the ended fetch. */
bool nm_localizer_release_some(struct nm_localizer *l)
{
    struct nm_localizer_request *request = TAILQ_FIRST(&l->releasing);
    const uint64_t end_usec = nm_localizer_end_of_turn();
    unsigned n = 0;

    if (!request)
        return false;
    while (n++ < NM_LOCALIZER_PIECE && request->n_released < request->n_requested &&
           (n == 1 || nm_now_usec() < end_usec))
        release(request, request->n_requested - ++request->n_released);
    if (request->n_released == request->n_requested) {
        TAILQ_REMOVE(&l->releasing, request, link);
        free_request(request);
    }
    return true;
}

struct nm_localizer_request *nm_localizer_request_free(struct nm_localizer_request *request)
{
    struct nm_localizer *l;

    if (!request)
        return NULL;
    l = request->localizer;
    end_requesting(request);
    if (request->is_ending)
        TAILQ_REMOVE(&l->ending, request, end_link);
    request->is_ending = false;
    request->has_ended = true;
    TAILQ_REMOVE(&l->requests, request, link);
    TAILQ_INSERT_HEAD(&l->releasing, request, link);
    (void)nm_localizer_release_some(l);
    (void)nm_localizer_begin_turn(l);
    return NULL;
}

/* ---- the resources of a request ---- */

char *nm_localizer_target(const struct nm_localizer_request *request, size_t i)
{
    assert(i < request->n_requested);
    return nm_layout_target(request->localizer->local_dir, nm_cache_find(request->localizer->cache, request->ids[i]));
}

struct id_index {
    uint64_t id;
    size_t i;
};

static int compare_ids(const void *a, const void *b)
{
    const struct id_index *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

/* Counts each resource once, even if the request has several names for it. Uses the resource's state at the time of its
 * first name. */
void nm_localizer_count(const struct nm_localizer_request *request, struct nm_localizer_counts *ret)
{
    _cleanup_free_ struct id_index *list = calloc(request->n_requested + 1, sizeof *list);

    *ret = (struct nm_localizer_counts){.usec = nm_sub_u64(nm_now_usec(), request->requested_usec)};
    if (!list)
        return;
    for (size_t i = 0; i < request->n_requested; i++)
        list[i] = (struct id_index){request->ids[i], i};
    qsort(list, request->n_requested, sizeof *list, compare_ids);
    for (size_t i = 0; i < request->n_requested; i++) {
        const uint64_t bytes = nm_cache_find(request->localizer->cache, list[i].id)->bytes;

        if (i > 0 && list[i].id == list[i - 1].id)
            continue;
        if (request->found[list[i].i] == NM_CACHE_E_READY) {
            ret->n_cached++;
            ret->cached_bytes += bytes;
        } else {
            ret->n_fetched++;
            ret->fetched_bytes += bytes;
        }
    }
}

bool nm_localizer_is_available(const struct nm_localizer_request *request, size_t i)
{
    const struct nm_cache_entry *e;

    assert(i < request->n);
    if (request->has_ended && !request->has_failed)
        return true; /* true even if the resource was removed later */
    if (i >= request->n_requested)
        return false;
    e = nm_cache_find(request->localizer->cache, request->ids[i]);
    return e->state == NM_CACHE_READY && !e->is_leaving; /* a failed entry is READY with is_leaving */
}

bool nm_localizer_check(struct nm_localizer_request *request, size_t i, const char *name)
{
    assert(i < request->n_requested);
    if (!is_removed(request->localizer, request->ids[i], name))
        return true;
    nm_localizer_invalidate(request->localizer, request->ids[i]);
    return false;
}
