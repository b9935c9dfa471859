/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Promotions. A promotion that the ResourceManager can't grant at once stays pending, and cannot be cancelled. If its
 * container ends, it still reserves room on the node. So a promotion is asked for only if its node has room, and has
 * had it for long enough that no other application waits for this room.
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

static struct nm_lend_history *find_history(struct nm_lend *l, const struct nm_yarn_container_id *id)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);

    return c ? &c->is : nm_lend_containers_find_ended(l, id);
}

bool nm_lend_updated(struct nm_lend *l, const struct nm_yarn_container_id *id, int32_t version,
                     const struct nm_lend_size *size)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);
    struct nm_lend_history *h = find_history(l, id);

    if (!h)
        return false;
    if (c && nm_lend_keys_size_is_valid(size))
        nm_lend_containers_resize(l, c, size);
    l->revision += h->version != version || h->master_version != version;
    h->version = h->master_version = version;
    return h->promoted_usec == 0 && h->demoted_usec == 0;
}

void nm_lend_set_version(struct nm_lend *l, const struct nm_yarn_container_id *id, int32_t version)
{
    struct nm_lend_history *h = find_history(l, id);

    if (!h || h->version == version)
        return;
    h->version = version;
    l->revision++;
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

    return c->state == NM_LEND_STATE_RUNNING && c->is.demoted_usec == 0 && c->promote_after_usec <= now_usec && node &&
           node->promoting == c->promoting && node->has_room &&
           node->room_usec <= now_usec && nm_sub_u64(now_usec, node->room_usec) <= NM_LEND_ROOM_USEC &&
           fits(&c->is.size, node->confirmed.memory_mib, node->confirmed.vcores) &&
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
        c->asks++;
        c->promote_after_usec = nm_add_u64(now_usec, NM_LEND_PENDING_USEC);
        l->revision++;
        *ret = (struct nm_lend_promotion){c->is.id, c->is.version, c->is.size};
        return 1;
    }
    return 0;
}

bool nm_lend_repeat_promotion(struct nm_lend *l, const struct nm_yarn_container_id *id)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);

    if (!c || !c->promoting)
        return false;
    c->asks++;
    return true;
}

/* Notes that no promotion of these books is outstanding, so that others on the same node can be asked for. This one
 * isn't asked for before until_usec. */
static void give_up(struct nm_lend *l, struct nm_lend_container *c, uint64_t until_usec)
{
    nm_lend_containers_set_promoting(l, c, false);
    c->asks = 0;
    c->promote_after_usec = until_usec;
    l->revision++;
}

void nm_lend_own_update(struct nm_lend *l, const struct nm_yarn_container_id *id, uint64_t now_usec)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);

    if (c)
        give_up(l, c, nm_add_u64(now_usec, NM_LEND_OWN_UPDATE_USEC));
}

static void take_from(struct nm_lend_size *room, const struct nm_lend_size *size)
{
    room->memory_mib = NM_MAX(room->memory_mib - size->memory_mib, INT64_C(0));
    room->vcores = NM_MAX(room->vcores - size->vcores, 0);
}

/* The node doesn't know of the promotion yet, so its next answer may still contain this room. But it is confirmed only
 * as far as it exceeds what is left here. */
static void take_room(struct nm_lend_place *node, const struct nm_lend_size *size)
{
    take_from(&node->room, size);
    take_from(&node->confirmed, size);
}

bool nm_lend_promoted(struct nm_lend *l, const struct nm_yarn_container_id *id, int32_t version, uint64_t now_usec)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);
    struct nm_lend_history *h = find_history(l, id);

    if (!h)
        return false;
    if (version > h->version) /* an update of the master may be in the same answer */
        nm_lend_set_version(l, id, version);
    if (c || h->demoted_usec > 0) {
        h->promoted_usec = NM_MAX(now_usec, h->demoted_usec + 1);
        l->revision++;
    }
    if (!c)
        return true;
    l->counts.promoted++;
    if (c->node)
        take_room(c->node, &c->is.size);
    if (c->is.demoted_usec > 0)
        nm_lend_containers_end(l, c); /* the master takes its own promotion to the node */
    else
        nm_lend_containers_promote(l, c);
    return true;
}

void nm_lend_set_applied(struct nm_lend *l, const struct nm_yarn_container_id *id)
{
    nm_lend_containers_drop_unapplied(l, id);
}

bool nm_lend_set_guaranteed(struct nm_lend *l, const struct nm_yarn_container_id *id, uint64_t now_usec)
{
    const struct nm_lend_container *c = nm_lend_containers_find(l, id);

    if (!c || c->is.demoted_usec > 0)
        return false;
    (void)nm_lend_promoted(l, id, c->is.version + 1, now_usec);
    nm_lend_set_applied(l, id);
    return true;
}

/* ---- demotions by the master -------------------------------------------------------------------- */

void nm_lend_demoted(struct nm_lend *l, const struct nm_yarn_container_id *id, uint64_t now_usec)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);
    struct nm_lend_history *h = find_history(l, id);

    if (!h || h->ended_usec > 0 || h->demoted_usec > h->promoted_usec)
        return;
    h->demoted_usec = NM_MAX(now_usec, h->promoted_usec + 1);
    if (c)
        give_up(l, c, 0);
    nm_lend_containers_drop_unapplied(l, id);
    l->revision++;
}

bool nm_lend_was_demoted(const struct nm_lend *l, const struct nm_yarn_container_id *id)
{
    struct nm_lend_history h;

    return nm_lend_find_history(l, id, &h) && h.demoted_usec > 0;
}

bool nm_lend_promotion_refused(struct nm_lend *l, const struct nm_yarn_container_id *id, bool outstanding,
                               uint64_t now_usec)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);

    if (nm_lend_was_demoted(l, id))
        return false;
    if (!c)
        return nm_lend_containers_find_ended(l, id);
    if (!c->was_asked)
        return false;
    if (!outstanding || c->asks < 2) {
        give_up(l, c, nm_add_u64(now_usec, NM_LEND_REFUSED_USEC));
        return true;
    }
    nm_lend_containers_set_promoting(l, c, true);
    c->promote_after_usec = nm_add_u64(now_usec, NM_LEND_PENDING_USEC);
    l->revision++;
    return true;
}
