/* SPDX-License-Identifier: Apache-2.0 */

/* See jobs.h. A tree of libc's: jobs come and go some times a minute, and are looked up for each request. */

#include "shuffle/jobs.h"

#include <pthread.h>
#include <search.h>

#include "util/error.h"

struct nm_shuffle_jobs {
    pthread_mutex_t lock;
    void *tree;
    unsigned n;
};

static int compare(const void *a, const void *b)
{
    const struct nm_shuffle_job *x = a, *y = b;

    return strcmp(x->id, y->id);
}

static void forget(void *job)
{
    explicit_bzero(job, sizeof(struct nm_shuffle_job)); /* the key */
    free(job);
}

int nm_shuffle_jobs_new(struct nm_shuffle_jobs **ret)
{
    struct nm_shuffle_jobs *jobs = calloc(1, sizeof *jobs);

    if (!jobs)
        return -ENOMEM;
    pthread_mutex_init(&jobs->lock, NULL);
    *ret = jobs;
    return 0;
}

struct nm_shuffle_jobs *nm_shuffle_jobs_free(struct nm_shuffle_jobs *jobs)
{
    if (!jobs)
        return NULL;
    tdestroy(jobs->tree, forget);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
    return NULL;
}

/* A job that is there already is written over in place: threads have copies, never pointers into the tree. */
static int add_locked(struct nm_shuffle_jobs *jobs, const struct nm_shuffle_job *job)
{
    struct nm_shuffle_job **found = tfind(job, &jobs->tree, compare), *copy;

    if (found) {
        **found = *job;
        return 0;
    }
    if (jobs->n == NM_SHUFFLE_JOBS_MAX)
        return -ENOSPC;
    if (!(copy = malloc(sizeof *copy)))
        return -ENOMEM;
    *copy = *job;
    if (!tsearch(copy, &jobs->tree, compare)) {
        forget(copy);
        return -ENOMEM;
    }
    jobs->n++;
    return 0;
}

int nm_shuffle_jobs_add(struct nm_shuffle_jobs *jobs, const struct nm_shuffle_job *job)
{
    int r;

    pthread_mutex_lock(&jobs->lock);
    r = add_locked(jobs, job);
    pthread_mutex_unlock(&jobs->lock);
    return r;
}

/* The id is a stranger's and not NUL-terminated; one that is too long for a job's is none. */
static struct nm_shuffle_job *find_locked(struct nm_shuffle_jobs *jobs, struct nm_bytes id)
{
    struct nm_shuffle_job key, **found;

    if (id.size >= sizeof key.id)
        return NULL;
    *(char *)mempcpy(key.id, id.data, id.size) = '\0';
    found = tfind(&key, &jobs->tree, compare);
    return found ? *found : NULL;
}

int nm_shuffle_jobs_remove(struct nm_shuffle_jobs *jobs, const char *id)
{
    struct nm_shuffle_job *job;

    pthread_mutex_lock(&jobs->lock);
    job = find_locked(jobs, nm_bytes_of(id));
    if (job) {
        tdelete(job, &jobs->tree, compare);
        forget(job);
        jobs->n--;
    }
    pthread_mutex_unlock(&jobs->lock);
    return job ? 0 : -ENOENT;
}

/* A copy, so that the lock is held for no longer than the look: an answer may take minutes. */
int nm_shuffle_jobs_find(struct nm_shuffle_jobs *jobs, struct nm_bytes id, struct nm_shuffle_job *ret)
{
    const struct nm_shuffle_job *job;

    pthread_mutex_lock(&jobs->lock);
    job = find_locked(jobs, id);
    if (job)
        *ret = *job;
    pthread_mutex_unlock(&jobs->lock);
    return job ? 0 : -ENOENT;
}
