/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Functions that build models for tests of nmscale. The model owns the added objects. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nmscale/model.h"

#define SECOND UINT64_C(1000)

static inline char *model_copy(const char *s)
{
    char *copy = strdup(s);

    assert_non_null(copy);
    return copy;
}

/* Adds a node with the id "name:1", on which 10 GiB and 10 vcores are free. */
static inline struct nm_scale_node *model_node(struct nm_scale_model *m, const char *name)
{
    char id[NM_SCALE_WORD_MAX];
    struct nm_scale_node *n;

    m->nodes = reallocarray(m->nodes, m->n_nodes + 1, sizeof *m->nodes);
    assert_non_null(m->nodes);
    (void)snprintf(id, sizeof id, "%s:1", name);
    n = &m->nodes[m->n_nodes++];
    *n = (struct nm_scale_node){
        .id = model_copy(id),
        .host = model_copy(name),
        .http = model_copy("127.0.0.1:1"),
        .label = model_copy(""),
        .state = model_copy("RUNNING"),
        .free_mb = 10240,
        .free_vcores = 10,
    };
    return n;
}

static inline void model_set(char **word, const char *value)
{
    free(*word);
    *word = model_copy(value);
}

/* Adds a container of this size to the node. */
static inline void model_use(struct nm_scale_node *n, uint64_t mb, uint64_t vcores)
{
    n->containers++;
    n->used_mb += mb;
    n->free_mb -= mb;
    n->used_vcores += vcores;
    n->free_vcores -= vcores;
}

/* Adds a running application with a container on the node, or without a container if node is NULL. */
static inline struct nm_scale_app *model_app(struct nm_scale_model *m, const char *id, const char *node)
{
    struct nm_scale_app *a;

    m->apps = reallocarray(m->apps, m->n_apps + 1, sizeof *m->apps);
    assert_non_null(m->apps);
    a = &m->apps[m->n_apps++];
    *a = (struct nm_scale_app){.id = model_copy(id), .seen = true, .n_nodes = node ? 1 : 0};
    a->nodes = calloc(1, sizeof *a->nodes);
    assert_non_null(a->nodes);
    if (node)
        a->nodes[0] = model_copy(node);
    return a;
}
