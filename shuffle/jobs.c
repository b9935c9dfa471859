/* SPDX-License-Identifier: Apache-2.0 */

/* See jobs.h. Uses libc's binary tree: jobs are added and removed some times a minute, and each request looks up a
 * job. */

#include "shuffle/jobs.h"

#include <pthread.h>
#include <search.h>

#include "util/error.h"

/* An entry of the tree, which compares entries by their first member. */
struct known {
    struct nm_shuffle_job job;
    struct nm_shuffle_share account;
};

struct nm_shuffle_jobs {
    pthread_mutex_t lock;
    void *tree;
    unsigned n;
    uint64_t n_added;
    struct nm_shuffle_shares shares;
};

static int compare(const void *a, const void *b)
{
    const struct nm_shuffle_job *x = a, *y = b;

    return strcmp(x->id, y->id);
}

static void free_known(void *known)
{
    explicit_bzero(known, sizeof(struct known)); /* erases the key */
    free(known);
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
    tdestroy(jobs->tree, free_known);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
    return NULL;
}

void nm_shuffle_jobs_share(struct nm_shuffle_jobs *jobs, uint64_t percent)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->shares.percent = percent;
    pthread_mutex_unlock(&jobs->lock);
}

/* Overwrites an existing job in place: threads have copies, never pointers into the tree. */
static int add_locked(struct nm_shuffle_jobs *jobs, const struct nm_shuffle_job *job)
{
    struct known **found = tfind(job, &jobs->tree, compare), *copy;

    if (found) {
        const uint64_t number = (*found)->job.number;

        (*found)->job = *job;
        (*found)->job.number = number;
        return 0;
    }
    if (jobs->n == NM_SHUFFLE_JOBS_MAX)
        return -ENOSPC;
    if (!(copy = malloc(sizeof *copy)))
        return -ENOMEM;
    *copy = (struct known){.job = *job};
    copy->job.number = ++jobs->n_added;
    if (!tsearch(copy, &jobs->tree, compare)) {
        free_known(copy);
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

/* Finds a job. The id comes from the network and is not NUL-terminated; an id that is too long is not found. */
static struct known *find_locked(struct nm_shuffle_jobs *jobs, struct nm_bytes id)
{
    struct nm_shuffle_job key;
    struct known **found;

    if (id.size >= sizeof key.id)
        return NULL;
    *(char *)mempcpy(key.id, id.data, id.size) = '\0';
    found = tfind(&key, &jobs->tree, compare);
    return found ? *found : NULL;
}

int nm_shuffle_jobs_remove(struct nm_shuffle_jobs *jobs, const char *id, uint64_t *ret_number)
{
    struct known *known;

    pthread_mutex_lock(&jobs->lock);
    known = find_locked(jobs, nm_bytes_of(id));
    if (known) {
        *ret_number = known->job.number;
        tdelete(known, &jobs->tree, compare);
        free_known(known);
        jobs->n--;
    }
    pthread_mutex_unlock(&jobs->lock);
    return known ? 0 : -ENOENT;
}

/* Returns a copy, so that the lock is held only during the lookup: an answer may take minutes. */
int nm_shuffle_jobs_find(struct nm_shuffle_jobs *jobs, struct nm_bytes id, struct nm_shuffle_job *ret)
{
    const struct known *known;

    pthread_mutex_lock(&jobs->lock);
    known = find_locked(jobs, id);
    if (known)
        *ret = known->job;
    pthread_mutex_unlock(&jobs->lock);
    return known ? 0 : -ENOENT;
}

int nm_shuffle_jobs_charge(struct nm_shuffle_jobs *jobs, const char *id, uint64_t work_usec, uint64_t now_usec,
                           uint64_t *ret_wait_usec)
{
    struct known *known;
    int r = -ENOENT;

    pthread_mutex_lock(&jobs->lock);
    known = find_locked(jobs, nm_bytes_of(id));
    if (known)
        r = nm_shuffle_share_book(&jobs->shares, &known->account, work_usec, now_usec, ret_wait_usec);
    pthread_mutex_unlock(&jobs->lock);
    return r;
}
