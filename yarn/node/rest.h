/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The answers of a NodeManager's web services (Hadoop 3.4.2's /ws/v1/node). Names and types are those of the classes
 * NodeInfo, AppInfo and ContainerInfo. The code is pure. All members of a class are present. A member is null if nmd
 * doesn't have the value or the viewer may not see it. Each function returns a new reference, or NULL without memory.
 * Text is cut before the first byte that isn't valid UTF-8.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct nm_yarn_rest_node {
    const char *host; /* host name; "" while the name is not known yet */
    int32_t port;
    bool healthy;
    const char *report; /* why the node is unhealthy; "" if it is healthy */
    int64_t reported_msec, started_msec;
    int64_t memory_mib, virtual_mib; /* the node's capacity for containers: memory, and memory with swap */
    int32_t vcores;
    bool limits_memory;       /* the memory of each container is limited; its address space never is */
    const char *resource_types; /* names with units: "memory-mb (unit=Mi), vcores" */
    const char *yarn_version; /* the version of Hadoop whose behaviour nmd implements */
    const char *version;      /* nmd's version */
};
json_t *nm_yarn_rest_node(const struct nm_yarn_rest_node *n);

struct nm_yarn_rest_container {
    const char *id, *state;
    int32_t exit_code;
    const char *user, *diagnostics; /* NULL: the viewer may not see this value */
    int64_t memory_mib;
    int32_t vcores;
    bool opportunistic;
    const char *logs_link; /* NULL: the viewer gets no link */
    json_t *log_files; /* an array, or JSON's null if the viewer may not see the files; the function takes ownership */
    const char *host;  /* the node's address, as in nm_yarn_rest_node */
    int32_t port;
};
json_t *nm_yarn_rest_container(const struct nm_yarn_rest_container *c);

/* ids: an array of container ids. The function takes ownership. NULL: the caller had no memory for the array. */
json_t *nm_yarn_rest_application(const char *id, const char *state, const char *user, json_t *ids);

/* Returns {"containers":{"container":[...]}} or {"apps":{"app":[...]}}. Like Java, returns {"containers":{}} or
 * {"apps":{}} for an empty list. Takes ownership of the list. more: the list is incomplete, which an additional member
 * states. */
json_t *nm_yarn_rest_list(const char *plural, const char *singular, json_t *list, bool more);

/* Java's names of application states. The first function returns the state of an application on this node. The second
 * function checks a state that a client has sent. */
const char *nm_yarn_rest_application_state(bool ended, bool has_containers);
bool nm_yarn_rest_is_application_state(const char *text);
/* Returns true if the text has the form of a container's id. The text is not parsed into numbers, because containers
 * are identified by the whole text (ids.h). */
bool nm_yarn_rest_is_container_id(const char *text);
/* Copies the id of the application from the text of a container's id, which must have the form of one. -ENAMETOOLONG */
int nm_yarn_rest_application_of(const char *container, char *buf, size_t size);
