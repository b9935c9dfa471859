/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A walk along a short table: with some thirty routes nothing cleverer is faster. openapi.json
 * describes the same table, and a test compares them.
 */

#include "rpc/local/routes.h"

#include "rpc/local/handlers.h"

#define CONTAINER "/v1/containers/{id}"

/* TCP: for everybody who reaches the address, so read-only and without what is private. ADMIN: for
 * administrators alone; where it is missing, the manager judges by container. The fourth column
 * lists the query parameters. */
const struct nm_route nm_routes[] = {
    {"GET", "/", NM_ROUTE_TCP, "", nm_handle_page},
    {"GET", "/metrics", NM_ROUTE_TCP, "", nm_handle_metrics},
    {"GET", "/v1/version", NM_ROUTE_TCP, "", nm_handle_version},
    {"GET", "/v1/openapi.json", NM_ROUTE_TCP, "", nm_handle_openapi},
    {"GET", "/v1/status", NM_ROUTE_TCP, "", nm_handle_status},
    {"GET", "/v1/history", NM_ROUTE_TCP, "", nm_handle_history},
    {"GET", "/v1/config", 0, "", nm_handle_config},
    {"GET", "/v1/decisions", NM_ROUTE_TCP, "limit", nm_handle_decisions},
    {"GET", "/v1/events", NM_ROUTE_TCP, "follow after", nm_handle_events},
    {"POST", "/v1/drain", NM_ROUTE_ADMIN | NM_ROUTE_BODY, "", nm_handle_drain},
    {"POST", "/v1/undrain", NM_ROUTE_ADMIN | NM_ROUTE_BODY, "", nm_handle_undrain},
    {"POST", "/v1/reload", NM_ROUTE_ADMIN | NM_ROUTE_BODY, "", nm_handle_reload},
    {"GET", "/v1/containers", NM_ROUTE_TCP, "all", nm_handle_list},
    {"POST", "/v1/containers", NM_ROUTE_BODY, "", nm_handle_submit},
    {"GET", CONTAINER, 0, "", nm_handle_show},
    {"PATCH", CONTAINER, NM_ROUTE_BODY, "", nm_handle_update},
    {"DELETE", CONTAINER, NM_ROUTE_BODY, "now", nm_handle_kill},
    {"POST", CONTAINER "/pause", NM_ROUTE_BODY, "", nm_handle_pause},
    {"POST", CONTAINER "/resume", NM_ROUTE_BODY, "", nm_handle_resume},
    {"POST", CONTAINER "/promote", NM_ROUTE_BODY, "", nm_handle_promote},
    {"POST", CONTAINER "/demote", NM_ROUTE_BODY, "", nm_handle_demote},
    {"POST", CONTAINER "/kill", NM_ROUTE_BODY, "", nm_handle_kill},
    {"GET", CONTAINER "/wait", 0, "", nm_handle_wait},
    {"GET", CONTAINER "/logs", 0, "stream follow tail", nm_handle_logs},
    {"GET", CONTAINER "/decisions", 0, "limit", nm_handle_decisions},
};

const size_t nm_n_routes = NM_ARRAY_SIZE(nm_routes);

/* Does the path fit the pattern? *ret_id is set to the segment that stands for {id}. */
static bool fits(const char *pattern, const struct nm_target *t, const char **ret_id)
{
    const char *p = pattern + 1;
    unsigned i = 0;

    for (; *p; i++) {
        size_t n = strcspn(p, "/");
        if (i == t->n_segments)
            return false;
        if (strncmp(p, "{id}", n) == 0)
            *ret_id = t->segments[i];
        else if (strlen(t->segments[i]) != n || memcmp(t->segments[i], p, n) != 0)
            return false;
        p += n + (p[n] == '/');
    }
    return i == t->n_segments;
}

static void add_method(char *allow, size_t size, const char *method)
{
    size_t len = strlen(allow);

    (void)snprintf(allow + len, size - len, "%s%s%s", len > 0 ? ", " : "", method,
                   nm_streq(method, "GET") ? ", HEAD" : "");
}

/* HEAD is GET, of whose answer the library sends no body. A path that is there under other methods
 * is told apart, with those methods, for 405 wants to know them. */
int nm_routes_find(const char *method, const struct nm_target *t, const struct nm_route **ret,
                   const char **ret_id, char *allow, size_t size)
{
    const char *wanted = nm_streq(method, "HEAD") ? "GET" : method;
    bool path = false;

    allow[0] = '\0';
    for (size_t i = 0; i < nm_n_routes; i++) {
        const char *id = NULL;
        if (!fits(nm_routes[i].pattern, t, &id))
            continue;
        if (nm_streq(nm_routes[i].method, wanted)) {
            *ret = &nm_routes[i];
            *ret_id = id;
            return 0;
        }
        path = true;
        add_method(allow, size, nm_routes[i].method);
    }
    return path ? NM_ROUTES_E_NO_METHOD : NM_ROUTES_E_NO_PATH;
}

bool nm_routes_takes_query(const struct nm_route *r, const char *name)
{
    const char *p = r->query;
    size_t len = strlen(name);

    while (*p) {
        size_t n = strcspn(p, " ");
        if (n == len && memcmp(p, name, n) == 0)
            return true;
        p += n + (p[n] == ' ');
    }
    return false;
}
