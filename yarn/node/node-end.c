/* SPDX-License-Identifier: Apache-2.0 */

/* How containers and applications end: see node.h and node-state.h. */

#include "yarn/node/node-state.h"

#include <assert.h>
#include <inttypes.h>
#include <syslog.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/fault.h"
#include "yarn/id-messages.h"
#include "yarn/launch/aux-host.h"
#include "yarn/launch/launcher.h"
#include "yarn/launch/shuffle-service.h"
#include "yarn/launch/spark-service.h"
#include "yarn/logs/logs.h"
#include "yarn/node/exit-code.h"

#define OUTPUT_TAIL_MAX (64u << 10)

/* ---- containers --------------------------------------------------------------------------- */

static void complete(struct nm_yarn_container *i, int32_t status, const char *diagnostics)
{
    i->preparation = nm_yarn_preparation_free(i->preparation);
    nm_yarn_container_drop_extras(i);
    i->completed = true;
    i->increased = false;
    i->exit_status = status;
    free(i->diagnostics);
    i->diagnostics = strdup(diagnostics); /* without memory, the end is reported without diagnostics */
    nm_yarn_container_end_logs(i);
    nm_yarn_container_end_services(i);
    if (i->node->p.settings->n_resource_types > 0)
        (void)sd_event_source_set_enabled(i->node->serve, SD_EVENT_ONESHOT);
    i->node->p.on_change(i->node->p.userdata);
}

void nm_yarn_container_ended_early(struct nm_yarn_container *i, int32_t status, const char *why)
{
    i->ended_early = true;
    complete(i, status, why);
    nm_yarn_node_count_end(i->node, NULL, status);
}

void nm_yarn_container_end_early(struct nm_yarn_container *i, int32_t status, const char *why)
{
    _cleanup_free_ char *sentence =
        nm_strdup_printf("%s was not started, and ends with exit code %" PRId32 ": %s", i->text, status, why);

    if (i->node->p.report_cb && sentence)
        i->node->p.report_cb(LOG_NOTICE, sentence);
    nm_yarn_container_ended_early(i, status, why);
    nm_yarn_container_note_end(i);
}

void nm_yarn_container_ended(struct nm_yarn_container *i, const struct nm_container *c)
{
    struct nm_yarn_node *n = i->node;
    const char *output_tail = NULL, *text;
    _cleanup_free_ char *whole = NULL;
    struct nm_arena arena;

    nm_arena_init(&arena, OUTPUT_TAIL_MAX, NULL);
    if (nm_yarn_exit_is_failure(c) && !nm_yarn_exit_is_external(c) && i->record->log_dir)
        output_tail = nm_yarn_launcher_diagnostics(n->p.launcher, i->record->log_dir, i->app->text, i->text, &arena);
    text = nm_yarn_exit_text(c, output_tail ?: "", &arena);
    if (i->messages && asprintf(&whole, "%s%s", i->messages, text ?: "") < 0)
        whole = NULL;
    complete(i, nm_yarn_exit_code(c), whole ?: text ?: "");
    nm_yarn_node_count_end(n, c, i->exit_status);
    nm_arena_done(&arena);
    nm_yarn_launcher_end_container(n->p.launcher, i->app->submitter, i->app->text, i->text);
    if (i->app->ended)
        (void)sd_event_source_set_enabled(n->sweep, SD_EVENT_ONESHOT);
}

void nm_yarn_container_drop(struct nm_yarn_container *i)
{
    struct nm_yarn_node *n = i->node;
    struct nm_yarn_app *app = i->app;
    struct nm_problem problem;

    assert(i->completed);
    if (i->ended_early)
        nm_yarn_app_store_drop_end(&n->app_store, i->text);
    else
        (void)nm_manager_acknowledge(n->p.manager, NM_YARN_OWNER, i->text, &problem);
    nm_yarn_recent_note(n, i->text, nm_now_usec());
    nm_yarn_container_table_remove(&n->containers, i);
    nm_yarn_app_settle(n, app);
}

void nm_yarn_node_sweep(struct nm_yarn_node *n)
{
    for (struct nm_yarn_container *i = n->containers.first, *next; i; i = next) {
        next = i->next;
        if (i->completed && i->app->ended)
            nm_yarn_container_drop(i);
    }
}

/* Ends a container. If the container is already being ended, the first reason is kept. */
static int end_container(struct nm_yarn_container *i, enum nm_yarn_exit code, const char *message,
                         struct nm_problem *problem)
{
    struct nm_end e = {.code = code, .message = message};

    return i->completed ? 0 : nm_manager_end(i->node->p.manager, NM_YARN_OWNER, i->text, &e, problem);
}

int nm_yarn_node_stop(struct nm_yarn_node *n, const Hadoop__ContainerId *id, enum nm_yarn_exit code,
                      const char *message, struct nm_exception *why)
{
    struct nm_yarn_container_id number = nm_yarn_container_of(id);
    struct nm_yarn_container *i = nm_yarn_container_table_find(&n->containers, &number);
    struct nm_problem problem;
    char text[NM_YARN_ID_SIZE];
    int r;

    if (!i) {
        (void)nm_yarn_container_id_format(&number, text);
        return nm_yarn_recent_has(n, text, nm_now_usec()) ? 0 : nm_yarn_refuse_unknown(n, text, why);
    }
    r = end_container(i, code, message, &problem);
    /* If the container has ended in the meantime, the request is fulfilled. */
    if (r <= 0 || problem.outcome == NM_AGENT_E_CONFLICT || problem.outcome == NM_AGENT_E_NOT_FOUND)
        return NM_MIN(r, 0);
    return nm_yarn_refuse(why, "%s", problem.message);
}

void nm_yarn_node_end_all(struct nm_yarn_node *n, enum nm_yarn_exit code, const char *message)
{
    struct nm_problem problem;

    for (struct nm_yarn_container *i = n->containers.first, *next; i; i = next) {
        next = i->next;
        (void)end_container(i, code, message, &problem);
    }
}

/* ---- applications ------------------------------------------------------------------------- */

void nm_yarn_app_settle(struct nm_yarn_node *n, struct nm_yarn_app *app)
{
    if (!app->ended || app->n_containers > 0)
        return;
    nm_yarn_recent_note_app(n, &app->id);
    nm_yarn_launcher_end_application(n->p.launcher, app->submitter, app->text);
    if (app->view_acl)
        nm_yarn_launcher_keep_view_acl(n->p.launcher, app->text, app->view_acl);
    if (n->p.shuffle)
        nm_yarn_shuffle_end_application(n->p.shuffle, app->text);
    if (n->p.spark)
        nm_yarn_spark_end_application(n->p.spark, app->text);
    if (n->p.aux_host)
        nm_yarn_aux_host_end_application(n->p.aux_host, app->text);
    if (n->p.logs)
        nm_yarn_logs_end_application(n->p.logs, &app->id);
    n->p.application_ended(&app->id, n->p.userdata);
    NM_FAULT("application-ended");
    nm_yarn_app_store_drop_application(&n->app_store, app->text);
    NM_FAULT("application-dropped");
    nm_yarn_container_table_drop_app(&n->containers, app);
}

bool nm_yarn_node_has_application(const struct nm_yarn_node *n, const struct nm_yarn_application_id *id)
{
    return nm_yarn_container_table_app(&n->containers, id);
}

/* Ends an application and its containers. This frees the application if it has no running container. */
static void end_app(struct nm_yarn_node *n, struct nm_yarn_app *app, enum nm_yarn_exit code, const char *message)
{
    struct nm_problem problem;

    app->ended = true;
    /* Count one more container until the end of this function, since the application would be removed with its last
     * container. */
    app->n_containers++;
    for (struct nm_yarn_container *i = n->containers.first; i; i = i->next)
        if (i->app == app)
            (void)end_container(i, code, message, &problem);
    nm_yarn_node_sweep(n);
    app->n_containers--;
    nm_yarn_app_settle(n, app);
}

void nm_yarn_node_end_application(struct nm_yarn_node *n, const Hadoop__ApplicationId *id)
{
    struct nm_yarn_application_id number = nm_yarn_application_of(id);
    struct nm_yarn_app *app = nm_yarn_container_table_app(&n->containers, &number);

    nm_yarn_recent_note_app(n, &number);
    if (!app)
        return;
    NM_FAULT("application-end-heard");
    end_app(n, app, NM_YARN_KILLED_AFTER_APP, "Container killed on application-finish event from the ResourceManager.");
}

void nm_yarn_node_leave(struct nm_yarn_node *n, const char *message)
{
    for (struct nm_yarn_app *app = n->containers.apps, *next; app; app = next) {
        next = app->next;
        end_app(n, app, NM_YARN_KILLED_BY_RM, message);
    }
}

void nm_yarn_node_acknowledge(struct nm_yarn_node *n, const Hadoop__ContainerId *id)
{
    struct nm_yarn_container_id number = nm_yarn_container_of(id);
    struct nm_yarn_container *i = nm_yarn_container_table_find(&n->containers, &number);

    if (i && i->completed)
        nm_yarn_container_drop(i);
}
