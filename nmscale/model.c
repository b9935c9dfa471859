/* SPDX-License-Identifier: Apache-2.0 */

/* See model.h. */

#include "nmscale/model.h"

void nm_scale_words_free(char **words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(words[i]);
    free(words);
}

void nm_scale_waiting_free(struct nm_scale_waiting *waiting, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(waiting[i].label);
    free(waiting);
}

static void node_done(struct nm_scale_node *n)
{
    free(n->id);
    free(n->host);
    free(n->http);
    free(n->label);
    free(n->state);
}

/* Frees a model, which may be incomplete. `answers` has as many elements as `nodes`, so it is freed before `nodes`. */
void nm_scale_model_done(struct nm_scale_model *m)
{
    for (size_t i = 0; m->answers && i < m->n_nodes; i++)
        nm_scale_words_free(m->answers[i].apps, m->answers[i].n_apps);
    for (size_t i = 0; i < m->n_nodes; i++)
        node_done(&m->nodes[i]);
    for (size_t i = 0; i < m->n_apps; i++) {
        free(m->apps[i].id);
        nm_scale_words_free(m->apps[i].nodes, m->apps[i].n_nodes);
    }
    nm_scale_waiting_free(m->waiting, m->n_waiting);
    free(m->nodes);
    free(m->apps);
    free(m->answers);
    *m = (struct nm_scale_model){0};
}

bool nm_scale_is_running(const struct nm_scale_node *n)
{
    return nm_streq(n->state, "RUNNING");
}

/* Returns whether the node is Low. All counts must be 0, because each count misses some use: the scheduler's memory
 * doesn't include opportunistic containers, and the number of containers doesn't include containers in the node's
 * queue. */
bool nm_scale_is_low(const struct nm_scale_node *n)
{
    return nm_scale_is_running(n) && n->containers == 0 && n->opportunistic == 0 && n->queued == 0 &&
           n->used_mb == 0 && n->used_vcores == 0;
}

/* Finds a node by a linear search, because searches are rare. */
const struct nm_scale_node *nm_scale_find_node(const struct nm_scale_model *m, const char *id)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        if (nm_streq(m->nodes[i].id, id))
            return &m->nodes[i];
    return NULL;
}

bool nm_scale_has_labels(const struct nm_scale_model *m)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        if (*m->nodes[i].label)
            return true;
    return false;
}

bool nm_scale_is_short(const struct nm_scale_model *m, const char *label, uint64_t mb, uint64_t vcores)
{
    for (size_t i = 0; i < m->n_waiting; i++)
        if (nm_streq(m->waiting[i].label, label))
            return m->waiting[i].mb > mb || m->waiting[i].vcores > vcores;
    return false;
}

/* Counts requests that fit. Rounds the mean size up, and requires both enough memory and enough CPU. If the
 * ResourceManager schedules by memory only, the result may be too low, and too many nodes are kept. */
uint64_t nm_scale_fits(const struct nm_scale_demand *d, uint64_t mb, uint64_t vcores)
{
    uint64_t each_mb, each_vcores, n = d->containers;

    if (n == 0)
        return 0;
    each_mb = d->mb / n + (d->mb % n != 0);
    each_vcores = d->vcores / n + (d->vcores % n != 0);
    if (each_mb > 0)
        n = NM_MIN(n, mb / each_mb);
    if (each_vcores > 0)
        n = NM_MIN(n, vcores / each_vcores);
    return n;
}
