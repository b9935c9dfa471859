/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The cgroups and CPU weights of nmd's helper processes, which serve other hosts: nm-shuffle, nm-spark-shuffle, and the
 * process for auxiliary services that are written in Java. In the cgroup of nmd.service, a helper would have the weight
 * of nmd. Since system.slice and the containers' slice have equal weights, the helper could take half of the node's CPU
 * from all containers together.
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
#include <string.h>

#define MOST_MILLICORES UINT64_C(1000)
#define HELPERS_MAX 3u

/* A helper that was once attached. */
struct one {
    char name[32];        /* empty: unused */
    struct nm_cgroup *cg; /* NULL if the helper does not run */
    uint64_t memory_max_bytes; /* NM_CGROUP_NONE: no limit */
    nm_manager_placed_cb_t placed;
    void *userdata;
};

struct nm_helper {
    struct one all[HELPERS_MAX];
};

struct nm_helper *nm_helper_new(void)
{
    return calloc(1, sizeof(struct nm_helper));
}

struct nm_helper *nm_helper_free(struct nm_helper *h)
{
    for (size_t i = 0; h && i < HELPERS_MAX; i++)
        nm_cgroup_free(h->all[i].cg);
    free(h);
    return NULL;
}

/* Returns the helper with this name, or an unused place for it, or NULL. */
static struct one *find(struct nm_helper *h, const char *name)
{
    for (size_t i = 0; i < HELPERS_MAX; i++)
        if (!*h->all[i].name || nm_streq(h->all[i].name, name))
            return &h->all[i];
    return NULL;
}

bool nm_helper_is_attached(struct nm_helper *h, const char *name)
{
    const struct one *one = find(h, name);

    return one && one->cg;
}

static struct nm_cgroup_limits limits_for(const struct nm_manager *m, const struct one *one)
{
    const uint64_t slice = nm_cgroup_slice_read_cpu_weight(m->backend);
    const uint64_t vcore = nm_settings_vcore_millicores(m->config, &m->sampled.node, 1000);
    struct nm_cgroup_limits limits = NM_CGROUP_LIMITS_NONE;
    const uint64_t capacity = NM_MAX(m->settings.capacity.cpu_millicores, UINT64_C(1));
    const uint64_t weight = slice * (NM_MIN(vcore, MOST_MILLICORES) / 2) / capacity;

    limits.cpu_weight = (uint32_t)NM_MAX(NM_MIN(weight, slice / 2), UINT64_C(1));
    limits.memory_max_bytes = one->memory_max_bytes;
    return limits;
}

static void on_placed(int result, struct nm_cgroup *cg, const char *message, void *userdata)
{
    struct one *one = userdata;

    if (cg) {
        nm_cgroup_free(one->cg);
        one->cg = cg;
    }
    one->placed(result, message, one->userdata);
}

bool nm_manager_can_attach_helper(const struct nm_manager *m)
{
    return m->backend->feature[NM_CGROUP_CPU_WEIGHT];
}

int nm_manager_attach_helper(struct nm_manager *m, const char *name, pid_t pid, nm_manager_placed_cb_t done,
                             void *userdata)
{
    return nm_manager_attach_limited_helper(m, name, pid, NM_CGROUP_NONE, done, userdata);
}

int nm_manager_attach_limited_helper(struct nm_manager *m, const char *name, pid_t pid, uint64_t memory_max_bytes,
                                     nm_manager_placed_cb_t done, void *userdata)
{
    struct one *one = find(m->helper, name);
    struct nm_cgroup_limits limits;

    assert(name && pid > 1 && done);
    if (!nm_manager_can_attach_helper(m))
        return -EOPNOTSUPP;
    assert(one && strlen(name) < sizeof one->name);
    (void)strcpy(one->name, name);
    one->placed = done;
    one->userdata = userdata;
    one->memory_max_bytes = memory_max_bytes;
    limits = limits_for(m, one);
    return m->backend->ops->attach_helper(m->backend, name, pid, &limits, on_placed, one);
}

/* Sets the weights of the helpers again. A failure is ignored: either a helper has just ended, or systemd can't be
 * reached. A restarted helper gets the current weight when nmd moves it into its cgroup. */
void nm_helper_follow(struct nm_manager *m)
{
    for (size_t i = 0; i < HELPERS_MAX; i++) {
        const struct one *one = &m->helper->all[i];
        const struct nm_cgroup_limits limits = limits_for(m, one);

        if (one->cg)
            (void)m->backend->ops->set_limits(m->backend, one->cg, &limits, NULL, NULL);
    }
}
