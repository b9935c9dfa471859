/* SPDX-License-Identifier: Apache-2.0 */

/* See localizer-state.h. Before a container gets a cached tree, a worker compares the tree with the tree's list
 * (install.h). nmd itself doesn't do this, because a user chooses the size of the tree. A single file is checked in the
 * event loop (layout.h). */

#include "localize/localizer-state.h"

#include "localize/layout.h"
#include "util/clock.h"

/* A check of a cached tree by a worker. The cache entry points to it (nm_cache_entry.checks). Each user who has
 * requested the tree has a separate check, because another user's queue may be long. The check counts as a user of the
 * entry, so that the tree isn't removed. */
struct check {
    struct check *next; /* next check of the same entry */
    LIST_HEAD(, nm_localizer_check_wait) waits;
    char user[];
};

/* The checks that one piece of a request starts: a batch for the user's own trees and a batch for PUBLIC trees. */
struct begun {
    struct nm_localizer_request *request;
    struct nm_batch *batches[2];
    size_t room;
};

static struct check *find_check(const struct nm_cache_entry *e, const char *user)
{
    struct check *c = e->checks;

    while (c && !nm_streq(c->user, user))
        c = c->next;
    return c;
}

static struct nm_batch *batch_for(struct begun *b, const struct nm_cache_entry *e, const char *user)
{
    struct nm_localizer *l = b->request->localizer;
    struct nm_batch **batch = &b->batches[e->key.visibility == NM_VISIBILITY_PUBLIC];
    struct nm_batch_owner owner = {0};

    if (!*batch && (nm_layout_owner(l->local_fd, &e->key, &owner.uid, &owner.gid) < 0 ||
                    nm_batch_new(NULL, user, &owner, b->room, batch) < 0))
        return NULL;
    return *batch;
}

/* Starts a check. Returns NULL if the tree can't be checked, because memory ran out or the base directory is missing.
 * The tree is then used without a check. */
static struct check *begin_check(struct begun *b, const struct nm_cache_entry *e, const char *user)
{
    struct nm_localizer *l = b->request->localizer;
    const size_t size = strlen(user) + 1;
    _cleanup_free_ char *target = nm_layout_target(l->local_dir, e);
    struct nm_batch *batch = batch_for(b, e, user);
    _cleanup_free_ struct check *c = calloc(1, sizeof *c + size);
    const struct nm_cache_key key = e->key;
    uint64_t id = e->id;

    if (!target || !batch || !c || nm_batch_add_check(batch, id, target) < 0)
        return NULL;
    memcpy(c->user, user, size);
    c->next = e->checks;
    nm_cache_attach_checks(l->cache, id, c);
    (void)nm_cache_request(l->cache, &key, nm_now_usec(), &id); /* the entry exists, so no memory is needed */
    return STEAL_PTR(c);
}

static bool is_due(const struct nm_localizer *l, const struct nm_cache_entry *e)
{
    return e && e->state == NM_CACHE_READY && e->is_listed &&
           nm_sub_u64(nm_now_usec(), e->checked_usec) >= l->params.checked_usec;
}

/* Starts the check of one resource, or joins a running check of the same tree. A request may contain a tree under
 * several names. Each of these resources has its own nm_localizer_check_wait in the check's list. */
static void check_one(struct begun *b, const struct nm_localizer_user *user, const struct nm_localizer_resource *res,
                      struct nm_localizer_check_wait *w)
{
    const struct nm_cache_key key = nm_localizer_key(user, res);
    const struct nm_localizer *l = b->request->localizer;
    const struct nm_cache_entry *e = nm_cache_look_up(l->cache, &key);
    struct check *c;

    if (!is_due(l, e))
        return;
    c = find_check(e, user->name) ?: begin_check(b, e, user->name);
    if (!c)
        return;
    w->request = b->request;
    LIST_INSERT_HEAD(&c->waits, w, link);
    b->request->n_checks++;
}

/* Puts both batches into the queue of checks. A batch without entries is freed. If a batch can't be put into the queue,
 * nm_batches_put() calls nm_localizer_on_checked() for each of its entries before it returns. */
static void put(struct begun *b)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(b->batches); i++)
        if (b->batches[i])
            (void)nm_batches_put(b->request->localizer->batches, b->batches[i]);
}

bool nm_localizer_check_piece(struct nm_localizer_request *request, size_t n)
{
    struct nm_localizer *l = request->localizer;
    struct begun b = {.request = request, .room = n};

    if (request->n_requested < request->n_looked)
        return true;
    request->n_looked = request->n_requested + n;
    if (!request->check_waits)
        request->check_waits = calloc(NM_LOCALIZER_PIECE, sizeof *request->check_waits);
    for (size_t i = 0; request->check_waits && i < n; i++)
        check_one(&b, &request->spec->user, &request->spec->resources[request->n_requested + i],
                  &request->check_waits[i]);
    put(&b);
    if (request->n_checks == 0)
        return true;
    TAILQ_REMOVE(&l->requesting, request, requesting_link);
    TAILQ_INSERT_TAIL(&l->checking, request, requesting_link);
    request->is_checking = true;
    return false;
}

void nm_localizer_end_checking(struct nm_localizer_request *request)
{
    for (size_t i = 0; request->n_checks > 0 && i < NM_LOCALIZER_PIECE; i++)
        if (request->check_waits[i].request) {
            LIST_REMOVE(&request->check_waits[i], link);
            request->check_waits[i].request = NULL;
            request->n_checks--;
        }
    if (!request->is_checking)
        return;
    TAILQ_REMOVE(&request->localizer->checking, request, requesting_link);
    TAILQ_INSERT_HEAD(&request->localizer->requesting, request, requesting_link);
    request->is_checking = false;
}

static struct check *take_check(struct nm_localizer *l, const struct nm_cache_entry *e, const char *user)
{
    struct check *c = find_check(e, user), *before = e->checks;

    if (c == before) {
        nm_cache_attach_checks(l->cache, e->id, c->next);
        return c;
    }
    while (before->next != c)
        before = before->next;
    before->next = c->next;
    return c;
}

void nm_localizer_on_checked(uint64_t id, const char *user, bool is_whole, void *userdata)
{
    struct nm_localizer *l = userdata;
    _cleanup_free_ struct check *c = take_check(l, nm_cache_find(l->cache, id), user);
    struct nm_localizer_check_wait *w;

    nm_cache_checked(l->cache, id, nm_now_usec());
    if (!is_whole)
        nm_localizer_invalidate(l, id);
    while ((w = LIST_FIRST(&c->waits))) {
        LIST_REMOVE(w, link);
        if (--w->request->n_checks == 0)
            nm_localizer_end_checking(w->request);
        w->request = NULL;
    }
    nm_cache_release(l->cache, id, nm_now_usec());
    (void)nm_localizer_begin_turn(l);
}

void nm_localizer_free_checks(const struct nm_cache_entry *e)
{
    for (struct check *c = e->checks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
}

/* ---- entries of the cache -------------------------------------------------------------------- */

static const char *const types[] = {"FILE", "ARCHIVE", "PATTERN"};

/* Returns the key of a resource. Requests with the same key share an entry. For PUBLIC resources the key contains no
 * user. */
struct nm_cache_key nm_localizer_key(const struct nm_localizer_user *user, const struct nm_localizer_resource *res)
{
    struct nm_cache_key key = {
        .visibility = res->visibility,
        .user = res->visibility == NM_VISIBILITY_PUBLIC ? "" : user->name,
        .application = res->visibility == NM_VISIBILITY_APPLICATION ? user->application : "",
        .uri = res->uri,
        .type = UINT32_MAX,
        .timestamp_msec = res->timestamp_msec,
        .pattern = res->pattern ? res->pattern : "",
    };

    for (unsigned i = 0; i < NM_ARRAY_SIZE(types); i++)
        if (nm_streq(res->type, types[i]))
            key.type = i;
    return key;
}

void nm_localizer_invalidate(struct nm_localizer *l, uint64_t id)
{
    nm_cache_invalidate(l->cache, id);
    (void)nm_cache_file_note(l->state_fd, l->cache, id, l->boot_id);
}
