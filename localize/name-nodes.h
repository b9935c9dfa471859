/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the name nodes of worker/work.h for the authority of a URI: SERVICE, HOST or HOST:PORT, with an optional
 * prefix. This code is separate because both nmd, which writes the list of name nodes, and nm-localizer, which reads
 * it, use it.
 *
 * The name of a service is case-sensitive. The name of a host isn't case-sensitive. Each host is listed at least once
 * with its port, which distinguishes a host from a service.
 */

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "util/host.h"

/* Finds a host, ignoring case. If the port isn't listed, returns another port of the same host, unless is_exact is
 * set. */
static inline json_t *nm_name_nodes_any_case(json_t *all, const char *prefix, const char *host, unsigned port,
                                             bool is_exact)
{
    json_t *list, *other = NULL;
    const char *key;

    json_object_foreach(all, key, list) {
        unsigned of_key;

        if (strncmp(key, prefix, strlen(prefix)) != 0 || !nm_host_is_in(key + strlen(prefix), host, &of_key))
            continue;
        if (of_key == port)
            return list;
        other = other ? other : list;
    }
    return is_exact ? NULL : other;
}

/* Finds the name nodes of an authority. NULL: the authority isn't listed. is_exact: an entry for another port of the
 * host doesn't match. */
static inline json_t *nm_name_nodes_find(json_t *all, const char *prefix, const char *host, unsigned port,
                                         bool is_exact)
{
    char key[360];
    json_t *list;

    (void)snprintf(key, sizeof key, "%s%s:%u", prefix, host, port);
    list = json_object_get(all, key);
    if (!list && !is_exact) {
        (void)snprintf(key, sizeof key, "%s%s", prefix, host);
        list = json_object_get(all, key);
    }
    return list ? list : nm_name_nodes_any_case(all, prefix, host, port, is_exact);
}
