/* SPDX-License-Identifier: Apache-2.0 */

/* What a container needs before it runs, asked for with the launcher and told to the manager: see node-state.h. */

#include "rpc/yarn/node/node-state.h"

#include "rpc/yarn/launch/launcher.h"
#include "util/error.h"

static void on_progress(struct nm_yarn_preparation *p, const char *text, void *userdata)
{
    struct nm_yarn_item *i = userdata;
    struct nm_problem problem;

    (void)p;
    (void)nm_manager_progress(i->node->p.manager, NM_YARN_OWNER, i->text, text, &problem);
}

static void fail(struct nm_yarn_item *i, const char *why)
{
    struct nm_problem problem;

    (void)nm_manager_prepare_failed(i->node->p.manager, NM_YARN_OWNER, i->text, why, &problem);
}

/* The container may have been ended meanwhile; then the manager says so, and nothing is to be done. */
static void on_ended(struct nm_yarn_preparation *p, int result, const char *message, void *userdata)
{
    struct nm_yarn_item *i = userdata;
    struct nm_problem problem;

    (void)p;
    if (result < 0)
        fail(i, message ?: strerror(-result));
    else
        (void)nm_manager_prepared(i->node->p.manager, NM_YARN_OWNER, i->text, &problem);
}

/* Nobody waits for what runs already: what it uses is kept, or it is gone. */
static void on_kept(struct nm_yarn_preparation *p, int result, const char *message, void *userdata)
{
    (void)p, (void)result, (void)message, (void)userdata;
}

static void on_kept_progress(struct nm_yarn_preparation *p, const char *text, void *userdata)
{
    (void)p, (void)text, (void)userdata;
}

struct nm_yarn_task nm_yarn_item_task(const struct nm_yarn_item *i, const Yarn__LaunchContext *context)
{
    const struct nm_yarn_node *n = i->node;

    return (struct nm_yarn_task){.application = i->app->text,
                                 .container = i->text,
                                 .user = i->record->user,
                                 .submitter = i->app->submitter,
                                 .place = {i->record->local_dir, i->record->log_dir},
                                 .context = context,
                                 .node_host = n->host,
                                 .node_port = n->port,
                                 .web_port = n->web_port};
}

void nm_yarn_item_prepare(struct nm_yarn_item *i, bool is_running)
{
    const struct nm_yarn_preparation_listener listener = {.progress = is_running ? on_kept_progress : on_progress,
                                                          .ended = is_running ? on_kept : on_ended, .userdata = i};
    struct nm_yarn_node *n = i->node;
    struct nm_yarn_task task = nm_yarn_item_task(i, i->record->context);
    struct nm_arena arena;
    Yarn__Data **services = NULL;
    int r;

    i->prepared = i->record->context;
    nm_arena_init(&arena, 4096, NULL);
    r = nm_yarn_node_services(n, &arena, &services, &task.n_services);
    task.services = services;
    if (r >= 0)
        r = nm_yarn_launcher_prepare(n->p.launcher, &task, is_running, &listener, &i->preparation);
    nm_arena_done(&arena);
    if (r < 0 && !is_running)
        fail(i, strerror(-r));
}
