/* SPDX-License-Identifier: Apache-2.0 */

/* See index-cache.h. */

#include "shuffle/index-cache.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "util/error.h"

/* A file has a few possible slots, which are neighbours. */
#define WAYS 4u
#define SETS_BITS 11u

/* This struct has no padding, so that it can be compared bytewise. */
struct file {
    uint64_t dev, ino, size;
    int64_t modified[2], changed[2];
};

struct slot {
    struct file file;
    uint64_t added; /* number of this addition; 0: the slot is empty */
    struct nm_shuffle_index_content *content; /* may be NULL */
    TAILQ_ENTRY(slot) by_age; /* only if the slot has a content */
};

struct nm_shuffle_index_cache {
    pthread_mutex_t lock;
    uint64_t n_added, used_bytes;
    TAILQ_HEAD(, slot) contents; /* the oldest first */
    struct slot at[NM_SHUFFLE_CACHED_FILES_MAX];
};
static_assert(WAYS << SETS_BITS == NM_SHUFFLE_CACHED_FILES_MAX, "the sets have all slots");

int nm_shuffle_index_cache_new(struct nm_shuffle_index_cache **ret)
{
    struct nm_shuffle_index_cache *c = calloc(1, sizeof *c);

    if (!c)
        return -ENOMEM;
    pthread_mutex_init(&c->lock, NULL);
    TAILQ_INIT(&c->contents);
    *ret = c;
    return 0;
}

static void unref_locked(struct nm_shuffle_index_content *content)
{
    if (--content->n_users > 0)
        return;
    content->cache->used_bytes -= content->size_bytes;
    free(content);
}

static void drop_content_locked(struct nm_shuffle_index_cache *c, struct slot *slot)
{
    if (!slot->content)
        return;
    TAILQ_REMOVE(&c->contents, slot, by_age);
    unref_locked(slot->content);
    slot->content = NULL;
}

struct nm_shuffle_index_cache *nm_shuffle_index_cache_free(struct nm_shuffle_index_cache *c)
{
    if (!c)
        return NULL;
    while (!TAILQ_EMPTY(&c->contents))
        drop_content_locked(c, TAILQ_FIRST(&c->contents));
    assert(c->used_bytes == 0);
    pthread_mutex_destroy(&c->lock);
    free(c);
    return NULL;
}

/* The kernel itself sets the inode's change time: utimensat() cannot set it back. */
static struct file file_of(const struct stat *st)
{
    return (struct file){
        .dev = st->st_dev,
        .ino = st->st_ino,
        .size = (uint64_t)st->st_size,
        .modified = {st->st_mtim.tv_sec, st->st_mtim.tv_nsec},
        .changed = {st->st_ctim.tv_sec, st->st_ctim.tv_nsec},
    };
}

/* Distributes inodes by the golden ratio. ext4 often puts directories into groups of 8192 inodes, so the indexes of
 * many maps have the same remainder, and a remainder would give all of them the same slot. */
static struct slot *set_of(struct nm_shuffle_index_cache *c, const struct file *f)
{
    const uint64_t hash = (f->ino + f->dev * 1021) * UINT64_C(0x9e3779b97f4a7c15);

    return &c->at[(hash >> (64 - SETS_BITS)) * WAYS];
}

/* Returns the slot that has the file; NULL: no slot has it. */
static struct slot *find_locked(struct nm_shuffle_index_cache *c, const struct file *f)
{
    struct slot *set = set_of(c, f);

    for (unsigned i = 0; i < WAYS; i++)
        if (set[i].added > 0 && memcmp(&set[i].file, f, sizeof *f) == 0)
            return &set[i];
    return NULL;
}

/* Returns a slot for a new file: the one with an older version of the file, or the one that was filled first. */
static struct slot *choose_locked(struct nm_shuffle_index_cache *c, const struct file *f)
{
    struct slot *set = set_of(c, f), *oldest = set;

    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].added > 0 && set[i].file.dev == f->dev && set[i].file.ino == f->ino)
            return &set[i];
        if (set[i].added < oldest->added)
            oldest = &set[i];
    }
    return oldest;
}

bool nm_shuffle_index_cache_has(struct nm_shuffle_index_cache *c, const struct stat *st)
{
    const struct file f = file_of(st);
    bool has;

    if (!c)
        return false;
    pthread_mutex_lock(&c->lock);
    has = find_locked(c, &f);
    pthread_mutex_unlock(&c->lock);
    return has;
}

struct nm_shuffle_index_content *nm_shuffle_index_cache_get(struct nm_shuffle_index_cache *c, const struct stat *st)
{
    const struct file f = file_of(st);
    struct nm_shuffle_index_content *content;
    const struct slot *slot;

    if (!c)
        return NULL;
    pthread_mutex_lock(&c->lock);
    slot = find_locked(c, &f);
    content = slot ? slot->content : NULL;
    if (content)
        content->n_users++;
    pthread_mutex_unlock(&c->lock);
    return content;
}

/* Removes the oldest contents first, and never loads a removed content again: reducers read the indexes of all maps of
 * a node in turn, so with too many maps each content would be removed just before its next use. The records of these
 * maps are read from the file. */
struct nm_shuffle_index_content *nm_shuffle_index_cache_reserve(struct nm_shuffle_index_cache *c, uint64_t job,
                                                                uint64_t size_bytes)
{
    struct nm_shuffle_index_content *content;
    bool fits;

    if (!c || size_bytes > NM_SHUFFLE_CACHED_INDEX_MAX)
        return NULL;
    content = malloc(sizeof *content + size_bytes);
    if (!content)
        return NULL;
    *content = (struct nm_shuffle_index_content){
        .cache = c, .n_users = 1, .job = job, .size_bytes = size_bytes};
    pthread_mutex_lock(&c->lock);
    while (c->used_bytes + size_bytes > NM_SHUFFLE_CACHED_BYTES_MAX && !TAILQ_EMPTY(&c->contents))
        drop_content_locked(c, TAILQ_FIRST(&c->contents));
    fits = c->used_bytes + size_bytes <= NM_SHUFFLE_CACHED_BYTES_MAX;
    if (fits)
        c->used_bytes += size_bytes;
    pthread_mutex_unlock(&c->lock);
    if (!fits) {
        free(content);
        return NULL;
    }
    return content;
}

void nm_shuffle_index_cache_add(struct nm_shuffle_index_cache *c, const struct stat *st,
                                struct nm_shuffle_index_content *content)
{
    const struct file f = file_of(st);
    struct slot *slot;

    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    slot = choose_locked(c, &f);
    drop_content_locked(c, slot);
    slot->file = f;
    slot->added = ++c->n_added;
    slot->content = content;
    if (content) {
        content->n_users++;
        TAILQ_INSERT_TAIL(&c->contents, slot, by_age);
    }
    pthread_mutex_unlock(&c->lock);
}

void nm_shuffle_index_cache_forget(struct nm_shuffle_index_cache *c, uint64_t job)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    for (struct slot *slot = TAILQ_FIRST(&c->contents), *next; slot; slot = next) {
        next = TAILQ_NEXT(slot, by_age);
        if (slot->content->job == job)
            drop_content_locked(c, slot);
    }
    pthread_mutex_unlock(&c->lock);
}

struct nm_shuffle_index_content *nm_shuffle_index_content_release(struct nm_shuffle_index_content *content)
{
    struct nm_shuffle_index_cache *c;

    if (!content)
        return NULL;
    c = content->cache;
    pthread_mutex_lock(&c->lock);
    unref_locked(content);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}
