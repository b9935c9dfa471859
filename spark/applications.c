/* SPDX-License-Identifier: Apache-2.0 */

/* See applications.h. Uses libc's binary trees, as shuffle/jobs.c does. */

#include "spark/applications.h"

#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>

#include "shuffle/share.h"
#include "spark/memory.h"
#include "spark/registration-file.h"
#include "util/macros.h"

/* Memory of an executor beside its directories: its entries in the tree and of the allocator. */
#define EXECUTOR_BYTES 192u

/* The trees compare entries by their first member, a text. */
struct executor {
    char id[NM_SPARK_ID_SIZE];
    struct nm_spark_executor *at; /* with the directories that it has, not more */
};

struct known {
    struct nm_spark_application application;
    uint8_t secret[NM_SPARK_SECRET_MAX];
    size_t secret_size;
    bool is_stored;
    struct nm_shuffle_share account;
    void *executors;
    unsigned n_executors;
    struct nm_spark_memory *memory; /* has the memory of the executors, for this user: */
    uid_t payer;
    uint64_t paid_bytes;
    struct nm_spark_usage usage;
};

struct nm_spark_applications {
    pthread_mutex_t lock;
    const struct nm_spark_local_dirs *locals;
    int state_fd;
    void *tree;
    struct nm_spark_counts count;
    struct nm_shuffle_shares shares;
    struct nm_spark_memory *memory; /* of executors */
};

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void free_executor(void *executor)
{
    free(((struct executor *)executor)->at);
    free(executor);
}

static void free_known(void *p)
{
    struct known *known = p;

    tdestroy(known->executors, free_executor);
    nm_spark_memory_give(known->memory, known->payer, known->application.id, known->paid_bytes);
    explicit_bzero(known->secret, sizeof known->secret);
    free(known);
}

int nm_spark_applications_new(const struct nm_spark_local_dirs *locals, int state_fd,
                              struct nm_spark_applications **ret)
{
    struct nm_spark_applications *a = calloc(1, sizeof *a);

    if (!a)
        return -ENOMEM;
    if (nm_spark_memory_new(NM_SPARK_EXECUTORS_BYTES_MAX, &a->memory) < 0) {
        free(a);
        return -ENOMEM;
    }
    a->locals = locals;
    a->state_fd = state_fd;
    pthread_mutex_init(&a->lock, NULL);
    *ret = a;
    return 0;
}

struct nm_spark_applications *nm_spark_applications_free(struct nm_spark_applications *a)
{
    if (!a)
        return NULL;
    tdestroy(a->tree, free_known);
    nm_spark_memory_free(a->memory);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return NULL;
}

void nm_spark_applications_share(struct nm_spark_applications *a, uint64_t percent)
{
    pthread_mutex_lock(&a->lock);
    a->shares.percent = percent;
    pthread_mutex_unlock(&a->lock);
}

const struct nm_spark_local_dirs *nm_spark_applications_locals(const struct nm_spark_applications *a)
{
    return a->locals;
}

static struct known *find_locked(struct nm_spark_applications *a, const char *id)
{
    struct known **found = tfind(id, &a->tree, compare);

    return found ? *found : NULL;
}

/* ---- executors ---------------------------------------------------------------------------- */

/* Checks a registration. The result has the directories in their order, which decides the places of files. */
static int check(const struct nm_spark_applications *a, const struct known *known, const struct nm_spark_message *m,
                 struct nm_spark_executor *ret, const char **ret_why)
{
    struct nm_spark_texts dirs = m->texts;

    *ret_why = "The number of subdirectories is not permitted";
    if (m->n_sub_dirs < 1 || m->n_sub_dirs > (int32_t)NM_SPARK_SUB_DIRS_MAX)
        return -EINVAL;
    *ret_why = "An executor must have at least one directory, and at most one in each local directory of the node";
    if (dirs.n < 1 || dirs.n > a->locals->n)
        return -EINVAL;
    *ret = (struct nm_spark_executor){.n_sub_dirs = (uint32_t)m->n_sub_dirs};
    *ret_why = "localDirs entry is not under the application's directory in any of the node's local directories";
    while (dirs.n > 0)
        if (nm_spark_dir_parse(a->locals, &known->application, nm_spark_texts_next(&dirs), &ret->dirs[ret->n++]) < 0)
            return -EINVAL;
    return 0;
}

static size_t bytes_of(const struct nm_spark_executor *e)
{
    return offsetof(struct nm_spark_executor, dirs) + e->n * sizeof e->dirs[0];
}

static bool is_same(const struct nm_spark_executor *a, const struct nm_spark_executor *b)
{
    return a->n == b->n && memcmp(a, b, bytes_of(a)) == 0;
}

/* Takes memory for an executor, in the place of another one, or NULL. */
static int pay(struct known *known, const struct nm_spark_executor *executor, const struct nm_spark_executor *former)
{
    const uint64_t bytes = EXECUTOR_BYTES + bytes_of(executor);
    const uint64_t former_bytes = former ? EXECUTOR_BYTES + bytes_of(former) : 0;
    int r = bytes <= former_bytes ? 0
                                  : nm_spark_memory_take(known->memory, known->payer, known->application.id,
                                                         bytes - former_bytes);

    if (r < 0)
        return r;
    if (bytes < former_bytes)
        nm_spark_memory_give(known->memory, known->payer, known->application.id, former_bytes - bytes);
    known->paid_bytes += bytes - former_bytes;
    return 0;
}

static void refund(struct known *known, const struct nm_spark_executor *executor)
{
    nm_spark_memory_give(known->memory, known->payer, known->application.id, EXECUTOR_BYTES + bytes_of(executor));
    known->paid_bytes -= EXECUTOR_BYTES + bytes_of(executor);
}

/* Adds an executor whose id is new. */
static int insert(struct nm_spark_applications *a, struct known *known, const char *id, struct nm_spark_executor *at)
{
    struct executor *executor;

    if (known->n_executors == NM_SPARK_EXECUTORS_MAX)
        return -ENOSPC;
    if (!(executor = calloc(1, sizeof *executor)))
        return -ENOMEM;
    (void)memcpy(executor->id, id, sizeof executor->id);
    if (!tsearch(executor, &known->executors, compare)) {
        free(executor);
        return -ENOMEM;
    }
    executor->at = at;
    known->n_executors++;
    a->count.executors++;
    return 0;
}

enum { UNCHANGED = 1 };

/* Adds an executor, or replaces it. Returns UNCHANGED if it is already known with these directories. */
static int put(struct nm_spark_applications *a, struct known *known, const char *id,
               const struct nm_spark_executor *executor)
{
    struct executor **found = tfind(id, &known->executors, compare);
    _cleanup_free_ struct nm_spark_executor *copy = NULL;
    int r;

    if (found && is_same((*found)->at, executor))
        return UNCHANGED;
    copy = malloc(bytes_of(executor));
    if (!copy)
        return -ENOMEM;
    (void)memcpy(copy, executor, bytes_of(executor));
    if ((r = pay(known, executor, found ? (*found)->at : NULL)) < 0)
        return r;
    if (found) {
        free((*found)->at);
        (*found)->at = STEAL_PTR(copy);
        return 0;
    }
    if ((r = insert(a, known, id, copy)) < 0)
        refund(known, executor);
    else
        (void)STEAL_PTR(copy);
    return r;
}

static int register_locked(struct nm_spark_applications *a, struct known *known, const struct nm_spark_message *m,
                           const char **ret_why)
{
    char exec[NM_SPARK_ID_SIZE] = "";
    struct nm_spark_executor executor;
    int r;

    *ret_why = "The executor's id is not permitted";
    if (!nm_spark_copy_id(m->exec, exec))
        return -EINVAL;
    if ((r = check(a, known, m, &executor, ret_why)) < 0)
        return r;
    r = put(a, known, exec, &executor);
    *ret_why = r == -ENOSPC  ? "The application has registered too many executors"
               : r == -EBUSY ? "The application, or its user, has registered too many executors"
                             : "The server has no memory";
    return r;
}

static int find_and_register(struct nm_spark_applications *a, struct nm_bytes message,
                             const struct nm_spark_message *m, const char **ret_why)
{
    char app[NM_SPARK_ID_SIZE];
    struct known *known = nm_spark_copy_id(m->app, app) ? find_locked(a, app) : NULL;
    int r;

    *ret_why = "The application is not known to this node";
    if (!known)
        return -ENOENT;
    r = register_locked(a, known, m, ret_why);
    if (r == 0 && known->is_stored && a->state_fd >= 0 &&
        nm_spark_registration_append(a->state_fd, app, message, NM_SPARK_STORED_MAX) < 0)
        a->count.not_stored++;
    return r < 0 ? r : 0;
}

int nm_spark_applications_register(struct nm_spark_applications *a, struct nm_bytes message, const char **ret_why)
{
    struct nm_spark_message m;
    int r;

    *ret_why = "The registration is not valid";
    if (message.size > NM_SPARK_REGISTRATION_MAX || nm_spark_message_parse(message, &m, ret_why) < 0 ||
        m.code != NM_SPARK_REGISTER)
        return -EINVAL;
    pthread_mutex_lock(&a->lock);
    r = find_and_register(a, message, &m, ret_why);
    pthread_mutex_unlock(&a->lock);
    return r;
}

int nm_spark_applications_executor(struct nm_spark_applications *a, const char *id, const char *exec,
                                   struct nm_spark_executor *ret)
{
    struct executor **found = NULL;
    const struct known *known;

    pthread_mutex_lock(&a->lock);
    known = find_locked(a, id);
    if (known)
        found = tfind(exec, &known->executors, compare);
    if (found)
        (void)memcpy(ret, (*found)->at, bytes_of((*found)->at));
    pthread_mutex_unlock(&a->lock);
    return found ? 0 : -ENOENT;
}

/* ---- applications ------------------------------------------------------------------------- */

struct reading {
    struct nm_spark_applications *applications;
    struct known *known;
};

/* Registers a stored executor. A directory that the node no longer has makes its registration useless. */
static void take_stored(struct nm_bytes message, void *userdata)
{
    const struct reading *reading = userdata;
    struct nm_spark_message m;
    const char *why;

    if (nm_spark_message_parse(message, &m, &why) == 0 && m.code == NM_SPARK_REGISTER &&
        nm_bytes_equal(m.app, nm_bytes_of(reading->known->application.id)))
        (void)register_locked(reading->applications, reading->known, &m, &why);
}

static int insert_known(struct nm_spark_applications *a, const char *id, struct known **ret)
{
    struct known *known;

    if (a->count.applications == NM_SPARK_APPLICATIONS_MAX)
        return -ENOSPC;
    if (!(known = calloc(1, sizeof *known)))
        return -ENOMEM;
    (void)snprintf(known->application.id, sizeof known->application.id, "%s", id);
    if (!tsearch(known, &a->tree, compare)) {
        free(known);
        return -ENOMEM;
    }
    a->count.applications++;
    *ret = known;
    return 0;
}

static int add_locked(struct nm_spark_applications *a, const struct nm_spark_application *application,
                      struct nm_bytes secret, bool is_stored)
{
    struct known *known = find_locked(a, application->id);
    const bool is_new = !known;
    int r;

    if (is_new && (r = insert_known(a, application->id, &known)) < 0)
        return r;
    if (is_new) {
        known->memory = a->memory;
        known->payer = application->uid;
    }
    known->application = *application;
    explicit_bzero(known->secret, sizeof known->secret);
    if (secret.size > 0)
        (void)memcpy(known->secret, secret.data, secret.size);
    known->secret_size = secret.size;
    known->is_stored = is_stored;
    if (is_new && a->state_fd >= 0 && is_stored)
        (void)nm_spark_registration_read(a->state_fd, application->id, NM_SPARK_STORED_MAX, take_stored,
                                         &(struct reading){a, known});
    return 0;
}

int nm_spark_applications_add(struct nm_spark_applications *a, const struct nm_spark_application *application,
                              struct nm_bytes secret, bool is_stored)
{
    char id[NM_SPARK_ID_SIZE];
    int r;

    if (!nm_spark_copy_id(nm_bytes_of(application->id), id) || secret.size > NM_SPARK_SECRET_MAX)
        return -EINVAL;
    pthread_mutex_lock(&a->lock);
    r = add_locked(a, application, secret, is_stored);
    pthread_mutex_unlock(&a->lock);
    return r;
}

int nm_spark_applications_remove(struct nm_spark_applications *a, const char *id)
{
    struct known *known;
    char name[NM_SPARK_ID_SIZE];

    if (!nm_spark_copy_id(nm_bytes_of(id), name))
        return -ENOENT;
    pthread_mutex_lock(&a->lock);
    known = find_locked(a, id);
    if (known) {
        tdelete(known, &a->tree, compare);
        a->count.applications--;
        a->count.executors -= known->n_executors;
        a->count.stalled -= known->usage.stalled;
        free_known(known);
    }
    if (a->state_fd >= 0)
        nm_spark_registration_remove(a->state_fd, name);
    pthread_mutex_unlock(&a->lock);
    return known ? 0 : -ENOENT;
}

int nm_spark_applications_find(struct nm_spark_applications *a, const char *id, struct nm_spark_application *ret)
{
    const struct known *known;

    pthread_mutex_lock(&a->lock);
    known = find_locked(a, id);
    if (known)
        *ret = known->application;
    pthread_mutex_unlock(&a->lock);
    return known ? 0 : -ENOENT;
}

int nm_spark_applications_secret(struct nm_spark_applications *a, const char *id,
                                 uint8_t ret[static NM_SPARK_SECRET_MAX], size_t *ret_size)
{
    const struct known *known;

    pthread_mutex_lock(&a->lock);
    known = find_locked(a, id);
    if (known) {
        (void)memcpy(ret, known->secret, known->secret_size);
        *ret_size = known->secret_size;
    }
    pthread_mutex_unlock(&a->lock);
    return known ? 0 : -ENOENT;
}

int nm_spark_applications_charge(struct nm_spark_applications *a, const char *id, uint64_t work_usec, uint64_t now_usec,
                                 uint64_t *ret_wait_usec)
{
    struct known *known;
    int r = -ENOENT;

    pthread_mutex_lock(&a->lock);
    known = find_locked(a, id);
    if (known)
        r = nm_shuffle_share_book(&a->shares, &known->account, work_usec, now_usec, ret_wait_usec);
    pthread_mutex_unlock(&a->lock);
    return r;
}

/* ---- figures ------------------------------------------------------------------------------ */

/* Changes a present number. The connections of an application that was removed and added again were not counted. */
static void change_number(uint64_t *number, uint64_t change)
{
    *number += change;
    if (*number > INT64_MAX)
        *number = 0;
}

static void change_locked(struct nm_spark_applications *a, struct known *known, const struct nm_spark_usage *change)
{
    struct nm_spark_usage *u = &known->usage;

    u->blocks_ok += change->blocks_ok;
    u->blocks_failed += change->blocks_failed;
    u->sent_bytes += change->sent_bytes;
    u->slow += change->slow;
    change_number(&u->connections, change->connections);
    change_number(&u->streams, change->streams);
    a->count.stalled -= u->stalled;
    change_number(&u->stalled, change->stalled);
    a->count.stalled += u->stalled;
}

int nm_spark_applications_settle(struct nm_spark_applications *a, const char *id, const struct nm_spark_usage *change,
                                 uint64_t work_usec, uint64_t now_usec)
{
    struct known *known;

    pthread_mutex_lock(&a->lock);
    known = find_locked(a, id);
    if (known)
        change_locked(a, known, change);
    if (known && work_usec > 0)
        nm_shuffle_share_owe(&a->shares, &known->account, work_usec, now_usec);
    pthread_mutex_unlock(&a->lock);
    return known ? 0 : -ENOENT;
}

int nm_spark_applications_usage(struct nm_spark_applications *a, const char *id, struct nm_spark_usage *ret)
{
    const struct known *known;

    pthread_mutex_lock(&a->lock);
    known = find_locked(a, id);
    if (known)
        *ret = known->usage;
    pthread_mutex_unlock(&a->lock);
    return known ? 0 : -ENOENT;
}

struct top {
    struct nm_spark_application_usage *at;
    unsigned n, max;
};

static bool is_before(const struct nm_spark_usage *a, const struct nm_spark_usage *b)
{
    return a->stalled == b->stalled ? a->sent_bytes > b->sent_bytes : a->stalled > b->stalled;
}

/* Inserts an application at its place. */
static void rank(const void *node, VISIT visit, void *userdata)
{
    const struct known *known = *(struct known *const *)node;
    struct top *top = userdata;
    unsigned i = top->n;

    if (visit == preorder || visit == endorder || (i == top->max && !is_before(&known->usage, &top->at[i - 1].usage)))
        return;
    i -= top->n == top->max;
    for (; i > 0 && is_before(&known->usage, &top->at[i - 1].usage); i--)
        top->at[i] = top->at[i - 1];
    (void)memcpy(top->at[i].id, known->application.id, sizeof top->at[i].id);
    top->at[i].usage = known->usage;
    top->n = NM_MIN(top->n + 1, top->max);
}

unsigned nm_spark_applications_top(struct nm_spark_applications *a, struct nm_spark_application_usage *ret, unsigned n)
{
    struct top top = {.at = ret, .max = n};

    pthread_mutex_lock(&a->lock);
    twalk_r(a->tree, rank, &top);
    pthread_mutex_unlock(&a->lock);
    return top.n;
}

struct nm_spark_counts nm_spark_applications_count(struct nm_spark_applications *a)
{
    struct nm_spark_counts count;

    pthread_mutex_lock(&a->lock);
    count = a->count;
    pthread_mutex_unlock(&a->lock);
    return count;
}
