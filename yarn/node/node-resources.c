/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The amounts of the countable resources of the node beside memory and vcores, such as licences and GPUs: see node.h.
 * node-waiting.c gives them to containers.
 */

#include "yarn/node/node-state.h"

#include <inttypes.h>

#include "util/error.h"
#include "yarn/conf/settings-parts.h"

/* Returns the amount in a message. As in Hadoop, a type that is missing has the amount 0. An amount that can't be
 * converted is the largest one, which no node has. */
int64_t nm_yarn_resource_requested(const Hadoop__ContainerTokenIdentifier *token,
                                   const struct nm_yarn_resource_type *type)
{
    const Hadoop__Resource *r = token->resource;

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

bool nm_yarn_resource_is_gpu(const struct nm_yarn_node *n, const struct nm_yarn_resource_type *type)
{
    return n->p.settings->gpus.enabled && nm_streq(type->name, NM_YARN_GPU);
}

int64_t nm_yarn_resource_offered(const struct nm_yarn_node *n, const struct nm_yarn_resource_type *type)
{
    return nm_yarn_resource_is_gpu(n, type) ? (int64_t)n->n_gpus : type->amount;
}

bool nm_yarn_resource_is_requested(const struct nm_yarn_node *n, const Hadoop__ContainerTokenIdentifier *token)
{
    const struct nm_yarn_settings *s = n->p.settings;

    for (size_t i = 0; i < s->n_resource_types; i++)
        if (nm_yarn_resource_requested(token, &s->resource_types[i]) > 0)
            return true;
    return false;
}

static void add(int64_t *sum, int64_t amount)
{
    if (__builtin_add_overflow(*sum, amount, sum))
        *sum = INT64_MAX;
}

void nm_yarn_resource_sums(const struct nm_yarn_node *n, struct nm_yarn_held held[NM_YARN_RESOURCE_TYPES_MAX])
{
    const struct nm_yarn_settings *s = n->p.settings;

    memset(held, 0, NM_YARN_RESOURCE_TYPES_MAX * sizeof *held);
    for (const struct nm_yarn_container *i = n->containers.first; i; i = i->next) {
        const struct nm_container *c = i->completed || i->waits ? NULL : nm_yarn_container_core(i);
        const bool is_opportunistic =
            (c ? c->view.type : nm_yarn_token_type(i->token)) == NM_OPPORTUNISTIC;

        for (size_t k = 0; !i->completed && !i->waits && k < s->n_resource_types; k++)
            add(is_opportunistic ? &held[k].opportunistic : &held[k].guaranteed,
                nm_yarn_resource_requested(i->token, &s->resource_types[k]));
    }
}

char *nm_yarn_resource_find_lack(const struct nm_yarn_node *n, const Hadoop__ContainerTokenIdentifier *token)
{
    const struct nm_yarn_settings *s = n->p.settings;

    for (size_t i = 0; i < s->n_resource_types; i++) {
        const struct nm_yarn_resource_type *t = &s->resource_types[i];
        const int64_t wanted = nm_yarn_resource_requested(token, t), offered = nm_yarn_resource_offered(n, t);

        if (wanted > offered)
            return nm_strdup_printf("The container requests %" PRId64 "%s of the resource %s, but this node has "
                                    "%" PRId64 "%s.", wanted, t->units, t->name, offered, t->units);
    }
    return NULL;
}

/* The amounts of a running container seldom change, since Hadoop's ResourceManager changes only memory and vcores. The
 * ResourceManager counts the resources of guaranteed containers, but not those of opportunistic ones. A container keeps
 * the GPUs with which it was started, because its processes have opened them. */
char *nm_yarn_resource_find_conflict(const struct nm_yarn_container *i, const Hadoop__ContainerTokenIdentifier *to)
{
    const struct nm_yarn_node *n = i->node;
    const struct nm_yarn_settings *s = n->p.settings;
    struct nm_yarn_held held[NM_YARN_RESOURCE_TYPES_MAX];

    if (s->n_resource_types > 0)
        nm_yarn_resource_sums(n, held);
    for (size_t k = 0; k < s->n_resource_types; k++) {
        const struct nm_yarn_resource_type *t = &s->resource_types[k];
        const int64_t had = nm_yarn_resource_requested(i->token, t), wanted = nm_yarn_resource_requested(to, t);
        const int64_t offered = nm_yarn_resource_offered(n, t);
        int64_t rest = offered - NM_MIN(offered, held[k].guaranteed);

        rest -= NM_MIN(rest, held[k].opportunistic);
        if (wanted != had && nm_yarn_resource_is_gpu(n, t))
            return nm_strdup_printf("The number of GPUs of container %s can't be changed.", i->text);
        if (wanted > had && wanted - had > rest)
            return nm_strdup_printf("Container %s requests %" PRId64 "%s more of the resource %s, of which %" PRId64
                                    "%s are free on this node.", i->text, wanted - had, t->units, t->name, rest,
                                    t->units);
    }
    return NULL;
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
        all[i].value = nm_yarn_resource_offered(n, &s->resource_types[i]);
        list[i] = &all[i];
    }
    r->n_values = s->n_resource_types;
    r->values = list;
    return 0;
}

json_t *nm_yarn_node_show_resources(const struct nm_yarn_node *n)
{
    const struct nm_yarn_settings *s = n->p.settings;
    struct nm_yarn_held held[NM_YARN_RESOURCE_TYPES_MAX];
    json_t *list = json_array();

    if (s->n_resource_types > 0)
        nm_yarn_resource_sums(n, held);
    for (size_t i = 0; list && i < s->n_resource_types; i++) {
        const struct nm_yarn_resource_type *t = &s->resource_types[i];
        json_t *one = json_pack("{s:s, s:s, s:I, s:I, s:I}", "name", t->name, "units", t->units, "amount",
                                (json_int_t)nm_yarn_resource_offered(n, t), "guaranteed",
                                (json_int_t)held[i].guaranteed, "opportunistic", (json_int_t)held[i].opportunistic);

        if (json_array_append_new(list, one) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
