/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The result of an operation of a backend of cgroup/. This header uses no cmocka, because tests/vm/ includes it. */

#include <stdio.h>

#include "cgroup/backend.h"

struct answer {
    unsigned n_calls;
    int result;
    struct nm_cgroup *cg;
    char message[300];
};

/* A callback of operations. userdata is a struct answer. */
static inline void on_done(int result, struct nm_cgroup *cg, const char *message, void *userdata)
{
    struct answer *a = userdata;

    a->n_calls++;
    a->result = result;
    a->cg = cg;
    (void)snprintf(a->message, sizeof a->message, "%s", message ? message : "");
}
