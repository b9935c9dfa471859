/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The format of the table of routes (table.c), and the search in it. */

#include "rpc/local/target.h"

struct nm_call;
typedef int (*nm_handler_t)(struct nm_call *call);

enum nm_route_flag {
    NM_ROUTE_ADMIN =
        /* for administrators only; without this flag for every user, and the manager checks access to the container */
        1 << 0,
    NM_ROUTE_TCP = 1 << 1,  /* the route is also served on the read-only TCP address */
    NM_ROUTE_BODY = 1 << 2, /* the request takes a JSON body */
    NM_ROUTE_AGAIN = 1 << 3, /* the handler may suspend the call and then needs the body again */
    /* Part of the upstream's interface: the upstream checks ids, unknown query parameters are ignored, and a trailing
     * '/' is allowed. */
    NM_ROUTE_UPSTREAM = 1 << 4,
};

struct nm_route {
    const char *method;
    const char *pattern; /* one segment may be "{id}" */
    unsigned flags;
    const char *query; /* names of the query parameters, separated by spaces; "": the route has no query parameters */
    nm_handler_t handler;
};

enum nm_routes_outcome {
    NM_ROUTES_E_NO_PATH = 1,   /* 404 */
    NM_ROUTES_E_NO_METHOD = 2, /* 405 */
};

/* Finds the route for a method (HEAD counts as GET). Returns 0 and sets *ret and *ret_id (NULL if the pattern has no
 * {id}). With NO_METHOD, allow contains the methods of the path for the Allow header. */
int nm_routes_find(const struct nm_route *routes, size_t n, const char *method,
                   const struct nm_target *t, const struct nm_route **ret, const char **ret_id,
                   char *allow, size_t size);

/* Returns whether the route has a query parameter of this name. */
bool nm_routes_takes_query(const struct nm_route *r, const char *name);
