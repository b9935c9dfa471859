/* SPDX-License-Identifier: Apache-2.0 */

/* The table of keys, and the asks of the master. A table has few keys: MapReduce uses four priorities, Spark one for
 * each resource profile. */

#include <errno.h>

#include "util/array.h"
#include "yarn/lend/lend-state.h"

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static size_t position_of(const struct nm_lend *l, const struct nm_lend_key *key, bool *ret_found)
{
    size_t low = 0, high = l->n_keys;

    *ret_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct nm_lend_key *there = &l->keys[middle].key;
        int order = ORDER(there->priority, key->priority) ?: ORDER(there->request_id, key->request_id);

        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct nm_lend_entry *nm_lend_keys_find(const struct nm_lend *l, const struct nm_lend_key *key)
{
    bool found;
    size_t i = position_of(l, key, &found);

    return found ? &l->keys[i] : NULL;
}

int nm_lend_keys_insert(struct nm_lend *l, const struct nm_lend_key *key, struct nm_lend_entry **ret)
{
    bool found;
    size_t i = position_of(l, key, &found);

    if (l->n_keys >= NM_LEND_KEYS_MAX)
        return NM_LEND_KEYS_E_FULL;
    if (NM_ARRAY_ROOM(l->keys, l->n_keys, l->keys_size) < 0)
        return -ENOMEM;
    memmove(&l->keys[i + 1], &l->keys[i], (l->n_keys - i) * sizeof *l->keys);
    l->keys[i] = (struct nm_lend_entry){.key = *key};
    l->n_keys++;
    l->revision++;
    *ret = &l->keys[i];
    return 0;
}

/* ---- one key ------------------------------------------------------------------------------------ */

bool nm_lend_keys_same_size(const struct nm_lend_size *a, const struct nm_lend_size *b)
{
    return a->memory_mib == b->memory_mib && a->vcores == b->vcores;
}

bool nm_lend_keys_size_is_valid(const struct nm_lend_size *size)
{
    /* With this limit no sum of the books overflows. */
    return size->memory_mib >= 0 && size->memory_mib <= INT32_MAX && size->vcores >= 0;
}

int64_t nm_lend_keys_memory_mib(const struct nm_lend_entry *e)
{
    const int64_t memory_mib = NM_MAX(e->size.memory_mib, e->granted_mib);

    return NM_MAX(memory_mib, INT64_C(1));
}

/* While another size may be granted, it isn't known of which size the container is. */
void nm_lend_keys_learn_memory(struct nm_lend_entry *e, int64_t granted_mib)
{
    for (uint32_t i = 0; i < e->n_sizes; i++)
        if (!nm_lend_keys_same_size(&e->sizes[i], &e->size))
            return;
    e->granted_mib = granted_mib;
}

uint32_t nm_lend_keys_wanted(const struct nm_lend_entry *e)
{
    return e->forgotten ? 0 : e->wanted;
}

bool nm_lend_keys_is_special(const struct nm_lend_entry *e)
{
    return e->labelled || e->strict || e->placement || e->other_resources;
}

uint32_t nm_lend_keys_count_since(const struct nm_lend_entry *e, uint64_t usec)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->n_batches && e->batches[i].since_usec <= usec; i++)
        n += e->batches[i].n;
    return n;
}

/* A merged batch has the later time, so nothing is lent too early. */
static void raise_count(struct nm_lend_entry *e, uint32_t n, uint64_t now_usec)
{
    struct nm_lend_batch *last = e->n_batches > 0 ? &e->batches[e->n_batches - 1] : NULL;

    e->wanted += n;
    if (last && (e->n_batches == NM_LEND_BATCHES_MAX || last->since_usec >= now_usec)) {
        last->n += n;
        last->since_usec = NM_MAX(last->since_usec, now_usec);
    } else
        e->batches[e->n_batches++] = (struct nm_lend_batch){now_usec, n};
}

static void limit_shares(struct nm_lend_entry *e)
{
    e->lent_asked = NM_MIN(e->lent_asked, e->wanted);
    e->observed = NM_MIN(e->observed, e->wanted);
}

void nm_lend_keys_lower(struct nm_lend_entry *e, uint32_t n)
{
    e->wanted -= n;
    while (n > 0) {
        struct nm_lend_batch *last = &e->batches[e->n_batches - 1];
        uint32_t part = NM_MIN(n, last->n);

        last->n -= part;
        n -= part;
        e->n_batches -= last->n == 0;
    }
    limit_shares(e);
}

uint64_t nm_lend_keys_take(struct nm_lend_entry *e, uint32_t skip)
{
    uint32_t i = 0;
    uint64_t since_usec;

    while (skip >= e->batches[i].n)
        skip -= e->batches[i++].n;
    since_usec = e->batches[i].since_usec;
    e->wanted--;
    if (--e->batches[i].n == 0) {
        e->n_batches--;
        memmove(&e->batches[i], &e->batches[i + 1], (e->n_batches - i) * sizeof e->batches[0]);
    }
    limit_shares(e);
    return since_usec;
}

bool nm_lend_keys_has_size(const struct nm_lend_entry *e, const struct nm_lend_size *size)
{
    for (uint32_t i = 0; i < e->n_sizes; i++)
        if (nm_lend_keys_same_size(&e->sizes[i], size))
            return true;
    return false;
}

/* If a master changes the size several times while no call is answered, the oldest size is given up: containers of
 * this size are then released. */
void nm_lend_keys_add_size(struct nm_lend_entry *e)
{
    if (nm_lend_keys_has_size(e, &e->size))
        return;
    if (e->n_sizes == NM_LEND_SIZES_MAX)
        memmove(&e->sizes[0], &e->sizes[1], --e->n_sizes * sizeof e->sizes[0]);
    e->sizes[e->n_sizes++] = e->size;
}

void nm_lend_keys_add_surplus(struct nm_lend_entry *e, uint32_t most)
{
    e->unsent = true;
    e->surplus += e->surplus < most;
}

/* ---- back-off after preemptions ----------------------------------------------------------------- */

static bool has_decayed(const struct nm_lend_entry *e, uint64_t now_usec)
{
    return e->back_off_step == 0 || nm_sub_u64(now_usec, e->preempted_usec) >= NM_LEND_BACK_OFF_RESET_USEC;
}

struct nm_lend_entry *nm_lend_keys_first_of(const struct nm_lend *l, int32_t priority)
{
    bool found;

    return &l->keys[position_of(l, &(struct nm_lend_key){priority, INT64_MIN}, &found)];
}

uint64_t nm_lend_keys_preempted_until(const struct nm_lend *l, int32_t priority)
{
    const struct nm_lend_entry *end = &l->keys[l->n_keys], *e = nm_lend_keys_first_of(l, priority);
    uint64_t until_usec = 0;

    for (; e < end && e->key.priority == priority; e++)
        if (e->back_off_step > 0)
            until_usec = NM_MAX(until_usec,
                                nm_add_u64(e->preempted_usec, NM_LEND_MINUTE_USEC << (e->back_off_step - 1)));
    return until_usec;
}

/* Moves the steps of the other keys of the priority to this one, which keeps its place until they have decayed. */
static void take_over_steps(struct nm_lend *l, struct nm_lend_entry *to, uint64_t now_usec)
{
    const struct nm_lend_entry *end = &l->keys[l->n_keys];
    const int32_t priority = to->key.priority;
    uint32_t step = 0;

    for (struct nm_lend_entry *e = nm_lend_keys_first_of(l, priority); e < end && e->key.priority == priority; e++) {
        if (!has_decayed(e, now_usec))
            step = NM_MAX(step, e->back_off_step);
        e->back_off_step = 0;
    }
    to->back_off_step = step;
}

/* ---- asks --------------------------------------------------------------------------------------- */

/* A key with a step of the back-off keeps its place until the step has decayed. Otherwise, a master with many keys
 * would begin with the first step again and again. */
static bool is_idle(const struct nm_lend_entry *e, uint64_t now_usec)
{
    return nm_lend_keys_wanted(e) == 0 && e->n_sizes == 0 && !e->unsent && !e->set && e->in_last_answer == 0 &&
           e->backs_off_until_usec <= now_usec && has_decayed(e, now_usec);
}

/* Finds the key that needs its place least: nothing depends on it. If the master has asked for opportunistic containers
 * with this key, the books must remember that. A call may have very many asks with further keys, and none of its asks
 * makes a key idle, so one search is enough for a call. */
static struct nm_lend_entry *find_idle(struct nm_lend *l, uint64_t now_usec)
{
    struct nm_lend_entry *own = NULL;

    for (size_t i = 0; i < l->n_keys && l->full_call <= l->n_calls; i++) {
        struct nm_lend_entry *e = &l->keys[i];

        if (!is_idle(e, now_usec))
            continue;
        if (!e->own_opportunistic)
            return e;
        own = own ?: e;
    }
    if (!own)
        l->full_call = l->n_calls + 1;
    return own;
}

static uint64_t *find_mark(struct nm_lend *l, const struct nm_lend_key *key, uint64_t *ret_bit)
{
    const uint64_t hash = ((uint64_t)key->request_id * UINT64_C(0x9e3779b97f4a7c15) + (uint32_t)key->priority) *
                          UINT64_C(0xbf58476d1ce4e5b9) >> 40;

    *ret_bit = UINT64_C(1) << (hash % 64);
    return &l->own_marks[hash / 64 % NM_ARRAY_SIZE(l->own_marks)];
}

static void mark_own(struct nm_lend *l, const struct nm_lend_key *key)
{
    uint64_t bit, *mark = find_mark(l, key, &bit);

    l->revision += !(*mark & bit);
    *mark |= bit;
}

static void remove_key(struct nm_lend *l, struct nm_lend_entry *e)
{
    if (e->own_opportunistic)
        mark_own(l, &e->key);
    l->n_keys--;
    memmove(e, e + 1, (size_t)(&l->keys[l->n_keys] - e) * sizeof *e);
}

/* Finds the key that keeps a step of the back-off of a priority. A key may have lost its place while its containers
 * ran. Then another key of the priority keeps the step, or the key gets a place again. NULL: all places are in use, or
 * there is no memory. */
static struct nm_lend_entry *find_keeper(struct nm_lend *l, const struct nm_lend_key *key, uint64_t now_usec)
{
    const uint64_t full_call = l->full_call;
    struct nm_lend_entry *e = nm_lend_keys_find(l, key) ?: nm_lend_keys_first_of(l, key->priority);

    if (e < &l->keys[l->n_keys] && e->key.priority == key->priority)
        return e;
    e = l->n_keys < NM_LEND_KEYS_MAX ? NULL : find_idle(l, now_usec);
    l->full_call = full_call; /* this is not a search for the asks of a call */
    if (e)
        remove_key(l, e);
    return nm_lend_keys_insert(l, key, &e) == 0 ? e : NULL;
}

void nm_lend_keys_back_off(struct nm_lend *l, const struct nm_lend_key *key, uint64_t now_usec)
{
    struct nm_lend_entry *e = find_keeper(l, key, now_usec);
    uint64_t before_usec, until_usec;

    if (!e)
        return;
    before_usec = NM_MAX(nm_lend_keys_preempted_until(l, key->priority), e->backs_off_until_usec);
    take_over_steps(l, e, now_usec);
    if (e->back_off_step == 0 || now_usec >= before_usec)
        e->back_off_step = NM_MIN(e->back_off_step + 1, NM_LEND_BACK_OFF_STEPS);
    until_usec = nm_add_u64(now_usec, NM_LEND_MINUTE_USEC << (e->back_off_step - 1));
    e->backs_off_until_usec = NM_MAX(before_usec, until_usec);
    e->preempted_usec = now_usec;
}

static int get_entry(struct nm_lend *l, const struct nm_lend_ask *ask, uint64_t now_usec, struct nm_lend_entry **ret)
{
    struct nm_lend_entry *idle;
    uint64_t bit;
    int r;

    *ret = nm_lend_keys_find(l, &ask->key);
    if (*ret)
        return 0;
    if (ask->count <= 0)
        return NM_LEND_KEYS_E_FULL; /* nothing to note */
    idle = l->n_keys < NM_LEND_KEYS_MAX ? NULL : find_idle(l, now_usec);
    if (idle)
        remove_key(l, idle);
    r = nm_lend_keys_insert(l, &ask->key, ret);
    if (r == 0)
        (*ret)->own_opportunistic = *find_mark(l, &ask->key, &bit) & bit;
    return r;
}

static bool same_key(const struct nm_lend_key *a, const struct nm_lend_key *b)
{
    return a->priority == b->priority && a->request_id == b->request_id;
}

void nm_lend_keys_lower_left_out(struct nm_lend *l, const struct nm_lend_key *key)
{
    if (l->left_out.wanted > 0 && same_key(&l->left_out.key, key))
        l->left_out.wanted--;
}

static void note_left_out(struct nm_lend *l, const struct nm_lend_ask *ask, uint64_t now_usec)
{
    if (ask->count <= 0) {
        if (same_key(&l->left_out.key, &ask->key))
            l->left_out.wanted = 0;
        return;
    }
    l->left_out = (struct nm_lend_key_view){
        .key = ask->key,
        .size = ask->size,
        .wanted = (uint32_t)ask->count,
        .since_usec = now_usec,
        .reason = NM_LEND_TOO_MANY_KEYS,
    };
}

static void keep_former(struct nm_lend_entry *e, uint64_t call)
{
    e->former = (struct nm_lend_former){
        .call = call,
        .size = e->size,
        .granted_mib = e->granted_mib,
        .wanted = e->wanted,
        .n_batches = e->n_batches,
        .labelled = e->labelled,
        .strict = e->strict,
        .placement = e->placement,
        .other_resources = e->other_resources,
        .forgotten = e->forgotten,
        .unsent = e->unsent,
    };
    (void)memcpy(e->former.batches, e->batches, sizeof e->batches);
}

void nm_lend_keys_take_back(struct nm_lend_entry *e)
{
    const struct nm_lend_former *f = &e->former;

    e->size = f->size;
    e->granted_mib = f->granted_mib;
    e->wanted = f->wanted;
    e->n_batches = f->n_batches;
    (void)memcpy(e->batches, f->batches, sizeof e->batches);
    e->labelled = f->labelled;
    e->strict = f->strict;
    e->placement = f->placement;
    e->other_resources = f->other_resources;
    e->forgotten = f->forgotten;
    e->granted_total += f->granted_total;
    e->lent_total += f->lent_total;
    e->set = e->in_call = false;
    limit_shares(e);
    if (e->forgotten)
        e->lent_asked = 0;
    /* With counts of 0, the ResourceManager has nothing of this key, and could refuse the ask again. */
    e->unsent = f->unsent || e->wanted > 0 || e->n_sizes > 0;
    e->former.call = 0;
}

void nm_lend_keys_take_back_own(struct nm_lend_entry *e)
{
    e->own_opportunistic = e->own_in_call = false;
    e->unsent |= e->n_sizes > 0;
    e->own_call = 0;
}

/* Begins the sums of a key again, because the master has withdrawn all that it waited for. The containers that were not
 * granted are in no sum. So if a master that runs for long withdrew asks again and again, and the sums went on, more
 * would seem to be lent than the share of all asks, and nothing more would be lent. */
static void begin_sums(struct nm_lend_entry *e)
{
    e->former.granted_total += e->granted_total;
    e->former.lent_total += e->lent_total;
    e->granted_total = e->lent_total = 0;
}

/* The ResourceManager keeps one guaranteed ask for "*" of a key: the latest one, even if it has another size. */
static void set_count(struct nm_lend_entry *e, const struct nm_lend_ask *ask, uint64_t now_usec)
{
    const uint32_t count = (uint32_t)NM_MAX(ask->count, 0);

    if (!nm_lend_keys_same_size(&e->size, &ask->size))
        e->granted_mib = 0;
    e->size = ask->size;
    e->labelled = ask->labelled;
    e->strict = !ask->relax;
    e->placement = ask->placement;
    e->other_resources = ask->other_resources;
    e->forgotten = false;
    if (count == 0 && e->wanted > 0)
        begin_sums(e);
    if (count > e->wanted)
        raise_count(e, count - e->wanted, now_usec);
    else
        nm_lend_keys_lower(e, e->wanted - count);
    e->unsent = e->in_call = e->set = true;
}

static int note_ask(struct nm_lend *l, const struct nm_lend_ask *ask, uint64_t now_usec)
{
    struct nm_lend_entry *e;
    int r;

    if (!nm_lend_keys_size_is_valid(&ask->size))
        return 0; /* the ResourceManager refuses the call */
    if (ask->opportunistic ? ask->count <= 0 : !ask->any)
        return 0;
    r = get_entry(l, ask, now_usec, &e);
    if (r != 0) {
        if (ask->opportunistic)
            mark_own(l, &ask->key); /* the key may get a place later */
        note_left_out(l, ask, now_usec);
        return r < 0 ? r : 0;
    }
    l->revision++;
    if (!ask->opportunistic && e->former.call <= l->settled_call)
        keep_former(e, l->n_calls + 1);
    if (ask->opportunistic) {
        e->unsent |= !e->own_opportunistic || e->n_sizes > 0;
        e->own_call = e->own_opportunistic ? e->own_call : l->n_calls + 1;
        e->own_opportunistic = e->own_in_call = true;
    } else
        set_count(e, ask, now_usec);
    return 0;
}

int nm_lend_ask(struct nm_lend *l, const struct nm_lend_ask *asks, size_t n, uint64_t now_usec)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = note_ask(l, &asks[i], now_usec);
    return r;
}
