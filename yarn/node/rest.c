/* SPDX-License-Identifier: Apache-2.0 */

/* See rest.h. */

#include "yarn/node/rest.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <stdio.h>

#include "util/macros.h"
#include "util/utf8.h"

static json_t *text_of(const char *s)
{
    return s ? json_stringn(s, nm_utf8_prefix(s)) : json_null();
}

/* Formats a NodeId such as "node07:45454". */
static json_t *node_id(const char *host, int32_t port)
{
    char text[280];

    (void)snprintf(text, sizeof text, "%s:%d", host, port);
    return *host ? text_of(text) : json_null();
}

json_t *nm_yarn_rest_node(const struct nm_yarn_rest_node *n)
{
    return json_pack(
        "{s:{s:o, s:I, s:I, s:i, s:b, s:b, s:I, s:s, s:b, s:s, s:s, s:n, s:s, s:s, s:n, s:o, s:s, s:I}}", "nodeInfo",
        "healthReport", text_of(n->report), "totalVmemAllocatedContainersMB", (json_int_t)n->virtual_mib,
        "totalPmemAllocatedContainersMB", (json_int_t)n->memory_mib, "totalVCoresAllocatedContainers", n->vcores,
        "vmemCheckEnabled", 0, "pmemCheckEnabled", n->limits_memory, "lastNodeUpdateTime", (json_int_t)n->reported_msec,
        "resourceTypes", n->resource_types, "nodeHealthy", n->healthy, "nodeManagerVersion",
        n->yarn_version, "nodeManagerBuildVersion", n->version, "nodeManagerVersionBuiltOn", "hadoopVersion",
        n->yarn_version, "hadoopBuildVersion", n->version, "hadoopVersionBuiltOn", "id", node_id(n->host, n->port),
        "nodeHostName", n->host, "nmStartupTime", (json_int_t)n->started_msec);
}

/* Makes the object of a container. */
json_t *nm_yarn_rest_container(const struct nm_yarn_rest_container *c)
{
    return json_pack("{s:s, s:s, s:i, s:o, s:o, s:I, s:i, s:s, s:o, s:o, s:o}", "id", c->id, "state", c->state,
                     "exitCode", c->exit_code, "diagnostics", text_of(c->diagnostics), "user", text_of(c->user),
                     "totalMemoryNeededMB", (json_int_t)c->memory_mib, "totalVCoresNeeded", c->vcores,
                     "executionType", c->opportunistic ? "OPPORTUNISTIC" : "GUARANTEED", "containerLogsLink",
                     text_of(c->logs_link), "nodeId", node_id(c->host, c->port), "containerLogFiles", c->log_files);
}

json_t *nm_yarn_rest_application(const char *id, const char *state, const char *user, json_t *ids)
{
    return json_pack("{s:s, s:s, s:o, s:o}", "id", id, "state", state, "user", text_of(user), "containerids", ids);
}

json_t *nm_yarn_rest_list(const char *plural, const char *singular, json_t *list, bool more)
{
    if (list && json_array_size(list) == 0) {
        json_decref(list);
        return json_pack("{s:{}}", plural);
    }
    return more ? json_pack("{s:{s:o, s:b}}", plural, singular, list, "more", 1)
                : json_pack("{s:{s:o}}", plural, singular, list);
}

/* ---- names -------------------------------------------------------------------------------- */

static const char *const states[] = {
    "NEW", "INITING", "RUNNING", "FINISHING_CONTAINERS_WAIT", "APPLICATION_RESOURCES_CLEANINGUP", "FINISHED",
};
enum { RUNNING = 2, FINISHING, CLEANING_UP };

const char *nm_yarn_rest_application_state(bool ended, bool has_containers)
{
    return states[!ended ? RUNNING : has_containers ? FINISHING : CLEANING_UP];
}

bool nm_yarn_rest_is_application_state(const char *text)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(states); i++)
        if (nm_streq(text, states[i]))
            return true;
    return false;
}

/* Returns the number of digits at the start of s. */
static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

bool nm_yarn_rest_is_container_id(const char *text)
{
    const char prefix[] = "container_";
    const char *p = text + sizeof prefix - 1;

    if (strncmp(text, prefix, sizeof prefix - 1) != 0)
        return false;
    if (*p == 'e') { /* container_eEPOCH_... */
        p++;
        if (digits(p) == 0 || p[digits(p)] != '_')
            return false;
        p += digits(p) + 1;
    }
    for (unsigned part = 1; part <= 4; part++) {
        size_t n = digits(p);

        if (n == 0 || p[n] != (part < 4 ? '_' : '\0'))
            return false;
        p += n + 1;
    }
    return true;
}

int nm_yarn_rest_application_of(const char *container, char *buf, size_t size)
{
    const char *p = container + strcspn(container, "_") + 1;
    int n;

    if (*p == 'e')
        p += strcspn(p, "_") + 1;
    n = (int)(digits(p) + 1 + digits(p + digits(p) + 1));
    return snprintf(buf, size, "application_%.*s", n, p) < (int)size ? 0 : -ENAMETOOLONG;
}
