/* SPDX-License-Identifier: Apache-2.0 */

/* Makes a container with its tokens from a placement: see distribute-state.h. */

#include "yarn/proxy/distribute-state.h"

#include <errno.h>

#include "util/clock.h"
#include "yarn/id-messages.h"

static Hadoop__NodeId *make_node(struct nm_arena *a, const char *host, int32_t port)
{
    Hadoop__NodeId *m = nm_arena_alloc(a, sizeof *m);

    if (!m)
        return NULL;
    *m = (Hadoop__NodeId)HADOOP__NODE_ID__INIT;
    m->host = nm_arena_text(a, nm_bytes_of(host));
    m->has_port = 1;
    m->port = port;
    return m->host ? m : NULL;
}

static Hadoop__Resource *make_resource(struct nm_arena *a, const struct nm_yarn_alloc_size *size)
{
    Hadoop__Resource *m = nm_arena_alloc(a, sizeof *m);

    if (m) {
        *m = (Hadoop__Resource)HADOOP__RESOURCE__INIT;
        m->has_memory = m->has_vcores = 1;
        m->memory = size->memory_mib;
        m->vcores = size->vcores;
    }
    return m;
}

static Hadoop__Priority *make_priority(struct nm_arena *a, int32_t priority)
{
    Hadoop__Priority *m = nm_arena_alloc(a, sizeof *m);

    if (m) {
        *m = (Hadoop__Priority)HADOOP__PRIORITY__INIT;
        m->has_priority = 1;
        m->priority = priority;
    }
    return m;
}

int nm_distribute_grant(struct nm_distribute *d, struct nm_stage_call *c, const struct nm_yarn_placement *p,
                        Masters__Container **ret)
{
    struct nm_yarn_grant grant = {
        .id = {d->m->attempt, nm_yarn_container_number_below(d->number_start, d->last_number)},
        .submitter = d->m->submitter, .host = p->node->host, .port = p->node->port,
        .memory_mib = p->size.memory_mib, .vcores = p->size.vcores, .priority = p->priority,
        .request_id = p->request_id, .created_msec = nm_realtime_msec(),
        .expires_msec = nm_realtime_msec() + d->expiry_msec};
    Masters__Container *m = nm_arena_alloc(&c->arena, sizeof *m);
    int r;

    if (!m)
        return -ENOMEM;
    *m = (Masters__Container)MASTERS__CONTAINER__INIT;
    m->id = nm_yarn_container_message_new(&c->arena, &grant.id);
    m->node = make_node(&c->arena, grant.host, grant.port);
    m->web_address = nm_arena_text(&c->arena, nm_bytes_of(p->node->web_address ?: ""));
    m->resource = make_resource(&c->arena, &p->size);
    m->priority = make_priority(&c->arena, p->priority);
    if (!m->id || !m->node || !m->web_address || !m->resource || !m->priority)
        return -ENOMEM;
    m->has_execution_type = m->has_request_id = m->has_version = 1;
    m->execution_type = NM_DISTRIBUTE_OPPORTUNISTIC;
    m->request_id = p->request_id;
    r = nm_yarn_sign_container(&d->m->context->signer, &grant, nm_now_usec(), &c->arena, &m->token);
    if (r < 0)
        return r;
    d->last_number = grant.id.number;
    nm_yarn_proxy_stats_placed(d->m->context->stats, &grant.id, &d->m->container, p);
    *ret = m;
    return 0;
}

/* ---- tokens for nodes ------------------------------------------------------------------------ */

static bool is_among(Masters__NodeToken *const *list, size_t n, const Hadoop__NodeId *node)
{
    for (size_t i = 0; i < n; i++)
        if (list[i]->node && list[i]->node->host && nm_streq(list[i]->node->host, node->host) &&
            list[i]->node->port == node->port)
            return true;
    return false;
}

static int make_node_token(struct nm_distribute *d, struct nm_stage_call *c, Hadoop__NodeId *node,
                           Masters__NodeToken **ret)
{
    Masters__NodeToken *m = nm_arena_alloc(&c->arena, sizeof *m);

    if (!m)
        return -ENOMEM;
    *m = (Masters__NodeToken)MASTERS__NODE_TOKEN__INIT;
    m->node = node;
    *ret = m;
    return nm_yarn_sign_nm(&d->m->context->signer, &d->m->attempt, d->m->submitter, node->host, node->port,
                           nm_now_usec(),
                           &c->arena, &m->token);
}

int nm_distribute_add_node_tokens(struct nm_distribute *d, struct nm_stage_call *c, Masters__Container *const *placed,
                                  size_t n_placed, Masters__AllocateAnswer *answer)
{
    Masters__NodeToken **list = nm_arena_alloc(&c->arena, (answer->n_node_tokens + n_placed + 1) * sizeof *list);
    size_t n = answer->n_node_tokens;
    int r = 0;

    if (!list)
        return -ENOMEM;
    if (n > 0)
        (void)memcpy(list, answer->node_tokens, n * sizeof *list);
    for (size_t i = 0; r == 0 && i < n_placed; i++) {
        Hadoop__NodeId *node = placed[i]->node;

        if (nm_distribute_is_known(d, node->host, node->port) || is_among(list, n, node))
            continue;
        r = make_node_token(d, c, node, &list[n]);
        n += r == 0;
    }
    if (r < 0)
        return r;
    answer->node_tokens = list;
    answer->n_node_tokens = n;
    return 0;
}
