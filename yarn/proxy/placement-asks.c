/* SPDX-License-Identifier: Apache-2.0 */

/* See placement-asks.h. */

#include "yarn/proxy/placement-asks.h"

#include "rpc/hadoop/arena.h"
#include "yarn/proxy/masters.pb-c.h"

#define OPPORTUNISTIC 2 /* value of ExecutionType */

/* The ResourceManager knows the request by its key, as an ask for "*". */
static struct nm_lend_ask ask_of(const Masters__PlacementAsk *m)
{
    const Masters__Sizing *sizing = m->sizing;
    const Hadoop__Resource *size = sizing ? sizing->resource : NULL;

    return (struct nm_lend_ask){
        .key = {m->priority ? m->priority->priority : 0, m->request_id},
        .size = {size ? size->memory : 0, size ? size->vcores : 0},
        .count = sizing ? sizing->count : 0,
        .any = true,
        .relax = true,
        .placement = true,
        .opportunistic = m->type && m->type->execution_type == OPPORTUNISTIC,
    };
}

int nm_placement_ask_parse(struct nm_bytes packed, struct nm_quota_account *account, struct nm_lend_ask *ret)
{
    const Masters__PlacementAsk *m;
    struct nm_arena a;
    int r = 0;

    nm_arena_init(&a, nm_arena_limit(packed.size), account);
    m = (const Masters__PlacementAsk *)nm_arena_unpack(&a, &masters__placement_ask__descriptor, packed);
    if (m)
        *ret = ask_of(m);
    else
        r = nm_arena_error(&a);
    nm_arena_done(&a);
    return r;
}

int nm_placement_ask_parse_rejected(struct nm_bytes packed, struct nm_quota_account *account, struct nm_lend_ask *ret)
{
    static const Masters__PlacementAsk none = MASTERS__PLACEMENT_ASK__INIT;
    const Masters__RejectedPlacement *m;
    struct nm_arena a;
    int r = 0;

    nm_arena_init(&a, nm_arena_limit(packed.size), account);
    m = (const Masters__RejectedPlacement *)nm_arena_unpack(&a, &masters__rejected_placement__descriptor, packed);
    if (m)
        *ret = ask_of(m->request ?: &none);
    else
        r = nm_arena_error(&a);
    nm_arena_done(&a);
    return r;
}
