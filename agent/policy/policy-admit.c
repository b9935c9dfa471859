/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Admissions: guaranteed containers, resumes of paused containers, the opportunistic queue, and shedding. Every
 * admission and resume is added to U immediately, so that later admissions in the same round take it into account.
 */

#include "agent/policy/round.h"

static void admit(struct nm_round *r, uint32_t i, enum nm_reason reason, enum nm_resource resource)
{
    const struct nm_policy_container *v = r->in->views[i];
    struct nm_policy_action *a = nm_policy_add_action(r, NM_ACTION_ADMIT, reason, i);

    assert(nm_policy_container_queued(v));
    a->resource = resource;
    a->predicted = v->request;
    for (enum nm_resource k = NM_MEMORY; k < NM_RESOURCE_COUNT; k++) {
        uint64_t request = nm_resources_get(&v->request, k);

        r->used[k] = nm_add_u64(r->used[k], request);
        r->allocated[v->type][k] = nm_add_u64(r->allocated[v->type][k], request);
        if (v->type == NM_GUARANTEED)
            r->promised[k] = nm_add_u64(r->promised[k], nm_policy_container_promise(v, k));
    }
}

/* ---- guaranteed ------------------------------------------------------------------------------ */

/* Returns whether the allocation allows the container to start, or to displace other containers. An ending container's
 * allocation becomes free only at its end. */
static bool guaranteed_allocation_fits(const struct nm_round *r, const struct nm_policy_container *v)
{
    for (enum nm_resource k = NM_MEMORY; k < NM_RESOURCE_COUNT; k++) {
        uint64_t others = nm_add_u64(r->promised[k], r->claimed[k]);

        if (nm_policy_container_reserves(v, k) &&
            nm_add_u64(others, nm_policy_container_promise(v, k)) > r->capacity[k])
            return false;
    }
    return true;
}

static bool fits_under_beta(const struct nm_round *r, const struct nm_policy_container *v)
{
    for (enum nm_resource k = NM_MEMORY; k < NM_RESOURCE_COUNT; k++)
        if (nm_policy_container_reserves(v, k) &&
            nm_add_u64(r->used[k], nm_policy_container_promise(v, k)) > r->beta[k])
            return false;
    return true;
}

static enum nm_reason node_reason(const struct nm_round *r)
{
    if (r->in->draining)
        return NM_REASON_DRAINING;
    if (r->in->unhealthy)
        return NM_REASON_UNHEALTHY;
    return r->fresh ? NM_REASON_NONE : NM_REASON_NO_SAMPLE;
}

static void note_guaranteed_reason(struct nm_round *r, enum nm_reason reason, size_t i)
{
    r->v->guaranteed_reason = reason;
    r->v->guaranteed_head = r->in->views[r->p->guaranteed[i].index];
}

/* Claims room for the first guaranteed container that does not fit and for all guaranteed containers behind it, so that
 * no container overtakes another. */
static void claim_room(struct nm_round *r, size_t first)
{
    size_t i = first;

    for (; i < r->n_guaranteed; i++) {
        const struct nm_policy_container *v = r->in->views[r->p->guaranteed[i].index];

        if (!guaranteed_allocation_fits(r, v))
            break;
        for (enum nm_resource k = NM_MEMORY; k < NM_RESOURCE_COUNT; k++)
            r->claimed[k] = nm_add_u64(r->claimed[k], nm_policy_container_promise(v, k));
    }
    note_guaranteed_reason(r, i > first ? NM_REASON_WAITING_FOR_VICTIMS : NM_REASON_GUARANTEED_FULL,
                           first);
    r->n_guaranteed = i;
    r->n_guaranteed_waiting = i - first;
}

/* Admits guaranteed containers that fit. Runs before resources are taken back. */
void nm_policy_admit_guaranteed(struct nm_round *r)
{
    enum nm_reason reason = node_reason(r);

    if (r->n_guaranteed == 0)
        return;
    nm_sort(r->p->guaranteed, r->p->scratch, r->n_guaranteed);
    if (reason != NM_REASON_NONE) {
        note_guaranteed_reason(r, reason, 0);
        return;
    }
    for (size_t i = 0; i < r->n_guaranteed; i++) {
        const struct nm_policy_container *v = r->in->views[r->p->guaranteed[i].index];

        if (!fits_under_beta(r, v) || !guaranteed_allocation_fits(r, v)) {
            claim_room(r, i);
            return;
        }
        admit(r, r->p->guaranteed[i].index, NM_REASON_GUARANTEED, NM_MEMORY);
    }
}

static uint64_t first_bytes(const struct nm_policy_container *v)
{
    return NM_MIN(v->request.memory_bytes, NM_START_BYTES);
}

/* Returns the memory in use, with that of containers that have started since the newest sample. */
static uint64_t in_use_with_starts(const struct nm_round *r)
{
    uint64_t sum = r->in_use[NM_MEMORY];

    for (size_t i = 0; i < r->in->n_views; i++) {
        const struct nm_policy_container *v = r->in->views[i];

        if (nm_policy_container_placed(v) && v->started_usec >= r->in->node.at_usec)
            sum = nm_add_u64(sum, first_bytes(v));
    }
    for (size_t i = 0; i < r->n_actions; i++)
        if (r->p->actions[i].type == NM_ACTION_ADMIT)
            sum = nm_add_u64(sum, first_bytes(r->p->actions[i].target));
    return sum;
}

static bool waits_for_memory(const struct nm_round *r)
{
    return nm_add_u64(r->used[NM_MEMORY], r->claimed[NM_MEMORY]) > r->beta[NM_MEMORY] &&
           r->pending_estimate[NM_MEMORY] > 0;
}

/* Returns how many of the waiting guaranteed containers need not wait until the victims have ended:
 *
 *  - all of them, if no victim will free more memory. None waits for CPU, because the kernel prefers guaranteed
 *    containers to victims that still run.
 *  - those whose first steps have room beside the memory of killed victims. Freeing hundreds of MiB takes the kernel
 *    longer than a whole start. Memory that is reclaimed, or belongs to a victim in its grace period, becomes free too
 *    slowly for this. */
static size_t count_ready(const struct nm_round *r)
{
    const size_t first = r->n_guaranteed - r->n_guaranteed_waiting;
    uint64_t memory;
    size_t n = 0;

    if (r->n_guaranteed_waiting == 0 || !waits_for_memory(r))
        return r->n_guaranteed_waiting;
    if (r->n_slow > 0)
        return 0;
    memory = in_use_with_starts(r);
    while (n < r->n_guaranteed_waiting) {
        memory = nm_add_u64(memory, first_bytes(r->in->views[r->p->guaranteed[first + n].index]));
        if (memory > r->beta[NM_MEMORY])
            break;
        n++;
    }
    return n;
}

/* Runs after resources were taken back. */
void nm_policy_admit_remaining_guaranteed(struct nm_round *r)
{
    const size_t first = r->n_guaranteed - r->n_guaranteed_waiting, end = first + count_ready(r);

    for (size_t i = first; i < end; i++) {
        const struct nm_policy_container *v = r->in->views[r->p->guaranteed[i].index];

        for (enum nm_resource k = NM_MEMORY; k < NM_RESOURCE_COUNT; k++)
            r->claimed[k] = nm_sub_u64(r->claimed[k], nm_policy_container_promise(v, k));
        admit(r, r->p->guaranteed[i].index, NM_REASON_GUARANTEED, NM_MEMORY);
    }
    r->n_guaranteed_waiting -= end - first;
    if (r->n_guaranteed_waiting > 0 && end > first)
        r->v->guaranteed_head = r->in->views[r->p->guaranteed[end].index];
    if (r->n_guaranteed_waiting == 0 && end > first) {
        r->v->guaranteed_reason = NM_REASON_NONE;
        r->v->guaranteed_head = NULL;
    }
}

/* ---- resume ---------------------------------------------------------------------------------- */

/* Returns the swapped memory that a resume adds to U. With over-allocation off it is 0, because U is the sum of
 * requests, which include swapped memory. */
static uint64_t returning(const struct nm_round *r, const struct nm_policy_container *v)
{
    return r->s->over_allocation ? nm_policy_container_returning(r->s, v) : 0;
}

static void resume(struct nm_round *r, uint32_t i, enum nm_reason reason)
{
    const struct nm_policy_container *v = r->in->views[i];
    struct nm_policy_action *a = nm_policy_add_action(r, NM_ACTION_RESUME, reason, i);

    a->resource = NM_CPU;
    a->predicted.cpu_millicores = nm_policy_container_resume_cpu(r->s, v);
    a->predicted.memory_bytes = returning(r, v);
    r->used[NM_CPU] = nm_add_u64(r->used[NM_CPU], a->predicted.cpu_millicores);
    r->used[NM_MEMORY] = nm_add_u64(r->used[NM_MEMORY], a->predicted.memory_bytes);
    r->n_opportunistic_active += v->type == NM_OPPORTUNISTIC;
    r->p->taken[i] = NM_TAKEN_RESUME;
}

static bool may_resume_any(const struct nm_round *r)
{
    return r->cpu_known && r->n_guaranteed_waiting == 0 && !nm_round_any_settling(r) &&
           r->squeeze_millicores == NM_NO_SQUEEZE && r->in_use[NM_MEMORY] <= r->beta[NM_MEMORY];
}

static bool fits_resumed(const struct nm_round *r, const struct nm_policy_container *v)
{
    uint64_t after = nm_add_u64(r->used[NM_CPU], nm_policy_container_resume_cpu(r->s, v));

    if (r->used[NM_CPU] >= r->alpha[NM_CPU])
        return false;
    if (returning(r, v) > 0 && nm_add_u64(r->used[NM_MEMORY], returning(r, v)) > r->beta[NM_MEMORY])
        return false;
    if (after <= r->beta[NM_CPU])
        return true;
    /* The container is too large even for a nearly idle node, and would be killed there at its deadline. */
    return r->n_opportunistic_active == 0 && r->used[NM_CPU] < r->alpha[NM_CPU] / 2 &&
           nm_sub_u64(r->in->now_usec, v->paused_usec) >= r->s->pause_deadline_usec / 16;
}

void nm_policy_admit_resume(struct nm_round *r)
{
    bool may = may_resume_any(r);

    for (size_t k = 0; k < r->n_paused; k++) {
        uint32_t i = r->p->paused[k].index;
        const struct nm_policy_container *v = r->in->views[i];

        if (v->user_paused || r->p->taken[i] != NM_TAKEN_NOT)
            continue;
        /* The container was promoted while paused, so its whole request is guaranteed. */
        if (v->type == NM_GUARANTEED) {
            resume(r, i, NM_REASON_GUARANTEED);
            continue;
        }
        may = may && fits_resumed(r, v);
        if (may)
            resume(r, i, NM_REASON_BELOW_THRESHOLD);
    }
}

/* ---- the opportunistic queue ----------------------------------------------------------------- */

/* Returns the resources set aside for paused containers (policy.h). A container paused by a person has no claim on
 * CPU. */
static struct nm_resources claimed_by_paused(const struct nm_round *r)
{
    struct nm_resources claimed = {0};

    for (size_t k = 0; k < r->n_paused; k++) {
        uint32_t i = r->p->paused[k].index;
        const struct nm_policy_container *v = r->in->views[i];

        if (r->p->taken[i] == NM_TAKEN_RESUME || r->p->taken[i] == NM_TAKEN_KILL)
            continue;
        claimed.memory_bytes = nm_add_u64(claimed.memory_bytes, returning(r, v));
        if (!v->user_paused)
            claimed.cpu_millicores =
                nm_add_u64(claimed.cpu_millicores,
                           NM_MIN(nm_policy_container_resume_cpu(r->s, v), v->request.cpu_millicores));
    }
    return claimed;
}

/* Returns why no opportunistic container is admitted in this round. */
static enum nm_reason queue_reason(const struct nm_round *r)
{
    enum nm_reason reason = node_reason(r);

    if (reason != NM_REASON_NONE)
        return reason;
    if (!r->cpu_known)
        return NM_REASON_NO_SAMPLE;
    if (r->v->guaranteed_reason != NM_REASON_NONE)
        return NM_REASON_GUARANTEED_FIRST;
    if (r->s->uplink_threshold > 0 && r->in->node.uplink_utilization > r->s->uplink_threshold)
        return NM_REASON_UPLINK;
    if (!r->s->over_allocation)
        return NM_REASON_NONE;
    if (r->in->now_usec < r->p->memory.breaker_until_usec)
        return NM_REASON_BREAKER;
    if (nm_round_any_settling(r))
        return NM_REASON_SETTLING;
    return r->squeeze_millicores != NM_NO_SQUEEZE ? NM_REASON_SQUEEZED : NM_REASON_NONE;
}

static enum nm_reason try_admit(struct nm_round *r, uint32_t i,
                                const struct nm_resources *set_aside, enum nm_resource *ret_resource)
{
    const struct nm_policy_container *v = r->in->views[i];
    enum nm_reason reason;

    if (nm_policy_fits_plain(r, v, set_aside) && nm_policy_fits_beside_surge(r, v)) {
        admit(r, i, NM_REASON_WITHIN_ALLOCATION, nm_policy_tightest(r, v));
        return NM_REASON_NONE;
    }
    if (!r->s->over_allocation)
        return nm_policy_plain_reason(r, v, ret_resource);
    reason = nm_policy_over_allocation_reason(r, v, set_aside, ret_resource);
    if (reason == NM_REASON_NONE)
        admit(r, i, NM_REASON_OVER_ALLOCATION, nm_policy_tightest(r, v));
    return reason;
}

static void note_queue_reason(struct nm_round *r, const struct nm_policy_container *v, enum nm_reason reason,
                              enum nm_resource resource)
{
    r->v->queue_reason = reason;
    r->v->queue_resource = resource;
    r->v->queue_used.memory_bytes = r->used[NM_MEMORY];
    r->v->queue_used.cpu_millicores = r->used[NM_CPU];
    r->v->queue_head = v;
}

/* The state of one walk through the queue. The walk ends behind the first container that no other container may pass,
 * or when enough containers have started for now. */
struct queue_walk {
    struct nm_resources set_aside;
    const struct nm_policy_container *head; /* the first waiting container that could start at some time */
    bool over;                  /* no further container of the queue may start in this round */
};

static bool admit_next(struct nm_round *r, struct queue_walk *t, uint32_t i)
{
    const struct nm_policy_container *v = r->in->views[i];
    enum nm_resource resource = NM_MEMORY;
    enum nm_reason reason = NM_REASON_BEHIND_OTHERS;

    if (r->p->n_starts >= NM_STARTS_AT_ONCE) {
        t->over = true;
        if (!r->v->queue_head)
            note_queue_reason(r, v, NM_REASON_NEXT_ROUND, resource);
        return false;
    }
    if (!t->head || nm_policy_may_pass(r, v, t->head, &t->set_aside))
        reason = try_admit(r, i, &t->set_aside, &resource);
    if (reason == NM_REASON_NONE) {
        r->p->actions[r->n_actions - 1].on_behalf_of = t->head;
        r->p->n_starts++;
        return true;
    }
    if (t->head)
        return false;
    if (nm_policy_never_fits(r, v, &resource)) {
        reason = NM_REASON_NEVER_FITS;
    } else {
        t->head = v;
        t->over = !nm_policy_head_may_be_passed(r, v, &t->set_aside);
    }
    if (!r->v->queue_head) {
        note_queue_reason(r, v, reason, resource);
    } else if (t->head == v) {
        r->v->queue_next = v;
        r->v->queue_next_reason = reason;
    }
    return false;
}

static void count_starts_anew(struct nm_round *r)
{
    struct nm_policy *p = r->p;

    if (r->in->now_usec < nm_add_u64(p->starts_usec, NM_STARTS_PAUSE_USEC) && p->starts_usec > 0)
        return;
    p->starts_usec = r->in->now_usec;
    p->n_starts = r->in->n_starting;
}

void nm_policy_admit_queue(struct nm_round *r)
{
    enum nm_reason reason = queue_reason(r);
    struct queue_walk t = {.set_aside = claimed_by_paused(r)};
    size_t n = r->n_queue, i;

    count_starts_anew(r);
    nm_sort(r->p->queue, r->p->scratch, n);
    r->n_queue = 0;
    for (i = 0; reason == NM_REASON_NONE && !t.over && i < n; i++)
        if (!admit_next(r, &t, r->p->queue[i].index))
            r->p->queue[r->n_queue++] = r->p->queue[i];
    /* Move the remaining entries to the front, in order. */
    memmove(r->p->queue + r->n_queue, r->p->queue + i, (n - i) * sizeof(*r->p->queue));
    r->n_queue += n - i;
    if (!t.head)
        r->p->head.due = false;
    if (r->n_queue > 0 && !r->v->queue_head)
        note_queue_reason(r, r->in->views[r->p->queue[0].index], reason, NM_MEMORY);
    r->v->hold_reason = reason;
    r->v->room_bytes = nm_policy_room(r, &t.set_aside);
}

/* Moves the queue reason to the new head after the old head was shed. The new head may be admitted in the
 * next round. */
static void move_queue_reason(struct nm_round *r, struct nm_sort_entry *left, size_t n)
{
    enum nm_reason reason = queue_reason(r);

    r->v->queue_reason = NM_REASON_NONE;
    r->v->queue_head = NULL;
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        nm_queue_keys(r->s, r->in, r->in->views[left[i].index], left[i].k);
    nm_sort(left, r->p->scratch, n);
    r->v->queue_reason = reason != NM_REASON_NONE ? reason : NM_REASON_BEHIND_OTHERS;
    r->v->queue_head = r->in->views[left[0].index];
}

static size_t n_limited(const struct nm_round *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_queue; i++)
        n += r->in->views[r->p->queue[i].index]->limited;
    return n;
}

/* ---- give back ------------------------------------------------------------------------------- */

/* Returns the time until which the container may wait. The wait is short while no opportunistic container runs, because
 * then no container will end and make room. The wait is NM_GIVE_BACK_BUSY times as long while an opportunistic
 * container runs. Each start of another container begins the wait again, but the total never exceeds NM_GIVE_BACK_MOST
 * short waits, since other containers could pass this container without end. If the container never fits, other
 * containers pass it, and their starts do not begin the wait again. Whether the container can ever fit is checked only
 * when the wait is over, because the check is slow. */
static uint64_t give_back_due(const struct nm_round *r, const struct nm_policy_container *v)
{
    const uint64_t wait = r->s->give_back_usec, busy = nm_mul_u64(wait, NM_GIVE_BACK_BUSY);
    const uint64_t since = NM_MAX(v->state_usec, r->p->moved_usec);
    const uint64_t by_wait = nm_add_u64(since, r->n_opportunistic_active > 0 ? busy : wait);
    const uint64_t latest = nm_add_u64(v->state_usec, nm_mul_u64(wait, NM_GIVE_BACK_MOST));
    const uint64_t due = NM_MIN(by_wait, latest), never_due = nm_add_u64(v->state_usec, busy);
    enum nm_resource resource;

    if (wait == 0 || !v->limited)
        return UINT64_MAX;
    if (due <= never_due)
        return due;
    return r->in->now_usec < never_due || nm_policy_never_fits(r, v, &resource) ? never_due : due;
}

uint64_t nm_policy_next_give_back(const struct nm_round *r)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; r->s->give_back_usec > 0 && i < r->n_queue; i++)
        first = NM_MIN(first, give_back_due(r, r->in->views[r->p->queue[i].index]));
    return first;
}

/* The end of the last opportunistic container starts the short wait again. Otherwise containers that have already
 * waited longer than the short wait would be given back immediately, although the node is free now and these containers
 * may start with the next sample. */
static void note_moves(struct nm_round *r)
{
    const bool is_active = r->n_opportunistic_active > 0;

    if (r->p->moved_usec == 0 || (r->p->was_active && !is_active))
        r->p->moved_usec = r->in->now_usec;
    r->p->was_active = is_active;
    for (size_t i = 0; i < r->n_actions; i++) {
        const struct nm_policy_action *a = &r->p->actions[i];

        if (a->type == NM_ACTION_RESUME || (a->type == NM_ACTION_ADMIT && a->target->type == NM_OPPORTUNISTIC))
            r->p->moved_usec = r->in->now_usec;
    }
}

/* Sheds the newest containers, independent of the queue's order: first the newest of all queued containers, then the
 * newest of the remaining `limited` containers. Also gives back containers that have waited too long. */
void nm_policy_admit_shed(struct nm_round *r)
{
    struct nm_sort_entry *queue = r->p->queue;
    size_t any = nm_sub_u64(r->n_queue, r->in->shed_to), left = 0;
    size_t limited = nm_sub_u64(n_limited(r), r->in->shed_limited_to);
    bool head_is_shed = false;

    note_moves(r);
    if (any == 0 && limited == 0 && nm_policy_next_give_back(r) > r->in->now_usec)
        return;
    for (size_t i = 0; i < r->n_queue; i++)
        queue[i].k[0] = ~r->in->views[queue[i].index]->seq;
    nm_sort(queue, r->p->scratch, r->n_queue);
    for (size_t i = 0; i < r->n_queue; i++) {
        const struct nm_policy_container *v = r->in->views[queue[i].index];
        bool over = v->limited && limited > 0;

        limited -= over;
        over |= i < any;
        if (!over && give_back_due(r, v) > r->in->now_usec) {
            queue[left++] = queue[i];
            continue;
        }
        nm_policy_add_action(r, NM_ACTION_SHED, over ? NM_REASON_SHED : NM_REASON_WAITED_TOO_LONG, queue[i].index);
        head_is_shed = head_is_shed || v == r->v->queue_head;
    }
    r->n_queue = left;
    if (head_is_shed)
        move_queue_reason(r, queue, left);
}
