/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The web services of Hadoop's NodeManager: /ws/v1/node and the paths below it. node/rest.h defines the format of the
 * answers. The manager decides who may see which container, as everywhere.
 */

#include "yarn/yarn-state.h"

#include <errno.h>

#include "util/clock.h"
#include "yarn/node/rest.h"

struct question {
    struct nm_yarn *y;
    const struct nm_upstream_question *q;
    struct nm_yarn_look look;
    struct nm_problem *problem;
};

nm_printf(3, 4) static int refuse(const struct question *a, enum nm_agent_outcome outcome, const char *format, ...)
{
    va_list ap;

    *a->problem = (struct nm_problem){.outcome = outcome};
    va_start(ap, format);
    (void)vsnprintf(a->problem->message, sizeof a->problem->message, format, ap);
    va_end(ap);
    return (int)outcome;
}

static bool may_see(void *userdata, const char *container)
{
    const struct question *a = userdata;

    return nm_manager_may_see(a->y->manager, a->q->who, container);
}

/* ---- the node ----------------------------------------------------------------------------- */

/* Returns the node's data. Its health is the one last reported to the ResourceManager, or before the first report the
 * current one. */
static int show_node(const struct question *a, json_t **ret)
{
    const struct nm_yarn *y = a->y;
    const Yarn__Health *told = y->report.status.health;
    struct nm_status s;
    struct nm_yarn_rest_node n = {
        .host = y->host,
        .port = y->id.port,
        .yarn_version = NM_YARN_VERSION,
        .version = "nmd " NM_VERSION,
    };

    nm_manager_get_status(y->manager, &s);
    n.healthy = told ? told->healthy : s.healthy;
    n.report = told ? told->report : s.health_reason;
    n.reported_msec = told ? told->reported_msec : (int64_t)(nm_realtime_usec() / 1000);
    n.started_msec = (int64_t)(s.started_realtime_usec / 1000);
    n.memory_mib = y->state.sized ? y->state.memory_mib : (int64_t)(s.configured.memory_bytes / NM_MIB);
    n.virtual_mib = n.memory_mib + (int64_t)(s.node.swap_total_bytes / NM_MIB);
    n.vcores = y->state.sized ? y->state.vcores : (int32_t)(s.configured_vcores_milli / 1000);
    n.limits_memory = s.backend && s.backend->feature[NM_CGROUP_MEMORY_LIMITS];
    *ret = nm_yarn_rest_node(&n);
    return *ret ? 0 : -ENOMEM;
}

/* ---- applications and containers ---------------------------------------------------------- */

static int show_applications(const struct question *a, json_t **ret)
{
    const char *state = a->q->state && *a->q->state ? a->q->state : NULL, *user = a->q->user;

    if (state && !nm_yarn_rest_is_application_state(state))
        return refuse(a, NM_AGENT_E_INVALID, "an application is in no such state: %s", state);
    if (user && !*user)
        return refuse(a, NM_AGENT_E_INVALID, "Error: You must specify a non-empty string for the user");
    /* A list filtered by user reveals the owner of each item. */
    if (user && !a->q->with_users)
        return refuse(a, NM_AGENT_E_FORBIDDEN, "Whose an application is isn't told over TCP; use the UNIX socket.");
    *ret = nm_yarn_node_show_applications(a->y->hosting->node, &a->look, state, user);
    return *ret ? 0 : -ENOMEM;
}

static int show_application(const struct question *a, json_t **ret)
{
    struct nm_yarn_application_id id;

    if (nm_yarn_application_id_parse(a->q->id, &id) < 0)
        return refuse(a, NM_AGENT_E_INVALID, "Invalid ApplicationId: %s", a->q->id);
    if (!nm_yarn_node_show_application(a->y->hosting->node, &a->look, &id, ret))
        return refuse(a, NM_AGENT_E_NOT_FOUND, "app with id %s not found", a->q->id);
    return *ret ? 0 : -ENOMEM;
}

static int show_containers(const struct question *a, json_t **ret)
{
    *ret = nm_yarn_node_show_containers(a->y->hosting->node, &a->look);
    return *ret ? 0 : -ENOMEM;
}

static int show_container(const struct question *a, json_t **ret)
{
    if (!nm_yarn_rest_is_container_id(a->q->id))
        return refuse(a, NM_AGENT_E_INVALID, "invalid container id, %s", a->q->id);
    if (!nm_yarn_node_show_container(a->y->hosting->node, &a->look, a->q->id, ret))
        return refuse(a, NM_AGENT_E_NOT_FOUND, "container with id, %s, not found", a->q->id);
    return *ret ? 0 : -ENOMEM;
}

static const struct {
    const char *path;
    int (*show)(const struct question *a, json_t **ret);
} paths[] = {
    {"/ws/v1/node", show_node},
    {"/ws/v1/node/info", show_node},
    {"/ws/v1/node/apps", show_applications},
    {"/ws/v1/node/apps/{id}", show_application},
    {"/ws/v1/node/containers", show_containers},
    {"/ws/v1/node/containers/{id}", show_container},
};

int nm_yarn_rest_ask(void *userdata, const struct nm_upstream_question *q, json_t **ret,
                     struct nm_problem *ret_problem)
{
    struct question a = {.y = userdata, .q = q, .problem = ret_problem};

    a.look = (struct nm_yarn_look){q->who->admin, q->with_users, may_see, &a};
    for (size_t i = 0; i < NM_ARRAY_SIZE(paths); i++)
        if (nm_streq(q->path, paths[i].path))
            return paths[i].show(&a, ret);
    return refuse(&a, NM_AGENT_E_NOT_FOUND, "%s: there is no such path", q->path);
}
