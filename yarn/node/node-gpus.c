/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Assigns GPUs to containers, as Hadoop's GpuResourceAllocator does: each container gets the free GPUs with the lowest
 * indexes, and keeps them until all its processes have ended. The choice is a part of the container's record, so a
 * restarted nmd has it, even if the node no longer offers these GPUs.
 */

#include "yarn/node/node-state.h"

#include "util/error.h"

static uint64_t gpus_of(const struct nm_yarn_container *i)
{
    return i->completed || !i->record->has_gpus ? 0 : i->record->gpus;
}

uint64_t nm_yarn_node_held_gpus(const struct nm_yarn_node *n)
{
    uint64_t held = 0;

    for (const struct nm_yarn_container *i = n->containers.first; i; i = i->next)
        held |= gpus_of(i);
    return held;
}

size_t nm_yarn_node_free_gpus(const struct nm_yarn_node *n, uint64_t held)
{
    size_t number = 0;

    for (size_t i = 0; i < n->n_gpus; i++)
        number += !(held >> n->gpus[i].minor & 1);
    return number;
}

/* ---- assignment --------------------------------------------------------------------------- */

/* Stores the GPUs in the record that the manager has, then in the table. */
static int put_record(struct nm_yarn_container *i, uint64_t gpus)
{
    _cleanup_(nm_yarn_record_version_freep) struct nm_yarn_record_version *old = NULL, *kept = NULL;
    _cleanup_free_ void *data = NULL;
    struct nm_problem problem;
    struct nm_blob blob;
    Yarn__Record record;
    int r = nm_yarn_container_read_record(i, &old);

    if (r < 0)
        return r;
    record = *old->record;
    record.has_gpus = 1;
    record.gpus = gpus;
    r = nm_yarn_record_repack(&record, &blob, &kept);
    if (r < 0)
        return r;
    data = blob.data;
    r = nm_manager_set_blob(i->node->p.manager, NM_YARN_OWNER, i->text, &blob, &problem);
    if (r == 0)
        nm_yarn_container_take_record(i, STEAL_PTR(kept));
    return r;
}

int nm_yarn_container_assign_gpus(struct nm_yarn_container *i, size_t number, uint64_t *held)
{
    const struct nm_yarn_node *n = i->node;
    uint64_t chosen = 0;
    int r;

    for (size_t k = 0; number > 0 && k < n->n_gpus; k++) {
        const uint64_t one = UINT64_C(1) << n->gpus[k].minor;

        if (*held & one)
            continue;
        chosen |= one;
        number--;
    }
    if (number > 0)
        return -EBUSY;
    r = put_record(i, chosen);
    if (r == 0)
        *held |= chosen;
    return r;
}

void nm_yarn_container_restrict(const struct nm_yarn_container *i)
{
    const struct nm_yarn_gpu_settings *s = &i->node->p.settings->gpus;
    struct nm_problem problem;

    if (s->enabled)
        (void)nm_manager_set_devices(i->node->p.manager, NM_YARN_OWNER, i->text, s->major, gpus_of(i), &problem);
}

/* A GPU that the node no longer offers has no index. CUDA and nvidia-smi would not find it either. */
struct nm_yarn_gpu_set nm_yarn_container_gpu_set(const struct nm_yarn_container *i)
{
    const struct nm_yarn_node *n = i->node;
    struct nm_yarn_gpu_set set = {.is_set = n->p.settings->gpus.enabled};

    set.isolated = set.is_set && nm_manager_restricts_devices(n->p.manager);
    for (size_t k = 0; k < n->n_gpus; k++)
        if (gpus_of(i) >> n->gpus[k].minor & 1)
            set.indexes[set.n++] = n->gpus[k].index;
    return set;
}

void nm_yarn_node_set_gpus(struct nm_yarn_node *n, const struct nm_yarn_gpu *list, size_t n_list)
{
    memcpy(n->gpus, list, n_list * sizeof *list);
    n->n_gpus = n_list;
    (void)sd_event_source_set_enabled(n->serve, SD_EVENT_ONESHOT);
}

/* ---- display ------------------------------------------------------------------------------ */

static const struct nm_yarn_container *holder_of(const struct nm_yarn_node *n, unsigned minor)
{
    const struct nm_yarn_container *i = n->containers.first;

    while (i && !(gpus_of(i) >> minor & 1))
        i = i->next;
    return i;
}

json_t *nm_yarn_node_show_gpus(const struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights)
{
    json_t *list = json_array();

    for (size_t k = 0; list && k < n->n_gpus; k++) {
        const struct nm_yarn_container *i = holder_of(n, n->gpus[k].minor);
        const bool shows_id = i && (rights->all || rights->may_see(rights->userdata, i->text));
        json_t *one = json_pack("{s:i, s:i, s:b, s:s?}", "index", n->gpus[k].index, "minor", n->gpus[k].minor,
                                "assigned", i != NULL, "container", shows_id ? i->text : NULL);

        if (json_array_append_new(list, one) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

json_t *nm_yarn_node_show_gpu_resource(const struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights)
{
    json_t *total = json_array(), *assigned = json_array();
    bool failed = false;

    for (size_t k = 0; k < n->n_gpus; k++) {
        const int index = n->gpus[k].index, minor = n->gpus[k].minor;
        const struct nm_yarn_container *i = holder_of(n, n->gpus[k].minor);
        const bool shows_id = i && (rights->all || rights->may_see(rights->userdata, i->text));

        failed |= json_array_append_new(total, json_pack("{s:i, s:i}", "index", index, "minorNumber", minor)) < 0;
        if (i)
            failed |= json_array_append_new(assigned, json_pack("{s:i, s:i, s:s?}", "index", index, "minorNumber",
                                                                minor, "containerId", shows_id ? i->text : NULL)) < 0;
    }
    if (failed) {
        json_decref(total);
        json_decref(assigned);
        return NULL;
    }
    return json_pack("{s:n, s:o, s:o}", "gpuDeviceInformation", "totalGpuDevices", total, "assignedGpuDevices",
                     assigned);
}

size_t nm_yarn_node_n_assigned_gpus(const struct nm_yarn_node *n)
{
    return n->n_gpus - nm_yarn_node_free_gpus(n, nm_yarn_node_held_gpus(n));
}
