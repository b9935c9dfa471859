/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The asks of one application master, in the order of their turns. */

#include "yarn/allocator/allocator.h"
#include "yarn/allocator/names.h"

/* One without a count waits for what it will be asked for again: a location may come before its "*". */
struct nm_alloc_ask {
    int32_t priority;
    int64_t request_id;
    struct nm_yarn_alloc_size size;
    int32_t count;
    bool relax;
    char *partition; /* NULL: the default one */
    struct nm_alloc_names hosts, racks;
    uint64_t since_usec; /* it has wanted something since */
    bool stuck;          /* for the rest of this heartbeat there is no place for it */
};

struct nm_alloc_table {
    struct nm_alloc_ask **list;
    size_t n, allocated;
    size_t n_locations;
    uint64_t changes;
};

void nm_alloc_table_done(struct nm_alloc_table *t);

/* False: a name that is empty or too long. */
bool nm_alloc_name_is_good(const char *name);

/* 0, -ENOMEM, or an outcome of allocator.h's. */
int nm_alloc_table_put(struct nm_alloc_table *t, const struct nm_yarn_ask *ask, uint64_t now_usec);

/* The i-th was given a container, by its host or its rack or by neither (NULL). True: it had all that it wanted, and is
 * gone; the next has its index. */
bool nm_alloc_table_took(struct nm_alloc_table *t, size_t i, const char *host, const char *rack);

/* Containers that are wanted. */
uint64_t nm_alloc_table_outstanding(const struct nm_alloc_table *t);
