/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds the route for a request's target: the parser of targets, the format of the table of routes (route-table.c),
 * and the search in the table. */

#include "agent/caller.h"

/* ---- targets ------------------------------------------------------------------------------ */

/*
 * Parser of a request's target, such as "/v1/containers/web/logs?stream=stderr". The parser uses the raw request line,
 * because libmicrohttpd's decoding is too lenient: "%00" would silently truncate a name.
 */

#define NM_TARGET_MAX 2000 /* bytes of path and query together */
#define NM_TARGET_SEGMENTS_MAX 8
#define NM_TARGET_QUERY_MAX 8

struct nm_target {
    char *path;            /* the raw path, for messages */
    const char *raw_query; /* the raw query without '?'; "" if there is none; in the buffer of the path */
    char *text; /* buffer into which the pointers below point */
    const char *segments[NM_TARGET_SEGMENTS_MAX];
    unsigned n_segments; /* 0: "/" */
    struct {
        const char *name, *value;
    } query[NM_TARGET_QUERY_MAX];
    unsigned n_query;
    bool has_control; /* a segment has a control character, which is valid only in the name of a file */
};

/* Returns 0, NM_AGENT_E_INVALID with *ret_problem filled in (invalid escape, control character in the query or not
 * escaped, too long, duplicate parameter), or -ENOMEM. */
int nm_target_parse(const char *raw, struct nm_target *ret, struct nm_problem *ret_problem);
void nm_target_done(struct nm_target *t);

/* Returns the value of a query parameter, or NULL. */
const char *nm_target_query(const struct nm_target *t, const char *name);

/* ---- routes ------------------------------------------------------------------------------- */

struct nm_call;
typedef int (*nm_handler_t)(struct nm_call *call);

enum nm_route_flag {
    NM_ROUTE_ADMIN =
        /* only administrators may use the route; without this flag every user may, and the manager checks access to the
         * container */
        1 << 0,
    NM_ROUTE_TCP = 1 << 1,  /* the route is also served on the read-only TCP address */
    NM_ROUTE_BODY = 1 << 2, /* the request takes a JSON body */
    NM_ROUTE_AGAIN = 1 << 3, /* the handler may suspend the call and then needs the body again */
    /* The route is part of the upstream's interface: the upstream checks ids, unknown query parameters are ignored, and
     * a trailing '/' is allowed. */
    NM_ROUTE_UPSTREAM = 1 << 4,
    NM_ROUTE_FILE = 1 << 5, /* the pattern has {file}: any name of a file, escaped control characters included */
};

struct nm_route {
    const char *method;
    const char *pattern; /* a segment may be "{id}", "{user}" or "{file}", each at most once */
    unsigned flags;
    const char *query; /* names of the query parameters, separated by spaces; "": the route has no query parameters */
    nm_handler_t handler;
};

enum nm_routes_outcome {
    NM_ROUTES_E_NO_PATH = 1,   /* 404 */
    NM_ROUTES_E_NO_METHOD = 2, /* 405 */
};

/* The segments of a target that match {id}, {user} and {file} of a pattern. NULL: the pattern has no such segment. */
struct nm_route_words {
    const char *id, *user, *file;
};

/* Finds the route for a method (HEAD counts as GET). Returns 0 and sets *ret and *ret_words. With NO_METHOD, allow
 * contains the methods of the path for the Allow header. */
int nm_routes_find(const struct nm_route *routes, size_t n, const char *method,
                   const struct nm_target *t, const struct nm_route **ret, struct nm_route_words *ret_words,
                   char *allow, size_t size);

/* Returns whether the route has a query parameter of this name. */
bool nm_routes_takes_query(const struct nm_route *r, const char *name);
