/* SPDX-License-Identifier: Apache-2.0 */

/* See data-files.h. */

#include "spark/data-files.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "util/error.h"
#include "util/fnv1a.h"

#define BUCKETS 512u

/* The key of a file, by itself. The ids of applications are compared in full, because a user could construct another
 * one with the same hash. */
struct own_key {
    struct nm_spark_application application;
    struct nm_spark_dir dir;
    uint32_t sub_dir;
    int32_t set;
    int64_t part;
};

struct entry {
    struct nm_spark_data_file file; /* the first member */
    struct own_key key;
    uint64_t end_usec;
    unsigned n_users;
    bool is_listed; /* in its bucket, and among those by age */
    TAILQ_ENTRY(entry) by_age;
    SLIST_ENTRY(entry) next; /* in the bucket, or among the free ones */
};

SLIST_HEAD(entry_list, entry);

struct nm_spark_data_files {
    pthread_mutex_t lock;
    TAILQ_HEAD(, entry) listed; /* the oldest first */
    struct entry_list buckets[BUCKETS], free;
    unsigned n_new, max; /* n_new: entries of `at` that were never used */
    struct entry at[];
};

int nm_spark_data_files_new(unsigned max, struct nm_spark_data_files **ret)
{
    struct nm_spark_data_files *files = calloc(1, sizeof *files + max * sizeof files->at[0]);

    if (!files)
        return -ENOMEM;
    pthread_mutex_init(&files->lock, NULL);
    TAILQ_INIT(&files->listed);
    files->max = max;
    *ret = files;
    return 0;
}

/* ---- entries ------------------------------------------------------------------------------ */

static struct entry_list *bucket_of(struct nm_spark_data_files *files, const struct nm_spark_data_key *key)
{
    const uint64_t hash = ((uint64_t)key->part * 31 + (uint64_t)key->set) * UINT64_C(0x9e3779b97f4a7c15);

    return &files->buckets[(hash ^ nm_fnv1a_64(key->dir->name)) >> 32 & (BUCKETS - 1)];
}

static bool has_key(const struct entry *e, const struct nm_spark_data_key *key)
{
    return e->key.part == key->part && e->key.set == key->set && e->key.sub_dir == key->sub_dir &&
           e->key.dir.local == key->dir->local && e->key.application.uid == key->application->uid &&
           nm_streq(e->key.dir.name, key->dir->name) && nm_streq(e->key.application.id, key->application->id) &&
           nm_streq(e->key.application.user, key->application->user);
}

static void close_locked(struct nm_spark_data_files *files, struct entry *e)
{
    e->file.fd = nm_close(e->file.fd);
    SLIST_INSERT_HEAD(&files->free, e, next);
}

static void remove_locked(struct nm_spark_data_files *files, struct entry *e)
{
    const struct nm_spark_data_key key = {&e->key.application, &e->key.dir, 0, e->key.set, e->key.part};

    TAILQ_REMOVE(&files->listed, e, by_age);
    SLIST_REMOVE(bucket_of(files, &key), e, entry, next);
    e->is_listed = false;
    if (e->n_users == 0)
        close_locked(files, e);
}

static void expire_locked(struct nm_spark_data_files *files, uint64_t now_usec)
{
    struct entry *e;

    while ((e = TAILQ_FIRST(&files->listed)) && e->end_usec <= now_usec)
        remove_locked(files, e);
}

static struct entry *take_free_locked(struct nm_spark_data_files *files, uint64_t now_usec)
{
    struct entry *e;

    if (SLIST_EMPTY(&files->free) && files->n_new < files->max)
        return &files->at[files->n_new++];
    if (SLIST_EMPTY(&files->free))
        expire_locked(files, now_usec);
    e = SLIST_FIRST(&files->free);
    if (e)
        SLIST_REMOVE_HEAD(&files->free, next);
    return e;
}

/* ---- files -------------------------------------------------------------------------------- */

struct nm_spark_data_file *nm_spark_data_files_get(struct nm_spark_data_files *files,
                                                   const struct nm_spark_data_key *key, uint64_t now_usec)
{
    struct entry *e;

    if (!files)
        return NULL;
    pthread_mutex_lock(&files->lock);
    SLIST_FOREACH(e, bucket_of(files, key), next)
        if (e->end_usec > now_usec && has_key(e, key))
            break;
    if (e)
        e->n_users++;
    pthread_mutex_unlock(&files->lock);
    return e ? &e->file : NULL;
}

static void list_locked(struct nm_spark_data_files *files, struct entry *e, const struct nm_spark_data_key *key)
{
    e->key = (struct own_key){*key->application, *key->dir, key->sub_dir, key->set, key->part};
    e->is_listed = true;
    TAILQ_INSERT_TAIL(&files->listed, e, by_age);
    SLIST_INSERT_HEAD(bucket_of(files, key), e, next);
}

struct nm_spark_data_file *nm_spark_data_files_add(struct nm_spark_data_files *files,
                                                   const struct nm_spark_data_key *key, int fd, const struct stat *st,
                                                   uint64_t now_usec)
{
    struct entry *e;

    if (!files)
        return NULL;
    pthread_mutex_lock(&files->lock);
    if ((e = take_free_locked(files, now_usec))) {
        e->file = (struct nm_spark_data_file){fd, *st};
        e->end_usec = now_usec + NM_SPARK_DATA_FILE_USEC;
        e->n_users = 1;
        list_locked(files, e, key);
    }
    pthread_mutex_unlock(&files->lock);
    return e ? &e->file : NULL;
}

struct nm_spark_data_file *nm_spark_data_file_release(struct nm_spark_data_files *files,
                                                      struct nm_spark_data_file *file)
{
    struct entry *e = NM_CONTAINER_OF(file, struct entry, file);

    if (!file)
        return NULL;
    pthread_mutex_lock(&files->lock);
    if (--e->n_users == 0 && !e->is_listed)
        close_locked(files, e);
    pthread_mutex_unlock(&files->lock);
    return NULL;
}

void nm_spark_data_files_expire(struct nm_spark_data_files *files, uint64_t now_usec)
{
    if (!files)
        return;
    pthread_mutex_lock(&files->lock);
    expire_locked(files, now_usec);
    pthread_mutex_unlock(&files->lock);
}

struct nm_spark_data_files *nm_spark_data_files_free(struct nm_spark_data_files *files)
{
    if (!files)
        return NULL;
    nm_spark_data_files_expire(files, UINT64_MAX);
    for (unsigned i = 0; i < files->n_new; i++)
        assert(files->at[i].file.fd < 0);
    pthread_mutex_destroy(&files->lock);
    free(files);
    return NULL;
}
