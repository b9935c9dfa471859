/* SPDX-License-Identifier: Apache-2.0 */

/* See cache.h. A host has some thousands of resources at most, and they are asked for when a container starts: a
 * vector that is searched by hash takes some microseconds for that. */

#include "localize/cache.h"

#include <assert.h>
#include <errno.h>

/* An entry with what finding it needs. The slots move when the vector grows or one is dropped, so nobody outside
 * keeps a pointer into it for longer than a call: an id is what lasts. */
struct slot {
    struct nm_cache_entry entry;
    uint64_t hash; /* of the key */
    char *strings;
};

struct nm_cache {
    struct slot *slots;
    size_t n, room;
    uint64_t most_bytes, bytes, next_id;
};

struct nm_cache *nm_cache_new(uint64_t most_bytes)
{
    struct nm_cache *c = calloc(1, sizeof *c);

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
    free(c);
    return NULL;
}

/* FNV-1a, with the NULs, so that no two strings can flow together. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    for (const unsigned char *p = data; size > 0; size--, p++)
        hash = (hash ^ *p) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_key(const struct nm_cache_key *k)
{
    const char *const words[] = {k->user, k->application, k->uri, k->pattern};
    const uint64_t numbers[] = {k->visibility, k->type, k->timestamp_msec};
    uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), numbers, sizeof numbers);

    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++)
        hash = hash_bytes(hash, words[i], strlen(words[i]) + 1);
    return hash;
}

/* What decides: a hash only spares the comparing, and anybody who names URIs can make two of the same. */
static bool same_key(const struct nm_cache_key *a, const struct nm_cache_key *b)
{
    return a->visibility == b->visibility && a->type == b->type && a->timestamp_msec == b->timestamp_msec &&
           nm_streq(a->user, b->user) && nm_streq(a->application, b->application) && nm_streq(a->uri, b->uri) &&
           nm_streq(a->pattern, b->pattern);
}

/* An entry that may still be asked for. */
static bool is_findable(const struct nm_cache_entry *e)
{
    return e->state != NM_CACHE_LEAVING && !e->is_doomed;
}

/* What leaves or is doomed may have a successor of the same key, fetched anew. */
static struct slot *find_key(const struct nm_cache *c, const struct nm_cache_key *key)
{
    uint64_t hash = hash_key(key);

    for (size_t i = 0; i < c->n; i++)
        if (c->slots[i].hash == hash && is_findable(&c->slots[i].entry) && same_key(&c->slots[i].entry.key, key))
            return &c->slots[i];
    return NULL;
}

/* Ids are asked for some times per resource of a container that starts; an index of them would have to be kept right
 * for less than it saves. */
static struct slot *find_id(const struct nm_cache *c, uint64_t id)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->slots[i].entry.id == id)
            return &c->slots[i];
    return NULL;
}

/* All four strings in one piece of memory: an entry has one thing to free. */
static int copy_key(const struct nm_cache_key *from, struct slot *to)
{
    const char *const words[] = {from->user, from->application, from->uri, from->pattern};
    struct nm_cache_key *key = &to->entry.key;
    const char **const places[] = {&key->user, &key->application, &key->uri, &key->pattern};
    size_t size = 0;
    char *p;

    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++)
        size += strlen(words[i]) + 1;
    p = to->strings = malloc(size);
    if (!p)
        return -ENOMEM;
    *key = *from;
    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++) {
        *places[i] = p;
        p = stpcpy(p, words[i]) + 1;
    }
    return 0;
}

/* The strings last, so that nothing is to be undone when there is no memory for them. */
static int add(struct nm_cache *c, const struct nm_cache_entry *entry)
{
    struct slot slot = {.entry = *entry, .hash = hash_key(&entry->key)};
    int r;

    if (c->n == c->room) {
        size_t room = c->room ? c->room * 2 : 16;
        struct slot *grown = reallocarray(c->slots, room, sizeof *grown);

        if (!grown)
            return -ENOMEM;
        c->slots = grown;
        c->room = room;
    }
    r = copy_key(&entry->key, &slot);
    if (r < 0)
        return r;
    c->slots[c->n++] = slot;
    c->bytes = nm_add_u64(c->bytes, entry->bytes);
    return 0;
}

/* The last takes its place: the order means nothing. */
static void drop(struct nm_cache *c, struct slot *slot)
{
    assert(slot->entry.users == 0);
    c->bytes = nm_sub_u64(c->bytes, slot->entry.bytes);
    free(slot->strings);
    *slot = c->slots[--c->n];
}

/* The id is used up only by an entry that came about: numbers stay without gaps, as those who look into the
 * directories would expect. */
int nm_cache_ask(struct nm_cache *c, const struct nm_cache_key *key, uint64_t now_usec, uint64_t *ret_id)
{
    const struct nm_cache_entry fresh = {
        .id = c->next_id, .key = *key, .state = NM_CACHE_FETCHING, .used_usec = now_usec, .users = 1};
    struct slot *slot = find_key(c, key);
    int r;

    if (slot) {
        slot->entry.users++;
        slot->entry.used_usec = now_usec;
        *ret_id = slot->entry.id;
        return slot->entry.state == NM_CACHE_READY ? NM_CACHE_E_READY : NM_CACHE_E_FETCHING;
    }
    r = add(c, &fresh);
    if (r < 0)
        return r;
    *ret_id = c->next_id++;
    return NM_CACHE_E_NEW;
}

/* Its last use is now, since it was in use until now; what was restored may be dated later, and keeps that. */
void nm_cache_release(struct nm_cache *c, uint64_t id, uint64_t now_usec)
{
    struct slot *slot = find_id(c, id);

    assert(slot && slot->entry.users > 0);
    slot->entry.users--;
    slot->entry.used_usec = NM_MAX(slot->entry.used_usec, now_usec);
}

/* What it takes is known only now: while it is on its way nothing is reserved for it, since nobody says beforehand
 * how much comes out of an archive. */
void nm_cache_fetched(struct nm_cache *c, uint64_t id, uint64_t bytes)
{
    struct slot *slot = find_id(c, id);

    assert(slot && slot->entry.state == NM_CACHE_FETCHING);
    slot->entry.state = NM_CACHE_READY;
    slot->entry.bytes = bytes;
    c->bytes = nm_add_u64(c->bytes, bytes);
}

/* Perhaps a part of it is there, so it leaves as others do. */
void nm_cache_failed(struct nm_cache *c, uint64_t id)
{
    struct slot *slot = find_id(c, id);

    assert(slot && slot->entry.state == NM_CACHE_FETCHING);
    slot->entry.state = NM_CACHE_READY;
    slot->entry.is_doomed = true;
}

void nm_cache_doom(struct nm_cache *c, uint64_t id)
{
    struct slot *slot = find_id(c, id);

    assert(slot);
    slot->entry.is_doomed = true;
}

/* One that is being fetched is doomed as well: it leaves as soon as it has come. */
void nm_cache_end_application(struct nm_cache *c, const char *user, const char *application)
{
    for (size_t i = 0; i < c->n; i++) {
        struct nm_cache_entry *e = &c->slots[i].entry;

        if (e->key.visibility == NM_VISIBILITY_APPLICATION && nm_streq(e->key.user, user) &&
            nm_streq(e->key.application, application))
            e->is_doomed = true;
    }
}

/* What is on its way out has its room counted as free already, or one that is slow to go would drag others after it. */
const struct nm_cache_entry *nm_cache_next_to_leave(struct nm_cache *c)
{
    struct nm_cache_entry *oldest = NULL;
    uint64_t leaving = 0;

    for (size_t i = 0; i < c->n; i++) {
        struct nm_cache_entry *e = &c->slots[i].entry;

        if (e->state == NM_CACHE_LEAVING)
            leaving += e->bytes;
        if (e->state != NM_CACHE_READY || e->users > 0)
            continue;
        if (!oldest || e->is_doomed > oldest->is_doomed ||
            (e->is_doomed == oldest->is_doomed && e->used_usec < oldest->used_usec))
            oldest = e;
    }
    if (!oldest || (!oldest->is_doomed && c->bytes - leaving <= c->most_bytes))
        return NULL;
    oldest->state = NM_CACHE_LEAVING;
    return oldest;
}

/* Only now are its bytes free: they count for as long as they are on the disk. */
void nm_cache_removed(struct nm_cache *c, uint64_t id)
{
    struct slot *slot = find_id(c, id);

    assert(slot && slot->entry.state == NM_CACHE_LEAVING);
    drop(c, slot);
}

void nm_cache_reserve(struct nm_cache *c, uint64_t id)
{
    c->next_id = NM_MAX(c->next_id, id + 1);
}

/* Two files of one key can be left by a nmd that died while one of them was leaving; of those one is whole, and the
 * other is doomed and may stand beside it. */
int nm_cache_restore(struct nm_cache *c, const struct nm_cache_entry *entry)
{
    struct nm_cache_entry e = *entry;

    if (find_id(c, e.id) || (!e.is_doomed && find_key(c, &e.key)))
        return -EEXIST;
    e.state = NM_CACHE_READY;
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

bool nm_cache_has(const struct nm_cache *c, const struct nm_cache_key *key)
{
    return find_key(c, key);
}

void nm_cache_set_room(struct nm_cache *c, uint64_t most_bytes)
{
    c->most_bytes = most_bytes;
}

uint64_t nm_cache_bytes(const struct nm_cache *c)
{
    return c->bytes;
}
