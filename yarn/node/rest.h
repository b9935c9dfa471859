/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the web services of a NodeManager answer (Hadoop 3.4.2's /ws/v1/node): names and types are those of its classes
 * NodeInfo, AppInfo and ContainerInfo. Pure. All of a class's members are there; what nmd hasn't got, or isn't told, is
 * null. Functions return a new reference, or NULL when memory ran out; text that isn't UTF-8 ends where it no longer
 * is.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct nm_yarn_rest_node {
    const char *host; /* "": not known yet */
    int32_t port;
    bool healthy;
    const char *report; /* why not; "" */
    int64_t reported_msec, started_msec;
    int64_t memory_mib, virtual_mib; /* what the node has for containers: memory, and that with swap */
    int32_t vcores;
    bool limits_memory;       /* each container's; of address spaces nobody's is limited */
    const char *yarn_version; /* whose node it is like */
    const char *version;      /* its own */
};
json_t *nm_yarn_rest_node(const struct nm_yarn_rest_node *n);

struct nm_yarn_rest_container {
    const char *id, *state;
    int32_t exit_code;
    const char *user, *diagnostics; /* NULL: not told */
    int64_t memory_mib;
    int32_t vcores;
    bool opportunistic;
    json_t *log_files; /* an array, or JSON's null: not told; taken */
    const char *host;  /* the node's, as above */
    int32_t port;
};
json_t *nm_yarn_rest_container(const struct nm_yarn_rest_container *c);

/* ids: an array, which is taken; NULL: there was no memory for it. */
json_t *nm_yarn_rest_application(const char *id, const char *state, const char *user, json_t *ids);

/* {"containers":{"container":[...]}}, or {"containers":{}} for an empty list, as Java's has it; likewise with "apps"
 * and "app". The list is taken. more: it has not all, which it says in a member that Java's lists don't need. */
json_t *nm_yarn_rest_list(const char *plural, const char *singular, json_t *list, bool more);

/* Java's names: of what an application that is here can be, and of all that one may ask for. */
const char *nm_yarn_rest_application_state(bool ended, bool has_containers);
bool nm_yarn_rest_is_application_state(const char *text);
/* Has it the form of a container's id? Which container it is, its text alone says (ids.h). */
bool nm_yarn_rest_is_container_id(const char *text);
