/* SPDX-License-Identifier: Apache-2.0 */

/* The master's asks, and the asks that the ResourceManager gets in their place: see lend-stage.h. */

#include "yarn/proxy/lend-stage.h"

#include <errno.h>

#include "util/clock.h"
#include "yarn/id-messages.h"
#include "yarn/proxy/placement-asks.h"

#define ASKS_PER_PART 64u

static const Masters__AllocateRequest *request_of(const struct nm_stage_call *c)
{
    return (const Masters__AllocateRequest *)c->request;
}

/* ---- noting the master's asks --------------------------------------------------------------------- */

/* Returns whether the books need an ask. Guaranteed asks for hosts and racks only say where. A master may have very
 * many of them. */
static bool is_relevant(const struct nm_lend_ask *a)
{
    return a->any || a->opportunistic;
}

static int keep_asks(struct nm_lender *l, const Masters__AllocateRequest *request)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < request->n_asks; i++) {
        const struct nm_lend_ask ask = nm_lender_ask_of(request->asks[i]);

        if (ask.any && !ask.opportunistic)
            r = nm_lender_keep_ask(l, &ask, request->asks[i]);
    }
    return r;
}

/* A master may have very many asks for "*", each with a request id of its own. So the asks are noted in parts: a list
 * of all of them could exceed the memory of the call. */
static int note_asks(struct nm_lender *l, struct nm_stage_call *c, uint64_t now_usec)
{
    const Masters__AllocateRequest *request = request_of(c);
    struct nm_lend_ask asks[ASKS_PER_PART];
    int r = 0;

    for (size_t i = 0; r == 0 && i < request->n_asks;) {
        size_t n = 0;

        for (; n < ASKS_PER_PART && i < request->n_asks; i++) {
            asks[n] = nm_lender_ask_of(request->asks[i]);
            n += is_relevant(&asks[n]);
        }
        r = nm_lend_ask(l->books, asks, n, now_usec);
    }
    return r == 0 ? keep_asks(l, request) : r;
}

/* Requests with placement constraints pass unchanged. The books only count them, so that the status shows why they
 * aren't lent. One that can't be read is left to the ResourceManager. */
static int note_placements(struct nm_lender *l, struct nm_stage_call *c, uint64_t now_usec)
{
    const Masters__AllocateRequest *request = request_of(c);
    int r = 0;

    for (size_t i = 0; r == 0 && i < request->n_placements; i++) {
        const struct nm_bytes packed = {request->placements[i].data, request->placements[i].len};
        struct nm_lend_ask ask;

        r = nm_placement_ask_parse(packed, c->account, &ask);
        if (r == 0)
            r = nm_lend_ask(l->books, &ask, 1, now_usec);
        r = r == -EBADMSG ? 0 : r;
    }
    return r;
}

/* ---- the plan ------------------------------------------------------------------------------------- */

static struct nm_lend_limits limits_of(struct nm_lender *l)
{
    const struct nm_yarn_lending *s = &l->m->context->settings->lending;
    struct nm_lend_limits limits = {
        .application_memory_mib = s->application_max_mib, .queue_memory_left_mib = nm_lender_queue_left(l),
        .node_memory_mib = s->node_max_mib, .node_memory_left_mib = -1, .observes = s->observes};

    nm_lender_limit_by_nodes(l, &limits);
    return limits;
}

/* The changes of a plan, with the master's ask for "*" of each key. */
struct plan {
    const struct nm_lend_change *changes;
    size_t n;
    Masters__Ask **of_master; /* NULL: the ask isn't known, so the change can't be sent */
};

static bool is_opportunistic(const Masters__Ask *m)
{
    return m->type && m->type->execution_type == NM_LENDER_OPPORTUNISTIC;
}

/* Returns whether a change of the plan replaces an ask of the master. */
static bool is_replaced(const struct plan *p, const Masters__Ask *m)
{
    const struct nm_lend_ask ask = nm_lender_ask_of(m);

    for (size_t i = 0; ask.any && !ask.opportunistic && i < p->n; i++)
        if (!p->changes[i].only_opportunistic && p->of_master[i] &&
            nm_lender_same_key(&p->changes[i].key, &ask.key))
            return true;
    return false;
}

/* Finds the newest ask of each key. The lender has kept those of this call, too. */
static int find_asks(const struct nm_lender *l, struct nm_stage_call *c, struct plan *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct nm_lender_ask *known = nm_lender_find_ask(l, &p->changes[i].key);

        p->of_master[i] = NULL;
        if (!known)
            continue;
        p->of_master[i] = (Masters__Ask *)nm_arena_unpack(&c->arena, &masters__ask__descriptor, known->packed);
        if (!p->of_master[i])
            return -ENOMEM;
    }
    return 0;
}

static int make_plan(struct nm_lender *l, struct nm_stage_call *c, uint64_t now_usec, struct plan *ret)
{
    const struct nm_lend_limits limits = limits_of(l);
    struct plan p = {};
    int r = nm_lend_plan(l->books, &limits, now_usec, &p.changes, &p.n);

    if (r < 0)
        return r;
    p.of_master = nm_arena_alloc(&c->arena, (p.n + 1) * sizeof *p.of_master);
    if (!p.of_master)
        return -ENOMEM;
    r = find_asks(l, c, &p);
    if (r == 0)
        *ret = p;
    return r;
}

/* ---- the asks for the ResourceManager ------------------------------------------------------------- */

static Hadoop__Resource *make_size(struct nm_arena *a, const struct nm_lend_size *size)
{
    Hadoop__Resource *m = nm_arena_alloc(a, sizeof *m);

    if (!m)
        return NULL;
    *m = (Hadoop__Resource)HADOOP__RESOURCE__INIT;
    m->has_memory = m->has_vcores = 1;
    m->memory = size->memory_mib;
    m->vcores = size->vcores;
    return m;
}

/* Copies an ask with another count. The copy keeps the fields that nmd doesn't know. The size differs if the master
 * asked for another size before: the ResourceManager has an opportunistic count for each size. */
static Masters__Ask *copy_ask(struct nm_arena *a, const Masters__Ask *m, const struct nm_lend_size *size, int32_t count)
{
    Masters__Ask *copy = nm_arena_alloc(a, sizeof *copy);

    if (!copy)
        return NULL;
    *copy = *m;
    copy->has_count = 1;
    copy->count = count;
    if (!m->resource || m->resource->memory != size->memory_mib || m->resource->vcores != size->vcores) {
        copy->resource = make_size(a, size);
        if (!copy->resource)
            return NULL;
    }
    return copy;
}

static Masters__Ask *copy_as_opportunistic(struct nm_arena *a, const Masters__Ask *m, const struct nm_lend_size *size,
                                           int32_t count)
{
    Masters__ExecutionTypeAsked *type = nm_arena_alloc(a, sizeof *type);
    Masters__Ask *copy = copy_ask(a, m, size, count);

    if (!type || !copy)
        return NULL;
    *type = m->type ? *m->type : (Masters__ExecutionTypeAsked)MASTERS__EXECUTION_TYPE_ASKED__INIT;
    type->has_execution_type = 1;
    type->execution_type = NM_LENDER_OPPORTUNISTIC;
    copy->type = type;
    return copy;
}

struct list {
    struct nm_arena *arena;
    Masters__Ask **asks;
    size_t n;
    int error;
};

static void append(struct list *to, Masters__Ask *m)
{
    if (m)
        to->asks[to->n++] = m;
    else
        to->error = -ENOMEM;
}

static void append_opportunistic(const struct plan *p, bool withdraws, struct list *to)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct nm_lend_change *change = &p->changes[i];

        if (p->of_master[i] && change->with_opportunistic && withdraws == (change->opportunistic == 0))
            append(to, copy_as_opportunistic(to->arena, p->of_master[i], &change->size, change->opportunistic));
    }
}

static void append_guaranteed(const struct plan *p, struct list *to)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct nm_lend_change *change = &p->changes[i];

        if (p->of_master[i] && !change->only_opportunistic)
            append(to, copy_ask(to->arena, p->of_master[i], &change->size, change->guaranteed));
    }
}

/*
 * Makes the list of asks. If the ResourceManager doesn't allocate opportunistic containers, it keeps only the last of a
 * guaranteed ask and an opportunistic ask of the same key. So an ask that withdraws opportunistic containers comes
 * first, otherwise it would withdraw the guaranteed ones too. All other opportunistic asks come last: the first grant
 * then shows that the ResourceManager grants guaranteed containers only.
 */
static int make_asks(struct nm_stage_call *c, const struct plan *p, Masters__AllocateRequest *copy)
{
    const Masters__AllocateRequest *request = request_of(c);
    struct list to = {.arena = &c->arena};

    if (p->n == 0)
        return 0;
    to.asks = nm_arena_alloc(&c->arena, (request->n_asks + 2 * p->n) * sizeof *to.asks);
    if (!to.asks)
        return -ENOMEM;
    append_opportunistic(p, true, &to);
    append_guaranteed(p, &to);
    for (size_t i = 0; i < request->n_asks; i++)
        if (!is_opportunistic(request->asks[i]) && !is_replaced(p, request->asks[i]))
            append(&to, request->asks[i]);
    for (size_t i = 0; i < request->n_asks; i++)
        if (is_opportunistic(request->asks[i]))
            append(&to, request->asks[i]);
    append_opportunistic(p, false, &to);
    copy->asks = to.asks;
    copy->n_asks = to.n;
    return to.error;
}

static int add_releases(struct nm_lender *l, struct nm_stage_call *c, Masters__AllocateRequest *copy)
{
    Hadoop__ContainerId **list;
    size_t n = copy->n_releases;

    if (l->n_hidden == 0)
        return 0;
    list = nm_arena_alloc(&c->arena, (n + l->n_hidden) * sizeof(*list));
    if (!list)
        return -ENOMEM;
    if (n > 0)
        (void)memcpy(list, copy->releases, n * sizeof(*list));
    for (size_t i = 0; i < l->n_hidden; i++) {
        if (l->hidden[i].is > NM_LENDER_SENT)
            continue;
        list[n] = nm_yarn_container_message_new(&c->arena, &l->hidden[i].id);
        if (!list[n++])
            return -ENOMEM;
    }
    for (size_t i = 0; i < l->n_hidden; i++)
        if (l->hidden[i].is == NM_LENDER_KNOWN)
            l->hidden[i].is = NM_LENDER_SENT;
    copy->releases = list;
    copy->n_releases = n;
    return 0;
}

/* ---- the call ------------------------------------------------------------------------------------- */

static int replace_request(struct nm_lender *l, struct nm_stage_call *c, const struct plan *p)
{
    const Masters__AllocateRequest *request = request_of(c);
    Masters__AllocateRequest *copy = nm_arena_alloc(&c->arena, sizeof *copy);
    int r;

    if (!copy)
        return -ENOMEM;
    *copy = *request;
    r = make_asks(c, p, copy);
    if (r == 0)
        r = add_releases(l, c, copy);
    if (r == 0)
        r = nm_lender_add_promotions(l, c, copy);
    if (r == 0)
        c->request = &copy->base;
    return r;
}

/* After a restart of nmd, the first call is uncertain in any case. */
static void note_call(struct nm_lender *l, const struct nm_stage_call *c)
{
    const int32_t response_id = request_of(c)->response_id;

    l->uncertain |= l->in_flight && l->called_id == response_id;
    l->in_flight = true;
    l->called_id = response_id;
    l->called = c;
}

/* If the call fails after the books have changed, the master repeats its asks, and the next call repeats the rest. */
int nm_lender_change_request(struct nm_lender *l, struct nm_stage_call *c)
{
    const uint64_t now = nm_steady_usec();
    struct plan plan = {};
    int r;

    note_call(l, c);
    if (c->is_repeated)
        nm_lend_repeated(l->books);
    nm_lender_choose_rule(l);
    r = note_asks(l, c, now);
    if (r == 0)
        r = note_placements(l, c, now);
    if (r == 0)
        r = make_plan(l, c, now, &plan);
    if (r == 0 && l->m->context->settings->lending.observes)
        nm_lender_settle_observed(l);
    if (r == 0)
        r = replace_request(l, c, &plan);
    l->has_changed = plan.n > 0;
    nm_lender_count(l);
    if (r == 0)
        nm_lender_save(l);
    return r;
}
