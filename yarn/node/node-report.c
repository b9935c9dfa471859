/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reports about containers: see node.h. YARN's protocol has only the states RUNNING and COMPLETE. The ResourceManager
 * treats every state other than RUNNING as the end of the container. So a container is reported as RUNNING from its
 * acceptance to its end, even while it waits in the queue.
 *
 * Reports of ends contain diagnostics of up to 8 KiB each, and thousands of reports may accumulate while the
 * ResourceManager is unreachable. So each message has a limit for diagnostics. If the end of a container doesn't fit
 * into the message, the container is reported as RUNNING until its end is reported. The ResourceManager would count an
 * unreported container as lost.
 */

#include "yarn/node/node-state.h"

#include "yarn/id-messages.h"

enum { STATE_RUNNING = 2, STATE_COMPLETE = 3 };
enum { SUB_SCHEDULED = 1, SUB_RUNNING, SUB_PAUSED, SUB_COMPLETING, SUB_DONE };
enum { TYPE_GUARANTEED = 1, TYPE_OPPORTUNISTIC = 2 };

/* Size of a status in a message without its texts, and additional size per tag. */
#define STATUS_BYTES 128u
#define TAG_BYTES 8u

static void *take(struct nm_arena *arena, size_t size)
{
    return nm_arena_alloc(arena, NM_MAX(size, (size_t)1));
}

/* ---- limits ------------------------------------------------------------------------------- */

static bool afford(size_t size, size_t *left_bytes)
{
    if (size > *left_bytes)
        return false;
    *left_bytes -= size;
    return true;
}

static bool afford_end(const struct nm_yarn_container *i, size_t *left_bytes)
{
    return afford(STATUS_BYTES + (i->diagnostics ? strlen(i->diagnostics) : 0), left_bytes);
}

/* ---- parts -------------------------------------------------------------------------------- */

static Hadoop__ApplicationId *put_application(const struct nm_yarn_application_id *id, struct nm_arena *arena)
{
    Hadoop__ApplicationId *m = take(arena, sizeof *m);

    if (m)
        nm_yarn_application_message_set(m, id);
    return m;
}

static int32_t sub_state(const struct nm_container *c)
{
    if (c->rerun) /* as in Hadoop, a container that waits for the end of its former run has this state */
        return SUB_SCHEDULED;
    switch (c->view.state) {
    case NM_PAUSED:
        return SUB_PAUSED;
    case NM_RUNNING:
    case NM_PAUSING:
    case NM_RESUMING:
    case NM_KILLING:
        return SUB_RUNNING;
    case NM_COMPLETED:
        return SUB_COMPLETING;
    default:
        return SUB_SCHEDULED;
    }
}

/* Returns the container's current type in the manager, which nmctl may have changed. */
bool nm_yarn_container_is_opportunistic(const struct nm_yarn_container *i, const struct nm_container *c)
{
    return (c ? c->view.type : nm_yarn_token_type(i->token)) == NM_OPPORTUNISTIC;
}

/* Makes a status. `ended`: whether the status reports the container's end. */
static Yarn__ContainerStatus *put_status(const struct nm_yarn_container *i, bool ended, struct nm_arena *arena)
{
    const struct nm_container *c = i->completed ? NULL : nm_yarn_container_core(i);
    Yarn__ContainerStatus *s = take(arena, sizeof *s);

    if (!s)
        return NULL;
    *s = (Yarn__ContainerStatus)YARN__CONTAINER_STATUS__INIT;
    s->has_state = s->has_exit_status = s->has_execution_type = s->has_sub_state = 1;
    s->id = i->token->container;
    s->state = ended ? STATE_COMPLETE : STATE_RUNNING;
    s->diagnostics = ended && i->diagnostics ? i->diagnostics : (char *)(uintptr_t) "";
    s->exit_status = ended ? i->exit_status : NM_YARN_INVALID;
    s->capability = i->token->resource;
    s->execution_type = nm_yarn_container_is_opportunistic(i, c) ? TYPE_OPPORTUNISTIC : TYPE_GUARANTEED;
    s->sub_state = ended ? SUB_DONE : c ? sub_state(c) : SUB_COMPLETING;
    return s;
}

/* Returns a status for a heartbeat. When an application ends, RMNodeImpl.findLostContainers() examines each container
 * of the node, including opportunistic containers of other applications. It completes the container with exit code -100
 * unless the heartbeat has a status of the container that is RUNNING and GUARANTEED. The ResourceManager doesn't use
 * the type for another purpose. So a heartbeat reports every container that hasn't ended as GUARANTEED. Registrations,
 * ends and answers to masters have the true type. */
static Yarn__ContainerStatus *put_heartbeat_status(const struct nm_yarn_container *i, struct nm_arena *arena)
{
    Yarn__ContainerStatus *s = put_status(i, i->end_in_heartbeat, arena);

    if (s && !i->end_in_heartbeat)
        s->execution_type = TYPE_GUARANTEED;
    return s;
}

/* Counts the container's tags against the size limit of the message, because applications choose the number and length
 * of tags. */
static bool afford_tags(const struct nm_yarn_container *i, size_t *left_bytes)
{
    size_t size = 0;

    for (size_t k = 0; k < i->token->n_allocation_tags; k++)
        size += strlen(i->token->allocation_tags[k]) + TAG_BYTES;
    return afford(size, left_bytes);
}

static Yarn__KnownContainer *put_known(const struct nm_yarn_container *i, size_t *left_bytes, struct nm_arena *arena)
{
    const Yarn__ContainerStatus *s = put_status(i, i->completed && afford_end(i, left_bytes), arena);
    Yarn__KnownContainer *k = take(arena, sizeof *k);

    if (!s || !k)
        return NULL;
    *k = (Yarn__KnownContainer)YARN__KNOWN_CONTAINER__INIT;
    k->id = s->id;
    k->has_state = k->has_exit_status = k->has_execution_type = k->has_version = 1;
    k->has_created_msec = k->has_allocation_request = 1;
    k->state = s->state;
    k->resource = s->capability;
    k->priority = i->token->priority;
    k->diagnostics = s->diagnostics;
    k->exit_status = s->exit_status;
    k->created_msec = i->token->created_msec;
    k->node_label = i->token->node_label;
    k->version = i->token->version;
    k->execution_type = s->execution_type;
    k->allocation_request = i->token->allocation_request;
    if (afford_tags(i, left_bytes)) {
        k->n_allocation_tags = i->token->n_allocation_tags;
        k->allocation_tags = i->token->allocation_tags;
    }
    return k;
}

static Yarn__Container *put_increased(struct nm_yarn_container *i, struct nm_arena *arena)
{
    Yarn__Container *m = take(arena, sizeof *m);

    if (!m)
        return NULL;
    *m = (Yarn__Container)YARN__CONTAINER__INIT;
    m->id = i->token->container;
    m->resource = i->token->resource;
    m->has_execution_type = m->has_version = 1;
    m->execution_type = nm_yarn_container_is_opportunistic(i, NULL) ? TYPE_OPPORTUNISTIC : TYPE_GUARANTEED;
    m->version = i->token->version;
    i->increase_reported = true;
    return m;
}

/* ---- reports to the ResourceManager ------------------------------------------------------- */

/* Chooses the ends for a message: first the ends that the ResourceManager hasn't received yet. As far as there is room,
 * received ends are sent again until the ResourceManager acknowledges them. */
static void choose_ends(struct nm_yarn_node *n)
{
    size_t left_bytes = NM_YARN_DIAGNOSTICS_BYTES;

    for (struct nm_yarn_container *i = n->containers.first; i; i = i->next)
        i->end_in_heartbeat = i->completed && !i->end_reported && afford_end(i, &left_bytes);
    for (struct nm_yarn_container *i = n->containers.first; i; i = i->next)
        if (i->completed && i->end_reported)
            i->end_in_heartbeat = afford_end(i, &left_bytes);
}

int nm_yarn_node_report(struct nm_yarn_node *n, struct nm_arena *arena, Yarn__NodeStatus *status)
{
    Yarn__ContainerStatus **all = take(arena, n->containers.n * sizeof *all);
    Yarn__Container **increased = take(arena, n->containers.n * sizeof *increased);
    size_t n_all = 0, n_increased = 0;

    if (!all || !increased)
        return -ENOMEM;
    choose_ends(n);
    for (struct nm_yarn_container *i = n->containers.first; i; i = i->next) {
        if (i->end_reported && !i->end_in_heartbeat)
            continue;
        all[n_all] = put_heartbeat_status(i, arena);
        if (!all[n_all++])
            return -ENOMEM;
        if (!i->increased)
            continue;
        increased[n_increased] = put_increased(i, arena);
        if (!increased[n_increased++])
            return -ENOMEM;
    }
    status->containers = all;
    status->n_containers = n_all;
    status->increased = increased;
    status->n_increased = n_increased;
    return 0;
}

/* Marks the ends and the increased sizes of the answered heartbeat as reported, and requests another heartbeat if
 * ends remain. The journal still marks a container as increased, so a restarted nmd reports the increase again,
 * which is harmless. */
void nm_yarn_node_reported(struct nm_yarn_node *n)
{
    bool more = false;

    for (struct nm_yarn_container *i = n->containers.first; i; i = i->next) {
        if (i->increase_reported)
            i->increased = i->increase_reported = false;
        i->end_reported = i->end_reported || i->end_in_heartbeat;
        i->end_in_heartbeat = false;
        more = more || (i->completed && !i->end_reported);
    }
    if (more)
        n->p.on_change(n->p.userdata);
}

bool nm_yarn_node_is_empty(const struct nm_yarn_node *n)
{
    for (const struct nm_yarn_container *i = n->containers.first; i; i = i->next)
        if (!i->completed || !i->end_reported)
            return false;
    return true;
}

bool nm_yarn_node_has_live(const struct nm_yarn_node *n)
{
    for (const struct nm_yarn_container *i = n->containers.first; i; i = i->next)
        if (!i->completed)
            return true;
    return false;
}

uint64_t nm_yarn_node_promised_mib(const struct nm_yarn_node *n)
{
    uint64_t sum = 0;

    for (const struct nm_yarn_container *i = n->containers.first; i; i = i->next) {
        const struct nm_container *c = i->completed ? NULL : nm_yarn_container_core(i);

        if (c && c->owner_code == 0 && c->view.type == NM_GUARANTEED)
            sum += (uint64_t)i->token->resource->memory;
    }
    return sum;
}

static int put_applications(const struct nm_yarn_node *n, struct nm_arena *arena, Yarn__RegisterRequest *request)
{
    size_t count = 0;

    for (const struct nm_yarn_app *a = n->containers.apps; a; a = a->next)
        count++;
    request->applications = take(arena, count * sizeof *request->applications);
    if (!request->applications)
        return -ENOMEM;
    request->n_applications = 0;
    for (const struct nm_yarn_app *a = n->containers.apps; a; a = a->next) {
        Hadoop__ApplicationId *id = put_application(&a->id, arena);

        if (!id)
            return -ENOMEM;
        request->applications[request->n_applications++] = id;
    }
    return 0;
}

int nm_yarn_node_report_all(struct nm_yarn_node *n, struct nm_arena *arena, Yarn__RegisterRequest *request)
{
    Yarn__KnownContainer **all = take(arena, n->containers.n * sizeof *all);
    size_t count = 0, left_bytes = NM_YARN_DIAGNOSTICS_BYTES;

    if (!all)
        return -ENOMEM;
    for (struct nm_yarn_container *i = n->containers.first; i; i = i->next) {
        all[count] = put_known(i, &left_bytes, arena);
        if (!all[count++])
            return -ENOMEM;
        i->end_reported = false; /* the ResourceManager may ignore the ends that a registration contains */
    }
    request->containers = all;
    request->n_containers = count;
    return put_applications(n, arena, request);
}

/* ---- reports to masters ------------------------------------------------------------------- */

int nm_yarn_node_status(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_arena *arena,
                        Yarn__ContainerStatus **ret, struct nm_exception *why)
{
    struct nm_yarn_container_id number = nm_yarn_container_of(id);
    const struct nm_yarn_container *i = nm_yarn_container_table_find(&n->containers, &number);
    Yarn__ContainerStatus *s;
    char text[NM_YARN_ID_SIZE];

    if (!i) {
        (void)nm_yarn_container_id_format(&number, text);
        return nm_yarn_refuse_unknown(n, text, why);
    }
    s = put_status(i, i->completed, arena);
    if (!s)
        return -ENOMEM;
    if (!i->completed && i->messages)
        s->diagnostics = i->messages;
    *ret = s;
    return 0;
}
