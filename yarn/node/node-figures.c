/* SPDX-License-Identifier: Apache-2.0 */

/* Figures about containers for monitoring: see node.h. Like a heartbeat, a request for figures examines each container
 * once. */

#include "yarn/node/node-state.h"

#include "util/clock.h"
#include "yarn/node/exit-code.h"

/* ---- counters ----------------------------------------------------------------------------- */

void nm_yarn_node_count_start(struct nm_yarn_node *n, const struct nm_container *c)
{
    const uint64_t now_usec = nm_now_usec();

    nm_yarn_rate_add(&n->counted.launch, nm_sub_u64(now_usec, c->view.started_usec), now_usec);
}

/* A container that ended early was killed if its status says so, and has failed otherwise. */
static bool was_killed(const struct nm_container *c, int32_t status)
{
    return c ? nm_yarn_exit_is_kill(c)
             : status == NM_YARN_KILLED_AFTER_APP || status == NM_YARN_KILLED_BY_NODE;
}

void nm_yarn_node_count_end(struct nm_yarn_node *n, const struct nm_container *c, int32_t status)
{
    struct nm_yarn_node_figures *f = &n->counted;

    if (status == 0)
        f->succeeded++;
    else if (was_killed(c, status))
        f->killed++;
    else
        f->failed++;
}

void nm_yarn_node_begin_counts(struct nm_yarn_node *n)
{
    n->counted = (struct nm_yarn_node_figures){};
    for (const struct nm_yarn_container *i = n->containers.first; i; i = i->next)
        n->counted.launched += !i->completed;
}

/* ---- figures ------------------------------------------------------------------------------ */

static void add_request(struct nm_yarn_node_figures *f, const struct nm_yarn_container *i, bool is_opportunistic)
{
    const Hadoop__Resource *size = i->token->resource;

    f->memory_mib += size ? size->memory : 0;
    f->vcores += size ? size->vcores : 0;
    if (!is_opportunistic)
        return;
    f->started_opportunistic++;
    f->opportunistic_memory_mib += size ? size->memory : 0;
    f->opportunistic_vcores += size ? size->vcores : 0;
}

static void add_use(struct nm_yarn_node_figures *f, const struct nm_policy_container *v)
{
    f->used_bytes += v->measured.memory_bytes;
    f->swapped_bytes += v->swapped_bytes;
    f->cpu_millicores += v->measured.cpu_millicores;
}

static bool has_started(const struct nm_policy_container *v)
{
    return v->state > NM_SCHEDULED || v->admitted;
}

static void add_state(struct nm_yarn_node_figures *f, const struct nm_yarn_container *i, const struct nm_container *c)
{
    const struct nm_policy_container *v = &c->view;

    if (c->rerun || i->reinit_pending)
        f->reiniting++;
    else if (v->state < NM_SCHEDULED)
        f->initing++;
    else if (!has_started(v))
        *(v->type == NM_OPPORTUNISTIC ? &f->queued_opportunistic : &f->queued_guaranteed) += 1;
    f->running += v->state > NM_SCHEDULED && v->state < NM_COMPLETED;
    f->paused += v->state == NM_PAUSED;
}

static void add_container(struct nm_yarn_node_figures *f, const struct nm_yarn_container *i)
{
    const struct nm_container *c = nm_yarn_container_core(i);

    f->n++;
    add_request(f, i, c && c->view.type == NM_OPPORTUNISTIC && has_started(&c->view));
    if (!c)
        return;
    add_use(f, &c->view);
    add_state(f, i, c);
}

void nm_yarn_node_get_figures(const struct nm_yarn_node *n, struct nm_yarn_node_figures *ret)
{
    *ret = n->counted;
    for (const struct nm_yarn_container *i = n->containers.first; i; i = i->next)
        if (!i->completed)
            add_container(ret, i);
    for (const struct nm_yarn_app *a = n->containers.apps; a; a = a->next)
        ret->n_applications++;
}
