/* SPDX-License-Identifier: Apache-2.0 */

/* The room of the node, about which other nodes ask: see node.h. */

#include "yarn/node/node-state.h"

#include "yarn/id-messages.h"

static int32_t whole(uint64_t v)
{
    return (int32_t)NM_MIN(v, (uint64_t)INT32_MAX);
}

/* Returns the vcores of the cluster's guaranteed containers. The ResourceManager counts them until it has received the
 * container's end. The manager doesn't have this number, since it treats CPU as a share. */
static uint64_t guaranteed_vcores(const struct nm_yarn_node *n)
{
    uint64_t sum = 0;

    for (const struct nm_yarn_container *i = n->containers.first; i; i = i->next)
        if (!i->end_reported && !nm_yarn_container_is_opportunistic(i, nm_yarn_container_core(i)))
            sum += (uint64_t)NM_MAX(i->token->resource->vcores, 0);
    return sum;
}

void nm_yarn_node_get_room(const struct nm_yarn_node *n, struct nm_yarn_node_room *ret)
{
    struct nm_status s;
    struct nm_room room;
    uint64_t free_bytes, vcores;

    nm_manager_get_summary(n->p.manager, &s);
    nm_manager_get_room(n->p.manager, &room);
    free_bytes = nm_sub_u64(room.offered.memory_bytes, room.guaranteed_memory_bytes);
    vcores = s.offered_vcores_milli / 1000;
    *ret = (struct nm_yarn_node_room){
        .memory_mib = (int64_t)(room.offered.memory_bytes / NM_MIB), .vcores = whole(vcores),
        .queue_length = whole(room.queue_length), .queue_max = whole(room.queue_max),
        .admits = room.admits && s.healthy && !n->reported_unhealthy};
    if (s.state == NM_NODE_DRAINING || n->reported_unhealthy)
        return;
    ret->guaranteed_free_memory_mib = (int64_t)(free_bytes / NM_MIB);
    ret->guaranteed_free_vcores = whole(nm_sub_u64(vcores, guaranteed_vcores(n)));
    ret->unused_memory_mib = (int64_t)(room.unused_memory_bytes / NM_MIB);
}

bool nm_yarn_node_has_container(const struct nm_yarn_node *n, const Hadoop__ContainerId *id, bool *ret_running,
                                bool *ret_guaranteed)
{
    const struct nm_yarn_container_id number = nm_yarn_container_of(id);
    const struct nm_yarn_container *i = nm_yarn_container_table_find(&n->containers, &number);
    const struct nm_container *c = i && !i->completed ? nm_yarn_container_core(i) : NULL;

    if (!c || c->view.state >= NM_KILLING)
        return false;
    *ret_running = c->view.state > NM_SCHEDULED;
    *ret_guaranteed = nm_yarn_token_type(i->token) == NM_GUARANTEED;
    return true;
}
