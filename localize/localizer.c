/* SPDX-License-Identifier: Apache-2.0 */

/* See localizer.h. The cache (cache.h) knows what is there, batches (batches.h) do what there is to do; here is who
 * asks. */

#include "localize/localizer.h"

#include <assert.h>
#include <inttypes.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <syslog.h>

#include "localize/batches.h"
#include "localize/cache-file.h"
#include "localize/layout.h"
#include "localize/leftovers.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/parse.h"

#define SILENT_USEC (300 * NM_USEC_PER_SEC) /* more than a large archive's end or a slow disk takes */
#define NO_ENTRY UINT64_MAX /* the id of what isn't in the cache: a removal that somebody else wants */

/* Whoever waits for resources: a container that is being made ready. It holds on to them until it is freed, which is
 * when the container has ended. */
struct nm_localizer_ask {
    TAILQ_ENTRY(nm_localizer_ask) link;
    struct nm_localizer *localizer;
    struct nm_localizer_listener listener;
    uint64_t *ids;
    uint8_t *found; /* NM_CACHE_E_*, as each was when it was asked for */
    size_t n;
    uint64_t asked_usec;
    char *message; /* why it failed */
    bool has_failed, has_ended;
};

TAILQ_HEAD(asks, nm_localizer_ask);

struct nm_localizer {
    struct nm_localizer_params params;
    struct nm_cache *cache;
    int program_fd, local_fd, state_fd;
    char *local_dir, *boot_id;
    struct nm_batches *batches;
    struct nm_leftovers *leftovers;
    struct asks asks;
    bool tidies;
    sd_event_source *turn; /* tells asks of their end, and starts what can start */
};

static int begin_turn(struct nm_localizer *l)
{
    return sd_event_source_set_enabled(l->turn, SD_EVENT_ONESHOT);
}

/* ---- what becomes of entries ---- */

static bool ask_has(const struct nm_localizer_ask *ask, uint64_t id)
{
    for (size_t i = 0; i < ask->n; i++)
        if (ask->ids[i] == id)
            return true;
    return false;
}

/* All who waited for it fail with the same words; who asks from now on has it tried anew. */
static void fail_asks(struct nm_localizer *l, uint64_t id, const char *message)
{
    struct nm_localizer_ask *ask;

    TAILQ_FOREACH(ask, &l->asks, link)
        if (!ask->has_failed && ask_has(ask, id)) {
            ask->has_failed = true;
            ask->message = strdup(message);
        }
    (void)begin_turn(l);
}

static void on_failed(uint64_t id, const char *message, void *userdata)
{
    struct nm_localizer *l = userdata;

    nm_cache_failed(l->cache, id);
    fail_asks(l, id, message);
}

/* Who asks from now on has it fetched anew, to another place. Nothing of it is removed before its worker has ended. */
static void on_abandoned(uint64_t id, const char *message, void *userdata)
{
    struct nm_localizer *l = userdata;

    nm_cache_doom(l->cache, id);
    fail_asks(l, id, message);
}

static void on_fetched(uint64_t id, uint64_t bytes, void *userdata)
{
    struct nm_localizer *l = userdata;

    /* the worker's word, which a user could make it say: no resource counts for more than all that there may be */
    nm_cache_fetched(l->cache, id, NM_MIN(bytes, l->params.cache_max_bytes));
    /* what can't be remembered serves until nmd's end, and is found to be unfinished by the next */
    (void)nm_cache_file_save(l->state_fd, nm_cache_find(l->cache, id), l->boot_id);
    (void)begin_turn(l);
}

/* The file goes last of all: until then it is what says that there is something to remove. */
static void on_removed(uint64_t id, void *userdata)
{
    struct nm_localizer *l = userdata;

    if (id == NO_ENTRY)
        return;
    nm_leftovers_gone(l->leftovers, nm_cache_find(l->cache, id)->key.user, id);
    (void)nm_cache_file_remove(l->state_fd, id);
    nm_cache_removed(l->cache, id);
}

/* The worker's message is untrusted, since a user controls the worker. Other characters than printable ASCII are
 * replaced. */
static void tell_left_over(const struct nm_localizer *l, const char *message)
{
    char sentence[500];
    int n = snprintf(sentence, sizeof sentence, "%.300s", message);

    for (int i = 0; i < n && sentence[i]; i++)
        if (sentence[i] < ' ' || sentence[i] > '~')
            sentence[i] = '?';
    n = (int)strlen(sentence);
    (void)snprintf(sentence + n, sizeof sentence - (size_t)n, "; nmd tries again at intervals that grow up to an "
                   "hour, and treats later failures of this user in the same way without another message");
    if (l->params.tell)
        l->params.tell(LOG_WARNING, sentence);
}

/* An entry's bytes count until it is removed. A removal of something that isn't in the cache is its caller's
 * concern. */
static void on_not_removed(uint64_t id, const char *message, void *userdata)
{
    struct nm_localizer *l = userdata;

    if (id != NO_ENTRY &&
        nm_leftovers_put(l->leftovers, nm_cache_find(l->cache, id)->key.user, id) == NM_LEFTOVERS_E_FIRST)
        tell_left_over(l, message);
}

static void on_room(void *userdata)
{
    (void)begin_turn(userdata);
}

/* Asked of the cache each time, and not counted along: an ask may begin when half of its resources are there, and
 * share the rest with others. */
static size_t count_ready(const struct nm_localizer_ask *ask)
{
    size_t n = 0;

    for (size_t i = 0; i < ask->n; i++)
        n += nm_cache_find(ask->localizer->cache, ask->ids[i])->state == NM_CACHE_READY;
    return n;
}

static void on_progress(uint64_t id, const struct nm_said *said, void *userdata)
{
    struct nm_localizer *l = userdata;
    struct nm_localizer_ask *ask;

    TAILQ_FOREACH(ask, &l->asks, link)
        if (!ask->has_ended && !ask->has_failed && ask->listener.progress && ask_has(ask, id)) {
            const struct nm_localizer_progress progress = {
                .n_done = count_ready(ask),
                .n = ask->n,
                .bytes = said->bytes,
                .total_bytes = said->total_bytes,
                .is_unpacking = said->state == NM_SAID_UNPACKING,
            };

            ask->listener.progress(ask, &progress, ask->listener.userdata);
        }
}

/* ---- tidying ---- */

/* The worker runs as whoever owns the account's directory, which lies in a directory of nmd's. */
static int begin_to_remove(struct nm_localizer *l, const struct nm_cache_entry *e)
{
    _cleanup_(nm_batch_freep) struct nm_batch *b = NULL;
    _cleanup_free_ char *target = nm_layout_target(l->local_dir, e);
    struct nm_batch_owner owner = {0};
    int r = nm_layout_owner(l->local_fd, &e->key, &owner.uid, &owner.gid);

    if (r == -ENOENT) {
        on_removed(e->id, l);
        return 0;
    }
    if (r >= 0)
        r = target ? nm_batch_new(NULL, e->key.user, &owner, 1, &b) : -ENOMEM;
    if (r >= 0)
        r = nm_batch_add_removal(b, e->id, target);
    if (r < 0)
        return r;
    (void)nm_cache_file_save(l->state_fd, e, l->boot_id); /* from now on it isn't whole */
    (void)nm_batches_put(l->batches, STEAL_PTR(b)); /* tells of its failure itself */
    return 0;
}

static void remove_entry(struct nm_localizer *l, const struct nm_cache_entry *e)
{
    char message[120];
    int r = begin_to_remove(l, e);

    if (r >= 0)
        return;
    (void)snprintf(message, sizeof message, "resource %" PRIu64 " in %s can't be removed: %s", e->id, l->local_dir,
                   strerror(-r));
    on_not_removed(e->id, message, l);
}

int nm_localizer_remove(struct nm_localizer *l, const char *user, uid_t uid, gid_t gid, const char *path,
                        void (*ended)(void *userdata), void *userdata)
{
    _cleanup_(nm_batch_freep) struct nm_batch *b = NULL;
    int r = nm_batch_new(NULL, user, &(struct nm_batch_owner){.uid = uid, .gid = gid}, 1, &b);

    if (r >= 0)
        r = nm_batch_add_removal(b, NO_ENTRY, path);
    if (r >= 0)
        r = begin_turn(l);
    if (r < 0)
        return r;
    nm_batch_on_end(b, ended, userdata);
    return nm_batches_put(l->batches, STEAL_PTR(b));
}

/* Before what runs has asked again for what it uses, everything looks unused. */
static void tidy(struct nm_localizer *l)
{
    const struct nm_cache_entry *e;

    while (l->tidies && (e = nm_cache_next_to_leave(l->cache)))
        remove_entry(l, e);
}

static void on_retry(uint64_t id, void *userdata)
{
    struct nm_localizer *l = userdata;

    remove_entry(l, nm_cache_find(l->cache, id));
    (void)begin_turn(l);
}

/* ---- turns ---- */

/* The first failure is its end: a container can't do without any of its resources. */
static bool is_at_its_end(const struct nm_localizer_ask *ask)
{
    return !ask->has_ended && (ask->has_failed || count_ready(ask) == ask->n);
}

/* One at a time: whoever hears of its end may free it, and others. */
static bool tell_one_end(struct nm_localizer *l)
{
    struct nm_localizer_ask *ask;

    TAILQ_FOREACH(ask, &l->asks, link)
        if (is_at_its_end(ask)) {
            ask->has_ended = true;
            ask->listener.ended(ask, ask->has_failed ? -EIO : 0, ask->message, ask->listener.userdata);
            return true;
        }
    return false;
}

/* Everything that follows from something is done here, in a turn of its own, so that no caller is called back from
 * within. */
static int on_turn(sd_event_source *source, void *userdata)
{
    struct nm_localizer *l = userdata;

    (void)source;
    tidy(l);
    nm_batches_start(l->batches);
    while (tell_one_end(l))
        ;
    return 0;
}

/* ---- asking ---- */

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
        return -EINVAL; /* a word that isn't UTF-8 */
    if (res->pattern && json_object_set_new(json, "pattern", json_string(res->pattern)) < 0) {
        json_decref(json);
        return -EINVAL;
    }
    *ret = json;
    return 0;
}

/* The file first: if nmd dies while it is fetched, the next one knows that there may be a part of it to remove. */
static int add_fetch(struct nm_localizer *l, const struct nm_localizer_resource *res, uint64_t id, struct nm_batch *b)
{
    json_t *json;
    int r = nm_cache_file_save(l->state_fd, nm_cache_find(l->cache, id), l->boot_id);

    if (r >= 0)
        r = make_resource(l, res, id, &json);
    return r < 0 ? r : nm_batch_add_fetch(b, id, json);
}

/* What two asks must have in common to share: of PUBLIC resources it isn't the user. */
static struct nm_cache_key make_key(const struct nm_localizer_user *user, const struct nm_localizer_resource *res)
{
    static const char *const types[] = {"FILE", "ARCHIVE", "PATTERN"};
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

/* Out of the index at once, and in its file no longer whole: the next nmd must not take it for the one that is fetched
 * in its place. */
static void doom(struct nm_localizer *l, uint64_t id)
{
    nm_cache_doom(l->cache, id);
    (void)nm_cache_file_save(l->state_fd, nm_cache_find(l->cache, id), l->boot_id);
}

static bool is_lost(const struct nm_localizer *l, uint64_t id, const char *name)
{
    return !nm_layout_is_there(l->local_fd, nm_cache_find(l->cache, id), name);
}

/* What the cache has may be gone from the disk: directories of temporary files are cleaned by age. */
static int ask_cache(struct nm_localizer *l, const struct nm_cache_key *key, const char *name, uint64_t *ret_id)
{
    const uint64_t now_usec = nm_now_usec();
    int r = nm_cache_ask(l->cache, key, now_usec, ret_id);

    if (r != NM_CACHE_E_READY || !is_lost(l, *ret_id, name))
        return r;
    doom(l, *ret_id);
    nm_cache_release(l->cache, *ret_id, now_usec);
    return nm_cache_ask(l->cache, key, now_usec, ret_id);
}

/* Of what isn't there the batch is to fetch what nobody fetches yet. */
static int ask_for(struct nm_localizer_ask *ask, const struct nm_localizer_user *user,
                   const struct nm_localizer_resource *res, struct nm_batch *batch)
{
    struct nm_localizer *l = ask->localizer;
    const struct nm_cache_key key = make_key(user, res);
    uint64_t id;
    int r;

    if (key.type == UINT32_MAX || res->timestamp_msec > INT64_MAX)
        return -EINVAL;
    r = ask_cache(l, &key, res->name, &id);
    if (r < 0)
        return r;
    ask->found[ask->n] = (uint8_t)r;
    ask->ids[ask->n++] = id;
    if (r == NM_CACHE_E_READY)
        (void)nm_cache_file_touch(l->state_fd, id, nm_now_usec());
    if (r != NM_CACHE_E_NEW)
        return 0;
    r = add_fetch(l, res, id, batch);
    if (r < 0)
        nm_cache_failed(l->cache, id);
    return r;
}

/* Makes the batch that is to fetch what is PUBLIC, or the one for the rest, where there is anything for it. */
static int make_batch(struct nm_localizer *l, const struct nm_localizer_user *user,
                      const struct nm_localizer_resource *resources, size_t n, bool is_public, struct nm_batch **ret)
{
    const struct nm_batch_owner owner = {
        .uid = is_public ? l->params.public_uid : user->uid,
        .gid = is_public ? l->params.public_gid : user->gid,
        .account = is_public ? NULL : user->account,
    };
    size_t wanted = 0;
    int r;

    for (size_t i = 0; i < n; i++)
        wanted += (resources[i].visibility == NM_VISIBILITY_PUBLIC) == is_public;
    if (wanted == 0)
        return 0;
    r = nm_layout_make_base(l->local_fd, user->name, is_public, owner.uid, owner.gid);
    return r < 0 ? r : nm_batch_new(l->params.settings, user->name, &owner, wanted, ret);
}

/* In the list before it has any resource: whatever fails from here on, freeing it gives everything back. */
static int new_ask(struct nm_localizer *l, size_t n, const struct nm_localizer_listener *listener,
                   struct nm_localizer_ask **ret)
{
    struct nm_localizer_ask *ask = calloc(1, sizeof *ask);

    if (!ask)
        return -ENOMEM;
    ask->ids = calloc(n + 1, sizeof *ask->ids);
    ask->found = calloc(n + 1, sizeof *ask->found);
    if (!ask->ids || !ask->found) {
        free(ask->ids);
        free(ask->found);
        free(ask);
        return -ENOMEM;
    }
    ask->asked_usec = nm_now_usec();
    ask->localizer = l;
    ask->listener = *listener;
    TAILQ_INSERT_TAIL(&l->asks, ask, link);
    *ret = ask;
    return 0;
}

int nm_localizer_ask(struct nm_localizer *l, const struct nm_localizer_user *user,
                     const struct nm_localizer_resource *resources, size_t n,
                     const struct nm_localizer_listener *listener, struct nm_localizer_ask **ret)
{
    _cleanup_(nm_localizer_ask_freep) struct nm_localizer_ask *ask = NULL;
    struct nm_batch *batches[] = {NULL, NULL}; /* of what is PUBLIC, and of the rest */
    int r;

    assert(listener->ended);
    if (!nm_user_name_is_valid(user->name) || !nm_name_is_valid(user->application))
        return -EINVAL;
    r = new_ask(l, n, listener, &ask);
    if (r >= 0)
        r = make_batch(l, user, resources, n, true, &batches[0]);
    if (r >= 0)
        r = make_batch(l, user, resources, n, false, &batches[1]);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = ask_for(ask, user, &resources[i], batches[resources[i].visibility != NM_VISIBILITY_PUBLIC]);
    /* what was begun is in the cache by now: freeing the ask takes it out of the line again */
    for (size_t i = 0; i < NM_ARRAY_SIZE(batches); i++) {
        int put = batches[i] ? nm_batches_put(l->batches, batches[i]) : 0;

        r = r < 0 ? r : put;
    }
    if (r >= 0)
        r = begin_turn(l);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(ask);
    return 0;
}

/* Somebody who has asked and not given back. */
static bool is_wanted(uint64_t id, void *userdata)
{
    const struct nm_localizer *l = userdata;

    return nm_cache_find(l->cache, id)->users > 0;
}

struct nm_localizer_ask *nm_localizer_ask_free(struct nm_localizer_ask *ask)
{
    struct nm_localizer *l;

    if (!ask)
        return NULL;
    l = ask->localizer;
    for (size_t i = 0; i < ask->n; i++)
        nm_cache_release(l->cache, ask->ids[i], nm_now_usec());
    TAILQ_REMOVE(&l->asks, ask, link);
    nm_batches_give_up(l->batches, is_wanted);
    (void)begin_turn(l);
    free(ask->ids);
    free(ask->found);
    free(ask->message);
    free(ask);
    return NULL;
}

char *nm_localizer_target(const struct nm_localizer_ask *ask, size_t i)
{
    assert(i < ask->n);
    return nm_layout_target(ask->localizer->local_dir, nm_cache_find(ask->localizer->cache, ask->ids[i]));
}

/* By going through all before it: resources come by the dozen. */
static bool is_among(const uint64_t *ids, size_t n, uint64_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* One that was asked for under two names is one resource; what was new then is no second one. */
void nm_localizer_count(const struct nm_localizer_ask *ask, struct nm_localizer_counts *ret)
{
    *ret = (struct nm_localizer_counts){.usec = nm_sub_u64(nm_now_usec(), ask->asked_usec)};
    for (size_t i = 0; i < ask->n; i++) {
        const uint64_t bytes = nm_cache_find(ask->localizer->cache, ask->ids[i])->bytes;

        if (ask->found[i] != NM_CACHE_E_NEW && is_among(ask->ids, i, ask->ids[i]))
            continue;
        if (ask->found[i] == NM_CACHE_E_READY) {
            ret->n_cached++;
            ret->cached_bytes += bytes;
        } else {
            ret->n_fetched++;
            ret->fetched_bytes += bytes;
        }
    }
}

bool nm_localizer_is_there(const struct nm_localizer_ask *ask, size_t i)
{
    const struct nm_cache_entry *e;

    assert(i < ask->n);
    e = nm_cache_find(ask->localizer->cache, ask->ids[i]);
    if (ask->has_ended && !ask->has_failed)
        return true; /* whatever became of it later */
    return e->state == NM_CACHE_READY && !e->is_doomed; /* what failed is there as far as the cache goes, and doomed */
}

bool nm_localizer_check(struct nm_localizer_ask *ask, size_t i, const char *name)
{
    assert(i < ask->n);
    if (!is_lost(ask->localizer, ask->ids[i], name))
        return true;
    doom(ask->localizer, ask->ids[i]);
    return false;
}

/* ---- the localizer ---- */

void nm_localizer_begin_to_tidy(struct nm_localizer *l)
{
    l->tidies = true;
    (void)begin_turn(l);
}

/* What is still used leaves when the last container gives it back, and that is no longer than it takes them to end. */
void nm_localizer_end_application(struct nm_localizer *l, const char *user, const char *application)
{
    nm_cache_end_application(l->cache, user, application);
    (void)begin_turn(l);
}

size_t nm_localizer_count_known(const struct nm_localizer *l, const struct nm_localizer_user *user,
                                const struct nm_localizer_resource *resources, size_t n)
{
    size_t known = 0;

    for (size_t i = 0; i < n; i++) {
        const struct nm_cache_key key = make_key(user, &resources[i]);

        known += nm_cache_has(l->cache, &key);
    }
    return known;
}

void nm_localizer_set_room(struct nm_localizer *l, uint64_t cache_max_bytes)
{
    nm_cache_set_room(l->cache, cache_max_bytes);
    (void)begin_turn(l);
}

uint64_t nm_localizer_bytes(const struct nm_localizer *l)
{
    return nm_cache_bytes(l->cache);
}

static int open_dirs(struct nm_localizer *l)
{
    l->program_fd = RET_NERRNO(open(l->params.program, O_PATH | O_CLOEXEC));
    if (l->program_fd < 0)
        return l->program_fd;
    l->local_fd = RET_NERRNO(open(l->local_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (l->local_fd < 0)
        return l->local_fd;
    l->state_fd = RET_NERRNO(open(l->params.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (l->state_fd < 0)
        return l->state_fd;
    /* accounts' directories are made in these by name */
    if (nm_check_private_dir(l->local_fd) < 0 || nm_check_private_dir(l->state_fd) < 0)
        return -EPERM;
    if (mkdirat(l->local_fd, "usercache", 0755) < 0)
        return errno == EEXIST ? 0 : -errno;
    /* whatever nmd's mask is: users go through it to theirs */
    return RET_NERRNO(fchmodat(l->local_fd, "usercache", 0755, 0));
}

static int make_batches(struct nm_localizer *l)
{
    const struct nm_batches_params params = {
        .event = l->params.event,
        .program_fd = l->program_fd,
        .max_workers = l->params.max_workers,
        .worker_max_bytes = l->params.worker_max_bytes,
        .silent_usec = l->params.silent_usec > 0 ? l->params.silent_usec : SILENT_USEC,
        .fetched = on_fetched,
        .failed = on_failed,
        .abandoned = on_abandoned,
        .removed = on_removed,
        .not_removed = on_not_removed,
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
    TAILQ_INIT(&l->asks);
    l->params = *params;
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
        r = sd_event_add_defer(params->event, &l->turn, on_turn, l);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(l);
    return 0;
}

struct nm_localizer *nm_localizer_free(struct nm_localizer *l)
{
    if (!l)
        return NULL;
    assert(TAILQ_EMPTY(&l->asks));
    (void)nm_batches_free(l->batches);
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
