/* SPDX-License-Identifier: Apache-2.0 */

/* See cache.h. Users choose the number of resources, which may be thousands for one container, all in one turn of the
 * event loop. Lookups by key and by id, and the choice of the next resource to remove, therefore don't visit all
 * resources. */

#include "localize/cache.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "util/fnv1a.h"

/* An entry with its links in the indices. The slots move when the vector grows or a slot is dropped. Callers therefore
 * store ids, and use pointers only until the next call. */
struct slot {
    struct nm_cache_entry entry;
    uint64_t hash; /* hash of the key */
    char *strings;
    uint32_t next[2]; /* next slot in this slot's hash chain, for both indices */
    uint32_t app_next, app_prev; /* neighbours in the application's chain; app_prev 0: this slot is the first */
    uint32_t at;      /* index of this slot in the heap of removable slots, plus one; 0: not in the heap */
};

/* The two indices. Each is a hash table of chains. A link is the index of a slot plus one; 0 is the end. */
enum { BY_KEY, BY_ID };

struct nm_cache {
    struct slot *slots;
    size_t n, room;       /* room: 0 or a power of two */
    uint32_t *heads[2];   /* each array has `room` elements */
    uint32_t *apps;       /* heads of the chains of applications; `room` elements */
    uint32_t *heap;       /* indices of removable slots, with the next one to remove at the root; allocated for `room`
                             elements */
    size_t n_heap;
    uint64_t seed;        /* random, so that a user cannot choose keys that share one hash chain */
    uint64_t most_bytes, bytes, leaving_bytes, next_id;
    size_t n_leaving;
};

struct nm_cache *nm_cache_new(uint64_t most_bytes)
{
    struct nm_cache *c = calloc(1, sizeof *c);

    if (c && getrandom(&c->seed, sizeof c->seed, GRND_NONBLOCK) < 0)
        c->seed = (uintptr_t)c;
    if (c) {
        c->most_bytes = most_bytes;
        c->next_id = NM_CACHE_FIRST_ID;
    }
    return c;
}

struct nm_cache *nm_cache_free(struct nm_cache *c)
{
    if (!c)
        return NULL;
    for (size_t i = 0; i < c->n; i++)
        free(c->slots[i].strings);
    free(c->slots);
    free(c->heads[BY_KEY]);
    free(c->heads[BY_ID]);
    free(c->apps);
    free(c->heap);
    free(c);
    return NULL;
}

static uint64_t first_hash(const struct nm_cache *c)
{
    return NM_FNV1A_64_BASIS ^ c->seed;
}

/* Includes the NUL in the hash, so that pairs of strings with the same concatenation have different hashes. */
static uint64_t hash_word(uint64_t hash, const char *word)
{
    return nm_fnv1a_64_more(hash, word, strlen(word) + 1);
}

static uint64_t hash_key(const struct nm_cache *c, const struct nm_cache_key *k)
{
    const char *const words[] = {k->user, k->application, k->uri, k->pattern};
    const uint64_t numbers[] = {k->visibility, k->type, k->timestamp_msec};
    uint64_t hash = nm_fnv1a_64_more(first_hash(c), numbers, sizeof numbers);

    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++)
        hash = hash_word(hash, words[i]);
    return hash;
}

/* Compares keys. Comparing the hashes isn't enough: users choose URIs and can make two URIs with the same hash. */
static bool same_key(const struct nm_cache_key *a, const struct nm_cache_key *b)
{
    return a->visibility == b->visibility && a->type == b->type && a->timestamp_msec == b->timestamp_msec &&
           nm_streq(a->user, b->user) && nm_streq(a->application, b->application) && nm_streq(a->uri, b->uri) &&
           nm_streq(a->pattern, b->pattern);
}

/* Returns whether lookups may find the entry. */
static bool is_findable(const struct nm_cache_entry *e)
{
    return e->state != NM_CACHE_LEAVING && !e->is_leaving;
}

/* ---- the indices ---- */

/* Returns the bucket of a hash. Multiplies the hash by an odd constant, because all bits of the hash affect the upper
 * half of the product. */
static size_t bucket_of(const struct nm_cache *c, uint64_t hash)
{
    return (hash * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (c->room - 1);
}

/* Returns the head of a slot's chain. Ids are consecutive, so they needn't be hashed. */
static uint32_t *head_of(const struct nm_cache *c, int index, const struct slot *slot)
{
    return &c->heads[index][index == BY_ID ? slot->entry.id & (c->room - 1) : bucket_of(c, slot->hash)];
}

static uint32_t *app_head(const struct nm_cache *c, const char *user, const char *application)
{
    return &c->apps[bucket_of(c, hash_word(hash_word(first_hash(c), user), application))];
}

/* Links a slot into the chain of its application. When the application ends, this chain is used to find all its
 * entries. The chain is doubly linked, so that removing an entry doesn't visit thousands of other entries. */
static void link_app(struct nm_cache *c, struct slot *slot)
{
    const struct nm_cache_key *k = &slot->entry.key;
    const uint32_t number = (uint32_t)(slot - c->slots) + 1;
    uint32_t *head;

    if (k->visibility != NM_VISIBILITY_APPLICATION)
        return;
    head = app_head(c, k->user, k->application);
    slot->app_prev = 0;
    slot->app_next = *head;
    if (*head)
        c->slots[*head - 1].app_prev = number;
    *head = number;
}

static void unlink_app(struct nm_cache *c, struct slot *slot)
{
    const struct nm_cache_key *k = &slot->entry.key;

    if (k->visibility != NM_VISIBILITY_APPLICATION)
        return;
    if (slot->app_prev)
        c->slots[slot->app_prev - 1].app_next = slot->app_next;
    else
        *app_head(c, k->user, k->application) = slot->app_next;
    if (slot->app_next)
        c->slots[slot->app_next - 1].app_prev = slot->app_prev;
}

static void link_slot(struct nm_cache *c, struct slot *slot)
{
    link_app(c, slot);
    for (int index = BY_KEY; index <= BY_ID; index++) {
        uint32_t *head = head_of(c, index, slot);

        slot->next[index] = *head;
        *head = (uint32_t)(slot - c->slots) + 1;
    }
}

static void unlink_slot(struct nm_cache *c, struct slot *slot)
{
    const uint32_t number = (uint32_t)(slot - c->slots) + 1;

    unlink_app(c, slot);
    for (int index = BY_KEY; index <= BY_ID; index++) {
        uint32_t *at = head_of(c, index, slot);

        while (*at != number)
            at = &c->slots[*at - 1].next[index];
        *at = slot->next[index];
    }
}

static int grow(struct nm_cache *c)
{
    const size_t room = c->room ? c->room * 2 : 16;
    _cleanup_free_ uint32_t *by_key = calloc(room, sizeof *by_key), *by_id = calloc(room, sizeof *by_id);
    _cleanup_free_ uint32_t *apps = calloc(room, sizeof *apps);
    uint32_t *heap = by_key && by_id && apps && room < UINT32_MAX ? reallocarray(c->heap, room, sizeof *heap) : NULL;
    struct slot *grown;

    if (!heap)
        return -ENOMEM;
    c->heap = heap;
    grown = reallocarray(c->slots, room, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    free(c->heads[BY_KEY]);
    free(c->heads[BY_ID]);
    c->heads[BY_KEY] = STEAL_PTR(by_key);
    c->heads[BY_ID] = STEAL_PTR(by_id);
    free(c->apps);
    c->apps = STEAL_PTR(apps);
    c->slots = grown;
    c->room = room;
    for (size_t i = 0; i < c->n; i++)
        link_slot(c, &c->slots[i]);
    return 0;
}

/* Finds the usable entry of a key. Skips the key's entries with is_leaving set, and entries whose files are being
 * removed. */
static struct slot *find_key(const struct nm_cache *c, const struct nm_cache_key *key)
{
    const struct slot like = {.hash = hash_key(c, key)};

    for (uint32_t i = c->room ? *head_of(c, BY_KEY, &like) : 0; i > 0; i = c->slots[i - 1].next[BY_KEY]) {
        struct slot *slot = &c->slots[i - 1];

        if (slot->hash == like.hash && is_findable(&slot->entry) && same_key(&slot->entry.key, key))
            return slot;
    }
    return NULL;
}

static struct slot *find_id(const struct nm_cache *c, uint64_t id)
{
    const struct slot like = {.entry.id = id};

    for (uint32_t i = c->room ? *head_of(c, BY_ID, &like) : 0; i > 0; i = c->slots[i - 1].next[BY_ID])
        if (c->slots[i - 1].entry.id == id)
            return &c->slots[i - 1];
    return NULL;
}

/* ---- the heap of removable entries ---- */

static bool may_leave(const struct nm_cache_entry *e)
{
    return e->state == NM_CACHE_READY && e->users == 0;
}

/* Orders removals: entries with is_leaving first, then the least recently used ones. */
static bool leaves_before(const struct nm_cache_entry *a, const struct nm_cache_entry *b)
{
    return a->is_leaving != b->is_leaving ? a->is_leaving : a->used_usec < b->used_usec;
}

static bool is_before(const struct nm_cache *c, size_t a, size_t b) /* a and b: positions in the heap */
{
    return leaves_before(&c->slots[c->heap[a]].entry, &c->slots[c->heap[b]].entry);
}

static void put(struct nm_cache *c, size_t position, uint32_t number)
{
    c->heap[position] = number;
    c->slots[number].at = (uint32_t)position + 1;
}

static void swap(struct nm_cache *c, size_t a, size_t b)
{
    const uint32_t number = c->heap[a];

    put(c, a, c->heap[b]);
    put(c, b, number);
}

/* Moves a slot up or down the heap to its position in the order. */
static void sift(struct nm_cache *c, size_t position)
{
    for (size_t parent; position > 0 && is_before(c, position, parent = (position - 1) / 2); position = parent)
        swap(c, position, parent);
    for (size_t child; (child = 2 * position + 1) < c->n_heap; position = child) {
        if (child + 1 < c->n_heap && is_before(c, child + 1, child))
            child++;
        if (!is_before(c, child, position))
            return;
        swap(c, position, child);
    }
}

/* Updates the heap after a change of an entry. The change may have affected whether the entry is removable, or its
 * position in the order. */
static void settle(struct nm_cache *c, struct slot *slot)
{
    size_t position;

    if (!slot->at && may_leave(&slot->entry))
        put(c, c->n_heap++, (uint32_t)(slot - c->slots));
    if (!slot->at)
        return;
    position = slot->at - 1;
    if (!may_leave(&slot->entry)) {
        swap(c, position, --c->n_heap);
        slot->at = 0;
    }
    if (position < c->n_heap)
        sift(c, position);
}

/* ---- entries ---- */

/* Copies the key's four strings into one allocation, so that an entry has only one pointer to free. */
static int copy_key(const struct nm_cache_key *from, struct slot *to)
{
    const char *const words[] = {from->user, from->application, from->uri, from->pattern};
    struct nm_cache_key *key = &to->entry.key;
    const char **const destinations[] = {&key->user, &key->application, &key->uri, &key->pattern};
    size_t size = 0;
    char *p;

    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++)
        size += strlen(words[i]) + 1;
    p = to->strings = malloc(size);
    if (!p)
        return -ENOMEM;
    *key = *from;
    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++) {
        *destinations[i] = p;
        p = stpcpy(p, words[i]) + 1;
    }
    return 0;
}

/* Adds an entry. Copies the strings last, so that no earlier step has to be undone if memory runs out. */
static int add(struct nm_cache *c, const struct nm_cache_entry *entry)
{
    struct slot slot = {.entry = *entry, .hash = hash_key(c, &entry->key)};
    int r = c->n == c->room ? grow(c) : 0;

    if (r >= 0)
        r = copy_key(&entry->key, &slot);
    if (r < 0)
        return r;
    c->slots[c->n] = slot;
    link_slot(c, &c->slots[c->n]);
    settle(c, &c->slots[c->n++]);
    c->bytes = nm_add_u64(c->bytes, entry->bytes);
    return 0;
}

/* Drops a slot and moves the last slot to its position, because the order of slots has no meaning. */
static void drop(struct nm_cache *c, struct slot *slot)
{
    struct slot *last = &c->slots[c->n - 1];

    assert(slot->entry.users == 0 && !slot->at && !slot->entry.fetch && !slot->entry.checks);
    c->bytes = nm_sub_u64(c->bytes, slot->entry.bytes);
    c->leaving_bytes = nm_sub_u64(c->leaving_bytes, slot->entry.bytes);
    unlink_slot(c, slot);
    free(slot->strings);
    if (slot != last) {
        unlink_slot(c, last);
        *slot = *last;
        link_slot(c, slot);
        if (slot->at)
            c->heap[slot->at - 1] = (uint32_t)(slot - c->slots);
    }
    c->n--;
}

/* Requests a resource. Increments the next id only if an entry is made, so that the numbers of directories are
 * consecutive, as administrators expect. */
int nm_cache_request(struct nm_cache *c, const struct nm_cache_key *key, uint64_t now_usec, uint64_t *ret_id)
{
    const struct nm_cache_entry fresh = {
        .id = c->next_id, .key = *key, .state = NM_CACHE_FETCHING, .used_usec = now_usec, .users = 1};
    struct slot *slot = find_key(c, key);
    int r;

    if (slot) {
        slot->entry.users++;
        slot->entry.used_usec = now_usec;
        settle(c, slot);
        *ret_id = slot->entry.id;
        return slot->entry.state == NM_CACHE_READY ? NM_CACHE_E_READY : NM_CACHE_E_FETCHING;
    }
    r = add(c, &fresh);
    if (r < 0)
        return r;
    *ret_id = c->next_id++;
    return NM_CACHE_E_NEW;
}

/* Releases an entry and sets its last use to the current time. If a restored entry has a later time, keeps that
 * time. */
void nm_cache_release(struct nm_cache *c, uint64_t id, uint64_t now_usec)
{
    struct slot *slot = find_id(c, id);

    assert(slot && slot->entry.users > 0);
    slot->entry.users--;
    slot->entry.used_usec = NM_MAX(slot->entry.used_usec, now_usec);
    settle(c, slot);
}

void nm_cache_attach(struct nm_cache *c, uint64_t id, void *fetch)
{
    struct slot *slot = find_id(c, id);

    assert(slot);
    slot->entry.fetch = fetch;
}

void nm_cache_attach_checks(struct nm_cache *c, uint64_t id, void *checks)
{
    struct slot *slot = find_id(c, id);

    assert(slot);
    slot->entry.checks = checks;
}

void nm_cache_listed(struct nm_cache *c, uint64_t id)
{
    struct slot *slot = find_id(c, id);

    assert(slot);
    slot->entry.is_listed = true;
}

void nm_cache_checked(struct nm_cache *c, uint64_t id, uint64_t now_usec)
{
    struct slot *slot = find_id(c, id);

    assert(slot);
    slot->entry.checked_usec = now_usec;
}

void nm_cache_note(struct nm_cache *c, uint64_t id, enum nm_cache_noted noted)
{
    struct slot *slot = find_id(c, id);

    assert(slot);
    slot->entry.noted = noted;
}

/* Stores the size of a fetched resource. A running fetch reserves no bytes, because the size of an unpacked archive
 * isn't known before. */
void nm_cache_fetched(struct nm_cache *c, uint64_t id, uint64_t bytes)
{
    struct slot *slot = find_id(c, id);

    assert(slot && slot->entry.state == NM_CACHE_FETCHING);
    slot->entry.state = NM_CACHE_READY;
    slot->entry.bytes = bytes;
    c->bytes = nm_add_u64(c->bytes, bytes);
    settle(c, slot);
}

/* Sets is_leaving for the entry of a failed fetch. A part of the resource may be on the disk, so the entry is removed
 * like other entries. */
void nm_cache_failed(struct nm_cache *c, uint64_t id)
{
    struct slot *slot = find_id(c, id);

    assert(slot && slot->entry.state == NM_CACHE_FETCHING);
    slot->entry.state = NM_CACHE_READY;
    slot->entry.is_leaving = true;
    settle(c, slot);
}

void nm_cache_invalidate(struct nm_cache *c, uint64_t id)
{
    struct slot *slot = find_id(c, id);

    assert(slot);
    slot->entry.is_leaving = true;
    settle(c, slot);
}

/* Sets is_leaving for the entries of the application. If an entry is being fetched, it is removed as soon as the fetch
 * has ended. */
void nm_cache_end_application(struct nm_cache *c, const char *user, const char *application)
{
    for (uint32_t i = c->room ? *app_head(c, user, application) : 0; i > 0; i = c->slots[i - 1].app_next) {
        struct nm_cache_entry *e = &c->slots[i - 1].entry;

        if (nm_streq(e->key.user, user) && nm_streq(e->key.application, application)) {
            e->is_leaving = true;
            settle(c, &c->slots[i - 1]);
        }
    }
}

static bool is_too_full(const struct nm_cache *c)
{
    return c->bytes - c->leaving_bytes > c->most_bytes ||
           c->n - c->n_leaving > (c->most_bytes > 0 ? NM_CACHE_ENTRIES_MAX : 0);
}

/* Returns the next entry to remove. The bytes of entries that are being removed count as free here, because otherwise a
 * slow removal would cause further removals. */
const struct nm_cache_entry *nm_cache_next_to_evict(struct nm_cache *c)
{
    struct slot *first = c->n_heap > 0 ? &c->slots[c->heap[0]] : NULL;

    if (!first || (!first->entry.is_leaving && !is_too_full(c)))
        return NULL;
    first->entry.state = NM_CACHE_LEAVING;
    c->n_leaving++;
    c->leaving_bytes = nm_add_u64(c->leaving_bytes, first->entry.bytes);
    settle(c, first);
    return &first->entry;
}

/* Drops an entry whose files have been removed. Its bytes counted until now, because they were on the disk. */
void nm_cache_removed(struct nm_cache *c, uint64_t id)
{
    struct slot *slot = find_id(c, id);

    assert(slot && slot->entry.state == NM_CACHE_LEAVING);
    c->n_leaving--;
    drop(c, slot);
}

void nm_cache_reserve(struct nm_cache *c, uint64_t id)
{
    c->next_id = NM_MAX(c->next_id, id + 1);
}

/* Restores an entry. An nmd that ended during a removal can leave two files with the same key. One entry is complete,
 * and the other has is_leaving set. Both may exist at the same time. */
int nm_cache_restore(struct nm_cache *c, const struct nm_cache_entry *entry)
{
    struct nm_cache_entry e = *entry;

    if (find_id(c, e.id) || (!e.is_leaving && find_key(c, &e.key)))
        return -EEXIST;
    e.state = NM_CACHE_READY;
    e.noted = e.is_leaving ? NM_CACHE_NOTED_PART : NM_CACHE_NOTED_WHOLE;
    e.users = 0;
    nm_cache_reserve(c, e.id);
    return add(c, &e);
}

const struct nm_cache_entry *nm_cache_find(const struct nm_cache *c, uint64_t id)
{
    const struct slot *slot = find_id(c, id);

    return slot ? &slot->entry : NULL;
}

const struct nm_cache_entry *nm_cache_at(const struct nm_cache *c, size_t i)
{
    return i < c->n ? &c->slots[i].entry : NULL;
}

const struct nm_cache_entry *nm_cache_look_up(const struct nm_cache *c, const struct nm_cache_key *key)
{
    const struct slot *slot = find_key(c, key);

    return slot ? &slot->entry : NULL;
}

bool nm_cache_has(const struct nm_cache *c, const struct nm_cache_key *key)
{
    return find_key(c, key);
}

size_t nm_cache_list(const struct nm_cache *c, const struct nm_cache_key *key, uint64_t *ids, size_t room)
{
    const struct slot like = {.hash = hash_key(c, key)};
    size_t n = 0;

    for (uint32_t i = c->room ? *head_of(c, BY_KEY, &like) : 0; i > 0; i = c->slots[i - 1].next[BY_KEY]) {
        const struct slot *slot = &c->slots[i - 1];

        if (slot->hash != like.hash || slot->entry.state != NM_CACHE_READY || !same_key(&slot->entry.key, key))
            continue;
        if (n < room)
            ids[n] = slot->entry.id;
        n++;
    }
    return n;
}

void nm_cache_use(struct nm_cache *c, uint64_t id)
{
    struct slot *slot = find_id(c, id);

    assert(slot && slot->entry.state == NM_CACHE_READY);
    slot->entry.users++;
    settle(c, slot);
}

void nm_cache_set_room(struct nm_cache *c, uint64_t most_bytes)
{
    c->most_bytes = most_bytes;
}

uint64_t nm_cache_bytes(const struct nm_cache *c)
{
    return c->bytes;
}
