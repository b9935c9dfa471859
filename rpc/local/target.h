/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parser of a request's target, such as "/v1/containers/web/logs?stream=stderr". It works on the raw request line,
 * because libmicrohttpd decodes leniently: "%00" would silently truncate a name.
 */

#include "agent/caller.h"

#define NM_TARGET_MAX 2000 /* bytes of path and query together */
#define NM_TARGET_SEGMENTS_MAX 8
#define NM_TARGET_QUERY_MAX 8

struct nm_target {
    char *path; /* the raw path, for messages */
    char *text; /* buffer into which the pointers below point */
    const char *segments[NM_TARGET_SEGMENTS_MAX];
    unsigned n_segments; /* 0: "/" */
    struct {
        const char *name, *value;
    } query[NM_TARGET_QUERY_MAX];
    unsigned n_query;
};

/* Returns 0, NM_AGENT_E_INVALID with *ret_problem filled in (invalid escape, control character, too long, duplicate
 * parameter), or -ENOMEM. */
int nm_target_parse(const char *raw, struct nm_target *ret, struct nm_problem *ret_problem);
void nm_target_done(struct nm_target *t);

/* Returns the value of a query parameter, or NULL. */
const char *nm_target_query(const struct nm_target *t, const char *name);
