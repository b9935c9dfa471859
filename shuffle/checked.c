/* SPDX-License-Identifier: Apache-2.0 */

/* See checked.h. The table has one slot for each file, which replaces the file that was in the slot before. */

#include "shuffle/checked.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* This struct has no padding, so that it can be compared bytewise. */
struct file {
    uint64_t dev, ino, size;
    int64_t modified[2], changed[2];
};

struct nm_shuffle_checked {
    pthread_mutex_t lock;
    struct file at[NM_SHUFFLE_CHECKED_MAX];
};

int nm_shuffle_checked_new(struct nm_shuffle_checked **ret)
{
    struct nm_shuffle_checked *c = calloc(1, sizeof *c);

    if (!c)
        return -ENOMEM;
    pthread_mutex_init(&c->lock, NULL);
    *ret = c;
    return 0;
}

struct nm_shuffle_checked *nm_shuffle_checked_free(struct nm_shuffle_checked *c)
{
    if (!c)
        return NULL;
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

/* Inodes of one directory are often consecutive, and so are their slots. */
static struct file *place_of(struct nm_shuffle_checked *c, const struct file *f)
{
    return &c->at[(f->ino + f->dev * 1021) % NM_SHUFFLE_CHECKED_MAX];
}

bool nm_shuffle_checked_has(struct nm_shuffle_checked *c, const struct stat *st)
{
    const struct file f = file_of(st);
    bool has;

    if (!c)
        return false;
    pthread_mutex_lock(&c->lock);
    has = memcmp(place_of(c, &f), &f, sizeof f) == 0;
    pthread_mutex_unlock(&c->lock);
    return has;
}

void nm_shuffle_checked_add(struct nm_shuffle_checked *c, const struct stat *st)
{
    const struct file f = file_of(st);

    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    *place_of(c, &f) = f;
    pthread_mutex_unlock(&c->lock);
}
