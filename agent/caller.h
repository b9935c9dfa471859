/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The caller of a request, and the result by which the agent refuses a request. All interfaces of the manager use these
 * types. */

#include <sys/types.h>

#include <stdbool.h>

#include "util/error.h"

struct nm_manager;

/* The process that sends a request, from SO_PEERCRED. admin: root, the uid nmd runs as, or a member of the admin
 * group. */
struct nm_caller {
    uid_t uid;
    gid_t gid;
    pid_t pid;
    bool admin;
};

/* Positive outcomes of requests. Each outcome has one HTTP status, the number in its comment, and one exit status of
 * nmctl. */
enum nm_agent_outcome {
    NM_AGENT_E_INVALID = 1,   /* a bad value: 400 */
    NM_AGENT_E_FORBIDDEN,     /* not permitted: 403 */
    NM_AGENT_E_NOT_FOUND,     /* no such container, or the caller may not see the container: 404 */
    NM_AGENT_E_CONFLICT,      /* impossible in the container's current state: 409 */
    NM_AGENT_E_TOO_LARGE,     /* larger than the node, or exceeds the guaranteed capacity: 422 */
    NM_AGENT_E_QUEUE_FULL,    /* the queue, or the user's part of it, is full: 429 */
    NM_AGENT_E_UNAVAILABLE,   /* draining, unhealthy, store full, too many containers: 503 */
};

/* Describes a refusal: which value was wrong, and what is allowed. A function that returns an nm_agent_outcome sets all
 * members. */
struct nm_problem {
    enum nm_agent_outcome outcome;
    char thing[48];      /* "memory", "id", "user", ... */
    char value[96];      /* the value as given, but shortened; control characters are replaced */
    char message[400];   /* one or two full sentences for a person */
};
