/* SPDX-License-Identifier: Apache-2.0 */

/* See memory.h. Uses libc's binary trees, as spark/applications.c does. */

#include "spark/memory.h"

#include <assert.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>

#include "spark/streams.h"
#include "util/error.h"

/* What a user or an application has. A holder without memory is in no tree. */
struct holder {
    uid_t uid;
    char app[NM_SPARK_ID_SIZE]; /* empty: all applications of the user */
    uint64_t bytes;
};

struct nm_spark_memory {
    pthread_mutex_t lock;
    uint64_t max_bytes, taken_bytes;
    void *holders;
};

static int compare(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;

    return x->uid == y->uid ? strcmp(x->app, y->app) : x->uid < y->uid ? -1 : 1;
}

int nm_spark_memory_new(uint64_t max_bytes, struct nm_spark_memory **ret)
{
    struct nm_spark_memory *m = calloc(1, sizeof *m);

    if (!m)
        return -ENOMEM;
    pthread_mutex_init(&m->lock, NULL);
    m->max_bytes = max_bytes;
    *ret = m;
    return 0;
}

struct nm_spark_memory *nm_spark_memory_free(struct nm_spark_memory *m)
{
    if (!m)
        return NULL;
    assert(!m->holders && m->taken_bytes == 0);
    pthread_mutex_destroy(&m->lock);
    free(m);
    return NULL;
}

/* Changes what a holder has. The change must not make it negative. Returns -EBUSY if it would have more than
 * max_bytes. */
static int change_locked(struct nm_spark_memory *m, uid_t uid, const char *app, int64_t bytes, uint64_t max_bytes)
{
    struct holder key = {.uid = uid}, **found, *holder;

    (void)snprintf(key.app, sizeof key.app, "%s", app);
    found = tfind(&key, &m->holders, compare);
    key.bytes = (found ? (*found)->bytes : 0) + (uint64_t)bytes;
    if (bytes > 0 && key.bytes > max_bytes)
        return -EBUSY;
    if (found && key.bytes > 0) {
        (*found)->bytes = key.bytes;
        return 0;
    }
    if (found) {
        holder = *found;
        tdelete(&key, &m->holders, compare);
        free(holder);
        return 0;
    }
    if (!(holder = malloc(sizeof *holder)))
        return -ENOMEM;
    *holder = key;
    if (tsearch(holder, &m->holders, compare))
        return 0;
    free(holder);
    return -ENOMEM;
}

static int take_locked(struct nm_spark_memory *m, uid_t uid, const char *app, uint64_t bytes)
{
    const uint64_t share = m->max_bytes / 2;
    int r;

    if (bytes > m->max_bytes - m->taken_bytes)
        return -EBUSY;
    if ((r = change_locked(m, uid, "", (int64_t)bytes, share)) < 0)
        return r;
    if ((r = change_locked(m, uid, app, (int64_t)bytes, share - share / 4)) < 0) {
        (void)change_locked(m, uid, "", -(int64_t)bytes, 0);
        return r;
    }
    m->taken_bytes += bytes;
    return 0;
}

int nm_spark_memory_take(struct nm_spark_memory *m, uid_t uid, const char *app, uint64_t bytes)
{
    int r;

    if (!m || bytes == 0)
        return 0;
    pthread_mutex_lock(&m->lock);
    r = take_locked(m, uid, app, bytes);
    pthread_mutex_unlock(&m->lock);
    return r;
}

void nm_spark_memory_give(struct nm_spark_memory *m, uid_t uid, const char *app, uint64_t bytes)
{
    if (!m || bytes == 0)
        return;
    pthread_mutex_lock(&m->lock);
    (void)change_locked(m, uid, app, -(int64_t)bytes, 0);
    (void)change_locked(m, uid, "", -(int64_t)bytes, 0);
    m->taken_bytes -= bytes;
    pthread_mutex_unlock(&m->lock);
}
