/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Removal of cgroups without processes. A container may leave any number of cgroups below its own, but the backend
 * removes only a limited number of them in one call, because the event loop has other work. The rest is removed in
 * later turns.
 */

#include "agent/node/cgroups.h"

#include "agent/journal/containers.h"

/* Each cgroup in the list has an open descriptor. Other cgroups remain until nmd is started again. */
#define MAX_LEFTOVERS 256

int nm_cgroup_list_add(struct nm_cgroup_list *l, struct nm_cgroup *cg)
{
    struct nm_cgroup **all = reallocarray(l->all, l->n + 1, sizeof *all);

    if (!all) {
        nm_cgroup_free(cg);
        return -ENOMEM;
    }
    l->all = all;
    all[l->n++] = cg;
    return 0;
}

/* Keeps a copy, because the owner of cg frees it. */
static int keep(struct nm_manager *m, const struct nm_cgroup *cg)
{
    struct nm_cgroup *copy;
    int r;

    if (m->unowned.leftovers.n == MAX_LEFTOVERS)
        return -EBUSY;
    r = nm_cgroup_open(cg->path, cg->name, &copy);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    return nm_cgroup_list_add(&m->unowned.leftovers, copy);
}

/* Returns whether a live container uses the cgroup again. This container's end removes the cgroup. */
static bool is_used_again(struct nm_manager *m, const struct nm_cgroup *cg)
{
    const struct nm_container *c;
    char id[NM_ID_SIZE];

    if (nm_cgroup_container_id(m->backend, cg->name, id, sizeof id) < 0)
        return false;
    c = nm_lists_by_id(m, id);
    return c && nm_lists_live_of(c);
}

int nm_cgroups_remove(struct nm_manager *m, const struct nm_cgroup *cg)
{
    int r = m->backend->ops->remove(m->backend, cg);

    return r == -EBUSY ? keep(m, cg) : r;
}

/* Only one of the removals may be incomplete, which limits the time in the event loop. */
void nm_cgroups_remove_leftovers(struct nm_manager *m)
{
    struct nm_cgroup_list *l = &m->unowned.leftovers;

    for (bool is_busy = false; l->n > 0 && !is_busy;) {
        struct nm_cgroup *cg = l->all[0];

        is_busy = !is_used_again(m, cg) && m->backend->ops->remove(m->backend, cg) == -EBUSY;
        memmove(&l->all[0], &l->all[1], --l->n * sizeof(*l->all));
        if (is_busy)
            l->all[l->n++] = cg;
        else
            nm_cgroup_free(cg);
    }
}

static void free_list(struct nm_cgroup_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        nm_cgroup_free(l->all[i]);
    free(l->all);
    *l = (struct nm_cgroup_list){0};
}

void nm_cgroups_free_unowned(struct nm_manager *m)
{
    free_list(&m->unowned.orphans);
    free_list(&m->unowned.leftovers);
}
