/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is lent. A plan computes a target for each key, from the mode first, and then from the checks in the order of
 * enum nm_lend_reason. Limits are shared among the keys, and the key that has waited for the longest time comes first:
 * with the order of priorities, the reducers of MapReduce would take what its maps need.
 */

#include <errno.h>

#include "util/array.h"
#include "yarn/lend/lend-state.h"

/* ---- targets ------------------------------------------------------------------------------------ */

/* most: -1 is 0, and gives the reason even if the target is 0 already. */
static void reduce(struct nm_lend_entry *e, int64_t most, enum nm_lend_reason reason)
{
    if (most >= e->target)
        return;
    e->target = (uint32_t)NM_MAX(most, INT64_C(0));
    e->reason = reason;
}

/* Counts over all containers that were granted for the key or are wanted: else a master that asks for few at a time
 * would be lent another share. The sums begin again when the master withdraws everything. */
static uint32_t percent_of(const struct nm_lend_entry *e, unsigned percent)
{
    uint64_t most = (e->granted_total + e->wanted) * percent / 100;

    return (uint32_t)NM_MIN(nm_sub_u64(most, e->lent_total), (uint64_t)e->wanted);
}

/* Returns whether the books must not add counts of a key to this call, because the ResourceManager may refuse it. */
static bool is_held(const struct nm_lend *l, const struct nm_lend_entry *e, uint64_t now_usec)
{
    if (e->in_call)
        return false;
    return l->held_until_usec > now_usec || (e != l->trial && (e->suspect || l->trial));
}

/* preempted_until_usec: until when the priority backs off after a preemption. */
static void apply_mode(const struct nm_lend *l, struct nm_lend_entry *e, uint64_t preempted_until_usec,
                       uint64_t now_usec)
{
    e->target = nm_lend_keys_wanted(e);
    e->reason = NM_LEND_LENT;
    if (l->rule.mode == NM_LEND_OFF)
        reduce(e, -1, NM_LEND_IS_OFF);
    if (l->late)
        reduce(e, 0, NM_LEND_REGISTERED_BEFORE);
    if (e->labelled || l->labelled)
        reduce(e, 0, NM_LEND_LABEL);
    if (e->strict)
        reduce(e, 0, NM_LEND_STRICT);
    if (e->placement)
        reduce(e, 0, NM_LEND_PLACEMENT);
    if (e->other_resources)
        reduce(e, 0, NM_LEND_OTHER_RESOURCES);
    if (e->own_opportunistic)
        reduce(e, 0, NM_LEND_OWN_OPPORTUNISTIC);
    if (l->rule.mode == NM_LEND_PERCENT)
        e->target = NM_MIN(e->target, percent_of(e, l->rule.percent));
    if (l->rule.mode == NM_LEND_OVERFLOW)
        reduce(e,
               now_usec >= l->rule.after_usec ? nm_lend_keys_count_since(e, now_usec - l->rule.after_usec) : 0,
               NM_LEND_WAITS);
    if (NM_MAX(e->backs_off_until_usec, preempted_until_usec) > now_usec)
        reduce(e, 0, NM_LEND_BACKS_OFF);
    if (l->held_until_usec > now_usec || is_held(l, e, now_usec))
        reduce(e, e->in_call ? 0 : e->lent_asked, NM_LEND_BACKS_OFF);
}

/* Returns whether a node has answered no question for so long that it may be dead. The ResourceManager notices this
 * only after minutes. If the node lives after all, nothing may fill its queue: without distributed scheduling, the
 * ResourceManager may choose it again, and then it is waited for anew. */
static bool is_unresponsive(const struct nm_lend_place *node, uint64_t now_usec)
{
    return node && node->unanswered_usec > 0 &&
           nm_sub_u64(now_usec, NM_MAX(node->unanswered_usec, node->lent_usec)) > NM_LEND_UNRESPONSIVE_USEC;
}

static bool is_queue_busy(const struct nm_lend *l, uint64_t now_usec)
{
    for (size_t i = 0; l->n_queued > 0 && i < l->n_lent; i++) {
        const struct nm_lend_container *c = l->by_age[i];

        if (c->state == NM_LEND_STATE_QUEUED && nm_sub_u64(now_usec, c->is.lent_usec) > NM_LEND_START_USEC &&
            !is_unresponsive(c->node, now_usec))
            return true;
    }
    return false;
}

/* What may still be asked for in a plan. */
struct budget {
    int64_t application_mib, queue_mib, containers;
    int64_t planned_mib; /* what this plan asks for already */
    int64_t largest_mib; /* the largest container that the limit for nodes allows */
};

/* Returns the largest container that the limit for nodes allows on the nodes with lent containers. */
static int64_t largest_on_used_nodes(const struct nm_lend *l, int64_t limit_mib)
{
    int64_t least_mib = INT64_MAX;

    for (size_t i = 0; i < l->n_nodes; i++)
        if (l->nodes[i]->lent > 0)
            least_mib = NM_MIN(least_mib, l->nodes[i]->lent_memory_mib);
    return least_mib == INT64_MAX ? limit_mib : limit_mib - least_mib;
}

static struct budget make_budget(const struct nm_lend *l, const struct nm_lend_limits *limits)
{
    const struct nm_lend_figures f = nm_lend_figures(l);
    struct budget b = {
        .application_mib = INT64_MAX,
        .queue_mib = INT64_MAX,
        .containers = (int64_t)(NM_LEND_CONTAINERS_MAX - l->n_lent),
        .largest_mib = INT64_MAX,
    };

    for (size_t i = 0; limits->observes && i < l->n_keys; i++)
        b.containers -= l->keys[i].observed; /* also of forgotten keys, because they are packed */
    if (limits->application_memory_mib >= 0)
        b.application_mib = limits->application_memory_mib - f.lent_memory_mib -
                            (limits->observes ? f.observed_now_memory_mib : 0);
    if (limits->queue_memory_left_mib >= 0)
        b.queue_mib = NM_MIN(limits->queue_memory_left_mib, INT64_MAX - f.asked_memory_mib) + f.asked_memory_mib;
    if (limits->node_memory_mib >= 0)
        b.largest_mib = limits->node_memory_left_mib >= 0
                            ? NM_MIN(limits->node_memory_left_mib, limits->node_memory_mib)
                            : largest_on_used_nodes(l, limits->node_memory_mib);
    return b;
}

/* The keys before this one take their part of the room, as if all nodes were one. If the room isn't known, nothing is
 * withdrawn: what is asked for may have been placed when it is known. */
static int64_t startable(const struct nm_lend_limits *limits, const struct nm_lend_entry *e, const struct budget *b)
{
    const struct nm_lend_size size = {nm_lend_keys_memory_mib(e), e->size.vcores};
    uint32_t n;

    if (!limits->startable || e->target == 0)
        return INT64_MAX;
    n = limits->startable(limits->userdata, &size);
    if (n == NM_LEND_STARTABLE_UNKNOWN)
        return limits->observes ? 0 : e->lent_asked;
    return (int64_t)n - (b->planned_mib + size.memory_mib - 1) / size.memory_mib;
}

static void apply_limits(const struct nm_lend *l, const struct nm_lend_limits *limits, struct nm_lend_entry *e,
                         struct budget *b)
{
    const int64_t size_mib = nm_lend_keys_memory_mib(e);

    reduce(e, NM_MAX(b->application_mib, INT64_C(0)) / size_mib, NM_LEND_APPLICATION_LIMIT);
    reduce(e, b->containers, NM_LEND_APPLICATION_LIMIT);
    reduce(e, NM_MAX(b->queue_mib, INT64_C(0)) / size_mib, NM_LEND_QUEUE_LIMIT);
    if (size_mib > b->largest_mib)
        reduce(e, 0, NM_LEND_NODE_LIMIT);
    reduce(e, startable(limits, e, b), NM_LEND_NO_ROOM);
    if (l->refused)
        reduce(e, 0, NM_LEND_REFUSED);
    b->application_mib -= e->target * size_mib;
    b->queue_mib -= e->target * size_mib;
    b->containers -= e->target;
    b->planned_mib += e->target * size_mib;
}

/* Returns the number of keys of which something may be lent, and lists them in l->order. */
static size_t sort_keys(const struct nm_lend *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n_keys; i++) {
        const uint64_t since_usec = l->keys[i].batches[0].since_usec;
        size_t at = n;

        if (l->keys[i].target == 0)
            continue;
        for (; at > 0 && l->keys[l->order[at - 1]].batches[0].since_usec > since_usec; at--)
            l->order[at] = l->order[at - 1];
        l->order[at] = (uint16_t)i;
        n++;
    }
    return n;
}

/* With limits.observes, the target is what would be lent in addition. What would have been lent before stays: a lent
 * container wouldn't end because a node has less room now. */
static void leave_out_observed(struct nm_lend_entry *e)
{
    e->target = (uint32_t)nm_sub_u64(e->target, e->observed);
}

static void decide(struct nm_lend *l, const struct nm_lend_limits *limits, uint64_t now_usec)
{
    const bool busy = is_queue_busy(l, now_usec);
    struct budget b = make_budget(l, limits);
    uint64_t until_usec = 0; /* of the priority */
    size_t n;

    for (size_t i = 0; i < l->n_keys; i++) {
        if (i == 0 || l->keys[i].key.priority != l->keys[i - 1].key.priority)
            until_usec = nm_lend_keys_preempted_until(l, l->keys[i].key.priority);
        apply_mode(l, &l->keys[i], until_usec, now_usec);
        if (busy)
            reduce(&l->keys[i], 0, NM_LEND_QUEUED);
        if (limits->observes)
            leave_out_observed(&l->keys[i]);
    }
    n = sort_keys(l);
    for (size_t i = 0; i < n; i++)
        apply_limits(l, limits, &l->keys[l->order[i]], &b);
}

/* ---- shares ------------------------------------------------------------------------------------- */

static void observe(struct nm_lend *l, struct nm_lend_entry *e, uint32_t target)
{
    if (e->observed == target || e->forgotten)
        return;
    if (target > e->observed) {
        l->counts.observed += target - e->observed;
        l->counts.observed_memory_mib += (uint64_t)((target - e->observed) * e->size.memory_mib);
    }
    e->observed = target;
    l->revision++;
}

/* Sums up how long the observed containers have waited since the last plan. The sum is packed from time to time
 * only, so that a heartbeat without changes doesn't change the packed books. */
static void observe_time(struct nm_lend *l, uint64_t now_usec)
{
    const uint64_t elapsed_usec = nm_sub_u64(now_usec, l->observed_at_usec);
    int64_t memory_mib = 0;

    for (size_t i = 0; i < l->n_keys; i++)
        memory_mib += l->keys[i].forgotten ? 0 : l->keys[i].observed * l->keys[i].size.memory_mib;
    if (l->observed_at_usec > 0 && memory_mib > 0) {
        uint64_t mib_usec;

        if (__builtin_mul_overflow(elapsed_usec, (uint64_t)memory_mib, &mib_usec))
            mib_usec = UINT64_MAX;
        l->observed_mib_usec = nm_add_u64(l->observed_mib_usec, mib_usec);
    }
    l->observed_at_usec = now_usec;
    if (nm_sub_u64(now_usec, l->packed_observed_usec) < NM_LEND_OBSERVE_USEC || l->observed_mib_usec < NM_USEC_PER_SEC)
        return;
    l->counts.observed_memory_mib_sec += l->observed_mib_usec / NM_USEC_PER_SEC;
    l->observed_mib_usec %= NM_USEC_PER_SEC;
    l->packed_observed_usec = now_usec;
    l->revision++;
}

static void set_share(struct nm_lend *l, struct nm_lend_entry *e, uint32_t lent_asked, uint64_t now_usec)
{
    if (lent_asked > 0 && e->mode != l->rule.mode) {
        e->mode = l->rule.mode;
        l->revision++;
    }
    if (e->lent_asked == lent_asked)
        return;
    if (e->lent_asked == 0)
        e->asked_usec = now_usec;
    e->lent_asked = lent_asked;
    e->unsent = true;
    l->revision++;
}

static void check_progress(struct nm_lend *l, struct nm_lend_entry *e, uint64_t now_usec)
{
    if (e->lent_asked == 0)
        return;
    if (nm_sub_u64(now_usec, e->asked_usec) >= NM_LEND_UNGRANTED_USEC) {
        e->backs_off_until_usec = NM_MAX(e->backs_off_until_usec, now_usec + NM_LEND_UNGRANTED_USEC);
        l->revision++;
    }
    if (!l->proven && !e->unsent && nm_sub_u64(now_usec, e->sent_usec) >= NM_LEND_RESEND_USEC) {
        e->unsent = true;
        l->revision++;
    }
}

/* ---- changes ------------------------------------------------------------------------------------ */

static int add_change(struct nm_lend *l, const struct nm_lend_change *change)
{
    if (NM_ARRAY_ROOM(l->changes, l->n_changes, l->changes_size) < 0)
        return -ENOMEM;
    l->changes[l->n_changes++] = *change;
    return 0;
}

/* Returns whether opportunistic counts may be set to 0. The master's own opportunistic asks follow in the same call.
 * Without them, a count of 0 could replace the master's. If the ResourceManager grants guaranteed containers only, it
 * has one count for both kinds of asks, which is what was sent last. */
static bool can_withdraw(const struct nm_lend *l, const struct nm_lend_entry *e)
{
    return !l->refused && (!e->own_opportunistic || e->own_in_call);
}

/* Sets the opportunistic counts of other sizes to 0. */
static int withdraw(struct nm_lend *l, const struct nm_lend_entry *e, bool all)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < e->n_sizes; i++)
        if (all || !nm_lend_keys_same_size(&e->sizes[i], &e->size))
            r = add_change(l, &(struct nm_lend_change){.key = e->key, .size = e->sizes[i], .with_opportunistic = true,
                                                       .only_opportunistic = true});
    return r;
}

static int add_counts(struct nm_lend *l, const struct nm_lend_entry *e)
{
    struct nm_lend_change change = {
        .key = e->key,
        .size = e->size,
        .guaranteed = (int32_t)(e->wanted - e->lent_asked),
        .opportunistic = (int32_t)e->lent_asked,
        .with_opportunistic = e->lent_asked > 0 || (e->withdrawn && nm_lend_keys_has_size(e, &e->size)),
    };

    return add_change(l, &change);
}

/* Returns whether the ResourceManager has no guaranteed count of a key: it has refused the only call that had one. Its
 * ask must not be sent again. */
static bool is_blank(const struct nm_lend_entry *e)
{
    return e->wanted == 0 && e->size.memory_mib == 0 && e->size.vcores == 0;
}

/* Adds the changes of a key, unless the master's own ask says the same. While counts are held back, keys that the
 * master doesn't set in this call can only withdraw opportunistic counts. */
static int send(struct nm_lend *l, struct nm_lend_entry *e, uint64_t now_usec)
{
    const bool held = is_held(l, e, now_usec);
    const bool special = nm_lend_keys_is_special(e) || is_blank(e) || held;
    int r = 0;

    if (!e->unsent || e->forgotten || !(e->touched || e->in_call))
        return 0;
    if (held && (e->lent_asked > 0 || e->n_sizes == 0 || !can_withdraw(l, e)))
        return 0;
    e->held = held;
    e->withdrawn = can_withdraw(l, e);
    if (e->withdrawn)
        r = withdraw(l, e, special);
    if (r == 0 && !special && !(e->in_call && e->lent_asked == 0 && e->n_sizes == 0))
        r = add_counts(l, e);
    if (r < 0)
        return r;
    e->sent = e->in_call ? NM_LEND_SENT_BY_MASTER : special ? NM_LEND_SENT_WITHDRAWALS : NM_LEND_SENT_BY_BOOKS;
    e->sent_guaranteed = e->wanted - e->lent_asked;
    e->sent_opportunistic = e->lent_asked;
    e->sent_usec = now_usec;
    e->guaranteed_max = NM_MAX(e->guaranteed_max, e->sent_guaranteed);
    if (e->lent_asked > 0)
        nm_lend_keys_add_size(e);
    return 0;
}

/* Chooses a count that may be the reason for a refusal. It is sent alone, so that the next refusal shows whether it is.
 * A call without a trial follows each trial, so that other keys don't wait for many of them. */
static const struct nm_lend_entry *choose_trial(const struct nm_lend *l, uint64_t now_usec)
{
    for (size_t i = 0; i < l->n_keys && !l->tried && l->held_until_usec <= now_usec; i++) {
        const struct nm_lend_entry *e = &l->keys[i];

        if (e->suspect && e->held_until_usec <= now_usec && e->unsent && e->touched && !e->forgotten && !e->in_call &&
            !nm_lend_keys_is_special(e) && !is_blank(e))
            return e;
    }
    return NULL;
}

/* If the last call was answered, the ResourceManager has the counts that it had. */
static void end_answer(struct nm_lend *l)
{
    if (!l->answered) {
        l->uncertain |= l->in_flight;
        return;
    }
    l->answered = false;
    for (size_t i = 0; i < l->n_keys; i++) {
        struct nm_lend_entry *e = &l->keys[i];

        if ((e->answered == NM_LEND_SENT_BY_MASTER || e->answered == NM_LEND_SENT_BY_BOOKS) && !l->uncertain) {
            e->guaranteed_max = e->sent_guaranteed;
            e->guesses = false;
        }
        e->answered = NM_LEND_NOT_SENT;
        e->former_surplus = 0;
    }
    l->uncertain = false;
}

/* Keeps the limits for the answer, in which a container may be larger than what was asked for. */
static void keep_limits(struct nm_lend *l, const struct nm_lend_limits *limits, int64_t asked_before_mib)
{
    const int64_t left_mib = limits->queue_memory_left_mib, asked_mib = nm_lend_figures(l).asked_memory_mib;

    l->application_mib = limits->observes ? -1 : limits->application_memory_mib;
    l->left_mib = INT64_MAX;
    if (left_mib >= 0 && !limits->observes)
        l->left_mib = NM_MAX(NM_MIN(left_mib, INT64_MAX - asked_before_mib) + asked_before_mib - asked_mib, INT64_C(0));
}

static int make_order(struct nm_lend *l)
{
    if (l->n_keys <= l->order_size)
        return 0;
    if (NM_ARRAY_RESIZE(l->order, l->keys_size) < 0)
        return -ENOMEM;
    l->order_size = l->keys_size;
    return 0;
}

int nm_lend_plan(struct nm_lend *l, const struct nm_lend_limits *limits, uint64_t now_usec,
                 const struct nm_lend_change **ret, size_t *ret_n)
{
    const bool lends = l->rule.mode != NM_LEND_OFF && !limits->observes && !l->late;
    const int64_t asked_before_mib = nm_lend_figures(l).asked_memory_mib;
    int r = make_order(l);

    if (r < 0)
        return r;
    end_answer(l);
    observe_time(l, now_usec);
    for (size_t i = 0; i < l->n_keys; i++)
        check_progress(l, &l->keys[i], now_usec);
    l->trial = choose_trial(l, now_usec);
    l->tried = l->trial;
    decide(l, limits, now_usec);
    l->n_changes = 0;
    for (size_t i = 0; r == 0 && i < l->n_keys; i++) {
        struct nm_lend_entry *e = &l->keys[i];

        observe(l, e, limits->observes ? e->observed + e->target : 0);
        set_share(l, e, limits->observes ? 0 : e->target, now_usec);
        e->touched |= lends;
        r = send(l, e, now_usec);
        if (r == 0)
            e->in_call = e->own_in_call = false;
    }
    l->trial = NULL;
    if (r < 0)
        return r;
    keep_limits(l, limits, asked_before_mib);
    l->in_flight = true;
    l->n_calls++;
    *ret = l->changes;
    *ret_n = l->n_changes;
    return 0;
}
