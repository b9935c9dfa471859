/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The asks of one application master, in the order of their turns. */

#include "yarn/allocator/allocator.h"
#include "yarn/allocator/names.h"

/* One ask. An ask with a count of 0 is kept, because the message for a location may arrive before the one for "*". */
struct nm_alloc_ask {
    int32_t priority;
    int64_t request_id;
    struct nm_yarn_alloc_size size;
    int32_t count;
    bool relax;
    char *partition; /* NULL: the default partition */
    struct nm_alloc_names hosts, racks;
    uint64_t since_usec; /* when the ask last started to want containers */
    bool stuck;          /* no place is left for this ask in this heartbeat */
};

struct nm_alloc_table {
    struct nm_alloc_ask **list;
    size_t n, allocated;
    size_t n_locations;
    uint64_t changes;
};

void nm_alloc_table_done(struct nm_alloc_table *t);

/* Returns false if the name is empty or too long. */
bool nm_alloc_name_is_good(const char *name);

/* Returns 0, -ENOMEM, or an outcome of allocator.h. */
int nm_alloc_table_put(struct nm_alloc_table *t, const struct nm_yarn_ask *ask, uint64_t now_usec);

/* Counts a container that the i-th ask was given because of a host, of a rack, or of neither (both NULL). Returns true
 * if the ask has all its containers: then the ask has been removed, and the next ask has the index i. */
bool nm_alloc_table_took(struct nm_alloc_table *t, size_t i, const char *host, const char *rack);

/* Returns the number of containers that are wanted. */
uint64_t nm_alloc_table_outstanding(const struct nm_alloc_table *t);
