/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The cgroup and CPU weight of nmd's helper process, nm-shuffle, which serves other hosts. In the cgroup of
 * nmd.service, the helper would have the weight of nmd. Since system.slice and the containers' slice have equal
 * weights, the helper could take half of the node's CPU from all containers together.
 *
 * The helper's cgroup is beside the slice and not in the slice, because the slice's memory.max is promised to
 * guaranteed containers. The helper's memory must not count against memory.max: the page cache that the kernel holds
 * for a slow client can't be reclaimed.
 *
 * The weight is computed as follows. In the hierarchy, the helper competes with the slice. There, a guaranteed
 * container of one CPU is worth the slice's weight divided by the capacity in CPUs. A container of one vcore, YARN's
 * smallest request, may be worth less. The helper gets half of the weight of a container of one vcore, and at most half
 * of the weight of one CPU. If containers use all CPUs, this is still up to half a CPU on a node of any size, so
 * reducers on other nodes make progress.
 */

#include "agent/node/cgroups.h"

#include <assert.h>

#define MOST_MILLICORES UINT64_C(1000)

struct nm_helper {
    struct nm_cgroup *cg; /* NULL if there is no helper */
    nm_manager_placed_cb_t placed;
    void *userdata;
};

struct nm_helper *nm_helper_new(void)
{
    return calloc(1, sizeof(struct nm_helper));
}

struct nm_helper *nm_helper_free(struct nm_helper *h)
{
    if (h)
        nm_cgroup_free(h->cg);
    free(h);
    return NULL;
}

bool nm_helper_is_attached(const struct nm_helper *h)
{
    return h->cg;
}

static struct nm_cgroup_limits limits_for(const struct nm_manager *m)
{
    const uint64_t slice = nm_cgroup_slice_read_cpu_weight(m->backend);
    const uint64_t vcore = nm_settings_vcore_millicores(m->config, &m->sampled.node, 1000);
    struct nm_cgroup_limits limits = NM_CGROUP_LIMITS_NONE;
    const uint64_t capacity = NM_MAX(m->settings.capacity.cpu_millicores, UINT64_C(1));
    const uint64_t weight = slice * (NM_MIN(vcore, MOST_MILLICORES) / 2) / capacity;

    limits.cpu_weight = (uint32_t)NM_MAX(NM_MIN(weight, slice / 2), UINT64_C(1));
    return limits;
}

static void on_placed(int result, struct nm_cgroup *cg, const char *message, void *userdata)
{
    struct nm_manager *m = userdata;

    if (cg) {
        nm_cgroup_free(m->helper->cg);
        m->helper->cg = cg;
    }
    m->helper->placed(result, message, m->helper->userdata);
}

bool nm_manager_can_attach_helper(const struct nm_manager *m)
{
    return m->backend->feature[NM_CGROUP_CPU_WEIGHT];
}

int nm_manager_attach_helper(struct nm_manager *m, const char *name, pid_t pid, nm_manager_placed_cb_t done,
                             void *userdata)
{
    const struct nm_cgroup_limits limits = limits_for(m);

    assert(name && pid > 1 && done);
    if (!nm_manager_can_attach_helper(m))
        return -EOPNOTSUPP;
    m->helper->placed = done;
    m->helper->userdata = userdata;
    return m->backend->ops->attach_helper(m->backend, name, pid, &limits, on_placed, m);
}

/* Sets the weight of the helper again. A failure is ignored: either the helper has just ended, or systemd can't be
 * reached. A restarted helper gets the current weight when nmd moves it into its cgroup. */
void nm_helper_follow(struct nm_manager *m)
{
    const struct nm_cgroup_limits limits = limits_for(m);

    if (m->helper->cg)
        (void)m->backend->ops->set_limits(m->backend, m->helper->cg, &limits, NULL, NULL);
}
