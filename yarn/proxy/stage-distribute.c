/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See stage.h. The placements of a call are saved before the ResourceManager is informed of them, and kept until the
 * master calls with another response id. So if the call or its answer is lost, or nmd is restarted, no container is
 * lost or duplicated.
 */

#include "yarn/proxy/stage.h"

#include <errno.h>
#include <syslog.h>

#include "util/clock.h"
#include "yarn/proxy/distribute-state.h"

/* Maximum size of a container with its tokens in a call's arena, if all names have the maximum length. */
#define GRANT_BYTES 8192u

/* Returns whether containers can be granted. Without the cluster's keys no token can be signed, so asks wait until the
 * node has received keys. Asks also wait if the arena lacks room, because a placement that can't be reported would be
 * lost. */
static bool can_grant(const struct nm_distribute *d, const struct nm_stage_call *c)
{
    const uint64_t outstanding = nm_yarn_allocator_figures(d->allocator).outstanding;

    return nm_distribute_has_keys(d) &&
           nm_arena_has_room(&c->arena, NM_MIN(outstanding, (uint64_t)NM_YARN_ALLOC_HEARTBEAT_MAX) * GRANT_BYTES);
}

static bool is_repeated(const struct nm_distribute *d, const Masters__AllocateRequest *request)
{
    return d->n_placed > 0 && request->response_id == d->response_id;
}

/* Other masters of this node must not use the same room. */
static void claim_all(struct nm_distribute *d, const struct nm_yarn_placement *placements, size_t n)
{
    for (size_t i = 0; i < n; i++)
        nm_node_rooms_claim(d->m->context->rooms, placements[i].node->host, placements[i].node->port,
                            placements[i].size.memory_mib);
}

static int grant_all(struct nm_distribute *d, struct nm_stage_call *c, int32_t response_id, Masters__Container ***ret,
                     size_t *ret_n)
{
    const uint64_t now = nm_steady_usec();
    const struct nm_yarn_placement *placements;
    Masters__Container **list;
    size_t n;
    int r;

    nm_distribute_check_queues(d);
    if (nm_yarn_allocator_figures(d->allocator).outstanding > 0)
        nm_distribute_measure(d, now);
    r = nm_yarn_allocator_allocate(d->allocator, now, &placements, &n);
    list = r == 0 ? nm_arena_alloc(&c->arena, (n + 1) * sizeof *list) : NULL;
    if (!list)
        return r < 0 ? r : -ENOMEM;
    claim_all(d, placements, n);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = nm_distribute_grant(d, c, &placements[i], &list[i]);
    if (r == 0)
        r = nm_distribute_persist_placed(d, response_id, list, n);
    *ret = list;
    *ret_n = n;
    return r;
}

/* Returns the containers for this call. If the master hasn't received the containers of its previous call, returns them
 * again. Otherwise places new containers, unless the call releases containers. */
static int place_containers(struct nm_distribute *d, struct nm_stage_call *c, bool releases, Masters__Container ***ret,
                            size_t *ret_n, struct nm_exception *why)
{
    const Masters__AllocateRequest *request = (const Masters__AllocateRequest *)c->request;
    const bool repeated = is_repeated(d, request);
    int r = 0;

    *ret_n = repeated ? d->n_placed : 0;
    if (repeated)
        r = nm_distribute_get_placed(d, &c->arena, ret);
    if (r == 0)
        r = nm_distribute_ask(d, c, *ret, *ret_n, why);
    if (r == 0 && !repeated && !releases && can_grant(d, c))
        r = grant_all(d, c, request->response_id, ret, ret_n);
    return r == 0 ? nm_distribute_save(d) : r;
}

/* Adds the containers that the master hasn't received to the containers that the call releases. */
static int release_placed(struct nm_distribute *d, struct nm_stage_call *c, Masters__AllocateRequest *request)
{
    Hadoop__ContainerId **list = nm_arena_alloc(&c->arena, (request->n_releases + d->n_placed) * sizeof *list);
    Masters__Container **placed;
    int r = list ? nm_distribute_get_placed(d, &c->arena, &placed) : -ENOMEM;

    if (r < 0)
        return r;
    for (size_t i = 0; i < request->n_releases; i++)
        list[i] = request->releases[i];
    for (size_t i = 0; i < d->n_placed; i++)
        list[request->n_releases++] = placed[i]->id;
    request->releases = list;
    d->released_last = placed[0]->id->id; /* numbers are given downwards, and those of a call are consecutive */
    d->released_first = placed[d->n_placed - 1]->id->id;
    return 0;
}

static int request_allocate(struct nm_distribute *d, struct nm_stage_call *c, struct nm_exception *why)
{
    const Masters__AllocateRequest *request = (const Masters__AllocateRequest *)c->request;
    const bool releases = d->registered && nm_distribute_must_release(d, request->response_id);
    Masters__DistributedAllocateRequest *m = nm_arena_alloc(&c->arena, sizeof *m);
    Masters__Container **placed = NULL;
    size_t n = 0;
    int r = m ? 0 : -ENOMEM;

    if (r == 0)
        *m = (Masters__DistributedAllocateRequest)MASTERS__DISTRIBUTED_ALLOCATE_REQUEST__INIT;
    if (r == 0 && d->registered)
        r = place_containers(d, c, releases, &placed, &n, why);
    if (r == 0)
        r = nm_distribute_split(c, &m->request);
    if (r == 0 && releases)
        r = release_placed(d, c, m->request);
    if (r != 0)
        return r;
    m->placed = placed;
    m->n_placed = n;
    c->request = &m->base;
    return 0;
}

static int answer_register(struct nm_distribute *d, struct nm_stage_call *c, const ProtobufCMessage **answer)
{
    const Masters__DistributedRegisterAnswer *m = (const Masters__DistributedRegisterAnswer *)*answer;
    int r = m->answer ? nm_distribute_registered(d, c, m) : -EBADMSG;

    if (r < 0)
        return r;
    /* The ResourceManager has accepted the registration. If the proxy refused the call now, the master could not
     * continue. */
    if (nm_distribute_save(d) < 0)
        d->m->context->report_cb(LOG_WARNING, "The proxy can't save the registration of an application master.");
    *answer = &m->answer->base;
    return 0;
}

static int add_placed(struct nm_stage_call *c, Masters__Container *const *placed, size_t n,
                      Masters__AllocateAnswer *answer)
{
    Masters__Container **list = nm_arena_alloc(&c->arena, (answer->n_containers + n + 1) * sizeof *list);

    if (!list)
        return -ENOMEM;
    if (answer->n_containers > 0)
        (void)memcpy(list, answer->containers, answer->n_containers * sizeof *list);
    if (n > 0)
        (void)memcpy(list + answer->n_containers, placed, n * sizeof *list);
    answer->containers = list;
    answer->n_containers += n;
    return 0;
}

/* Removes the ends of released containers, which the master doesn't know. */
static int hide_released(const struct nm_distribute *d, struct nm_stage_call *c, Masters__AllocateAnswer *answer)
{
    Masters__Ended **list;
    size_t n = 0;

    if (d->released_last == 0)
        return 0;
    list = nm_arena_alloc(&c->arena, (answer->n_ended + 1) * sizeof *list);
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < answer->n_ended; i++) {
        const Hadoop__ContainerId *id = answer->ended[i]->id;

        if (!id || id->id < d->released_first || id->id > d->released_last)
            list[n++] = answer->ended[i];
    }
    answer->ended = list;
    answer->n_ended = n;
    return 0;
}

static int answer_allocate(struct nm_distribute *d, struct nm_stage_call *c, const ProtobufCMessage **answer)
{
    const Masters__DistributedAllocateAnswer *m = (const Masters__DistributedAllocateAnswer *)*answer;
    const Masters__DistributedAllocateRequest *request = (const Masters__DistributedAllocateRequest *)c->request;
    Masters__AllocateAnswer *copy = nm_arena_alloc(&c->arena, sizeof *copy);
    int r;

    if (!copy || !m->answer)
        return copy ? -EBADMSG : -ENOMEM;
    d->is_answered = true;
    *copy = *m->answer;
    nm_distribute_note_tokens(d, copy);
    r = hide_released(d, c, copy);
    if (r == 0)
        r = nm_distribute_add_node_tokens(d, c, request->placed, request->n_placed, copy);
    if (r == 0)
        r = add_placed(c, request->placed, request->n_placed, copy);
    if (r == 0)
        r = nm_distribute_set_nodes(d, &c->arena, m->nodes, m->n_nodes);
    if (r == 0)
        *answer = &copy->base;
    return r;
}

/* ---- the stage -------------------------------------------------------------------------------- */

static int distribute_request(void *stage, struct nm_stage_call *c, struct nm_exception *why)
{
    return c->method == NM_MASTERS_ALLOCATE ? request_allocate(stage, c, why) : 0;
}

static int distribute_answer(void *stage, struct nm_stage_call *c, const ProtobufCMessage **answer,
                             struct nm_exception *why)
{
    (void)why;
    switch (c->method) {
    case NM_MASTERS_REGISTER:
        return answer_register(stage, c, answer);
    case NM_MASTERS_ALLOCATE:
        return answer_allocate(stage, c, answer);
    default:
        return 0;
    }
}

static struct nm_yarn_alloc_figures distribute_figures(const void *stage)
{
    const struct nm_distribute *d = stage;

    return nm_yarn_allocator_figures(d->allocator);
}

static void distribute_close(void *stage)
{
    struct nm_distribute *d = stage;

    d->m->distribute = NULL;
    nm_distribute_free(d);
}

static int distribute_open(struct nm_stage_master *m, const struct nm_yarn_stored_master *kept, void **ret)
{
    struct nm_distribute *d = calloc(1, sizeof *d);
    int r = 0;

    if (!d)
        return -ENOMEM;
    d->m = m;
    d->response_id = -1;
    if (kept)
        r = nm_distribute_restore(d, kept);
    if (r == 0 && !d->allocator)
        r = nm_yarn_allocator_new(&d->allocator);
    if (r < 0) {
        nm_distribute_free(d);
        return r;
    }
    m->distribute = d;
    *ret = d;
    return 0;
}

const struct nm_stage_type nm_stage_distribute = {
    .name = "distribute",
    .class_name = "org.apache.hadoop.yarn.server.nodemanager.scheduler.DistributedScheduler",
    .distributed = true,
    .open = distribute_open,
    .close = distribute_close,
    .request = distribute_request,
    .answer = distribute_answer,
    .keep = nm_distribute_persist,
    .figures = distribute_figures,
};
