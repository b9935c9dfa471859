/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The answers of the ResourceManager, and the ends of containers. The ResourceManager decrements its counts with each
 * grant, as the books do. It answers a repeated call with the answer of the first call, and ignores the asks of the
 * repeated one.
 */

#include <errno.h>

#include "util/array.h"
#include "yarn/lend/lend-state.h"

/* ---- answers ------------------------------------------------------------------------------------ */

/* Notes that the ResourceManager has read the counts of this call. An uncertain answer confirms nothing: the
 * ResourceManager may have read an earlier call with the same response id. */
static void confirm(const struct nm_lend *l, struct nm_lend_entry *e)
{
    e->answered = e->sent;
    e->in_last_answer = 0;
    if (e->sent == NM_LEND_NOT_SENT || l->uncertain)
        return;
    e->unsent = e->held;
    if (e->sent != NM_LEND_SENT_WITHDRAWALS) {
        e->former_surplus = e->surplus;
        e->surplus = 0;
        e->suspect = false;
        e->refusals = 0;
    }
    if (e->withdrawn)
        e->n_sizes = 0;
    if (e->sent_opportunistic > 0)
        nm_lend_keys_add_size(e);
}

/* The master has set a count that includes what this answer grants, and the books have subtracted that before. */
static void subtract_again(struct nm_lend_entry *e)
{
    if (e->set)
        nm_lend_keys_lower(e, NM_MIN(e->in_last_answer, e->wanted));
}

/* Finds out which counts the ResourceManager has refused: a call without those of the refused call was answered. If it
 * was only one, the others go on. Otherwise each of them is tried alone. */
static void settle_accused(struct nm_lend *l)
{
    const uint64_t refused_usec = nm_sub_u64(l->held_until_usec, NM_LEND_HELD_USEC);
    struct nm_lend_entry *last = NULL;
    size_t n = 0;

    for (size_t i = 0; i < l->n_keys; i++) {
        struct nm_lend_entry *e = &l->keys[i];

        if (!e->accused)
            continue;
        e->accused = false;
        e->suspect = true;
        e->held_until_usec = 0;
        last = e;
        n++;
    }
    if (n != 1)
        return;
    last->refusals = NM_MIN(last->refusals + 1, NM_LEND_HELD_STEPS);
    last->held_until_usec = refused_usec + (NM_LEND_HELD_USEC << (last->refusals > 1 ? last->refusals - 2 : 0));
    l->held_until_usec = 0;
}

/* Handles the key of a call that the ResourceManager hasn't read. */
static void repeat(const struct nm_lend *l, struct nm_lend_entry *e)
{
    e->is_late = e->granted_total == 0 && e->in_last_answer == 0;
    subtract_again(e);
    if (e->own_call > l->settled_call)
        nm_lend_keys_take_back_own(e);
}

void nm_lend_set_queue_left(struct nm_lend *l, int64_t left_mib)
{
    l->left_mib = left_mib >= 0 ? left_mib : INT64_MAX;
}

bool nm_lend_begin_answer(struct nm_lend *l, int32_t response_id)
{
    bool changed = l->n_released > 0;

    l->repeated = (l->has_response && response_id == l->response_id) ||
                  (l->has_counted && response_id == l->counted_id);
    l->has_response = true;
    l->response_id = response_id;
    if (!l->repeated)
        settle_accused(l);
    for (size_t i = 0; i < l->n_keys; i++) {
        struct nm_lend_entry *e = &l->keys[i];

        changed |= e->sent != NM_LEND_NOT_SENT || e->in_last_answer > 0;
        if (l->repeated)
            repeat(l, e);
        else
            confirm(l, e);
        e->sent = NM_LEND_NOT_SENT;
        e->set = e->in_call = e->own_in_call = e->refused = false;
    }
    l->revision += changed;
    l->in_flight = false;
    if (l->repeated) {
        l->uncertain = false;
        return true;
    }
    l->n_released = 0;
    l->settled_call = l->n_calls;
    l->answered = true;
    l->incomplete = false;
    return false;
}

static void note_counted(struct nm_lend *l)
{
    l->has_counted = l->has_response;
    l->counted_id = l->response_id;
    l->revision++;
}

/* If the master repeats its call, its count includes this container. */
static void count_answered(struct nm_lend *l, struct nm_lend_entry *e)
{
    e->in_last_answer++;
    note_counted(l);
}

static void count_grant(struct nm_lend *l, struct nm_lend_entry *e)
{
    e->granted_total++;
    count_answered(l, e);
}

static bool was_released(const struct nm_lend *l, const struct nm_yarn_container_id *id)
{
    for (size_t i = 0; i < l->n_released; i++)
        if (nm_lend_containers_equal(&l->released[i], id))
            return true;
    return false;
}

/* Remembers the container, because a repeated answer contains it again. */
static int release(struct nm_lend *l, const struct nm_lend_grant *g, enum nm_lend_verdict *ret)
{
    if (l->n_released < NM_LEND_CONTAINERS_MAX) {
        if (NM_ARRAY_ROOM(l->released, l->n_released, l->released_size) < 0)
            return -ENOMEM;
        l->released[l->n_released++] = g->id;
    }
    note_counted(l);
    l->counts.released++;
    *ret = NM_LEND_RELEASE;
    return 0;
}

/* ---- refused calls ------------------------------------------------------------------------------ */

static void back_off_refused(struct nm_lend_entry *e, uint64_t now_usec)
{
    if (!e->refused)
        e->backed_off_until_usec = e->backs_off_until_usec;
    e->refused = true;
    e->backs_off_until_usec = NM_MAX(e->backs_off_until_usec, now_usec + NM_LEND_MINUTE_USEC);
}

void nm_lend_repeated(struct nm_lend *l)
{
    for (size_t i = 0; i < l->n_keys; i++)
        l->keys[i].accused = l->keys[i].added;
}

/* The ResourceManager checks a call before it reads the asks. But it may have read opportunistic ones by then, so it
 * isn't certain which counts it has. */
void nm_lend_refused(struct nm_lend *l, uint64_t now_usec)
{
    for (size_t i = 0; i < l->n_keys; i++) {
        struct nm_lend_entry *e = &l->keys[i];

        e->added = e->sent == NM_LEND_SENT_BY_BOOKS;
        e->accused = false; /* if this was the repeated call, the master's own asks are the reason */
        if (e->sent != NM_LEND_NOT_SENT && e->sent_opportunistic > 0)
            back_off_refused(e, now_usec);
        if (e->former.call > l->settled_call)
            nm_lend_keys_take_back(e);
        if (e->own_call > l->settled_call)
            nm_lend_keys_take_back_own(e);
        e->sent = NM_LEND_NOT_SENT;
    }
    l->held_until_usec = now_usec + NM_LEND_HELD_USEC;
    l->revision++;
}

/* ---- opportunistic grants ----------------------------------------------------------------------- */

static int make_container(struct nm_lend *l, const struct nm_lend_grant *g, uint64_t now_usec,
                          struct nm_lend_container **ret)
{
    _cleanup_free_ struct nm_lend_container *c = calloc(1, sizeof *c);

    if (!c || nm_lend_nodes_get(l, g->host, g->port, &c->node) < 0)
        return -ENOMEM;
    c->is = (struct nm_lend_history){
        .id = g->id,
        .key = g->key,
        .size = g->size,
        .lent_usec = now_usec,
        .version = g->version,
        .master_version = g->version,
    };
    *ret = STEAL_PTR(c);
    return 0;
}

/* asked_usec, mode: 0 and NM_LEND_OFF if these books don't know it. */
static int add_lent(struct nm_lend *l, const struct nm_lend_grant *g, uint64_t asked_usec, enum nm_lend_mode mode,
                    uint64_t now_usec)
{
    _cleanup_free_ struct nm_lend_container *c = NULL;
    struct nm_lend_place *node;
    int r = make_container(l, g, now_usec, &c);

    if (r < 0)
        return r;
    c->is.asked_usec = asked_usec;
    c->is.mode = mode;
    node = c->node;
    r = nm_lend_containers_add(l, &c);
    if (r < 0 && node)
        nm_lend_nodes_drop_unused(l, node);
    return r;
}

/* Books that an earlier version of nmd has packed don't have the mode of a key. */
static int lend(struct nm_lend *l, struct nm_lend_entry *e, const struct nm_lend_grant *g, uint64_t now_usec,
                enum nm_lend_verdict *ret)
{
    const enum nm_lend_mode mode = e->mode != NM_LEND_OFF ? e->mode : l->rule.mode;
    int r = add_lent(l, g, e->batches[0].since_usec, mode, now_usec);

    if (r < 0)
        return r;
    l->counts.granted++;
    if (e->lent_asked > 0)
        e->lent_asked--;
    else
        nm_lend_keys_add_surplus(e, e->guaranteed_max); /* the ask was withdrawn: the guaranteed count has it, too */
    (void)nm_lend_keys_take(e, 0);
    e->lent_total++;
    e->asked_usec = now_usec;
    count_grant(l, e);
    *ret = NM_LEND_SHOW;
    return 0;
}

/* Notes that the ResourceManager grants opportunistic containers. If the books have taken it for one that doesn't, they
 * have not withdrawn opportunistic counts since then. */
static void prove(struct nm_lend *l)
{
    for (size_t i = 0; l->refused && i < l->n_keys; i++)
        l->keys[i].unsent |= l->keys[i].n_sizes > 0;
    l->revision += l->refused || !l->proven;
    l->proven = true;
    l->refused = false;
}

/* Releases a container that the master cannot use. The ResourceManager has counted it. */
static int lend_nothing(struct nm_lend *l, struct nm_lend_entry *e, const struct nm_lend_grant *g,
                        enum nm_lend_verdict *ret)
{
    int r = release(l, g, ret);

    if (r == 0 && e->lent_asked > 0) {
        e->lent_asked--;
        e->unsent = true;
    }
    return r;
}

static void take_left(struct nm_lend *l, int64_t memory_mib)
{
    if (l->left_mib != INT64_MAX)
        l->left_mib -= memory_mib;
}

static bool exceeds_limits(const struct nm_lend *l, const struct nm_lend_grant *g, int64_t more_mib)
{
    return more_mib > l->left_mib ||
           (l->application_mib >= 0 && l->lent_memory_mib + g->size.memory_mib > l->application_mib);
}

/* Lends a container, unless it is larger than what was asked for, and a limit doesn't allow this. Then the next plan
 * knows how large the containers of this key are. */
static int lend_within_limits(struct nm_lend *l, struct nm_lend_entry *e, const struct nm_lend_grant *g,
                              uint64_t now_usec, enum nm_lend_verdict *ret)
{
    const int64_t former_mib = nm_lend_keys_memory_mib(e);
    int64_t asked_mib;

    nm_lend_keys_learn_memory(e, g->size.memory_mib);
    take_left(l, e->lent_asked * (nm_lend_keys_memory_mib(e) - former_mib));
    asked_mib = e->lent_asked > 0 ? nm_lend_keys_memory_mib(e) : 0;
    if (exceeds_limits(l, g, g->size.memory_mib - asked_mib)) {
        take_left(l, -asked_mib);
        return lend_nothing(l, e, g, ret);
    }
    take_left(l, g->size.memory_mib - asked_mib);
    return lend(l, e, g, now_usec, ret);
}

static int grant_opportunistic(struct nm_lend *l, const struct nm_lend_grant *g, uint64_t now_usec,
                               enum nm_lend_verdict *ret)
{
    struct nm_lend_entry *e = nm_lend_keys_find(l, &g->key);
    int r;

    if (nm_lend_containers_find(l, &g->id) || (l->repeated && nm_lend_containers_find_ended(l, &g->id))) {
        *ret = NM_LEND_SHOW;
        return 0;
    }
    if (!e || e->own_opportunistic) {
        if (!e && !l->repeated)
            nm_lend_keys_lower_left_out(l, &g->key);
        *ret = NM_LEND_PASS;
        return 0;
    }
    if (l->repeated && !l->incomplete) {
        *ret = NM_LEND_RELEASE;
        return 0;
    }
    prove(l);
    if (nm_lend_keys_wanted(e) == 0 || l->n_lent >= NM_LEND_CONTAINERS_MAX || !nm_lend_keys_size_is_valid(&g->size))
        return lend_nothing(l, e, g, ret);
    if (g->size.memory_mib >= e->size.memory_mib)
        return lend_within_limits(l, e, g, now_usec, ret);
    /* The largest opportunistic container is smaller than what the master needs. A further ask would get another
     * one. */
    r = lend_nothing(l, e, g, ret);
    if (r == 0)
        e->backs_off_until_usec = NM_MAX(e->backs_off_until_usec, now_usec + NM_LEND_MINUTE_USEC);
    return r;
}

/* ---- guaranteed grants -------------------------------------------------------------------------- */

/* Notes a surplus after a guaranteed container was granted. Without opportunistic allocation, the ResourceManager may
 * also have granted one that was asked for as opportunistic. */
static void add_surplus(const struct nm_lend *l, struct nm_lend_entry *e)
{
    const uint32_t others = l->proven ? 0 : e->sent_opportunistic;

    if (e->touched && e->answered != NM_LEND_NOT_SENT && l->uncertain) {
        e->unsent = true;
        e->surplus = NM_MAX(e->surplus, (uint32_t)nm_sub_u64(e->guaranteed_max + others, e->wanted - e->lent_asked));
    } else if (e->answered == NM_LEND_SENT_BY_BOOKS)
        nm_lend_keys_add_surplus(e, e->sent_guaranteed + others);
    else if (e->answered != NM_LEND_SENT_BY_MASTER && e->guaranteed_max > 0)
        e->guaranteed_max--;
}

static void take_guaranteed(struct nm_lend *l, struct nm_lend_entry *e)
{
    e->lent_total += e->observed > 0;
    e->observed -= e->observed > 0;
    if (e->wanted > e->lent_asked)
        (void)nm_lend_keys_take(e, e->lent_asked);
    else {
        if (!l->proven && e->guaranteed_max == 0 && !e->guesses)
            l->refused = true;
        e->lent_asked--;
        e->unsent = true;
        (void)nm_lend_keys_take(e, 0);
    }
    add_surplus(l, e);
    count_grant(l, e);
}

/* The key had no place when the answer was handled first, and the master's count includes what it granted. */
static void subtract_late(struct nm_lend *l, struct nm_lend_entry *e)
{
    nm_lend_keys_lower(e, NM_MIN(e->wanted, 1u));
    count_answered(l, e);
}

static int grant_guaranteed(struct nm_lend *l, const struct nm_lend_grant *g, enum nm_lend_verdict *ret)
{
    struct nm_lend_entry *e = nm_lend_keys_find(l, &g->key);
    uint32_t *surplus;

    *ret = NM_LEND_PASS;
    if (!e && !l->repeated)
        nm_lend_keys_lower_left_out(l, &g->key);
    if (e && l->repeated && e->is_late)
        subtract_late(l, e);
    if (!e || l->repeated)
        return 0;
    if (nm_lend_keys_wanted(e) > 0) {
        take_guaranteed(l, e);
        return 0;
    }
    /* Without lending, the ResourceManager also grants too many if the master has just lowered its count. The
     * master gets those. */
    surplus = e->former_surplus > 0 ? &e->former_surplus : &e->surplus;
    if (*surplus == 0) {
        count_answered(l, e);
        return 0;
    }
    if (release(l, g, ret) < 0)
        return -ENOMEM;
    if (l->uncertain && e->answered != NM_LEND_NOT_SENT)
        add_surplus(l, e);
    else
        --*surplus;
    return 0;
}

int nm_lend_granted(struct nm_lend *l, const struct nm_lend_grant *g, uint64_t now_usec, enum nm_lend_verdict *ret)
{
    int r;

    if (l->repeated && was_released(l, &g->id)) {
        *ret = NM_LEND_RELEASE;
        return 0;
    }
    if (g->opportunistic && l->late) {
        *ret = NM_LEND_PASS; /* the master itself has asked for it, perhaps before these books began */
        return 0;
    }
    r = g->opportunistic ? grant_opportunistic(l, g, now_usec, ret) : grant_guaranteed(l, g, ret);
    l->incomplete |= r < 0;
    return r;
}

void nm_lend_rejected(struct nm_lend *l, const struct nm_lend_key *key, uint32_t n)
{
    struct nm_lend_entry *e = nm_lend_keys_find(l, key);

    if (!e || !e->placement || l->repeated)
        return;
    nm_lend_keys_lower(e, NM_MIN(n, e->wanted));
    l->revision++;
}

int nm_lend_adopt(struct nm_lend *l, const struct nm_lend_grant *g, uint64_t now_usec)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, &g->id);
    int r;

    if (c)
        nm_lend_containers_confirm(l, c);
    if (c || nm_lend_containers_find_ended(l, &g->id) || l->n_lent >= NM_LEND_CONTAINERS_MAX ||
        !nm_lend_keys_size_is_valid(&g->size))
        return 0;
    r = add_lent(l, g, 0, NM_LEND_OFF, now_usec);
    if (r < 0)
        return r;
    c = nm_lend_containers_find(l, &g->id);
    c->is.adopted_usec = now_usec;
    c->is.adoptions = 1;
    l->counts.adopted++;
    return 0;
}

void nm_lend_set_past(struct nm_lend *l, const struct nm_yarn_container_id *id, const struct nm_lend *earlier)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);
    struct nm_lend_history past;

    if (!c || c->is.adoptions != 1 || !nm_lend_find_history(earlier, id, &past))
        return;
    c->is.asked_usec = past.asked_usec;
    c->is.mode = past.mode;
    c->is.adoptions = past.adoptions + (past.adoptions < UINT32_MAX);
    nm_lend_containers_set_lent(l, c, NM_MIN(past.lent_usec, c->is.lent_usec));
    l->revision++;
}

/* ---- ends --------------------------------------------------------------------------------------- */

static void note_end(struct nm_lend *l, struct nm_lend_history *h, bool preempted, uint64_t now_usec)
{
    h->ended_usec = now_usec;
    h->preempted = preempted;
    h->running = h->queued = false;
    if (preempted && h->demoted_usec == 0)
        nm_lend_keys_back_off(l, &h->key, now_usec);
    l->revision++;
}

bool nm_lend_ended(struct nm_lend *l, const struct nm_yarn_container_id *id, bool preempted, uint64_t now_usec)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);
    struct nm_lend_history *h = c ? &c->is : nm_lend_containers_find_ended(l, id);

    if (!h)
        return false;
    if (h->ended_usec == 0)
        note_end(l, h, preempted, now_usec);
    nm_lend_containers_drop_unapplied(l, id);
    if (!c)
        return true;
    l->counts.preempted += preempted;
    l->counts.ended += !preempted;
    nm_lend_containers_end(l, c);
    return true;
}

bool nm_lend_set_unknown(struct nm_lend *l, const struct nm_yarn_container_id *id, uint64_t now_usec)
{
    struct nm_lend_container *c = nm_lend_containers_find(l, id);

    if (!c || !c->unconfirmed)
        return false;
    if (c->unknown_since_usec == 0 || nm_sub_u64(now_usec, c->unknown_at_usec) > NM_LEND_UNKNOWN_GAP_USEC)
        c->unknown_since_usec = now_usec;
    c->unknown_at_usec = now_usec;
    return nm_sub_u64(now_usec, c->unknown_since_usec) >= NM_LEND_UNKNOWN_USEC && nm_lend_ended(l, id, false, now_usec);
}

bool nm_lend_is_lent(const struct nm_lend *l, const struct nm_yarn_container_id *id)
{
    return nm_lend_containers_find(l, id);
}

/* ---- registration ------------------------------------------------------------------------------- */

/* A call that was refused because the master must register says nothing about its asks. */
static void forget(struct nm_lend_entry *e)
{
    if (e->refused)
        e->backs_off_until_usec = e->backed_off_until_usec;
    e->refused = false;
    e->forgotten = true;
    e->lent_asked = 0;
    e->n_sizes = 0;
    e->unsent = e->touched = e->set = e->in_call = e->own_in_call = false;
    e->surplus = e->former_surplus = e->in_last_answer = 0;
    e->sent = e->answered = NM_LEND_NOT_SENT;
    e->sent_guaranteed = e->sent_opportunistic = e->guaranteed_max = 0;
    e->guesses = e->own_opportunistic = e->added = e->accused = e->suspect = false;
    e->refusals = 0;
    e->former.call = e->own_call = 0;
}

void nm_lend_registered(struct nm_lend *l)
{
    for (size_t i = 0; i < l->n_keys; i++)
        forget(&l->keys[i]);
    nm_lend_containers_return_unapplied(l);
    for (size_t i = 0; i < l->n_lent; i++) {
        nm_lend_containers_set_promoting(l, l->by_age[i], false);
        l->by_age[i]->promote_after_usec = 0;
        l->by_age[i]->asks = 0;
        l->by_age[i]->unconfirmed = true;
        l->by_age[i]->unknown_since_usec = 0;
    }
    l->held_until_usec = 0;
    l->tried = false;
    l->left_out.wanted = 0;
    memset(l->own_marks, 0, sizeof l->own_marks);
    l->has_response = l->has_counted = l->answered = l->repeated = false;
    l->in_flight = l->uncertain = l->incomplete = false;
    l->n_released = 0;
    l->refused = l->proven = l->late = false;
    l->revision++;
}
