/* SPDX-License-Identifier: Apache-2.0 */

/* See memory.h. A poll makes a new memory from the old memory, and replaces the old memory only when the new one is
 * complete. */

#include "nmscale/memory.h"

#include <errno.h>

static void known_app_done(struct nm_scale_known_app *a)
{
    free(a->id);
    nm_scale_words_free(a->nodes, a->n_nodes);
}

void nm_scale_memory_done(struct nm_scale_memory *m)
{
    for (size_t i = 0; i < m->n_idle; i++)
        free(m->idle[i].node);
    for (size_t i = 0; i < m->n_apps; i++)
        known_app_done(&m->apps[i]);
    free(m->idle);
    free(m->apps);
    *m = (struct nm_scale_memory){0};
}

static int compare_word(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int compare_idle(const void *a, const void *b)
{
    return strcmp(((const struct nm_scale_idle *)a)->node, ((const struct nm_scale_idle *)b)->node);
}

static int compare_app(const void *a, const void *b)
{
    return strcmp(((const struct nm_scale_known_app *)a)->id, ((const struct nm_scale_known_app *)b)->id);
}

void nm_scale_memory_sort(struct nm_scale_memory *m)
{
    if (m->n_idle > 0)
        qsort(m->idle, m->n_idle, sizeof *m->idle, compare_idle);
    if (m->n_apps > 0)
        qsort(m->apps, m->n_apps, sizeof *m->apps, compare_app);
    for (size_t i = 0; i < m->n_apps; i++)
        if (m->apps[i].n_nodes > 0)
            qsort(m->apps[i].nodes, m->apps[i].n_nodes, sizeof *m->apps[i].nodes, compare_word);
}

/* Finds a node by binary search, because each poll searches for all nodes and applications: up to 20,000 nodes and
 * 50,000 applications. */
static struct nm_scale_idle *find_idle(const struct nm_scale_memory *m, const char *node)
{
    const struct nm_scale_idle key = {.node = (char *)node};

    return m->n_idle > 0 ? bsearch(&key, m->idle, m->n_idle, sizeof key, compare_idle) : NULL;
}

uint64_t nm_scale_memory_idle_since(const struct nm_scale_memory *m, const char *node)
{
    const struct nm_scale_idle *idle = find_idle(m, node);

    return idle ? idle->since_msec : 0;
}

void nm_scale_memory_restart(struct nm_scale_memory *m, const char *node, uint64_t now_msec)
{
    struct nm_scale_idle *idle = find_idle(m, node);

    if (idle)
        idle->since_msec = now_msec;
}

bool nm_scale_memory_was_on(const struct nm_scale_known_app *app, const char *node)
{
    return app->n_nodes > 0 && bsearch(&node, app->nodes, app->n_nodes, sizeof node, compare_word);
}

const struct nm_scale_known_app *nm_scale_memory_app(const struct nm_scale_memory *m, const char *id)
{
    const struct nm_scale_known_app key = {.id = (char *)id};

    return m->n_apps > 0 ? bsearch(&key, m->apps, m->n_apps, sizeof key, compare_app) : NULL;
}

/* Returns whether this poll continues the last poll. A clock that was set back also interrupts the sequence, so that no
 * time in the future is kept. */
static bool is_continuous(const struct nm_scale_memory *m, uint64_t now_msec, uint64_t max_gap_msec)
{
    return m->looked_msec > 0 && m->looked_msec <= now_msec && now_msec - m->looked_msec <= max_gap_msec;
}

/* Updates idle times. A node that isn't Low has no entry, so its time starts again when the node becomes Low again. */
static int update_nodes(const struct nm_scale_memory *old, struct nm_scale_memory *new,
                        const struct nm_scale_model *model, uint64_t now_msec, bool on)
{
    new->idle = calloc(model->n_nodes + 1, sizeof *new->idle);
    if (!new->idle)
        return -ENOMEM;
    for (size_t i = 0; i < model->n_nodes; i++) {
        struct nm_scale_idle *to = &new->idle[new->n_idle];
        uint64_t since;

        if (!nm_scale_is_low(&model->nodes[i]))
            continue;
        since = on ? nm_scale_memory_idle_since(old, model->nodes[i].id) : 0;
        to->since_msec = since > 0 && since <= now_msec ? since : now_msec;
        to->node = strdup(model->nodes[i].id);
        if (!to->node)
            return -ENOMEM;
        new->n_idle++;
    }
    return 0;
}

/* Merges the known and the new nodes of an application without duplicates. Nodes stay in the list until the application
 * ends, because its output stays on them after its containers have ended. An application may have thousands of
 * containers on few nodes. */
static int join(struct nm_scale_known_app *to, const struct nm_scale_known_app *before, const struct nm_scale_app *app)
{
    size_t n_before = before ? before->n_nodes : 0, n = n_before + app->n_nodes;
    _cleanup_free_ const char **all = calloc(n + 1, sizeof *all);

    to->nodes = calloc(n + 1, sizeof *to->nodes);
    if (!all || !to->nodes)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        all[i] = i < n_before ? before->nodes[i] : app->nodes[i - n_before];
    qsort(all, n, sizeof *all, compare_word);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && nm_streq(all[i], all[i - 1]))
            continue;
        to->nodes[to->n_nodes] = strdup(all[i]);
        if (!to->nodes[to->n_nodes])
            return -ENOMEM;
        to->n_nodes++;
    }
    return 0;
}

/* Updates the applications and drops ended applications. An application is `followed` if it has had no container yet.
 * It is also `followed` if the previous poll didn't list it, and each poll since then has read its nodes. */
static int update_apps(const struct nm_scale_memory *old, struct nm_scale_memory *new,
                       const struct nm_scale_model *model, bool on)
{
    new->apps = calloc(model->n_apps + 1, sizeof *new->apps);
    if (!new->apps)
        return -ENOMEM;
    for (size_t i = 0; i < model->n_apps; i++) {
        const struct nm_scale_app *app = &model->apps[i];
        const struct nm_scale_known_app *before;
        struct nm_scale_known_app *to = &new->apps[new->n_apps];
        int r;

        before = nm_scale_memory_app(old, app->id);
        to->followed = app->fresh || (on && app->seen && (!before || before->followed));
        to->id = strdup(app->id);
        if (!to->id)
            return -ENOMEM;
        new->n_apps++;
        r = join(to, before, app);
        if (r < 0)
            return r;
    }
    return 0;
}

int nm_scale_memory_update(struct nm_scale_memory *m, const struct nm_scale_model *model, uint64_t now_msec,
                           uint64_t max_gap_msec)
{
    _cleanup_(nm_scale_memory_done) struct nm_scale_memory new = {.looked_msec = now_msec};
    bool on = is_continuous(m, now_msec, max_gap_msec);
    int r = update_nodes(m, &new, model, now_msec, on);

    if (r >= 0)
        r = update_apps(m, &new, model, on);
    if (r < 0)
        return r;
    nm_scale_memory_sort(&new);
    nm_scale_memory_done(m);
    *m = new;
    new = (struct nm_scale_memory){0};
    return 0;
}
