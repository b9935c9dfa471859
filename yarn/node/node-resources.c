/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The countable resources of the node beside memory and vcores, such as licences: see node.h. The ResourceManager
 * places guaranteed containers by them, but opportunistic ones only by memory and vcores. So the node refuses an
 * opportunistic container if the other containers on the node leave too little of a resource. A guaranteed container
 * starts even if opportunistic ones then have a part of its resource: the node doesn't preempt for these resources.
 */

#include "yarn/node/node-state.h"

#include <inttypes.h>

#include "util/error.h"
#include "yarn/conf/settings-parts.h"

/* Returns the amount of this type in a message, in the units of the type. As in Hadoop, a type that is missing has the
 * amount 0. An amount that can't be converted is the largest one, which no node has. */
static int64_t amount_of(const Hadoop__Resource *r, const struct nm_yarn_resource_type *type)
{
    for (size_t i = 0; r && i < r->n_values; i++) {
        const Hadoop__ResourceValue *v = r->values[i];
        int64_t amount;

        if (!v->name || !nm_streq(v->name, type->name))
            continue;
        if (v->value <= 0)
            return 0;
        /* An older sender leaves the units out, and then counts in those of the type. */
        return nm_yarn_resource_types_convert(v->value, v->units ?: type->units, type->units, &amount) < 0 ? INT64_MAX
                                                                                                           : amount;
    }
    return 0;
}

/* Returns the sum of this type over all containers of the kind that haven't ended. */
static int64_t sum_of(const struct nm_yarn_node *n, const struct nm_yarn_resource_type *type, bool opportunistic)
{
    int64_t sum = 0;

    for (const struct nm_yarn_container *i = n->containers.first; i; i = i->next) {
        const struct nm_container *c = i->completed ? NULL : nm_yarn_container_core(i);
        const bool is_opportunistic = (c ? c->view.type : nm_yarn_token_type(i->token)) == NM_OPPORTUNISTIC;

        if (!i->completed && is_opportunistic == opportunistic &&
            __builtin_add_overflow(sum, amount_of(i->token->resource, type), &sum))
            sum = INT64_MAX;
    }
    return sum;
}

enum nm_yarn_lack nm_yarn_node_find_lack(const struct nm_yarn_node *n, const Hadoop__ContainerTokenIdentifier *token,
                                         char **ret_why)
{
    const struct nm_yarn_settings *s = n->p.settings;

    for (size_t i = 0; s && i < s->n_resource_types; i++) {
        const struct nm_yarn_resource_type *t = &s->resource_types[i];
        const int64_t wanted = amount_of(token->resource, t);
        int64_t rest;

        if (wanted == 0)
            continue;
        if (wanted > t->amount) {
            *ret_why = nm_strdup_printf("The container requests %" PRId64 "%s of the resource %s, but this node has "
                                        "%" PRId64 "%s.", wanted, t->units, t->name, t->amount, t->units);
            return NM_YARN_LACKS_ALWAYS;
        }
        if (nm_yarn_token_type(token) != NM_OPPORTUNISTIC)
            continue;
        rest = t->amount - NM_MIN(t->amount, sum_of(n, t, false));
        rest -= NM_MIN(rest, sum_of(n, t, true));
        if (wanted > rest) {
            *ret_why = nm_strdup_printf("The opportunistic container requests %" PRId64 "%s of the resource %s, of "
                                        "which %" PRId64 "%s are free on this node.", wanted, t->units, t->name, rest,
                                        t->units);
            return NM_YARN_LACKS_NOW;
        }
    }
    return NM_YARN_LACKS_NOTHING;
}

int nm_yarn_node_offer_resources(const struct nm_yarn_node *n, struct nm_arena *arena, Hadoop__Resource *r)
{
    const struct nm_yarn_settings *s = n->p.settings;
    Hadoop__ResourceValue **list, *all;

    if (s->n_resource_types == 0)
        return 0;
    list = nm_arena_alloc(arena, s->n_resource_types * sizeof *list);
    all = nm_arena_alloc(arena, s->n_resource_types * sizeof *all);
    if (!list || !all)
        return -ENOMEM;
    for (size_t i = 0; i < s->n_resource_types; i++) {
        all[i] = (Hadoop__ResourceValue)HADOOP__RESOURCE_VALUE__INIT;
        all[i].name = s->resource_types[i].name;
        all[i].units = s->resource_types[i].units;
        all[i].has_value = 1;
        all[i].value = s->resource_types[i].amount;
        list[i] = &all[i];
    }
    r->n_values = s->n_resource_types;
    r->values = list;
    return 0;
}

json_t *nm_yarn_node_show_resources(const struct nm_yarn_node *n)
{
    const struct nm_yarn_settings *s = n->p.settings;
    json_t *list = json_array();

    for (size_t i = 0; list && i < s->n_resource_types; i++) {
        const struct nm_yarn_resource_type *t = &s->resource_types[i];
        json_t *one = json_pack("{s:s, s:s, s:I, s:I, s:I}", "name", t->name, "units", t->units, "amount",
                                (json_int_t)t->amount, "guaranteed", (json_int_t)sum_of(n, t, false), "opportunistic",
                                (json_int_t)sum_of(n, t, true));

        if (json_array_append_new(list, one) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
