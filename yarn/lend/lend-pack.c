/* SPDX-License-Identifier: Apache-2.0 */

/* Packs the books (lend.h) in the format of lend.proto. The structures of a message are made in an arena. */

#include <errno.h>

#include "rpc/hadoop/arena.h"
#include "yarn/lend/lend-state.h"
#include "yarn/lend/lend.pb-c.h"

/* Sets an optional field, unless its value is 0. */
#define SET(m, field, value) \
    do { \
        (m)->field = (value); \
        (m)->has_##field = (m)->field != 0; \
    } while (0)

static Yarn__LendSize *pack_size(struct nm_arena *arena, const struct nm_lend_size *size)
{
    Yarn__LendSize *m = nm_arena_alloc(arena, sizeof *m);

    if (!m)
        return NULL;
    *m = (Yarn__LendSize)YARN__LEND_SIZE__INIT;
    SET(m, memory_mib, size->memory_mib);
    SET(m, vcores, size->vcores);
    return m;
}

static Yarn__LendId *pack_id(struct nm_arena *arena, const struct nm_yarn_container_id *id)
{
    Yarn__LendId *m = nm_arena_alloc(arena, sizeof *m);

    if (!m)
        return NULL;
    *m = (Yarn__LendId)YARN__LEND_ID__INIT;
    SET(m, cluster, id->attempt.application.cluster);
    SET(m, application, id->attempt.application.number);
    SET(m, attempt, id->attempt.number);
    SET(m, number, id->number);
    return m;
}

/* ---- keys --------------------------------------------------------------------------------------- */

static int pack_batches(struct nm_arena *arena, const struct nm_lend_entry *e, Yarn__LendKey *m)
{
    Yarn__LendBatch *batches = nm_arena_alloc(arena, e->n_batches * sizeof *batches);

    m->batches = nm_arena_alloc(arena, e->n_batches * sizeof(m->batches[0]));
    m->sizes = nm_arena_alloc(arena, e->n_sizes * sizeof(m->sizes[0]));
    if (!batches || !m->batches || !m->sizes)
        return -ENOMEM;
    for (; m->n_batches < e->n_batches; m->n_batches++) {
        Yarn__LendBatch *b = &batches[m->n_batches];

        *b = (Yarn__LendBatch)YARN__LEND_BATCH__INIT;
        SET(b, since_usec, e->batches[m->n_batches].since_usec);
        SET(b, n, e->batches[m->n_batches].n);
        m->batches[m->n_batches] = b;
    }
    for (; m->n_sizes < e->n_sizes; m->n_sizes++) {
        m->sizes[m->n_sizes] = pack_size(arena, &e->sizes[m->n_sizes]);
        if (!m->sizes[m->n_sizes])
            return -ENOMEM;
    }
    return 0;
}

static int pack_key(struct nm_arena *arena, const struct nm_lend_entry *e, Yarn__LendKey **ret)
{
    Yarn__LendKey *m = nm_arena_alloc(arena, sizeof *m);

    if (!m)
        return -ENOMEM;
    *m = (Yarn__LendKey)YARN__LEND_KEY__INIT;
    SET(m, priority, e->key.priority);
    SET(m, request, e->key.request_id);
    SET(m, lent_asked, e->lent_asked);
    SET(m, mode, e->mode);
    SET(m, observed, e->observed);
    SET(m, labelled, e->labelled);
    SET(m, strict, e->strict);
    SET(m, placement, e->placement);
    SET(m, other_resources, e->other_resources);
    SET(m, own_opportunistic, e->own_opportunistic);
    SET(m, forgotten, e->forgotten);
    SET(m, granted_total, e->granted_total);
    SET(m, lent_total, e->lent_total);
    SET(m, asked_usec, e->asked_usec);
    SET(m, preempted_usec, e->preempted_usec);
    SET(m, backs_off_until_usec, e->backs_off_until_usec);
    SET(m, back_off_step, e->back_off_step);
    SET(m, unsent, e->unsent);
    SET(m, touched, e->touched);
    SET(m, surplus, e->surplus);
    SET(m, in_last_answer, e->in_last_answer);
    m->size = pack_size(arena, &e->size);
    *ret = m;
    return m->size ? pack_batches(arena, e, m) : -ENOMEM;
}

/* ---- containers --------------------------------------------------------------------------------- */

static int pack_history(struct nm_arena *arena, const struct nm_lend_history *h, Yarn__LendContainer **ret)
{
    Yarn__LendContainer *m = nm_arena_alloc(arena, sizeof *m);

    if (!m)
        return -ENOMEM;
    *m = (Yarn__LendContainer)YARN__LEND_CONTAINER__INIT;
    SET(m, priority, h->key.priority);
    SET(m, request, h->key.request_id);
    SET(m, asked_usec, h->asked_usec);
    SET(m, lent_usec, h->lent_usec);
    SET(m, adopted_usec, h->adopted_usec);
    SET(m, adoptions, h->adoptions);
    SET(m, promoted_usec, h->promoted_usec);
    SET(m, demoted_usec, h->demoted_usec);
    SET(m, ended_usec, h->ended_usec);
    SET(m, preempted, h->preempted);
    SET(m, running, h->running);
    SET(m, mode, h->mode);
    SET(m, version, h->version);
    m->has_master_version = h->master_version != h->version;
    m->master_version = h->master_version;
    m->id = pack_id(arena, &h->id);
    m->size = pack_size(arena, &h->size);
    *ret = m;
    return m->id && m->size ? 0 : -ENOMEM;
}

static int pack_container(struct nm_arena *arena, const struct nm_lend_container *c, Yarn__LendContainer **ret)
{
    int r = pack_history(arena, &c->is, ret);

    if (r < 0)
        return r;
    if (c->node) {
        (*ret)->host = c->node->host;
        SET(*ret, port, c->node->port);
    }
    SET(*ret, queued, c->state == NM_LEND_STATE_QUEUED);
    SET(*ret, promoting, c->promoting);
    SET(*ret, was_asked, c->was_asked);
    SET(*ret, promote_after_usec, c->promote_after_usec);
    SET(*ret, unconfirmed, c->unconfirmed);
    return 0;
}

/* ---- books -------------------------------------------------------------------------------------- */

static void pack_counts(const struct nm_lend_figures *f, Yarn__LendCounts *m)
{
    SET(m, granted, f->granted);
    SET(m, adopted, f->adopted);
    SET(m, promoted, f->promoted);
    SET(m, preempted, f->preempted);
    SET(m, ended, f->ended);
    SET(m, released, f->released);
    SET(m, lent_again, f->lent_again);
    SET(m, observed, f->observed);
    SET(m, observed_memory_mib, f->observed_memory_mib);
    SET(m, observed_memory_mib_sec, f->observed_memory_mib_sec);
}

static int pack_lists(const struct nm_lend *l, struct nm_arena *arena, Yarn__LendBooks *m)
{
    int r = 0;

    m->keys = nm_arena_alloc(arena, l->n_keys * sizeof(m->keys[0]));
    m->lent = nm_arena_alloc(arena, l->n_lent * sizeof(m->lent[0]));
    m->ended = nm_arena_alloc(arena, l->n_ended * sizeof(m->ended[0]));
    m->released = nm_arena_alloc(arena, l->n_released * sizeof(m->released[0]));
    m->unapplied = nm_arena_alloc(arena, l->n_unapplied * sizeof(m->unapplied[0]));
    if (!m->keys || !m->lent || !m->ended || !m->released || !m->unapplied)
        return -ENOMEM;
    for (; r == 0 && m->n_keys < l->n_keys; m->n_keys++)
        r = pack_key(arena, &l->keys[m->n_keys], &m->keys[m->n_keys]);
    for (; r == 0 && m->n_lent < l->n_lent; m->n_lent++)
        r = pack_container(arena, l->by_age[m->n_lent], &m->lent[m->n_lent]);
    for (; r == 0 && m->n_unapplied < l->n_unapplied; m->n_unapplied++)
        r = pack_container(arena, l->unapplied[m->n_unapplied], &m->unapplied[m->n_unapplied]);
    for (; r == 0 && m->n_ended < l->n_ended; m->n_ended++)
        r = pack_history(arena, nm_lend_containers_ended(l, m->n_ended), &m->ended[m->n_ended]);
    for (; r == 0 && m->n_released < l->n_released; m->n_released++) {
        m->released[m->n_released] = pack_id(arena, &l->released[m->n_released]);
        r = m->released[m->n_released] ? 0 : -ENOMEM;
    }
    return r;
}

static bool has_marks(const struct nm_lend *l)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(l->own_marks); i++)
        if (l->own_marks[i] != 0)
            return true;
    return false;
}

int nm_lend_pack(const struct nm_lend *l, uint8_t **ret, size_t *ret_size)
{
    Yarn__LendBooks m = YARN__LEND_BOOKS__INIT;
    Yarn__LendCounts counts = YARN__LEND_COUNTS__INIT;
    struct nm_arena arena;
    uint8_t *data;
    int r;

    nm_arena_init(&arena, SIZE_MAX, NULL);
    pack_counts(&l->counts, &counts);
    m.counts = &counts;
    m.has_counted_id = l->has_counted;
    m.counted_id = l->counted_id;
    SET(&m, refused, l->refused);
    SET(&m, proven, l->proven);
    SET(&m, late, l->late);
    m.has_own_marks = has_marks(l);
    m.own_marks = (ProtobufCBinaryData){sizeof l->own_marks, (uint8_t *)(uintptr_t)l->own_marks};
    r = pack_lists(l, &arena, &m);
    if (r == 0) {
        data = malloc(protobuf_c_message_get_packed_size(&m.base) ?: 1);
        if (data) {
            *ret_size = protobuf_c_message_pack(&m.base, data);
            *ret = data;
        } else
            r = -ENOMEM;
    }
    nm_arena_done(&arena);
    return r;
}
