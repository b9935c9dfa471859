/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The name nodes of work.h by what a URI has as its authority: SERVICE, HOST or HOST:PORT, maybe behind a prefix. Here
 * since nmd writes that list and nm-localizer looks into it.
 *
 * The name of a service is what it is. A host has the same name in any case, and each of them is listed with its port
 * at least, so that it can be told from a service.
 */

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "util/host.h"

/* In any case. Without that port it is another one of the same host, unless is_exact says that this isn't asked for. */
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

/* NULL: it isn't among them. is_exact: what is at another port of the host is another one. */
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
