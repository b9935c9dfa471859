/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Packs and unpacks the state of an allocator that survives a restart of nmd (allocator.h), in the format of
 * asks.proto. The structures of a message are made in an arena, and their pointers lead into the table.
 */

#include <errno.h>

#include "rpc/hadoop/arena.h"
#include "yarn/allocator/allocator-state.h"
#include "yarn/allocator/asks.pb-c.h"

/* ---- packing ------------------------------------------------------------------------------------- */

static int pack_locations(const struct nm_yarn_ask_names *names, struct nm_arena *arena, Yarn__AskedLocation ***ret,
                          size_t *ret_n)
{
    Yarn__AskedLocation **list = nm_arena_alloc(arena, names->n * sizeof(*list));
    Yarn__AskedLocation *locations = nm_arena_alloc(arena, names->n * sizeof(*locations));

    if (!list || !locations)
        return -ENOMEM;
    for (size_t i = 0; i < names->n; i++) {
        const struct nm_yarn_ask_name *name = &names->list[i];

        locations[i] = (Yarn__AskedLocation)YARN__ASKED_LOCATION__INIT;
        locations[i].name = name->name;
        locations[i].has_count = 1;
        locations[i].count = name->count;
        locations[i].has_strict = !name->relax;
        locations[i].strict = !name->relax;
        list[i] = &locations[i];
    }
    *ret = list;
    *ret_n = names->n;
    return 0;
}

static int asked_of(const struct nm_yarn_ask_entry *ask, struct nm_arena *arena, Yarn__Asked **ret)
{
    Yarn__Asked *m = nm_arena_alloc(arena, sizeof *m);
    int r;

    if (!m)
        return -ENOMEM;
    *m = (Yarn__Asked)YARN__ASKED__INIT;
    m->has_priority = m->has_request = m->has_memory_mib = m->has_vcores = m->has_count = m->has_since_usec = 1;
    m->priority = ask->priority;
    m->request = ask->request_id;
    m->memory_mib = ask->size.memory_mib;
    m->vcores = ask->size.vcores;
    m->count = ask->count;
    m->since_usec = ask->since_usec;
    m->has_strict = !ask->relax;
    m->strict = !ask->relax;
    m->partition = ask->partition;
    r = pack_locations(&ask->hosts, arena, &m->hosts, &m->n_hosts);
    if (r == 0)
        r = pack_locations(&ask->racks, arena, &m->racks, &m->n_racks);
    if (r < 0)
        return r;
    *ret = m;
    return 0;
}

static int table_of(const struct nm_yarn_allocator *a, struct nm_arena *arena, Yarn__AskTable *m)
{
    int r = 0;

    m->asks = nm_arena_alloc(arena, a->asks.n * sizeof(m->asks[0]));
    m->blacklist = nm_arena_alloc(arena, a->blacklist.n * sizeof(m->blacklist[0]));
    if (!m->asks || !m->blacklist)
        return -ENOMEM;
    for (; r == 0 && m->n_asks < a->asks.n; m->n_asks++)
        r = asked_of(a->asks.list[m->n_asks], arena, &m->asks[m->n_asks]);
    for (; m->n_blacklist < a->blacklist.n; m->n_blacklist++)
        m->blacklist[m->n_blacklist] = a->blacklist.list[m->n_blacklist].name;
    return r;
}

int nm_yarn_allocator_pack(const struct nm_yarn_allocator *a, uint8_t **ret, size_t *ret_size)
{
    Yarn__AskTable m = YARN__ASK_TABLE__INIT;
    struct nm_arena arena;
    uint8_t *data;
    int r;

    nm_arena_init(&arena, SIZE_MAX, NULL);
    r = table_of(a, &arena, &m);
    if (r == 0) {
        size_t size = protobuf_c_message_get_packed_size(&m.base);

        data = malloc(size ?: 1);
        if (data) {
            *ret_size = protobuf_c_message_pack(&m.base, data);
            *ret = data;
        } else
            r = -ENOMEM;
    }
    nm_arena_done(&arena);
    return r;
}

/* ---- unpacking ------------------------------------------------------------------------------------ */

static int put_locations(struct nm_yarn_ask_table *t, struct nm_yarn_ask *ask, Yarn__AskedLocation *const *locations,
                         size_t n, bool racks)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        const Yarn__AskedLocation *p = locations[i];

        if (!p->name || (p->name[0] == '/') != racks || nm_streq(p->name, "*"))
            return -EBADMSG;
        ask->where = p->name;
        ask->count = p->count;
        ask->relax = !p->strict;
        r = nm_yarn_ask_table_put(t, ask, 0);
    }
    return r;
}

/* Adds the total count last, because the table ignores a total of 0 for an ask without hosts and racks. */
static int put_asked(struct nm_yarn_ask_table *t, const Yarn__Asked *m)
{
    struct nm_yarn_ask ask = {
        .priority = m->priority,
        .request_id = m->request,
        .size = {m->memory_mib, m->vcores},
    };
    int r = put_locations(t, &ask, m->hosts, m->n_hosts, false);

    if (r == 0)
        r = put_locations(t, &ask, m->racks, m->n_racks, true);
    if (r != 0)
        return r;
    ask.where = "*";
    ask.count = m->count;
    ask.relax = !m->strict;
    ask.partition = m->partition;
    return nm_yarn_ask_table_put(t, &ask, m->since_usec);
}

static int put_table(struct nm_yarn_allocator *a, const Yarn__AskTable *m)
{
    const struct nm_yarn_alloc_request request = {
        .blacklist = (const char *const *)m->blacklist,
        .n_blacklist = m->n_blacklist,
    };
    int r = nm_yarn_allocator_ask(a, &request, 0);

    for (size_t i = 0; r == 0 && i < m->n_asks; i++)
        r = put_asked(&a->asks, m->asks[i]);
    return r > 0 ? -EBADMSG : r;
}

int nm_yarn_allocator_restore(struct nm_bytes packed, struct nm_yarn_allocator **ret)
{
    _cleanup_(nm_yarn_allocator_freep) struct nm_yarn_allocator *a = NULL;
    const Yarn__AskTable *m;
    struct nm_arena arena;
    int r = nm_yarn_allocator_new(&a);

    if (r < 0)
        return r;
    nm_arena_init(&arena, nm_arena_limit(packed.size), NULL);
    m = (const Yarn__AskTable *)nm_arena_unpack(&arena, &yarn__ask_table__descriptor, packed);
    r = m ? put_table(a, m) : nm_arena_error(&arena);
    nm_arena_done(&arena);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(a);
    return 0;
}
