/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Gives countable resources beside memory and vcores to new containers. A container is prepared when it has all that it
 * requests, and until then it waits with its promise or with its place in the queue.
 *
 * The ResourceManager places guaranteed containers by these resources, but opportunistic ones only by memory and
 * vcores. So a guaranteed container takes what opportunistic containers have: they are killed, the latest-started
 * first, because a paused container would keep its GPU. The wait for GPUs also covers guaranteed containers that the
 * ResourceManager regards as ended while their processes still exist. An opportunistic container waits until the other
 * containers leave enough. Containers of a type are served in their order of arrival, guaranteed ones first.
 */

#include "yarn/node/node-state.h"

#include <inttypes.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/error.h"

/* Hadoop's GpuResourceAllocator waits for 2 minutes too. */
#define WAIT_USEC (120 * NM_USEC_PER_SEC)
#define AGAIN_USEC NM_USEC_PER_SEC

struct pass {
    struct nm_yarn_node *node;
    const struct nm_yarn_resource_type *types;
    size_t n_types;
    struct nm_yarn_held held[NM_YARN_RESOURCE_TYPES_MAX]; /* also counts what containers that wait will need */
    bool lacks[NM_YARN_RESOURCE_TYPES_MAX];               /* a guaranteed container waits for this type */
    uint64_t gpus;         /* GPUs that containers have */
    int64_t reserved_gpus; /* number of free GPUs that containers which arrived earlier wait for */
    bool any_waits;
};

static bool is_opportunistic(const struct nm_yarn_container *i, const struct nm_container *c)
{
    return (c ? c->view.type : nm_yarn_token_type(i->token)) == NM_OPPORTUNISTIC;
}

/* ---- what is free ------------------------------------------------------------------------- */

/* Returns how much of the type is left. Negative: more is needed than the node has. */
static int64_t rest_of(const struct pass *p, size_t k)
{
    int64_t used;

    if (nm_yarn_resource_is_gpu(p->node, &p->types[k]))
        return (int64_t)nm_yarn_node_free_gpus(p->node, p->gpus) - p->reserved_gpus;
    if (__builtin_add_overflow(p->held[k].guaranteed, p->held[k].opportunistic, &used))
        used = INT64_MAX;
    return nm_yarn_resource_offered(p->node, &p->types[k]) - used;
}

/* Returns whether a guaranteed container must wait for the type. Of types that are only counted, the ResourceManager
 * knows what guaranteed containers have, so only opportunistic ones matter. */
static bool must_wait(const struct pass *p, size_t k, int64_t wanted, bool opportunistic)
{
    if (wanted == 0 || wanted <= rest_of(p, k))
        return false;
    return opportunistic || p->held[k].opportunistic > 0 || nm_yarn_resource_is_gpu(p->node, &p->types[k]);
}

/* Returns the first type that the container must wait for, or NULL. */
static const struct nm_yarn_resource_type *find_lack(struct pass *p, const struct nm_yarn_container *i,
                                                     bool opportunistic)
{
    const struct nm_yarn_resource_type *first = NULL;

    for (size_t k = p->n_types; k-- > 0;) {
        if (!must_wait(p, k, nm_yarn_resource_requested(i->token, &p->types[k]), opportunistic))
            continue;
        first = &p->types[k];
        p->lacks[k] |= !opportunistic;
    }
    return first;
}

/* Counts what the container requests, so that containers which arrived later leave it. */
static void count(struct pass *p, const struct nm_yarn_container *i, bool opportunistic, bool waits)
{
    for (size_t k = 0; k < p->n_types; k++) {
        const int64_t wanted = nm_yarn_resource_requested(i->token, &p->types[k]);
        int64_t *sum = opportunistic ? &p->held[k].opportunistic : &p->held[k].guaranteed;

        if (waits && nm_yarn_resource_is_gpu(p->node, &p->types[k]))
            p->reserved_gpus += wanted;
        if (__builtin_add_overflow(*sum, wanted, sum))
            *sum = INT64_MAX;
    }
}

/* ---- containers --------------------------------------------------------------------------- */

/* Assigns the GPUs and begins the preparation. Returns false if the choice can't be journalled now. */
static bool grant(struct pass *p, struct nm_yarn_container *i)
{
    for (size_t k = 0; k < p->n_types; k++) {
        const int64_t wanted = nm_yarn_resource_requested(i->token, &p->types[k]);

        if (wanted > 0 && nm_yarn_resource_is_gpu(p->node, &p->types[k]) &&
            nm_yarn_container_assign_gpus(i, (size_t)wanted, &p->gpus) != 0)
            return false;
    }
    nm_yarn_container_restrict(i);
    i->waits = false;
    nm_yarn_container_prepare(i);
    return true;
}

static void report_wait(struct nm_yarn_container *i, const struct nm_container *c,
                        const struct nm_yarn_resource_type *lack)
{
    struct nm_problem problem;
    char text[80];

    (void)snprintf(text, sizeof text, "waiting for %.40s", lack ? lack->name : "the journal");
    if (!nm_streq(text, c->progress))
        (void)nm_manager_progress(i->node->p.manager, NM_YARN_OWNER, i->text, text, &problem);
}

/* Ends a container that has waited too long. An opportunistic one is given back as one that waits in the queue. */
static bool give_up(struct nm_yarn_container *i, bool opportunistic, const struct nm_yarn_resource_type *lack)
{
    const uint64_t limit_usec =
        opportunistic ? nm_manager_config(i->node->p.manager)->give_back_usec : WAIT_USEC;
    struct nm_end e = {.code = NM_YARN_KILLED_BY_NODE, .now = true};
    struct nm_problem problem;
    char text[200];

    if (limit_usec == 0 || nm_sub_u64(nm_now_usec(), i->waits_since_usec) < limit_usec)
        return false;
    (void)snprintf(text, sizeof text, "The container waited for %s for %" PRIu64 " s, and other containers have it.",
                   lack ? lack->name : "the journal of nmd", limit_usec / NM_USEC_PER_SEC);
    e.message = text;
    if (opportunistic)
        (void)nm_manager_end(i->node->p.manager, NM_YARN_OWNER, i->text, &e, &problem);
    else
        nm_yarn_container_fail(i, text);
    return true;
}

static void serve_one(struct pass *p, struct nm_yarn_container *i, const struct nm_container *c, bool opportunistic)
{
    const struct nm_yarn_resource_type *lack = find_lack(p, i, opportunistic);
    const bool is_granted = !lack && grant(p, i);

    count(p, i, opportunistic, !is_granted);
    if (is_granted || give_up(i, opportunistic, lack))
        return;
    p->any_waits = true;
    report_wait(i, c, lack);
}

static void serve_kind(struct pass *p, bool opportunistic)
{
    for (struct nm_yarn_container *i = p->node->containers.first; i; i = i->next) {
        const struct nm_container *c = i->completed || !i->waits ? NULL : nm_yarn_container_core(i);

        if (c && c->view.state < NM_KILLING && is_opportunistic(i, c) == opportunistic)
            serve_one(p, i, c, opportunistic);
    }
}

/* ---- victims ------------------------------------------------------------------------------ */

struct victim {
    struct nm_yarn_container *container;
    uint64_t started_usec; /* UINT64_MAX: not started yet, so that no work is lost */
    size_t place;          /* order of arrival */
};

static int compare(const void *a, const void *b)
{
    const struct victim *x = a, *y = b;

    if (x->started_usec != y->started_usec)
        return x->started_usec > y->started_usec ? -1 : 1;
    return x->place > y->place ? -1 : 1;
}

/* Returns the amount of the type that the container would release. */
static int64_t release_of(const struct pass *p, const struct nm_yarn_container *i, size_t k)
{
    return p->lacks[k] ? nm_yarn_resource_requested(i->token, &p->types[k]) : 0;
}

/* Subtracts what the container releases at its end. Returns false if the container releases nothing that is needed. */
static bool subtract(const struct pass *p, const struct nm_yarn_container *i,
                     int64_t needs[NM_YARN_RESOURCE_TYPES_MAX])
{
    bool helps = false;

    for (size_t k = 0; k < p->n_types; k++)
        helps |= needs[k] > 0 && release_of(p, i, k) > 0;
    for (size_t k = 0; helps && k < p->n_types; k++)
        needs[k] -= NM_MIN(needs[k], release_of(p, i, k));
    return helps;
}

/* Lists the opportunistic containers that have something. Subtracts what containers of both types release that are
 * being ended. */
static size_t find_victims(const struct pass *p, struct victim *list, int64_t needs[NM_YARN_RESOURCE_TYPES_MAX])
{
    size_t n = 0, place = 0;

    for (struct nm_yarn_container *i = p->node->containers.first; i; i = i->next, place++) {
        const struct nm_container *c = i->completed || i->waits ? NULL : nm_yarn_container_core(i);

        if (c && c->view.state >= NM_KILLING)
            (void)subtract(p, i, needs);
        else if (c && is_opportunistic(i, c) && !c->view.exempt)
            list[n++] = (struct victim){i, c->view.started_usec ?: UINT64_MAX, place};
    }
    return n;
}

static void end_victim(struct nm_yarn_container *i)
{
    const struct nm_end e = {.code = NM_YARN_KILLED_BY_NODE, .now = true,
                             .message = "A guaranteed container needs its resource, such as a GPU."};
    struct nm_problem problem;

    (void)nm_manager_end(i->node->p.manager, NM_YARN_OWNER, i->text, &e, &problem);
}

/* Ends opportunistic containers until those that are being ended have what guaranteed containers wait for. */
static void make_room(const struct pass *p)
{
    _cleanup_free_ struct victim *list = calloc(p->node->containers.n + 1, sizeof *list);
    int64_t needs[NM_YARN_RESOURCE_TYPES_MAX] = {};
    size_t n;

    if (!list) /* the next pass tries again */
        return;
    for (size_t k = 0; k < p->n_types; k++)
        if (p->lacks[k])
            needs[k] = NM_MAX(-rest_of(p, k), INT64_C(0));
    n = find_victims(p, list, needs);
    if (n > 0)
        qsort(list, n, sizeof *list, compare);
    for (size_t k = 0; k < n; k++)
        if (subtract(p, list[k].container, needs))
            end_victim(list[k].container);
}

/* ---- passes ------------------------------------------------------------------------------- */

/* One pass takes time in proportion to the number of containers. Passes run in a turn of the event loop of their own,
 * after an end of a container, after a start that needs a resource, and once a second while containers wait. */
void nm_yarn_node_serve(struct nm_yarn_node *n)
{
    struct pass p = {.node = n, .types = n->p.settings->resource_types, .n_types = n->p.settings->n_resource_types};
    bool lacks_any = false;

    if (p.n_types == 0 || !*n->host)
        return;
    nm_yarn_resource_sums(n, p.held);
    p.gpus = nm_yarn_node_held_gpus(n);
    serve_kind(&p, false);
    for (size_t k = 0; k < p.n_types; k++)
        lacks_any |= p.lacks[k];
    if (lacks_any)
        make_room(&p);
    serve_kind(&p, true);
    if (!p.any_waits)
        return;
    (void)sd_event_source_set_time_relative(n->serve_again, AGAIN_USEC);
    (void)sd_event_source_set_enabled(n->serve_again, SD_EVENT_ONESHOT);
}

static void wait_for_resources(struct nm_yarn_container *i)
{
    i->waits = true;
    i->waits_since_usec = nm_now_usec();
    (void)sd_event_source_set_enabled(i->node->serve, SD_EVENT_ONESHOT);
}

void nm_yarn_container_begin(struct nm_yarn_container *i)
{
    nm_yarn_container_restrict(i);
    if (nm_yarn_resource_is_requested(i->node, i->token))
        wait_for_resources(i);
    else
        nm_yarn_container_prepare(i);
}

/* A container with assigned GPUs has all that it requests. Of one without, the other amounts aren't journalled. */
void nm_yarn_container_adopt_wait(struct nm_yarn_container *i, const struct nm_container *c)
{
    const bool is_new = c->view.state == NM_NEW || c->view.state == NM_LOCALIZING;

    if (is_new && !i->record->has_gpus && nm_yarn_resource_is_requested(i->node, i->token))
        wait_for_resources(i);
}
