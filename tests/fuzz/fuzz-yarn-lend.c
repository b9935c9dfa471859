/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes the books of lending that an earlier nmd has stored. Accepted books must be the same after packing and
 * unpacking, must stay within their limits, and must carry on: asks, grants and ends follow, chosen by the input's
 * first bytes.
 */

#include <stdlib.h>

#include "yarn/lend/lend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_pack(const struct nm_lend *l)
{
    struct nm_lend *b;
    uint8_t *one, *other;
    size_t size_one, size_other;

    if (nm_lend_pack(l, &one, &size_one) < 0 || nm_lend_restore((struct nm_bytes){one, size_one}, &b) < 0 ||
        nm_lend_pack(b, &other, &size_other) < 0)
        abort();
    if (size_one != size_other || memcmp(one, other, size_one) != 0)
        abort();
    nm_lend_free(b);
    free(one);
    free(other);
}

/* A later attempt takes the containers over. */
static void try_copy(const struct nm_lend *l)
{
    struct nm_lend *copy;

    if (nm_lend_new(&copy) < 0 || nm_lend_copy_containers(copy, l, NULL) < 0 ||
        nm_lend_figures(copy).lent > nm_lend_figures(l).lent)
        abort();
    try_pack(copy);
    nm_lend_free(copy);
}

static void check_key(const struct nm_lend_key_view *v, void *userdata)
{
    const struct nm_lend_figures *f = userdata;

    if (v->lent_asked > v->wanted || v->lent_asked > f->asked || v->lent > f->lent)
        abort();
    if (!nm_lend_reason_name(v->reason))
        abort();
}

static void check(const struct nm_lend *l)
{
    struct nm_lend_figures f = nm_lend_figures(l);

    if (f.keys > NM_LEND_KEYS_MAX || f.lent > NM_LEND_CONTAINERS_MAX || f.waiting > f.lent || f.lent_memory_mib < 0 ||
        f.asked_memory_mib < 0)
        abort();
    nm_lend_each_key(l, check_key, &f);
    try_pack(l);
    try_copy(l);
}

static uint32_t startable(void *userdata, const struct nm_lend_size *size)
{
    (void)userdata;
    return (uint32_t)(9000 / NM_MAX(size->memory_mib, INT64_C(1)));
}

static void make_call(struct nm_lend *l, uint8_t byte, uint64_t now_usec)
{
    const struct nm_lend_limits limits = {byte & 1 ? -1 : 4096, byte & 2 ? -1 : 4096, byte & 4 ? -1 : 4096,
                                          byte & 2 ? -1 : 2048, byte & 8, byte & 128 ? startable : NULL, NULL};
    const struct nm_lend_rule rule = {(byte >> 4) % NM_LEND_N_MODES, 100, 50};
    const struct nm_lend_ask ask = {.key = {byte % 4, -1}, .size = {1024, 1}, .count = byte % 16, .any = true,
                                    .relax = true};
    const struct nm_lend_change *changes;
    size_t n;

    nm_lend_set_rule(l, &rule);
    if ((byte & 64 && nm_lend_ask(l, &ask, 1, now_usec) < 0) || nm_lend_plan(l, &limits, now_usec, &changes, &n) < 0)
        abort();
    for (size_t i = 0; i < n; i++)
        if (changes[i].guaranteed < 0 || changes[i].opportunistic < 0)
            abort();
}

static void take_answer(struct nm_lend *l, uint8_t byte, uint64_t now_usec)
{
    const struct nm_lend_grant g = {.id = {{{1, 1}, 1}, byte % 8}, .key = {byte % 4, -1}, .size = {1024, 1},
                                    .host = "one", .port = 1, .opportunistic = byte & 32};
    const struct nm_lend_node_room room = {"one", 1, {1 << 20, 100}, now_usec};
    struct nm_lend_promotion p;
    enum nm_lend_verdict verdict;

    (void)nm_lend_begin_answer(l, byte % 4);
    if (nm_lend_granted(l, &g, now_usec, &verdict) < 0 || nm_lend_set_room(l, &room) < 0)
        abort();
    if (byte & 64)
        nm_lend_set_running(l, &g.id, true);
    else if (nm_lend_set_unknown(l, &g.id, now_usec) && nm_lend_is_lent(l, &g.id))
        abort();
    if (nm_lend_next_promotion(l, &room.guaranteed_free, now_usec, &p) > 0 && byte & 8)
        (void)nm_lend_promoted(l, &p.id, 1, now_usec);
    if (byte & 4)
        (void)nm_lend_updated(l, &g.id, byte, &(struct nm_lend_size){1024 * (byte % 7), byte % 5});
    else
        nm_lend_set_version(l, &g.id, -byte);
    if (byte & 16)
        (void)nm_lend_ended(l, &g.id, byte & 128, now_usec);
    if (byte == 255)
        nm_lend_registered(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_lend *l;

    if (nm_lend_restore((struct nm_bytes){data, size}, &l) < 0)
        return 0;
    check(l);
    for (size_t i = 0; i < size && i < 64; i++) {
        make_call(l, data[i], 50 * NM_USEC_PER_SEC * i);
        take_answer(l, data[size - 1 - i], 50 * NM_USEC_PER_SEC * i);
    }
    check(l);
    nm_lend_free(l);
    return 0;
}
