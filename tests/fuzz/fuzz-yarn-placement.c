/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes requests with placement constraints, and rejected ones in answers. The books take what was read: they must
 * neither lend it nor ask for it.
 */

#include <stdlib.h>

#include "yarn/proxy/placement-asks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_key(const struct nm_lend_key_view *v, void *userdata)
{
    (void)userdata;
    if (v->lent_asked > 0 || (v->wanted > 0 && v->reason != NM_LEND_PLACEMENT))
        abort();
}

static void try_books(const struct nm_lend_ask *ask)
{
    static const struct nm_lend_limits limits = {-1, -1, -1, -1, false, NULL, NULL};
    const struct nm_lend_change *changes;
    struct nm_lend *l;
    size_t n;

    if (nm_lend_new(&l) < 0)
        abort();
    nm_lend_set_rule(l, &(struct nm_lend_rule){.mode = NM_LEND_ALL});
    if (nm_lend_ask(l, ask, 1, 1) < 0 || nm_lend_plan(l, &limits, 1, &changes, &n) < 0 || n > 0)
        abort();
    (void)nm_lend_begin_answer(l, 1);
    nm_lend_each_key(l, check_key, NULL);
    nm_lend_rejected(l, &ask->key, 1);
    nm_lend_rejected(l, &ask->key, UINT32_MAX);
    if (nm_lend_figures(l).wanted > 0)
        abort();
    nm_lend_free(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct nm_bytes whole = {data, size};
    struct nm_lend_ask ask;

    if (nm_placement_ask_parse(whole, NULL, &ask) == 0)
        try_books(&ask);
    if (nm_placement_ask_parse_rejected(whole, NULL, &ask) == 0)
        try_books(&ask);
    return 0;
}
