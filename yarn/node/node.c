/* SPDX-License-Identifier: Apache-2.0 */

/* Creation and removal of the node, and the manager's events: see node.h. */

#include "yarn/node/node.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "yarn/launch/launcher.h"
#include "yarn/logs/logs.h"
#include "yarn/node/node-state.h"

/* Handles an event. The manager sends no events about containers that ended early. All other containers of this owner
 * are in the table. */
static void on_event(const struct nm_event *e, void *userdata)
{
    struct nm_yarn_node *n = userdata;
    struct nm_yarn_container *i;

    if (e->kind != NM_EVENT_STATE || !nm_streq(e->container->owner, NM_YARN_OWNER))
        return;
    i = nm_yarn_container_table_by_text(&n->containers, e->container->id);
    if (!i || i->completed)
        return;
    if (e->to == NM_COMPLETED)
        nm_yarn_container_ended(i, e->container);
    else if (e->to == NM_NEW && e->from != NM_NEW)
        nm_yarn_container_prepare_reinit(i);
    else if (e->to == NM_RUNNING)
        i->reinit_pending = false;
    if (e->to == NM_RUNNING && e->from == NM_SCHEDULED)
        nm_yarn_node_count_start(n, e->container);
}

static void on_end(const struct nm_container *c, void *userdata)
{
    struct nm_yarn_node *n = userdata;
    struct nm_yarn_container *i = nm_yarn_container_table_by_text(&n->containers, c->id);

    if (i && !i->completed)
        nm_yarn_container_decide_at_end(i, c);
}

static int on_serve(sd_event_source *source, void *userdata)
{
    (void)source;
    nm_yarn_node_serve(userdata);
    return 0;
}

static int on_serve_again(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source, (void)usec;
    nm_yarn_node_serve(userdata);
    return 0;
}

static int on_sweep(sd_event_source *source, void *userdata)
{
    (void)source;
    nm_yarn_node_sweep(userdata);
    return 0;
}

/* ---- state of an earlier nmd -------------------------------------------------------------- */

static void abandon(struct nm_yarn_node *n, const struct nm_container *c)
{
    struct nm_end e = {.code = NM_YARN_ABORTED, .message = "The saved request of its application is unreadable."};
    struct nm_problem problem;

    if (c->view.state == NM_COMPLETED)
        (void)nm_manager_acknowledge(n->p.manager, NM_YARN_OWNER, c->id, &problem);
    else
        (void)nm_manager_end(n->p.manager, NM_YARN_OWNER, c->id, &e, &problem);
}

struct found {
    struct nm_yarn_node *node;
    char (*ids)[NM_ID_SIZE];
    size_t n, room;
    bool failed;
};

static void note(const struct nm_container *c, void *userdata)
{
    struct found *f = userdata;

    if (f->n == f->room) {
        size_t room = NM_MAX((size_t)64, f->room * 2);
        void *ids = reallocarray(f->ids, room, sizeof *f->ids);

        if (!ids) {
            f->failed = true;
            return;
        }
        f->ids = ids;
        f->room = room;
    }
    memcpy(f->ids[f->n++], c->id, NM_ID_SIZE);
}

static int adopt(struct nm_yarn_node *n, const char *id)
{
    const struct nm_container *c = NULL;
    struct nm_problem problem;
    struct nm_yarn_container *i;
    int r = nm_manager_find(n->p.manager, &nm_yarn_admin, id, &c, &problem);

    if (r != 0)
        return NM_MIN(r, 0);
    r = nm_yarn_node_add(n, (struct nm_bytes){c->blob.data, c->blob.bytes}, &i);
    if (r == -EBADMSG) {
        abandon(n, c);
        return 0;
    }
    if (r < 0)
        return r;
    i->is_adopted = true;
    if (c->view.state == NM_COMPLETED) {
        nm_yarn_container_ended(i, c);
        return 0;
    }
    nm_yarn_container_begin_services(i);
    nm_yarn_container_restrict(i);
    nm_yarn_container_adopt_wait(i, c);
    return 0;
}

/* Adopts the manager's containers. Collects the ids of all containers first, because adopting a container may end it
 * and so change the manager's list. */
static int adopt_all(struct nm_yarn_node *n)
{
    struct found f = {.node = n};
    int r = 0;

    nm_manager_foreach_of(n->p.manager, NM_YARN_OWNER, note, &f);
    for (size_t k = 0; k < f.n && r >= 0; k++)
        r = adopt(n, f.ids[k]);
    free(f.ids);
    return f.failed ? -ENOMEM : r;
}

/* Adopts a container that ended early, unless the manager has a container with the same id. */
static bool adopt_early(const char *name, struct nm_bytes content, void *userdata)
{
    struct nm_yarn_node *n = userdata;
    const Yarn__EarlyEnd *end;
    struct nm_yarn_container *i;
    struct nm_arena arena;
    int r;

    nm_arena_init(&arena, nm_arena_limit(content.size), NULL);
    end = (const Yarn__EarlyEnd *)nm_arena_unpack(&arena, &yarn__early_end__descriptor, content);
    r = end ? -EBADMSG : nm_arena_error(&arena);
    if (end && end->has_record && !nm_yarn_container_table_by_text(&n->containers, name))
        r = nm_yarn_node_add(n, (struct nm_bytes){end->record.data, end->record.len}, &i);
    if (r == 0) {
        i->is_adopted = true;
        nm_yarn_container_ended_early(i, end->exit_status, end->diagnostics ?: "");
    }
    nm_arena_done(&arena);
    return r != -EBADMSG;
}

/* Returns whether the application may have files on this node that are in use. */
static bool is_known(const char *application, void *userdata)
{
    const struct nm_yarn_node *n = userdata;
    struct nm_yarn_application_id id;

    return nm_yarn_application_id_parse(application, &id) < 0 || nm_yarn_container_table_app(&n->containers, &id);
}

/* Prepares the adopted containers. Is called when the node's name is known, because the environment of containers
 * contains the name. */
static void prepare_adopted(struct nm_yarn_node *n)
{
    for (struct nm_yarn_container *i = n->containers.first, *next; i; i = next) {
        const struct nm_container *c = i->completed || i->preparation ? NULL : nm_yarn_container_core(i);

        next = i->next;
        if (!c || i->waits)
            continue;
        if (c->view.state == NM_NEW || c->view.state == NM_LOCALIZING)
            nm_yarn_container_prepare(i);
        else
            nm_yarn_container_retain(i);
    }
    nm_yarn_launcher_allow_removals(n->p.launcher);
    (void)sd_event_source_set_enabled(n->serve, SD_EVENT_ONESHOT);
}

static int add_sources(struct nm_yarn_node *n)
{
    int r = sd_event_add_defer(n->p.event, &n->sweep, on_sweep, n);

    if (r >= 0)
        r = sd_event_source_set_enabled(n->sweep, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_defer(n->p.event, &n->serve, on_serve, n);
    if (r >= 0)
        r = sd_event_source_set_enabled(n->serve, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time_relative(n->p.event, &n->serve_again, CLOCK_BOOTTIME, 0, 10 * NM_USEC_PER_MSEC,
                                       on_serve_again, n);
    return r < 0 ? r : sd_event_source_set_enabled(n->serve_again, SD_EVENT_OFF);
}

/* ---- creation and end --------------------------------------------------------------------- */

void nm_yarn_node_set_address(struct nm_yarn_node *n, const char *host, int32_t port, int32_t web_port)
{
    bool is_first = !*n->host;

    assert(*host);
    (void)snprintf(n->host, sizeof n->host, "%s", host);
    n->port = port;
    n->web_port = web_port;
    if (n->p.logs)
        nm_yarn_logs_set_address(n->p.logs, host, port);
    if (is_first)
        prepare_adopted(n);
}

void nm_yarn_node_set_awaits_ends(struct nm_yarn_node *n, bool awaits_ends)
{
    n->awaits_ends = awaits_ends;
}

bool nm_yarn_node_must_wait(const struct nm_yarn_node *n, uint64_t memory_bytes)
{
    struct nm_status s;

    if (!n->awaits_ends)
        return false;
    nm_manager_get_summary(n->p.manager, &s);
    return nm_add_u64(s.allocated[NM_GUARANTEED].memory_bytes, memory_bytes) > s.capacity.memory_bytes;
}

void nm_yarn_node_set_reported_unhealthy(struct nm_yarn_node *n, bool reported_unhealthy)
{
    n->reported_unhealthy = reported_unhealthy;
}

void nm_yarn_node_set_rm_uses_full_size(struct nm_yarn_node *n, bool rm_uses_full_size)
{
    n->rm_uses_full_size = rm_uses_full_size;
}

int nm_yarn_node_new(const struct nm_yarn_node_params *params, struct nm_yarn_node **ret)
{
    _cleanup_(nm_yarn_node_freep) struct nm_yarn_node *n = calloc(1, sizeof *n);
    int r;

    assert(params->manager && params->settings && params->launcher && params->state_dir);
    assert(params->on_change && params->application_ended);
    if (!n)
        return -ENOMEM;
    n->p = *params;
    n->app_store = (struct nm_yarn_app_store){-1, -1};
    nm_yarn_container_table_init(&n->containers);
    r = add_sources(n);
    if (r >= 0)
        r = nm_manager_subscribe(n->p.manager, on_event, n, &n->subscription);
    if (r >= 0)
        r = nm_yarn_app_store_open(n->p.state_dir, &n->app_store);
    if (r >= 0)
        r = nm_yarn_node_load_apps(n);
    if (r >= 0)
        r = adopt_all(n);
    if (r >= 0)
        r = nm_yarn_app_store_ends(&n->app_store, adopt_early, n);
    if (r < 0)
        return r;
    nm_yarn_node_begin_counts(n);
    nm_manager_set_end_callback(n->p.manager, NM_YARN_OWNER, on_end, n);
    nm_yarn_launcher_set_known(n->p.launcher, is_known, n);
    *ret = STEAL_PTR(n);
    return 0;
}

struct nm_yarn_node *nm_yarn_node_free(struct nm_yarn_node *n)
{
    if (!n)
        return NULL;
    nm_subscription_free(n->subscription);
    nm_manager_set_end_callback(n->p.manager, NM_YARN_OWNER, NULL, NULL);
    nm_yarn_launcher_set_known(n->p.launcher, NULL, NULL);
    sd_event_source_disable_unref(n->sweep);
    sd_event_source_disable_unref(n->serve);
    sd_event_source_disable_unref(n->serve_again);
    nm_yarn_container_table_done(&n->containers);
    nm_yarn_app_store_done(&n->app_store);
    free(n);
    return NULL;
}
