/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a table of routes (table.c) looks like, and how one is found in it. */

#include "rpc/local/target.h"

struct nm_call;
typedef int (*nm_handler_t)(struct nm_call *call);

enum nm_route_flag {
    NM_ROUTE_ADMIN =
        1 << 0, /* administrators only; else anyone, and the manager decides by container */
    NM_ROUTE_TCP = 1 << 1,  /* also served on the read-only TCP address */
    NM_ROUTE_BODY = 1 << 2, /* takes a JSON body */
    NM_ROUTE_AGAIN = 1 << 3, /* the handler may suspend the call, and needs the body once more then */
    /* An interface of the upstream's: ids are its to judge, and what else is in the query doesn't matter, nor does a
     * '/' at the end. */
    NM_ROUTE_UPSTREAM = 1 << 4,
};

struct nm_route {
    const char *method;
    const char *pattern; /* one segment may be "{id}" */
    unsigned flags;
    const char *query; /* names of the query parameters, separated by spaces; "" for none */
    nm_handler_t handler;
};

enum nm_routes_outcome {
    NM_ROUTES_E_NO_PATH = 1,   /* 404 */
    NM_ROUTES_E_NO_METHOD = 2, /* 405 */
};

/* Finds the route for a method (HEAD counts as GET). On 0 *ret and *ret_id (or NULL: the pattern
 * has none) are set. With NO_METHOD, allow holds the methods that the path has, for the Allow
 * header. */
int nm_routes_find(const struct nm_route *routes, size_t n, const char *method,
                   const struct nm_target *t, const struct nm_route **ret, const char **ret_id,
                   char *allow, size_t size);

/* Is this one of the route's query parameters? */
bool nm_routes_takes_query(const struct nm_route *r, const char *name);
