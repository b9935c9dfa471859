/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Checks whether a container fits: the plain rule, the over-allocation rule, and the margins that apply to both.
 * policy-admit.c checks the containers at the front of the queue, policy-pass.c the containers that may pass or be
 * passed.
 */

#include "agent/policy/round.h"

static bool allocation_fits(const struct nm_round *r, const struct nm_policy_container *v, enum nm_resource k)
{
    uint64_t all = nm_add_u64(r->allocated[NM_GUARANTEED][k], r->allocated[NM_OPPORTUNISTIC][k]);

    return nm_add_u64(all, nm_resources_get(&v->request, k)) <= r->capacity[k];
}

/* Returns the use after an admission of v. `set_aside`: the amount by which resumes of paused containers will increase
 * U; or NULL. */
static uint64_t use_after(const struct nm_round *r, const struct nm_policy_container *v, enum nm_resource k,
                          const struct nm_resources *set_aside)
{
    uint64_t after = nm_add_u64(r->used[k], nm_resources_get(&v->request, k));

    return set_aside ? nm_add_u64(after, nm_resources_get(set_aside, k)) : after;
}

/* Returns whether v ends before the next surge, or fits with the surge margin still free below beta. Without a margin
 * returns true. */
bool nm_policy_fits_beside_surge(const struct nm_round *r, const struct nm_policy_container *v)
{
    uint64_t after = nm_add_u64(use_after(r, v, NM_MEMORY, NULL), r->margin);

    return r->margin == 0 || after <= r->beta[NM_MEMORY] || nm_policy_ends_before_surge(r, v);
}

static bool fits_plain_in(const struct nm_round *r, const struct nm_policy_container *v, enum nm_resource k,
                          const struct nm_resources *set_aside)
{
    return allocation_fits(r, v, k) && r->used[k] < r->beta[k] && use_after(r, v, k, set_aside) <= r->capacity[k];
}

bool nm_policy_fits_plain(const struct nm_round *r, const struct nm_policy_container *v,
                          const struct nm_resources *set_aside)
{
    return fits_plain_in(r, v, NM_MEMORY, set_aside) && fits_plain_in(r, v, NM_CPU, set_aside);
}

enum nm_resource nm_policy_plain_obstacle(const struct nm_round *r, const struct nm_policy_container *v)
{
    return fits_plain_in(r, v, NM_MEMORY, NULL) ? NM_CPU : NM_MEMORY;
}

/* Returns the use after an admission of v as the over-allocation rule counts it. */
static uint64_t shared_use_after(const struct nm_round *r, const struct nm_policy_container *v, enum nm_resource k,
                                 const struct nm_resources *set_aside)
{
    uint64_t after = use_after(r, v, k, set_aside);

    if (k != NM_CPU || !r->shares_cpu)
        return after;
    return nm_sub_u64(after, v->request.cpu_millicores - v->request.cpu_millicores / NM_CPU_FREE_PART);
}

/* Returns NM_REASON_NONE if v fits by the over-allocation rule. Otherwise returns the first condition that fails, and
 * its resource. */
enum nm_reason nm_policy_over_allocation_reason(const struct nm_round *r, const struct nm_policy_container *v,
                                                const struct nm_resources *set_aside,
                                                enum nm_resource *ret_resource)
{
    for (*ret_resource = NM_MEMORY; *ret_resource < NM_RESOURCE_COUNT; ++*ret_resource)
        if (r->used[*ret_resource] >= r->alpha[*ret_resource])
            return NM_REASON_OVER_ALPHA;
    for (*ret_resource = NM_MEMORY; *ret_resource < NM_RESOURCE_COUNT; ++*ret_resource)
        if (shared_use_after(r, v, *ret_resource, NULL) > r->beta[*ret_resource])
            return NM_REASON_WOULD_EXCEED_BETA;
    for (*ret_resource = NM_MEMORY; *ret_resource < NM_RESOURCE_COUNT; ++*ret_resource)
        if (shared_use_after(r, v, *ret_resource, set_aside) > r->beta[*ret_resource])
            return NM_REASON_PAUSED_FIRST;
    *ret_resource = NM_MEMORY;
    return nm_policy_fits_beside_surge(r, v) ? NM_REASON_NONE : NM_REASON_SURGE_MARGIN;
}

enum nm_reason nm_policy_plain_reason(const struct nm_round *r, const struct nm_policy_container *v,
                                      enum nm_resource *ret_resource)
{
    for (*ret_resource = NM_MEMORY; *ret_resource < NM_RESOURCE_COUNT; ++*ret_resource)
        if (!allocation_fits(r, v, *ret_resource))
            return NM_REASON_ALLOCATION_FULL;
    for (*ret_resource = NM_MEMORY; *ret_resource < NM_RESOURCE_COUNT; ++*ret_resource)
        if (use_after(r, v, *ret_resource, NULL) > r->capacity[*ret_resource])
            return NM_REASON_WOULD_EXCEED_BETA;
    *ret_resource = NM_CPU;
    return NM_REASON_PAUSED_FIRST;
}

/* Returns the resource on which the node would be fullest afterwards, for messages. */
enum nm_resource nm_policy_tightest(const struct nm_round *r, const struct nm_policy_container *v)
{
    double memory =
        (double)use_after(r, v, NM_MEMORY, NULL) / (double)NM_MAX(r->capacity[NM_MEMORY], UINT64_C(1));
    double cpu =
        (double)use_after(r, v, NM_CPU, NULL) / (double)NM_MAX(r->capacity[NM_CPU], UINT64_C(1));

    return cpu > memory ? NM_CPU : NM_MEMORY;
}

bool nm_policy_fits(const struct nm_round *r, const struct nm_policy_container *v, const struct nm_resources *set_aside)
{
    static const struct nm_resources nothing;
    enum nm_resource resource;

    return (nm_policy_fits_plain(r, v, set_aside) && nm_policy_fits_beside_surge(r, v)) ||
           (r->s->over_allocation &&
            nm_policy_over_allocation_reason(r, v, set_aside ? set_aside : &nothing, &resource) == NM_REASON_NONE);
}

/* Returns whether the use of each resource is below this limit. */
static bool is_below(const struct nm_round *r, const uint64_t limit[NM_RESOURCE_COUNT])
{
    return r->used[NM_MEMORY] < limit[NM_MEMORY] && r->used[NM_CPU] < limit[NM_CPU];
}

static uint64_t plain_room(const struct nm_round *r, const struct nm_resources *set_aside)
{
    uint64_t allocated = nm_add_u64(r->allocated[NM_GUARANTEED][NM_MEMORY], r->allocated[NM_OPPORTUNISTIC][NM_MEMORY]);
    uint64_t used = nm_add_u64(r->used[NM_MEMORY], set_aside->memory_bytes);

    return is_below(r, r->beta) ? nm_sub_u64(r->capacity[NM_MEMORY], NM_MAX(allocated, used)) : 0;
}

static uint64_t over_allocation_room(const struct nm_round *r, const struct nm_resources *set_aside)
{
    uint64_t used = nm_add_u64(r->used[NM_MEMORY], set_aside->memory_bytes);

    return r->s->over_allocation && is_below(r, r->alpha) ? nm_sub_u64(r->beta[NM_MEMORY], used) : 0;
}

uint64_t nm_policy_room(const struct nm_round *r, const struct nm_resources *set_aside)
{
    uint64_t room = NM_MAX(plain_room(r, set_aside), over_allocation_room(r, set_aside));
    uint64_t beside_surge = nm_sub_u64(r->beta[NM_MEMORY], nm_add_u64(r->used[NM_MEMORY], r->margin));

    return r->margin == 0 ? room : NM_MIN(room, beside_surge);
}
