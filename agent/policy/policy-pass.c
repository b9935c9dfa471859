/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Passing the head of the queue. Otherwise a head that needs more memory than is available would block all containers
 * behind it. There are three cases:
 *
 *   never fits   The head's request exceeds the resources that the system's own use leaves below the thresholds. The
 *                head can't start even after all containers have ended, so any container that fits may pass it.
 *   too large    The head could not start even without the containers that passed it. Other containers may pass the
 *                head, since they don't delay it.
 *   due          Only the containers that passed the head keep it from starting. No more containers may pass. The
 *                containers that have passed may delay the head by backfill_usec in total. Then as many of these
 *                containers are killed as necessary.
 *
 * So passing delays the head by at most backfill_usec plus the time until the killed containers have ended. Containers
 * pass only if the CPU that the head requests stays free. If CPU is the scarce resource, no container passes, since
 * containers are not killed for CPU. Application masters don't pass, because they are never victims.
 *
 * After a restart, nmd does not know which containers have passed. These containers keep running as if they had started
 * before the head was queued.
 */

#include "agent/policy/round.h"

/* Returns whether the head would fit if this much less memory were used and allocated. Of the used memory, this much is
 * lent. */
static bool fits_with_less(struct nm_round *r, const struct nm_policy_container *head,
                           const struct nm_resources *set_aside,
                           uint64_t used, uint64_t lent, uint64_t allocated)
{
    uint64_t used_now = r->used[NM_MEMORY], allocated_now = r->allocated[NM_OPPORTUNISTIC][NM_MEMORY];
    uint64_t margin_now = r->margin;
    bool fits;

    r->used[NM_MEMORY] = nm_sub_u64(used_now, used);
    r->allocated[NM_OPPORTUNISTIC][NM_MEMORY] = nm_sub_u64(allocated_now, allocated);
    r->margin = nm_sub_u64(r->surge_growth, nm_sub_u64(r->lent, lent));
    fits = nm_policy_fits(r, head, set_aside);
    r->margin = margin_now;
    r->used[NM_MEMORY] = used_now;
    r->allocated[NM_OPPORTUNISTIC][NM_MEMORY] = allocated_now;
    return fits;
}

static bool fits_without_passers(struct nm_round *r, const struct nm_policy_container *head,
                                 const struct nm_resources *set_aside)
{
    uint64_t used = 0, lent = 0, allocated = 0;
    bool any = false;

    for (uint32_t i = 0; i < r->in->n_views; i++) {
        const struct nm_policy_container *v = r->in->views[i];

        if (!nm_policy_has_passed(r, v, head))
            continue;
        used = nm_add_u64(used, r->p->estimates[i].memory_bytes);
        lent = nm_add_u64(lent, nm_policy_ends_before_surge(r, v) ? r->p->estimates[i].memory_bytes : 0);
        allocated = nm_add_u64(allocated, v->request.memory_bytes);
        any = true;
    }
    return any && fits_with_less(r, head, set_aside, used, lent, allocated);
}

bool nm_policy_never_fits(const struct nm_round *r, const struct nm_policy_container *v, enum nm_resource *ret_resource)
{
    struct nm_round empty = *r;

    empty.margin = 0;
    for (enum nm_resource k = NM_MEMORY; k < NM_RESOURCE_COUNT; k++) {
        empty.used[k] = r->s->over_allocation ? r->p->system[k] : 0;
        empty.allocated[NM_GUARANTEED][k] = empty.allocated[NM_OPPORTUNISTIC][k] = 0;
    }
    if (nm_policy_fits(&empty, v, NULL))
        return false;
    /* The plain rule permits more than the over-allocation rule does, so the resource that fails the plain rule is the
     * reason. */
    *ret_resource = nm_policy_plain_obstacle(&empty, v);
    return true;
}

/* Kills passing containers to make room for the head. Memory of containers that are already ending counts as room. */
static void kill_passing(struct nm_round *r, const struct nm_policy_container *head,
                         const struct nm_resources *set_aside)
{
    uint64_t used = r->used[NM_MEMORY], after = nm_add_u64(used, head->request.memory_bytes);
    struct nm_need room = {
        .resource = NM_MEMORY,
        .kill = true,
        .by_estimate = true,
        .max_victims = UINT32_MAX,
        .reason = NM_REASON_ROOM_FOR_HEAD,
        .head = head,
    };

    after = NM_MAX(nm_add_u64(after, set_aside->memory_bytes), nm_add_u64(after, r->margin));
    room.amount = nm_sub_u64(after, r->beta[NM_MEMORY]);
    if (r->s->over_allocation && used >= r->alpha[NM_MEMORY])
        room.amount = NM_MAX(room.amount, used - r->alpha[NM_MEMORY] + 1);
    /* If the memory in use leaves enough room, the sum of the requests is too large. Then all containers that passed
     * the head are victims. */
    room.amount = room.amount > 0 ? nm_sub_u64(room.amount, r->pending_estimate[NM_MEMORY]) : UINT64_MAX;
    if (room.amount > 0)
        (void)nm_policy_take_back(r, &room);
}

bool nm_policy_head_may_be_passed(struct nm_round *r, const struct nm_policy_container *head,
                                  const struct nm_resources *set_aside)
{
    struct nm_policy_head *h = &r->p->head;
    bool due = fits_without_passers(r, head, set_aside);

    assert(head->type == NM_OPPORTUNISTIC && nm_policy_container_queued(head));
    if (h->seq != head->seq)
        *h = (struct nm_policy_head){.seq = head->seq};
    if (due && h->due)
        h->delay_usec += nm_sub_u64(r->in->now_usec, h->at_usec);
    h->due = due;
    h->at_usec = r->in->now_usec;
    if (due && r->s->backfill_usec > 0 && h->delay_usec >= r->s->backfill_usec) {
        kill_passing(r, head, set_aside);
        *h = (struct nm_policy_head){.seq = head->seq};
    }
    return !due && r->s->backfill_usec > 0;
}

bool nm_policy_may_pass(const struct nm_round *r, const struct nm_policy_container *v,
                        const struct nm_policy_container *head,
                        const struct nm_resources *set_aside)
{
    uint64_t cpu = nm_add_u64(v->request.cpu_millicores, head->request.cpu_millicores);

    cpu = nm_add_u64(cpu, nm_add_u64(r->used[NM_CPU], set_aside->cpu_millicores));
    return !v->exempt && cpu <= r->beta[NM_CPU];
}
