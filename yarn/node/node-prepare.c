/* SPDX-License-Identifier: Apache-2.0 */

/* Prepares containers with the launcher, and passes the results to the manager: see node-state.h. */

#include "yarn/node/node-state.h"

#include "util/error.h"
#include "yarn/launch/launcher.h"

static void on_progress(struct nm_yarn_preparation *p, const char *text, void *userdata)
{
    struct nm_yarn_container *i = userdata;
    struct nm_problem problem;

    (void)p;
    (void)nm_manager_progress(i->node->p.manager, NM_YARN_OWNER, i->text, text, &problem);
}

void nm_yarn_container_fail(struct nm_yarn_container *i, const char *why)
{
    struct nm_problem problem;

    (void)nm_manager_prepare_failed(i->node->p.manager, NM_YARN_OWNER, i->text, why, &problem);
}

/* Gives the container other directories: first in the record that the manager stores, then in the table. */
static int move(struct nm_yarn_container *i, const struct nm_yarn_container_dirs *dirs)
{
    _cleanup_free_ char *workdir = nm_yarn_work_dir(dirs->local_dir, i->app->submitter, i->app->text, i->text);
    _cleanup_free_ char *log_dir = nm_yarn_log_dir(dirs->log_dir, i->app->text, i->text);
    _cleanup_(nm_yarn_record_version_freep) struct nm_yarn_record_version *old = NULL, *kept = NULL;
    struct nm_move to = {.workdir = workdir, .log_dir = log_dir};
    _cleanup_free_ void *data = NULL;
    struct nm_problem problem;
    Yarn__Record record;
    int r = workdir && log_dir ? nm_yarn_container_read_record(i, &old) : -ENOMEM;

    if (r < 0)
        return r;
    record = *old->record;
    record.local_dir = (char *)(uintptr_t)dirs->local_dir;
    record.log_dir = (char *)(uintptr_t)dirs->log_dir;
    r = nm_yarn_record_repack(&record, &to.blob, &kept);
    if (r < 0)
        return r;
    data = to.blob.data;
    r = nm_manager_move(i->node->p.manager, NM_YARN_OWNER, i->text, &to, &problem);
    if (r == 0)
        nm_yarn_container_take_record(i, STEAL_PTR(kept));
    return r;
}

/* Restarts the preparation in other directories, at most once for each start, because a container may encounter a
 * failing disk before the periodic check of the disks does. */
static bool begin_elsewhere(struct nm_yarn_container *i, const struct nm_yarn_preparation *p)
{
    struct nm_yarn_container_dirs dirs;

    if (i->moved || nm_yarn_launcher_choose_other_dirs(i->node->p.launcher, p, &dirs) < 0 || move(i, &dirs) != 0)
        return false;
    i->moved = true;
    i->preparation = nm_yarn_preparation_free(i->preparation);
    nm_yarn_container_prepare(i);
    return true;
}

/* Passes the result on to the manager. If the container has been ended in the meantime, the manager refuses the result,
 * and the refusal is ignored. */
static void on_ended(struct nm_yarn_preparation *p, int result, const char *message, void *userdata)
{
    struct nm_yarn_container *i = userdata;
    struct nm_problem problem;

    if (result >= 0)
        (void)nm_manager_prepared(i->node->p.manager, NM_YARN_OWNER, i->text, &problem);
    else if (!begin_elsewhere(i, p))
        nm_yarn_container_fail(i, message ?: strerror(-result));
}

/* Ignores the result for a container that may be running already. The launcher handles a failure. */
static void ignore_result(struct nm_yarn_preparation *p, int result, const char *message, void *userdata)
{
    (void)p, (void)result, (void)message, (void)userdata;
}

static void ignore_progress(struct nm_yarn_preparation *p, const char *text, void *userdata)
{
    (void)p, (void)text, (void)userdata;
}

struct nm_yarn_task nm_yarn_container_task(const struct nm_yarn_container *i, const Yarn__LaunchContext *context)
{
    const struct nm_yarn_node *n = i->node;

    return (struct nm_yarn_task){.application = i->app->text,
                                 .container = i->text,
                                 .user = i->record->user,
                                 .submitter = i->app->submitter,
                                 .dirs = {i->record->local_dir, i->record->log_dir},
                                 .context = context,
                                 .node_host = n->host,
                                 .node_port = n->port,
                                 .web_port = n->web_port,
                                 .gpus = nm_yarn_container_gpu_set(i)};
}

void nm_yarn_container_prepare(struct nm_yarn_container *i)
{
    const struct nm_yarn_preparation_listener listener = {.progress = on_progress, .ended = on_ended, .userdata = i};
    struct nm_yarn_node *n = i->node;
    struct nm_yarn_task task = nm_yarn_container_task(i, i->record->context);
    struct nm_arena arena;
    Yarn__Data **services = NULL;
    int r;

    i->prepared = i->record->context;
    nm_arena_init(&arena, 4096, NULL);
    r = nm_yarn_node_services(n, &arena, &services, &task.n_services);
    task.services = services;
    if (r >= 0)
        r = nm_yarn_launcher_prepare(n->p.launcher, &task, &listener, &i->preparation);
    nm_arena_done(&arena);
    if (r < 0)
        nm_yarn_container_fail(i, strerror(-r));
}

void nm_yarn_container_retain(struct nm_yarn_container *i)
{
    const struct nm_yarn_preparation_listener listener = {ignore_progress, ignore_result, i};
    const struct nm_yarn_task task = nm_yarn_container_task(i, i->record->context);

    i->prepared = i->record->context;
    (void)nm_yarn_launcher_retain(i->node->p.launcher, &task, &listener, &i->preparation);
}
