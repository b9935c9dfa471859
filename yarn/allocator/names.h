/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Names in order, each with a count: hosts or racks of an ask, or a blacklist, for which counts mean nothing. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nm_alloc_name {
    char *name;
    int32_t count;
    bool relax;
};

struct nm_alloc_names {
    struct nm_alloc_name *list;
    size_t n, allocated;
};

void nm_alloc_names_done(struct nm_alloc_names *names);
struct nm_alloc_name *nm_alloc_names_find(const struct nm_alloc_names *names, const char *name);
/* 0; 1: something is different now; -ENOMEM. */
int nm_alloc_names_put(struct nm_alloc_names *names, const char *name, int32_t count, bool relax);
/* True: it was there. */
bool nm_alloc_names_remove(struct nm_alloc_names *names, const char *name);
