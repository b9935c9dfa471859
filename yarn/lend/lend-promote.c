/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Promotions. A promotion that the ResourceManager can't grant at once stays pending, and cannot be cancelled. If its
 * container ends, it still reserves room on the node. So a promotion is asked for only if its node has room.
 */

#include "yarn/lend/lend-state.h"

void nm_lend_set_running(struct nm_lend *l, const struct nm_yarn_container_id *id, bool running)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);

    if (!c)
        return;
    nm_lend_containers_confirm(l, c); /* its node registers it with a restarted ResourceManager */
    nm_lend_containers_set_state(l, c, running ? NM_LEND_STATE_RUNNING : NM_LEND_STATE_QUEUED);
}

bool nm_lend_updated(struct nm_lend *l, const struct nm_yarn_container_id *id, int32_t version)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);

    if (!c)
        return false;
    l->revision += c->version != version;
    c->version = version;
    return true;
}

static bool fits(const struct nm_lend_size *size, int64_t memory_mib, int64_t vcores)
{
    return size->memory_mib <= memory_mib && size->vcores <= vcores;
}

static bool can_promote(const struct nm_lend *l, const struct nm_lend_container *c, const struct nm_lend_size *headroom,
                        uint64_t now_usec)
{
    const struct nm_lend_place *node = c->node;
    const int64_t memory_mib = l->promoting_memory_mib - (c->promoting ? c->is.size.memory_mib : 0);
    const int64_t vcores = l->promoting_vcores - (c->promoting ? c->is.size.vcores : 0);

    return c->state == NM_LEND_STATE_RUNNING && c->promote_after_usec <= now_usec && node &&
           node->promoting == c->promoting && node->has_room &&
           node->room_usec <= now_usec && nm_sub_u64(now_usec, node->room_usec) <= NM_LEND_ROOM_USEC &&
           fits(&c->is.size, node->room.memory_mib, node->room.vcores) &&
           fits(&c->is.size, NM_MAX(headroom->memory_mib, INT64_C(0)) - memory_mib, headroom->vcores - vcores);
}

int nm_lend_next_promotion(struct nm_lend *l, const struct nm_lend_size *headroom, uint64_t now_usec,
                           struct nm_lend_promotion *ret)
{
    if (l->newest_room_usec == 0 || nm_sub_u64(now_usec, l->newest_room_usec) > NM_LEND_ROOM_USEC)
        return 0;
    for (size_t i = 0; i < l->n_lent; i++) {
        struct nm_lend_container *c = l->by_age[i];

        if (!can_promote(l, c, headroom, now_usec))
            continue;
        nm_lend_containers_set_promoting(l, c, true);
        c->was_asked = true;
        c->promote_after_usec = nm_add_u64(now_usec, NM_LEND_PENDING_USEC);
        l->revision++;
        *ret = (struct nm_lend_promotion){c->is.id, c->version, c->is.size};
        return 1;
    }
    return 0;
}

/* The room that was known before a promotion doesn't hold any more. */
static void forget_room(struct nm_lend *l, struct nm_lend_place *node)
{
    l->n_rooms -= node->has_room;
    node->has_room = false;
    node->asked_usec = 0;
}

bool nm_lend_promoted(struct nm_lend *l, const struct nm_yarn_container_id *id, int32_t version, uint64_t now_usec)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);

    if (!c)
        return nm_lend_containers_find_ended(l, id);
    (void)version; /* a promoted container isn't updated again */
    c->is.promoted_usec = now_usec;
    l->counts.promoted++;
    if (c->node)
        forget_room(l, c->node);
    nm_lend_containers_end(l, c);
    return true;
}

bool nm_lend_promotion_refused(struct nm_lend *l, const struct nm_yarn_container_id *id, bool outstanding,
                               uint64_t now_usec)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);

    if (!c)
        return nm_lend_containers_find_ended(l, id);
    if (!c->was_asked)
        return false;
    nm_lend_containers_set_promoting(l, c, outstanding);
    c->promote_after_usec = nm_add_u64(now_usec, outstanding ? NM_LEND_PENDING_USEC : NM_LEND_REFUSED_USEC);
    l->revision++;
    return true;
}
