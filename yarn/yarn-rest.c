/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The views that the upstream provides on a node of a cluster: the web services of Hadoop's NodeManager (/ws/v1/node
 * and the paths below it), the reason for the placement of a container, and what is lent. node/rest.h defines the
 * format of Hadoop's answers. The manager decides which containers a caller may see.
 */

#include "yarn/yarn-state.h"

#include <errno.h>
#include <string.h>

#include "util/clock.h"
#include "yarn/node/html.h"
#include "yarn/node/rest.h"

#define ILLEGAL_ARGUMENT "java.lang.IllegalArgumentException: "

struct question {
    struct nm_yarn *y;
    const struct nm_upstream_query *q;
    struct nm_yarn_viewer viewer;
    struct nm_yarn_acl_viewer acl;
    struct nm_yarn_view_rights rights;
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

/* Returns 0, or NM_AGENT_E_NOT_FOUND if the node belongs to no cluster. */
static int begin(struct question *a, void *userdata, const struct nm_upstream_query *q,
                 struct nm_problem *ret_problem)
{
    *a = (struct question){.y = userdata, .q = q, .problem = ret_problem};
    if (!a->y)
        return refuse(a, NM_AGENT_E_NOT_FOUND,
                      "This node doesn't belong to a YARN cluster, so it has no data of YARN.");
    a->viewer = (struct nm_yarn_viewer){a->y->manager, q->who};
    a->acl = (struct nm_yarn_acl_viewer){a->y, q->claimed_user};
    a->rights = (struct nm_yarn_view_rights){
        .all = q->who->admin,
        .with_users = nm_yarn_shows_users(a->y, q),
        .may_see = nm_yarn_may_see,
        .may_view = !q->with_users && a->y->settings->has_acls && q->claimed_user ? nm_yarn_may_view : NULL,
        .userdata = &a->viewer,
        .view_userdata = &a->acl,
    };
    return 0;
}

/* ---- the node ----------------------------------------------------------------------------- */

bool nm_yarn_shows_users(const struct nm_yarn *y, const struct nm_upstream_query *q)
{
    return q->with_users || y->settings->serves_logs;
}

void nm_yarn_get_size(const struct nm_yarn *y, const struct nm_status *s, int64_t *ret_memory_mib, int32_t *ret_vcores)
{
    *ret_memory_mib = y->state.sized ? y->state.memory_mib : (int64_t)(s->configured.memory_bytes / NM_MIB);
    *ret_vcores = y->state.sized ? y->state.vcores : (int32_t)(s->configured_vcores_milli / 1000);
}

/* Returns the names of all countable resources with their units, as Hadoop writes them. NULL: no memory. */
static char *list_resource_types(const struct nm_yarn_settings *s)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    (void)fputs("memory-mb (unit=Mi), vcores", f);
    for (size_t i = 0; i < s->n_resource_types; i++) {
        const struct nm_yarn_resource_type *t = &s->resource_types[i];

        (void)fprintf(f, *t->units ? ", %s (unit=%s)" : ", %s", t->name, t->units);
    }
    return nm_yarn_end_text(f, &text);
}

/* Returns the node's data, with the health that was last reported to the ResourceManager. Before the first report,
 * returns the current health. */
static int answer_node(const struct question *a, json_t **ret)
{
    const struct nm_yarn *y = a->y;
    _cleanup_free_ char *types = list_resource_types(y->settings);
    const Yarn__Health *reported = y->report.status.health;
    struct nm_status s;
    struct nm_yarn_rest_node n = {
        .host = y->host,
        .port = y->id.port,
        .yarn_version = NM_YARN_VERSION,
        .version = "nmd " NM_VERSION,
        .resource_types = types,
    };

    if (!types)
        return -ENOMEM;

    nm_manager_get_summary(y->manager, &s);
    n.healthy = reported ? reported->healthy : s.healthy;
    n.report = reported ? reported->report : s.health_reason;
    n.reported_msec = reported ? reported->reported_msec : (int64_t)(nm_realtime_usec() / 1000);
    n.started_msec = (int64_t)(s.started_realtime_usec / 1000);
    nm_yarn_get_size(y, &s, &n.memory_mib, &n.vcores);
    n.virtual_mib = n.memory_mib + (int64_t)(s.node.swap_total_bytes / NM_MIB);
    n.limits_memory = s.backend && s.backend->feature[NM_CGROUP_MEMORY_LIMITS];
    *ret = nm_yarn_rest_node(&n);
    return *ret ? 0 : -ENOMEM;
}

/* ---- applications and containers ---------------------------------------------------------- */

static int answer_applications(const struct question *a, json_t **ret)
{
    const char *state = a->q->state && *a->q->state ? a->q->state : NULL, *user = a->q->user;

    if (state && !nm_yarn_rest_is_application_state(state))
        return refuse(a, NM_AGENT_E_INVALID, "invalid state of an application: %s", state);
    if (user && !*user)
        return refuse(a, NM_AGENT_E_INVALID, "Error: You must specify a non-empty string for the user");
    /* A list that is filtered by user would reveal the user of each item, so it requires the right to see users. */
    if (user && !a->rights.with_users)
        return refuse(a, NM_AGENT_E_FORBIDDEN, "This node doesn't show the users of applications over TCP "
                                               "(nmd.web.container-logs is false).");
    *ret = nm_yarn_node_show_applications(a->y->services->node, &a->rights, state, user);
    return *ret ? 0 : -ENOMEM;
}

static int answer_application(const struct question *a, json_t **ret)
{
    static const char prefix[] = "application";
    struct nm_yarn_application_id id;

    if (strncmp(a->q->id, prefix, strlen(prefix)) != 0 || a->q->id[strlen(prefix)] != '_')
        return refuse(a, NM_AGENT_E_INVALID, ILLEGAL_ARGUMENT "Invalid ApplicationId prefix: %s. The valid "
                                             "ApplicationId should start with prefix %s", a->q->id, prefix);
    if (nm_yarn_application_id_parse(a->q->id, &id) < 0)
        return refuse(a, NM_AGENT_E_INVALID, ILLEGAL_ARGUMENT "Invalid ApplicationId: %s", a->q->id);
    if (!nm_yarn_node_show_application(a->y->services->node, &a->rights, &id, ret))
        return refuse(a, NM_AGENT_E_NOT_FOUND, "app with id %s not found", a->q->id);
    return *ret ? 0 : -ENOMEM;
}

static int answer_containers(const struct question *a, json_t **ret)
{
    *ret = nm_yarn_node_show_containers(a->y->services->node, &a->rights);
    return *ret ? 0 : -ENOMEM;
}

static int answer_container(const struct question *a, json_t **ret)
{
    struct nm_yarn_view_rights rights = a->rights;
    struct nm_yarn_log_owner of;

    if (!nm_yarn_rest_is_container_id(a->q->id))
        return refuse(a, NM_AGENT_E_INVALID, "invalid container id, %s", a->q->id);
    nm_yarn_node_find_log_owner(a->y->services->node, a->q->id, &of);
    rights.with_log_files = nm_yarn_logs_may_read(a->y, a->q, &of);
    if (!nm_yarn_node_show_container(a->y->services->node, &rights, a->q->id, ret))
        return refuse(a, NM_AGENT_E_NOT_FOUND, "container with id, %s, not found", a->q->id);
    return *ret ? 0 : -ENOMEM;
}

/* ---- resources and services --------------------------------------------------------------- */

/* Returns the node's GPUs, or an empty object, as Hadoop does for a resource without a plugin: memory, vcores,
 * countable resources, and unknown names. */
static int answer_resource(const struct question *a, json_t **ret)
{
    const bool is_gpu = a->y->settings->gpus.enabled && nm_streq(a->q->id, NM_YARN_GPU);

    *ret = is_gpu ? nm_yarn_node_show_gpu_resource(a->y->services->node, &a->rights) : json_object();
    return *ret ? 0 : -ENOMEM;
}

static int answer_services(const struct question *a, json_t **ret)
{
    (void)ret;
    return refuse(a, NM_AGENT_E_INVALID, "Auxiliary services manifest is not enabled");
}

/* ---- views -------------------------------------------------------------------------------- */

/* Defines the get() function of a view, show_NAME(). If the node belongs to a cluster, it calls answer_NAME(). */
#define VIEW(name) \
    static int show_##name(void *userdata, const struct nm_upstream_query *q, json_t **ret, \
                           struct nm_problem *ret_problem) \
    { \
        struct question a; \
        int r = begin(&a, userdata, q, ret_problem); \
\
        return r == 0 ? answer_##name(&a, ret) : r; \
    }

VIEW(node)
VIEW(applications)
VIEW(application)
VIEW(containers)
VIEW(container)
VIEW(resource)
VIEW(services)

/* Sets *ret to the record of a container, or refuses if there is none. The refusal is the same for a container that the
 * caller may not see, so it doesn't reveal whether the container exists. */
nm_printf(5, 6) static int answer_record(const struct nm_upstream_query *q, json_t *found, json_t **ret,
                                         struct nm_problem *ret_problem, const char *format, ...)
{
    va_list ap;

    if (found) {
        *ret = found;
        return 0;
    }
    *ret_problem = (struct nm_problem){.outcome = NM_AGENT_E_NOT_FOUND};
    va_start(ap, format);
    (void)vsnprintf(ret_problem->message, sizeof ret_problem->message, format, ap);
    va_end(ap);
    (void)snprintf(ret_problem->thing, sizeof ret_problem->thing, "id");
    (void)snprintf(ret_problem->value, sizeof ret_problem->value, "%s", q->id);
    return NM_AGENT_E_NOT_FOUND;
}

static int show_placement(void *userdata, const struct nm_upstream_query *q, json_t **ret,
                          struct nm_problem *ret_problem)
{
    struct nm_yarn *y = userdata;
    struct nm_yarn_viewer l = {y ? y->manager : NULL, q->who};
    json_t *found = y && y->services->proxy
                        ? nm_yarn_proxy_show_placement(y->services->proxy, q->id, nm_yarn_may_see, &l)
                        : NULL;

    return answer_record(q, found, ret, ret_problem, "This node has no record of placing container %s.", q->id);
}

static int show_lending(void *userdata, const struct nm_upstream_query *q, json_t **ret,
                        struct nm_problem *ret_problem)
{
    struct nm_yarn *y = userdata;
    struct nm_yarn_viewer l = {y ? y->manager : NULL, q->who};
    json_t *found = y && y->services->proxy
                        ? nm_yarn_proxy_show_lending(y->services->proxy, q->id, nm_yarn_may_see, &l, q->with_users)
                        : NULL;

    return answer_record(q, found, ret, ret_problem, "This node has no record of lending as container %s.", q->id);
}

const struct nm_upstream_view nm_yarn_views[NM_YARN_N_VIEWS] = {
    {"/v1/placements/{id}", show_placement},
    {"/v1/lending/{id}", show_lending},
    {"/ws/v1/node", show_node},
    {"/ws/v1/node/info", show_node},
    {"/ws/v1/node/apps", show_applications},
    {"/ws/v1/node/apps/{id}", show_application},
    {"/ws/v1/node/containers", show_containers},
    {"/ws/v1/node/containers/{id}", show_container},
    {"/ws/v1/node/resources/{id}", show_resource},
    {"/ws/v1/node/auxiliaryservices", show_services},
};
