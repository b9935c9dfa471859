/* SPDX-License-Identifier: Apache-2.0 */

/* The lender's state that survives a restart of nmd: see lend-stage.h. */

#include "yarn/proxy/lend-stage.h"

#include <errno.h>
#include <syslog.h>

#include "util/array.h"
#include "util/clock.h"
#include "yarn/id-messages.h"
#include "yarn/proxy/proxy-store.pb-c.h"

/* Limit of the memory for one conversion of the state: see the limits in lend-stage.h. */
#define STATE_BYTES NM_YARN_MASTER_FILE_MAX_BYTES

/* ---- saving --------------------------------------------------------------------------------------- */

static ProtobufCBinaryData data_of(struct nm_bytes b)
{
    return (ProtobufCBinaryData){b.size, (uint8_t *)(uintptr_t)b.data};
}

static int put_asks(const struct nm_lender *l, struct nm_arena *a, Yarn__StoredLending *m)
{
    m->asks = nm_arena_alloc(a, (l->n_asks + 1) * sizeof *m->asks);
    if (!m->asks)
        return -ENOMEM;
    for (; m->n_asks < l->n_asks; m->n_asks++)
        m->asks[m->n_asks] = data_of(l->asks[m->n_asks].packed);
    return 0;
}

static int put_hidden(const struct nm_lender *l, struct nm_arena *a, Yarn__StoredLending *m)
{
    m->hidden = nm_arena_alloc(a, (l->n_hidden + 1) * sizeof *m->hidden);
    if (!m->hidden)
        return -ENOMEM;
    for (; m->n_hidden < l->n_hidden; m->n_hidden++) {
        m->hidden[m->n_hidden] = nm_yarn_container_message_new(a, &l->hidden[m->n_hidden].id);
        if (!m->hidden[m->n_hidden])
            return -ENOMEM;
    }
    return 0;
}

static int put_promotions(const struct nm_lender *l, struct nm_arena *a, Yarn__StoredLending *m)
{
    Yarn__StoredPromotion *list = nm_arena_alloc(a, (l->n_promotions + 1) * sizeof *list);

    m->promotions = nm_arena_alloc(a, (l->n_promotions + 1) * sizeof *m->promotions);
    if (!list || !m->promotions)
        return -ENOMEM;
    for (; m->n_promotions < l->n_promotions; m->n_promotions++) {
        Yarn__StoredPromotion *p = &list[m->n_promotions];

        *p = (Yarn__StoredPromotion)YARN__STORED_PROMOTION__INIT;
        p->id = nm_yarn_container_message_new(a, &l->promotions[m->n_promotions].id);
        p->has_version = 1;
        p->version = l->promotions[m->n_promotions].version;
        if (!p->id)
            return -ENOMEM;
        m->promotions[m->n_promotions] = p;
    }
    return 0;
}

static int put_update(const struct nm_lender_update *u, struct nm_arena *a, Yarn__StoredUpdate **ret)
{
    Yarn__StoredUpdate *m = nm_arena_alloc(a, sizeof *m);
    Hadoop__NodeId *node = nm_arena_alloc(a, sizeof *node);
    int r;

    if (!m || !node)
        return -ENOMEM;
    *node = (Hadoop__NodeId)HADOOP__NODE_ID__INIT;
    node->host = u->host;
    node->has_port = 1;
    node->port = u->port;
    *m = (Yarn__StoredUpdate)YARN__STORED_UPDATE__INIT;
    m->node = node;
    m->id = nm_yarn_container_message_new(a, &u->id);
    r = m->id ? nm_yarn_token_message(u->token, a, &m->token) : -ENOMEM;
    if (r == 0)
        *ret = m;
    return r;
}

static int put_updates(const struct nm_lender *l, struct nm_arena *a, Yarn__StoredLending *m)
{
    int r = 0;

    m->updates = nm_arena_alloc(a, (l->n_updates + 1) * sizeof *m->updates);
    if (!m->updates)
        return -ENOMEM;
    for (; r == 0 && m->n_updates < l->n_updates; m->n_updates += r == 0)
        r = put_update(&l->updates[m->n_updates], a, &m->updates[m->n_updates]);
    return r;
}

/* Packs the state with these books. */
static int pack_with(const struct nm_lender *l, struct nm_bytes books, struct nm_arena *a, struct nm_bytes *ret)
{
    Yarn__StoredLending m = YARN__STORED_LENDING__INIT;
    uint8_t *data;
    int r;

    m.has_books = 1;
    m.books = data_of(books);
    m.has_former = l->former != NULL;
    m.former = data_of(l->former_packed);
    m.has_former_since = l->former_since > 0;
    m.former_since = l->former_since;
    m.queue = l->queue;
    m.type = l->type;
    m.has_labelled = 1;
    m.labelled = l->labelled;
    m.has_memory_only = 1;
    m.memory_only = l->memory_only;
    r = put_asks(l, a, &m);
    if (r == 0)
        r = put_hidden(l, a, &m);
    if (r == 0)
        r = put_promotions(l, a, &m);
    if (r == 0)
        r = put_updates(l, a, &m);
    if (r < 0)
        return r;
    data = malloc(protobuf_c_message_get_packed_size(&m.base) + 1);
    if (!data)
        return -ENOMEM;
    *ret = (struct nm_bytes){data, protobuf_c_message_pack(&m.base, data)};
    return 0;
}

static void drop_packed(struct nm_bytes *b)
{
    if (b->data)
        explicit_bzero((void *)(uintptr_t)b->data, b->size); /* the bytes may contain tokens */
    free((void *)(uintptr_t)b->data);
    *b = (struct nm_bytes){};
}

/* The containers of earlier attempts rarely change, so their packed form is kept. */
static int pack_former(struct nm_lender *l)
{
    uint8_t *data;
    size_t size;
    int r;

    if (!l->former || (l->former_packed.data && l->former_revision == nm_lend_revision(l->former)))
        return 0;
    r = nm_lend_pack(l->former, &data, &size);
    if (r < 0)
        return r;
    drop_packed(&l->former_packed);
    l->former_packed = (struct nm_bytes){data, size};
    l->former_revision = nm_lend_revision(l->former);
    return 0;
}

int nm_lender_persist(void *stage, struct nm_yarn_stored_master *m)
{
    struct nm_lender *l = stage;
    _cleanup_free_ uint8_t *books = NULL;
    struct nm_bytes packed;
    struct nm_arena a;
    size_t size = 0;
    int r = pack_former(l);

    if (r == 0)
        r = nm_lend_pack(l->books, &books, &size);
    if (r < 0)
        return r;
    nm_arena_init(&a, STATE_BYTES, NULL);
    r = pack_with(l, (struct nm_bytes){books, size}, &a, &packed);
    nm_arena_done(&a);
    if (r < 0)
        return r;
    drop_packed(&l->packed);
    l->packed = packed;
    m->lending = packed;
    l->saved_revision = nm_lend_revision(l->books);
    l->dirty = false;
    return 0;
}

void nm_lender_save(struct nm_lender *l)
{
    int r;

    if (!l->dirty && !l->unsaved && l->saved_revision == nm_lend_revision(l->books))
        return;
    r = l->m->save(l->m);
    if (r < 0 && !l->unsaved)
        nm_lender_report(l, NM_LENDER_NOT_SAVED, LOG_WARNING,
                         "The proxy can't save what it has lent to %s (%s). It lends nothing more to this application "
                         "until it can.", l->m->name, strerror(-r));
    l->unsaved = r < 0;
}

/* ---- restoring ------------------------------------------------------------------------------------ */

static int take_ask(struct nm_lender *l, ProtobufCBinaryData packed, struct nm_arena *a)
{
    const Masters__Ask *m = (const Masters__Ask *)nm_arena_unpack(a, &masters__ask__descriptor,
                                                                  (struct nm_bytes){packed.data, packed.len});
    struct nm_lend_ask ask;

    if (!m)
        return nm_arena_error(a);
    ask = nm_lender_ask_of(m);
    return nm_lender_keep_ask(l, &ask, m);
}

static int take_update(struct nm_lender *l, const Yarn__StoredUpdate *m)
{
    const struct nm_yarn_container_id id =
        nm_yarn_is_container(m->id) ? nm_yarn_container_of(m->id) : (struct nm_yarn_container_id){};
    struct nm_token token;

    if (!nm_yarn_is_container(m->id) || !m->node || !m->node->host || !m->token)
        return -EBADMSG;
    token = nm_token_from_message(m->token);
    return nm_lender_add_update(l, &id, m->node->host, m->node->port, &token);
}

/* As in the restored books, these asks are those that the ResourceManager has: it isn't known which of them a call
 * without an answer has changed. */
static int take_lists(struct nm_lender *l, const Yarn__StoredLending *m, struct nm_arena *a)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < m->n_asks; i++)
        r = take_ask(l, m->asks[i], a);
    nm_lender_settle_asks(l);
    for (size_t i = 0; r == 0 && i < m->n_updates; i++)
        r = take_update(l, m->updates[i]);
    for (size_t i = 0; r == 0 && i < m->n_hidden; i++) {
        const struct nm_yarn_container_id id =
            nm_yarn_is_container(m->hidden[i]) ? nm_yarn_container_of(m->hidden[i]) : (struct nm_yarn_container_id){};

        r = nm_yarn_is_container(m->hidden[i]) ? nm_lender_hide(l, &id) : -EBADMSG;
    }
    for (size_t i = 0; i < m->n_promotions && l->n_promotions < NM_LENDER_PROMOTIONS_MAX; i++)
        if (nm_yarn_is_container(m->promotions[i]->id))
            l->promotions[l->n_promotions++] = (struct nm_lend_promotion){
                .id = nm_yarn_container_of(m->promotions[i]->id), .version = m->promotions[i]->version};
    return r;
}

static int take_books(struct nm_lender *l, const Yarn__StoredLending *m)
{
    int r = nm_lend_restore((struct nm_bytes){m->books.data, m->books.len}, &l->books);

    if (r == 0 && m->has_former)
        r = nm_lend_restore((struct nm_bytes){m->former.data, m->former.len}, &l->former);
    l->former_since = m->former_since;
    return r;
}

int nm_lender_restore(struct nm_lender *l, struct nm_bytes kept)
{
    const Yarn__StoredLending *m;
    struct nm_arena a;
    int r;

    nm_arena_init(&a, nm_arena_limit(kept.size), NULL);
    m = (const Yarn__StoredLending *)nm_arena_unpack(&a, &yarn__stored_lending__descriptor, kept);
    r = m ? take_books(l, m) : nm_arena_error(&a);
    if (r == 0)
        r = take_lists(l, m, &a);
    if (r == 0) {
        nm_lender_set_queue(l, m->queue);
        if (m->has_labelled) /* the type and the label are asked for together */
            nm_lender_set_type(l, m->type);
        l->labelled = m->labelled;
        l->memory_only = m->memory_only;
        l->uncertain = true;
        l->dirty = false;
        l->saved_revision = nm_lend_revision(l->books);
        nm_lend_limit_times(l->books, nm_steady_usec());
    }
    nm_arena_done(&a);
    return r;
}

/* ---- from one attempt to the next ----------------------------------------------------------------- */

/* The books of the former attempt, and what it knew of attempts before it, say which containers were lent. Their ends
 * may be reported to any later attempt. If the former attempt was not the one just before this one, the attempt between
 * them ran on another node. Without memory, the lender knows nothing, as if all of them had run on other nodes. */
static void take_former(struct nm_lender *l, const struct nm_lender *from)
{
    const int32_t before = from->m->attempt.number;
    _cleanup_(nm_lend_freep) struct nm_lend *all = NULL;
    int r = nm_lend_new(&all);

    if (r == 0 && from->former)
        r = nm_lend_copy_containers(all, from->former, from->books);
    if (r == 0)
        r = nm_lend_copy_containers(all, from->books, NULL);
    if (r < 0)
        return;
    l->former = STEAL_PTR(all);
    l->former_since = before + 1 < l->m->attempt.number ? l->m->attempt.number
                      : from->former                    ? from->former_since
                                                        : before;
    l->dirty = true;
}

/* The former attempt can't finish its updates: it ends. If the containers outlive it, their nodes still need the new
 * tokens, which are valid for each attempt of the application. Without the update, a node goes on treating a container
 * as opportunistic that the ResourceManager counts as guaranteed. */
static void take_former_updates(struct nm_lender *l, const struct nm_lender *from)
{
    for (size_t i = 0; i < from->n_updates; i++) {
        const struct nm_lender_update *u = &from->updates[i];

        (void)nm_lender_add_update(l, &u->id, u->host, u->port, u->token); /* without memory, the update is lost */
    }
}

void nm_lender_inherit(void *stage, const void *former)
{
    const struct nm_lender *from = former;
    struct nm_lender *l = stage;

    take_former(l, from);
    take_former_updates(l, from);
    nm_lender_set_queue(l, from->queue);
    nm_lender_set_type(l, from->type);
    l->labelled = from->labelled;
    l->memory_only = from->memory_only;
}

int nm_lender_begin_late(struct nm_lender *l)
{
    int r = nm_lend_new(&l->books);

    if (r == 0)
        r = nm_lend_new(&l->former);
    if (r == 0)
        nm_lend_begin_late(l->books);
    return r;
}

void nm_lender_clear(struct nm_lender *l)
{
    nm_lender_drop_asks(l);
    while (l->n_updates > 0)
        nm_lender_drop_update(l, &l->updates[l->n_updates - 1].id);
    drop_packed(&l->packed);
    drop_packed(&l->former_packed);
    l->m->lends = NULL;
    l->books = nm_lend_free(l->books);
    l->former = nm_lend_free(l->former);
    l->former_since = 0;
    free(l->queue);
    free(l->type);
    l->queue = l->type = NULL;
    l->n_hidden = l->n_promotions = 0;
}

struct nm_lender *nm_lender_free(struct nm_lender *l)
{
    if (!l)
        return NULL;
    nm_lender_delist(l);
    nm_peers_forget(l->m->context->peers, l);
    sd_event_source_disable_unref(l->timer);
    nm_lender_drop_observed(l);
    nm_lender_clear(l);
    l->m->observed_on = NULL;
    free(l->observed);
    free(l->asks);
    free(l->hidden);
    free(l->updates);
    free(l);
    return NULL;
}
