/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See apply.h. The exclude file is the only record of nodes that are being decommissioned. The ResourceManager itself
 * uses this file, so the record can't differ from what the ResourceManager knows, and the file outlives nmscale. The
 * mark shows which lines nmscale may remove.
 */

#include "nmscale/apply.h"

#include <errno.h>

#include "nmscale/exclude.h"
#include "util/error.h"

static void target_done(struct nm_scale_target *t)
{
    free(t->id);
    free(t->host);
    free(t->label);
}

void nm_scale_result_done(struct nm_scale_result *r)
{
    for (size_t i = 0; i < r->n; i++)
        target_done(&r->targets[i]);
    free(r->targets);
    free(r->why);
    *r = (struct nm_scale_result){0};
}

const char *nm_scale_outcome_name(enum nm_scale_outcome outcome)
{
    switch (outcome) {
    case NM_SCALE_WAITING:
        return "waiting";
    case NM_SCALE_GONE:
        return "decommissioned";
    case NM_SCALE_BACK:
        return "put-back";
    case NM_SCALE_IN_DOUBT:
        return "in-doubt";
    }
    return "unknown";
}

char **nm_scale_target_hosts(const struct nm_scale_result *res, bool waiting_only, size_t *ret_n)
{
    char **hosts = calloc(res->n + 1, sizeof *hosts);

    *ret_n = 0;
    for (size_t i = 0; hosts && i < res->n; i++)
        if (!waiting_only || res->targets[i].outcome == NM_SCALE_WAITING)
            hosts[(*ret_n)++] = res->targets[i].host;
    return hosts;
}

/* Adds a target. For a node that is being decommissioned, the ResourceManager reports only the used resources as the
 * node's size, so the capacity isn't known. `alive`: the reported figures are valid. */
static int add_target(struct nm_scale_result *res, const struct nm_scale_node *n, bool alive)
{
    struct nm_scale_target *grown = reallocarray(res->targets, res->n + 1, sizeof *grown), *t;

    if (!grown)
        return -ENOMEM;
    res->targets = grown;
    t = &grown[res->n];
    *t = (struct nm_scale_target){
        .mb = alive ? n->free_mb : 0,
        .vcores = alive ? n->free_vcores : 0,
    };
    t->id = strdup(n->id);
    t->host = strdup(n->host);
    t->label = strdup(n->label);
    if (!t->id || !t->host || !t->label) {
        target_done(t);
        return -ENOMEM;
    }
    res->n++;
    return 0;
}

/*
 * Handles hosts with nmscale's mark, by the state that the ResourceManager reports for their nodes.
 * Decommissioning: an nmscale that was killed had begun this, and the current nmscale continues.
 * Running: the file was written but the ResourceManager never read it, or the node was started again. The host's line
 * is removed first (*stale, with strings of `marked`), because the node may be needed by now. The node is then
 * evaluated like any other node.
 * Decommissioned: the node was given back, and isn't changed.
 */
static int take_over(const struct nm_scale_model *m, char *const *marked, size_t n, struct nm_scale_result *res,
                     char **stale, size_t *n_stale)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m->n_nodes; k++) {
            const struct nm_scale_node *node = &m->nodes[k];
            int r = 0;

            if (!nm_streq(node->host, marked[i]))
                continue;
            if (nm_streq(node->state, "DECOMMISSIONING")) {
                nm_diag("%s: being decommissioned since an earlier run of nmscale", node->id);
                r = add_target(res, node, false);
            } else if (nm_scale_is_running(node) && (*n_stale == 0 || stale[*n_stale - 1] != marked[i])) {
                stale[(*n_stale)++] = marked[i];
            }
            if (r < 0)
                return r;
        }
    return 0;
}

/* Adds the chosen nodes, except hosts that an administrator or another program has excluded, because nmscale must not
 * put such a host back. */
static int add_chosen(const struct nm_scale_model *m, const struct nm_scale_verdict *verdicts, const char *text,
                      struct nm_scale_result *res)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < m->n_nodes && verdicts[i].reason == NM_SCALE_GIVE; i++) {
        if (nm_scale_exclude_has(text, verdicts[i].node->host))
            nm_diag("%s: skipped, because its host is in the exclude file, but nmscale didn't put it there",
                    verdicts[i].node->id);
        else
            r = add_target(res, verdicts[i].node, true);
    }
    return r;
}

/* Returns the file's text without stale hosts. If such a node is chosen again, its host is then added as a new host. */
static int without_stale(const char *text, const struct nm_scale_model *m, struct nm_scale_result *res, char **ret)
{
    _cleanup_free_ char **stale = NULL;
    char **marked = NULL;
    size_t n_marked = 0, n_stale = 0;
    int r = nm_scale_exclude_marked(text, &marked, &n_marked);

    stale = calloc(n_marked + 1, sizeof *stale);
    if (r >= 0)
        r = stale ? take_over(m, marked, n_marked, res, stale, &n_stale) : -ENOMEM;
    if (r >= 0)
        r = (*ret = nm_scale_exclude_remove(text, stale, n_stale)) ? 0 : -ENOMEM;
    nm_scale_words_free(marked, n_marked);
    return r;
}

int nm_scale_plan(const char *exclude_file, const struct nm_scale_model *m, const struct nm_scale_verdict *verdicts,
                  struct nm_scale_result *res, char **ret_new, char **ret_message)
{
    _cleanup_free_ char *old = NULL, *kept = NULL, *new = NULL, **hosts = NULL;
    size_t n_hosts;
    int r = nm_scale_exclude_read(exclude_file, &old, ret_message);

    if (r >= 0)
        r = without_stale(old, m, res, &kept);
    if (r >= 0)
        r = add_chosen(m, verdicts, kept, res);
    if (r < 0)
        return r;
    hosts = nm_scale_target_hosts(res, false, &n_hosts);
    new = hosts ? nm_scale_exclude_add(kept, hosts, n_hosts) : NULL;
    if (!new)
        return -ENOMEM;
    *ret_new = nm_streq(old, new) ? NULL : STEAL_PTR(new);
    return 0;
}
