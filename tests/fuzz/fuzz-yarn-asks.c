/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes resource requests of an application master, in any order and with any numbers and names, and the table of
 * requests that an earlier nmd has stored. An accepted table must be the same after packing and unpacking. The result
 * of a heartbeat must stay within its limits.
 */

#include <stdlib.h>

#include "yarn/allocator/allocator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct nm_yarn_alloc_node nodes[] = {
    {"a", 1, NULL, "/r", "", -1},
    {"b", 2, NULL, "/r", "p", 3},
    {"c", 3, NULL, "/s", NULL, 0},
    {"d", 4, NULL, NULL, NULL, -1},
};

static void look_up(void *userdata, const struct nm_yarn_alloc_node *node, struct nm_yarn_alloc_measure *ret)
{
    const uint64_t *now_usec = userdata;

    *ret = (struct nm_yarn_alloc_measure){.kind = (enum nm_yarn_alloc_kind)(node->port % 3), .measured = node->port > 1,
                                          .admits = node->port != 3, .unused_memory_mib = (1 << 20) * node->port,
                                          .at_usec = *now_usec / 4};
}

static int64_t lendable(const void *userdata, const char *host, int32_t port)
{
    (void)userdata, (void)host;
    return port % 2 ? 1 << 20 : 0;
}

static void heartbeat(struct nm_yarn_allocator *a, uint64_t now_usec, bool fill, bool lends, bool measured)
{
    const struct nm_yarn_alloc_limits limits = {
        .min = {1, 1}, .max = {1 << 20, 64}, .increment = {7, 1}, .per_heartbeat = -1, .fill = fill,
        .queue_length = 100, .window_usec = 10, .lends = lends, .lends_to_unknown = !measured,
        .lendable = lendable};
    uint64_t before = nm_yarn_allocator_figures(a).outstanding;
    const struct nm_yarn_placement *placed;
    size_t n;

    nm_yarn_allocator_set_limits(a, &limits);
    if (nm_yarn_allocator_set_nodes(a, nodes, NM_ARRAY_SIZE(nodes)) < 0)
        abort();
    if (measured)
        nm_yarn_allocator_measure(a, now_usec, look_up, &now_usec);
    if (nm_yarn_allocator_allocate(a, now_usec, &placed, &n) < 0)
        abort();
    if (n > NM_YARN_ALLOC_HEARTBEAT_MAX || nm_yarn_allocator_figures(a).outstanding != before - n)
        abort();
    for (size_t i = 0; i < n; i++)
        if (placed[i].node->host[0] == 'c' || (lends && placed[i].node->port % 2 == 0) ||
            placed[i].size.memory_mib < 1 || placed[i].size.memory_mib > 1 << 20 ||
            placed[i].size.vcores < 1 || placed[i].size.vcores > 64)
            abort();
}

static void try_pack(const struct nm_yarn_allocator *a)
{
    struct nm_yarn_allocator *b;
    uint8_t *one, *other;
    size_t size_one, size_other;

    if (nm_yarn_allocator_pack(a, &one, &size_one) < 0 ||
        nm_yarn_allocator_restore((struct nm_bytes){one, size_one}, &b) < 0 ||
        nm_yarn_allocator_pack(b, &other, &size_other) < 0)
        abort();
    if (size_one != size_other || memcmp(one, other, size_one) != 0)
        abort();
    nm_yarn_allocator_free(b);
    free(one);
    free(other);
}

/* Tries asks. Each ask has eight bytes and a name, which ends at the next NUL. */
static void try_asks(struct nm_bytes in)
{
    struct nm_yarn_allocator *a;
    char name[300];

    if (nm_yarn_allocator_new(&a) < 0)
        abort();
    for (uint64_t now = 0; in.size >= 8; now++) {
        struct nm_bytes head = nm_bytes_take(&in, 8), rest;
        size_t length = strnlen((const char *)in.data, NM_MIN(in.size, sizeof name - 1));
        const char *host = name;
        struct nm_yarn_ask ask = {.priority = (int8_t)head.data[0], .request_id = (int8_t)head.data[1],
                                  .size = {head.data[2] * 1000 - 1, (int8_t)head.data[3]},
                                  .where = head.data[4] & 1 ? "*" : name, .partition = head.data[4] & 2 ? "p" : NULL,
                                  .relax = head.data[4] & 4};
        struct nm_yarn_alloc_request r = {.asks = &ask, .n_asks = 1, .blacklist = &host,
                                          .n_blacklist = head.data[4] & 8 ? 1 : 0};

        memcpy(&ask.count, head.data + 4, sizeof ask.count);
        rest = nm_bytes_take(&in, length);
        memcpy(name, rest.data, length);
        name[length] = 0;
        if (in.size > 0)
            (void)nm_bytes_take(&in, 1);
        if (nm_yarn_allocator_ask(a, &r, now) < 0)
            abort();
        if (head.data[4] & 16)
            heartbeat(a, now, head.data[4] & 32, head.data[4] & 64, head.data[4] & 128);
    }
    try_pack(a);
    nm_yarn_allocator_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct nm_bytes whole = {data, size};
    struct nm_yarn_allocator *a;

    try_asks(whole);
    if (nm_yarn_allocator_restore(whole, &a) < 0)
        return 0;
    try_pack(a);
    heartbeat(a, 1, true, false, false);
    try_pack(a);
    nm_yarn_allocator_free(a);
    return 0;
}
