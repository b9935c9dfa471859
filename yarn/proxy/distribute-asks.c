/* SPDX-License-Identifier: Apache-2.0 */

/* Separates the opportunistic asks of a call, and passes them to the allocator: see distribute-state.h. */

#include "yarn/proxy/distribute-state.h"

#include <errno.h>

#include "util/clock.h"

#define INVALID_REQUEST "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"

static const Masters__AllocateRequest *request_of(const struct nm_stage_call *c)
{
    return (const Masters__AllocateRequest *)c->request;
}

static bool is_opportunistic(const Masters__Ask *m)
{
    return m->type && m->type->execution_type == NM_DISTRIBUTE_OPPORTUNISTIC;
}

int nm_distribute_split(struct nm_stage_call *c, Masters__AllocateRequest **ret)
{
    const Masters__AllocateRequest *request = request_of(c);
    Masters__AllocateRequest *copy = nm_arena_alloc(&c->arena, sizeof *copy);
    Masters__Ask **asks = nm_arena_alloc(&c->arena, (request->n_asks + 1) * sizeof *asks);
    size_t n = 0;

    if (!copy || !asks)
        return -ENOMEM;
    for (size_t i = 0; i < request->n_asks; i++)
        if (!is_opportunistic(request->asks[i]))
            asks[n++] = request->asks[i];
    *copy = *request;
    copy->asks = asks;
    copy->n_asks = n;
    *ret = copy;
    return 0;
}

static struct nm_yarn_ask to_ask(const Masters__Ask *m)
{
    return (struct nm_yarn_ask){
        .priority = m->priority ? m->priority->priority : 0, .request_id = m->request_id,
        .size = {m->resource ? m->resource->memory : 0, m->resource ? m->resource->vcores : 0}, .count = m->count,
        .where = m->where ?: "*", .partition = m->partition, .relax = m->relax};
}

/* Limit of asks in one message: twice the maximum of a table, because a message may withdraw as many asks as it
 * adds. */
#define MESSAGES_MAX (2 * (NM_YARN_ALLOC_ASKS_MAX + NM_YARN_ALLOC_LOCATIONS_MAX))

static size_t count_opportunistic(const Masters__AllocateRequest *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n_asks; i++)
        n += is_opportunistic(m->asks[i]);
    return n;
}

/* Subtracts delivered containers from the counts. Counts are absolute. A master that hasn't received a container yet
 * still includes it in the count. */
static void count_delivered(struct nm_yarn_ask *a, Masters__Container *const *delivered, bool *counted, size_t n)
{
    if (!nm_streq(a->where, "*"))
        return;
    for (size_t i = 0; i < n && a->count > 0; i++)
        if (!counted[i] && delivered[i]->priority && delivered[i]->priority->priority == a->priority &&
            delivered[i]->request_id == a->request_id && delivered[i]->resource &&
            delivered[i]->resource->memory >= a->size.memory_mib && delivered[i]->resource->vcores >= a->size.vcores) {
            counted[i] = true;
            a->count--;
        }
}

static int refuse(int r, const struct nm_yarn_alloc_request *request, struct nm_exception *why)
{
    if (r < 0)
        return r;
    if (r == NM_YARN_ALLOC_INVALID)
        nm_exception_set(why, NM_EXCEPTION_APPLICATION, INVALID_REQUEST,
                         "Invalid resource request: one of %zu opportunistic requests has a negative number, or a "
                         "name that is empty or too long.", request->n_asks);
    else
        nm_exception_set(why, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_YARN,
                         "The request is too large: at most %u opportunistic requests, %u locations and %u "
                         "blacklisted nodes are allowed.",
                         NM_YARN_ALLOC_ASKS_MAX, NM_YARN_ALLOC_LOCATIONS_MAX, NM_YARN_ALLOC_BLACKLIST_MAX);
    return NM_STAGE_E_REFUSED;
}

int nm_distribute_ask(struct nm_distribute *d, struct nm_stage_call *c, Masters__Container *const *delivered,
                      size_t n_delivered, struct nm_exception *why)
{
    const Masters__AllocateRequest *m = request_of(c);
    const size_t n = count_opportunistic(m);
    struct nm_yarn_alloc_request request = {};
    struct nm_yarn_ask *asks;
    bool *counted;
    int r;

    if (n > MESSAGES_MAX)
        return refuse(NM_YARN_ALLOC_TOO_MUCH, &request, why);
    asks = nm_arena_alloc(&c->arena, (n + 1) * sizeof *asks);
    counted = nm_arena_alloc(&c->arena, (n_delivered + 1) * sizeof *counted);
    if (!asks || !counted)
        return -ENOMEM;
    request.asks = asks;
    (void)memset(counted, 0, (n_delivered + 1) * sizeof *counted);
    for (size_t i = 0; i < m->n_asks; i++)
        if (is_opportunistic(m->asks[i])) {
            asks[request.n_asks] = to_ask(m->asks[i]);
            count_delivered(&asks[request.n_asks++], delivered, counted, n_delivered);
        }
    if (m->blacklist) {
        request.blacklist = (const char *const *)m->blacklist->add;
        request.n_blacklist = m->blacklist->n_add;
        request.unblacklist = (const char *const *)m->blacklist->remove;
        request.n_unblacklist = m->blacklist->n_remove;
    }
    r = nm_yarn_allocator_ask(d->allocator, &request, nm_steady_usec());
    return r == 0 ? 0 : refuse(r, &request, why);
}
