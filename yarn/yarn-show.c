/* SPDX-License-Identifier: Apache-2.0 */

/* The upstream's status for "nmctl status", "nmctl config", the metrics and the log. */

#include "yarn/yarn-state.h"

#include <syslog.h>

const struct nm_yarn_address *nm_yarn_tracker(const struct nm_yarn *y)
{
    return y->settings->n_trackers > 0 ? &y->settings->trackers[y->tracker % y->settings->n_trackers]
                                       : &y->settings->tracker;
}

static const char *state_name(const struct nm_yarn *y)
{
    if (y->state.phase == NM_YARN_STOPPED)
        return "stopped";
    if (y->state.failures > 0)
        return "unreachable";
    return y->state.phase == NM_YARN_RUNNING ? "running" : "registering";
}

static void show(void *userdata, struct nm_upstream *ret)
{
    const struct nm_yarn *y = userdata;
    const struct nm_yarn_address *rm = nm_yarn_tracker(y);

    *ret = y->shown;
    ret->kind = "yarn";
    ret->state = state_name(y);
    (void)snprintf(ret->address, sizeof ret->address, "%s:%u", rm->host, (unsigned)rm->port);
    if (*y->host)
        (void)snprintf(ret->node, sizeof ret->node, "%s:%d", y->host, y->id.port);
    (void)snprintf(ret->trouble, sizeof ret->trouble, "%s", y->state.trouble);
    ret->sized = y->state.sized;
    ret->memory_bytes = (uint64_t)y->state.memory_mib * NM_MIB;
    ret->vcores = (uint32_t)y->state.vcores;
    if (y->hosting->proxy)
        nm_yarn_proxy_show(y->hosting->proxy, &ret->masters);
}

static json_t *show_settings(void *userdata)
{
    const struct nm_yarn *y = userdata;

    return nm_yarn_settings_to_json(y->settings);
}

/* A caller, for checks of the rights on masters' containers. */
struct looker {
    struct nm_manager *manager;
    const struct nm_caller *who;
};

static bool may_see(void *userdata, const char *master)
{
    const struct looker *l = userdata;

    return l->who->admin || nm_manager_may_see(l->manager, l->who, master);
}

static json_t *show_pipelines(void *userdata, const struct nm_caller *who, bool with_users)
{
    const struct nm_yarn *y = userdata;
    struct looker l = {y->manager, who};

    return y->hosting->proxy ? nm_yarn_proxy_show_pipelines(y->hosting->proxy, may_see, &l, with_users)
                             : json_array();
}

static json_t *show_placement(void *userdata, const struct nm_caller *who, const char *id)
{
    const struct nm_yarn *y = userdata;
    struct looker l = {y->manager, who};

    return y->hosting->proxy ? nm_yarn_proxy_show_placement(y->hosting->proxy, id, may_see, &l) : NULL;
}

const struct nm_upstream_ops nm_yarn_upstream_ops = {
    .status = show, .config = show_settings, .pipelines = show_pipelines, .placement = show_placement,
    .ask = nm_yarn_rest_ask};

nm_printf(3, 4) static void say(struct nm_yarn *y, int level, const char *format, ...)
{
    char text[700];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    y->tell(level, text);
}

void nm_yarn_show_change(struct nm_yarn *y)
{
    const struct nm_yarn_address *rm = nm_yarn_tracker(y);
    bool well = y->state.phase == NM_YARN_RUNNING && y->state.failures == 0 && y->shown.heartbeats > 0;

    if (y->state.phase == NM_YARN_STOPPED)
        say(y, LOG_WARNING, "%s; nmd goes on without it until it is started anew", y->state.trouble);
    else if (well && !y->well)
        say(y, LOG_INFO, "node %s:%d is registered with the ResourceManager at %s:%u", y->host, y->id.port, rm->host,
            (unsigned)rm->port);
    else if (!well && !y->troubled && (y->well || y->state.failures > 0))
        say(y, LOG_WARNING, "no ResourceManager at %s:%u: %s; nmd goes on, and keeps trying", rm->host,
            (unsigned)rm->port, y->state.trouble);
    y->troubled = !well && (y->troubled || y->well || y->state.failures > 0);
    y->well = well;
}
