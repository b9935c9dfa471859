/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A sorted list of names, each with a count: hosts or racks of an ask, or a blacklist, which doesn't use the counts. */

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
/* Returns 0 if the list already had this entry, 1 if the list has changed, or -ENOMEM. */
int nm_alloc_names_put(struct nm_alloc_names *names, const char *name, int32_t count, bool relax);
/* Returns true if the name was in the list. */
bool nm_alloc_names_remove(struct nm_alloc_names *names, const char *name);
