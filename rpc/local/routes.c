/* SPDX-License-Identifier: Apache-2.0 */

/* Linear search: with about thirty routes other algorithms aren't faster. */

#include "rpc/local/routes.h"

#include <assert.h>

/* Returns whether the path matches the pattern. *ret_id is set to the segment that matches {id}. */
static bool fits(const struct nm_route *r, const struct nm_target *t, const char **ret_id)
{
    const char *p = r->pattern + 1;
    unsigned i = 0, n_segments = t->n_segments;

    assert(*r->pattern == '/' && n_segments <= NM_TARGET_SEGMENTS_MAX);
    if ((r->flags & NM_ROUTE_UPSTREAM) && n_segments > 1 && !*t->segments[n_segments - 1])
        n_segments--;
    for (; *p; i++) {
        size_t n = strcspn(p, "/");
        if (i == n_segments)
            return false;
        if (strncmp(p, "{id}", n) == 0)
            *ret_id = t->segments[i];
        else if (strlen(t->segments[i]) != n || memcmp(t->segments[i], p, n) != 0)
            return false;
        p += n + (p[n] == '/');
    }
    return i == n_segments;
}

static void add_method(char *allow, size_t size, const char *method)
{
    size_t len = strlen(allow);

    (void)snprintf(allow + len, size - len, "%s%s%s", len > 0 ? ", " : "", method,
                   nm_streq(method, "GET") ? ", HEAD" : "");
}

/* Finds a route. HEAD uses the route of GET; libmicrohttpd omits the body. If a path has only other methods, their
 * names are returned, because a 405 answer must list them. */
int nm_routes_find(const struct nm_route *routes, size_t n, const char *method,
                   const struct nm_target *t, const struct nm_route **ret, const char **ret_id,
                   char *allow, size_t size)
{
    const char *wanted = nm_streq(method, "HEAD") ? "GET" : method;
    bool path = false;

    assert(size > 0);
    allow[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const char *id = NULL;
        if (!fits(&routes[i], t, &id))
            continue;
        if (nm_streq(routes[i].method, wanted)) {
            *ret = &routes[i];
            *ret_id = id;
            return 0;
        }
        path = true;
        add_method(allow, size, routes[i].method);
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
