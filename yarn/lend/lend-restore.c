/* SPDX-License-Identifier: Apache-2.0 */

/* Restores packed books. They are nmd's own, but all limits are checked, so that a damaged file is found. */

#include <errno.h>

#include "rpc/hadoop/arena.h"
#include "util/array.h"
#include "yarn/lend/lend-state.h"
#include "yarn/lend/lend.pb-c.h"

/* Unpacked keys may take much more memory than packed ones, from which the fields with the value 0 are absent. This is
 * enough for NM_LEND_KEYS_MAX keys with all their batches and sizes. */
#define KEYS_BYTES ((size_t)NM_LEND_KEYS_MAX * 2048u)

static int get_size(const Yarn__LendSize *m, struct nm_lend_size *ret)
{
    const struct nm_lend_size size = {m ? m->memory_mib : 0, m ? m->vcores : 0};

    if (!nm_lend_keys_size_is_valid(&size))
        return -EBADMSG;
    *ret = size;
    return 0;
}

static void get_id(const Yarn__LendId *m, struct nm_yarn_container_id *ret)
{
    *ret = (struct nm_yarn_container_id){};
    if (m)
        *ret = (struct nm_yarn_container_id){{{m->cluster, m->application}, m->attempt}, m->number};
}

/* ---- keys --------------------------------------------------------------------------------------- */

static int get_batches(struct nm_lend_entry *e, const Yarn__LendKey *m)
{
    if (m->n_batches > NM_LEND_BATCHES_MAX || m->n_sizes > NM_LEND_SIZES_MAX)
        return -EBADMSG;
    for (; e->n_batches < m->n_batches; e->n_batches++) {
        const Yarn__LendBatch *b = m->batches[e->n_batches];

        if (b->n == 0 || b->n > (uint32_t)INT32_MAX - e->wanted ||
            (e->n_batches > 0 && b->since_usec < e->batches[e->n_batches - 1].since_usec))
            return -EBADMSG;
        e->batches[e->n_batches] = (struct nm_lend_batch){b->since_usec, b->n};
        e->wanted += b->n;
    }
    for (; e->n_sizes < m->n_sizes; e->n_sizes++)
        if (get_size(m->sizes[e->n_sizes], &e->sizes[e->n_sizes]) < 0)
            return -EBADMSG;
    return get_size(m->size, &e->size);
}

static int get_key(struct nm_lend_entry *e, const Yarn__LendKey *m)
{
    int r = m->mode < NM_LEND_N_MODES ? get_batches(e, m) : -EBADMSG;

    if (r < 0)
        return r;
    e->lent_asked = m->lent_asked;
    e->mode = m->mode;
    e->observed = m->observed;
    e->labelled = m->labelled;
    e->strict = m->strict;
    e->placement = m->placement;
    e->other_resources = m->other_resources;
    e->own_opportunistic = m->own_opportunistic;
    e->forgotten = m->forgotten;
    e->granted_total = m->granted_total;
    e->lent_total = m->lent_total;
    e->asked_usec = m->asked_usec;
    e->preempted_usec = m->preempted_usec;
    e->backs_off_until_usec = m->backs_off_until_usec;
    e->back_off_step = m->back_off_step;
    e->unsent = m->unsent;
    e->touched = m->touched;
    e->surplus = m->surplus;
    e->in_last_answer = m->in_last_answer;
    /* What the ResourceManager has isn't known exactly until the next answer. */
    e->sent_guaranteed = e->wanted;
    e->sent_opportunistic = e->lent_asked;
    e->guaranteed_max = e->wanted + NM_MIN(e->surplus, (uint32_t)INT32_MAX);
    e->guesses = true;
    return e->lent_asked > e->wanted || e->observed > e->wanted || (e->forgotten && e->lent_asked > 0) ||
                   e->back_off_step > NM_LEND_BACK_OFF_STEPS
               ? -EBADMSG
               : 0;
}

static int put_keys(struct nm_lend *l, const Yarn__LendBooks *m)
{
    uint64_t lent_asked = 0, observed = 0;
    struct nm_lend_entry *e;
    int r;

    if (m->n_keys > NM_LEND_KEYS_MAX)
        return -EBADMSG;
    for (size_t i = 0; i < m->n_keys; i++) {
        const struct nm_lend_key key = {m->keys[i]->priority, m->keys[i]->request};

        if (nm_lend_keys_find(l, &key))
            return -EBADMSG;
        r = nm_lend_keys_insert(l, &key, &e);
        if (r == 0)
            r = get_key(e, m->keys[i]);
        if (r < 0)
            return r;
        lent_asked += e->lent_asked;
        observed += e->observed;
    }
    return lent_asked > NM_LEND_CONTAINERS_MAX || observed > NM_LEND_CONTAINERS_MAX ? -EBADMSG : 0;
}

/* ---- containers --------------------------------------------------------------------------------- */

static int get_history(const Yarn__LendContainer *m, struct nm_lend_history *ret)
{
    struct nm_lend_history h = {
        .key = {m->priority, m->request},
        .asked_usec = m->asked_usec,
        .lent_usec = m->lent_usec,
        .adopted_usec = m->adopted_usec,
        .adoptions = m->adoptions,
        .promoted_usec = m->promoted_usec,
        .demoted_usec = m->demoted_usec,
        .ended_usec = m->ended_usec,
        .preempted = m->preempted,
        .running = m->running,
        .queued = m->queued,
        .mode = m->mode,
        .version = m->version,
        .master_version = m->has_master_version ? m->master_version : m->version,
    };

    if (m->mode >= NM_LEND_N_MODES || get_size(m->size, &h.size) < 0)
        return -EBADMSG;
    get_id(m->id, &h.id);
    *ret = h;
    return 0;
}

static int get_container(struct nm_lend *l, const Yarn__LendContainer *m, struct nm_lend_container **ret)
{
    _cleanup_free_ struct nm_lend_container *c = calloc(1, sizeof *c);
    int r;

    if (!c)
        return -ENOMEM;
    r = get_history(m, &c->is);
    if (r < 0)
        return r;
    if (m->running && m->queued)
        return -EBADMSG;
    r = nm_lend_nodes_get(l, m->host, m->port, &c->node);
    if (r < 0)
        return r;
    if (!c->node != !m->host)
        return -EBADMSG;
    c->state = m->running ? NM_LEND_STATE_RUNNING : m->queued ? NM_LEND_STATE_QUEUED : NM_LEND_STATE_UNKNOWN;
    c->promoting = m->promoting;
    c->was_asked = m->was_asked;
    c->asks = m->promoting;
    c->promote_after_usec = m->promote_after_usec;
    c->unconfirmed = m->unconfirmed;
    *ret = STEAL_PTR(c);
    return 0;
}

static int put_container(struct nm_lend *l, const Yarn__LendContainer *m)
{
    _cleanup_free_ struct nm_lend_container *c = NULL;
    int r = get_container(l, m, &c);

    if (r < 0)
        return r;
    return nm_lend_containers_find(l, &c->is.id) ? -EBADMSG : nm_lend_containers_add(l, &c);
}

static int put_unapplied(struct nm_lend *l, const Yarn__LendContainer *m)
{
    _cleanup_free_ struct nm_lend_container *c = NULL;
    int r = get_container(l, m, &c);

    if (r < 0)
        return r;
    return nm_lend_containers_find(l, &c->is.id) || c->promoting ? -EBADMSG : nm_lend_containers_add_unapplied(l, &c);
}

static int put_containers(struct nm_lend *l, const Yarn__LendBooks *m)
{
    struct nm_lend_history h;
    int r = 0;

    if (m->n_lent > NM_LEND_CONTAINERS_MAX || m->n_ended > NM_LEND_ENDED_MAX || m->n_unapplied > NM_LEND_UNAPPLIED_MAX)
        return -EBADMSG;
    for (size_t i = 0; r == 0 && i < m->n_lent; i++)
        r = put_container(l, m->lent[i]);
    for (size_t i = 0; r == 0 && i < m->n_unapplied; i++)
        r = put_unapplied(l, m->unapplied[i]);
    if (r == 0)
        r = nm_lend_containers_reserve_ended(l, l->n_lent + m->n_ended);
    for (size_t i = 0; r == 0 && i < m->n_ended; i++) {
        r = get_history(m->ended[i], &h);
        if (r == 0)
            nm_lend_containers_append_ended(l, &h);
    }
    return r;
}

/* ---- books -------------------------------------------------------------------------------------- */

static int put_released(struct nm_lend *l, const Yarn__LendBooks *m)
{
    if (m->n_released > NM_LEND_CONTAINERS_MAX)
        return -EBADMSG;
    if (m->n_released == 0)
        return 0;
    if (NM_ARRAY_RESIZE(l->released, m->n_released) < 0)
        return -ENOMEM;
    l->released_size = m->n_released;
    for (; l->n_released < m->n_released; l->n_released++)
        get_id(m->released[l->n_released], &l->released[l->n_released]);
    return 0;
}

static void put_counts(struct nm_lend_figures *f, const Yarn__LendCounts *m)
{
    f->granted = m->granted;
    f->adopted = m->adopted;
    f->lent_again = m->lent_again;
    f->promoted = m->promoted;
    f->preempted = m->preempted;
    f->ended = m->ended;
    f->released = m->released;
    f->observed = m->observed;
    f->observed_memory_mib = m->observed_memory_mib;
    f->observed_memory_mib_sec = m->observed_memory_mib_sec;
}

static int put_marks(struct nm_lend *l, const Yarn__LendBooks *m)
{
    if (!m->has_own_marks)
        return 0;
    if (m->own_marks.len != sizeof l->own_marks)
        return -EBADMSG;
    (void)memcpy(l->own_marks, m->own_marks.data, sizeof l->own_marks);
    return 0;
}

static int put_books(struct nm_lend *l, const Yarn__LendBooks *m)
{
    int r = put_keys(l, m);

    if (r == 0)
        r = put_containers(l, m);
    if (r == 0)
        r = put_released(l, m);
    if (r == 0)
        r = put_marks(l, m);
    if (r < 0)
        return r;
    if (m->counts)
        put_counts(&l->counts, m->counts);
    l->has_counted = m->has_counted_id;
    l->counted_id = m->counted_id;
    l->refused = m->refused;
    l->proven = m->proven;
    l->late = m->late;
    l->uncertain = true;
    return l->late && (l->n_lent > 0 || nm_lend_figures(l).asked > 0) ? -EBADMSG : 0; /* late books lend nothing */
}

int nm_lend_restore(struct nm_bytes packed, struct nm_lend **ret)
{
    _cleanup_(nm_lend_freep) struct nm_lend *l = NULL;
    const Yarn__LendBooks *m;
    struct nm_arena arena;
    int r = nm_lend_new(&l);

    if (r < 0)
        return r;
    nm_arena_init(&arena, nm_arena_limit(packed.size) + KEYS_BYTES, NULL);
    m = (const Yarn__LendBooks *)nm_arena_unpack(&arena, &yarn__lend_books__descriptor, packed);
    r = m ? put_books(l, m) : nm_arena_error(&arena);
    nm_arena_done(&arena);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(l);
    return 0;
}

/* ---- times -------------------------------------------------------------------------------------- */

static void limit(struct nm_lend *l, uint64_t *usec, uint64_t most_usec)
{
    l->revision += *usec > most_usec;
    *usec = NM_MIN(*usec, most_usec);
}

static void limit_key(struct nm_lend *l, struct nm_lend_entry *e, uint64_t now_usec)
{
    for (uint32_t i = 0; i < e->n_batches; i++)
        limit(l, &e->batches[i].since_usec, now_usec);
    limit(l, &e->asked_usec, now_usec);
    limit(l, &e->preempted_usec, now_usec);
    limit(l, &e->backs_off_until_usec, nm_add_u64(now_usec, NM_LEND_MINUTE_USEC << (NM_LEND_BACK_OFF_STEPS - 1)));
}

void nm_lend_limit_times(struct nm_lend *l, uint64_t now_usec)
{
    for (size_t i = 0; i < l->n_keys; i++)
        limit_key(l, &l->keys[i], now_usec);
    for (size_t i = 0; i < l->n_lent; i++) {
        limit(l, &l->by_age[i]->is.lent_usec, now_usec);
        limit(l, &l->by_age[i]->promote_after_usec, nm_add_u64(now_usec, NM_LEND_PENDING_USEC));
    }
}
