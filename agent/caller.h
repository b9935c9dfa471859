/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Who asks the agent for something, and how it refuses: for all audiences of the manager. */

#include <sys/types.h>

#include <stdbool.h>

#include "util/error.h"

struct nm_manager;

/* Who asks, from SO_PEERCRED. admin: root, the uid nmd runs as, or a member of the admin group. */
struct nm_caller {
    uid_t uid;
    gid_t gid;
    pid_t pid;
    bool admin;
};

/* Positive outcomes of requests; each has its HTTP status and nmctl exit code. */
enum nm_agent_outcome {
    NM_AGENT_E_INVALID = 1,   /* a bad value: 400 */
    NM_AGENT_E_FORBIDDEN,     /* may not: 403 */
    NM_AGENT_E_NOT_FOUND,     /* no such container (or not yours): 404 */
    NM_AGENT_E_CONFLICT,      /* not in a state where this is possible: 409 */
    NM_AGENT_E_TOO_LARGE,     /* larger than the node, or guaranteed capacity is taken: 422 */
    NM_AGENT_E_QUEUE_FULL,    /* 429 */
    NM_AGENT_E_UNAVAILABLE,   /* draining, unhealthy, store full, too many containers: 503 */
};

/* Filled in with every outcome: what was wrong, with which value, and what is allowed. */
struct nm_problem {
    enum nm_agent_outcome outcome;
    char thing[48];      /* "memory", "id", "user", ... */
    char value[96];      /* as given, shortened; control characters replaced */
    char message[400];   /* a whole sentence (or two) for a person */
};
