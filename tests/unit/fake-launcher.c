/* SPDX-License-Identifier: Apache-2.0 */

/* See fake-launcher.h. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pwd.h>
#include <syslog.h>

#include "tests/unit/fake-launcher.h"

#include "yarn/launch/log-files.h"
#include "yarn/launch/shuffle-service.h"

struct fake_launcher fake_launcher;

void fake_launcher_reset(void)
{
    fake_launcher = (struct fake_launcher){.submitter = "alice"};
}

int nm_yarn_launcher_user(struct nm_yarn_launcher *l, const char *submitter, char **ret, char **ret_message)
{
    (void)l, (void)submitter, (void)ret_message;
    *ret = strdup(getpwuid(getuid())->pw_name);
    return *ret ? 0 : -ENOMEM;
}

int nm_yarn_launcher_choose_dirs(struct nm_yarn_launcher *l, struct nm_yarn_container_dirs *ret, char **ret_message)
{
    (void)l;
    if (fake_launcher.no_dirs) {
        *ret_message = strdup(fake_launcher.no_dirs);
        return -ENOSPC;
    }
    *ret = (struct nm_yarn_container_dirs){"/tmp", "/tmp"};
    return 0;
}

int nm_yarn_launcher_choose_other_dirs(struct nm_yarn_launcher *l, const struct nm_yarn_preparation *p,
                                       struct nm_yarn_container_dirs *ret)
{
    (void)l, (void)p;
    if (!fake_launcher.elsewhere)
        return -ENOENT;
    *ret = (struct nm_yarn_container_dirs){fake_launcher.elsewhere, fake_launcher.elsewhere};
    return 0;
}

void nm_yarn_launcher_get_figures(const struct nm_yarn_launcher *l, struct nm_yarn_launcher_figures *ret)
{
    (void)l;
    *ret = (struct nm_yarn_launcher_figures){};
}

char *nm_yarn_work_dir(const char *local_dir, const char *submitter, const char *application, const char *container)
{
    (void)submitter, (void)application, (void)container;
    return strdup(local_dir);
}

char *nm_yarn_log_dir(const char *log_dir, const char *application, const char *container)
{
    (void)application, (void)container;
    return strdup(log_dir);
}

const char *const *nm_yarn_launcher_command(const Yarn__LaunchContext *context, struct nm_arena *arena)
{
    const char **argv = nm_arena_alloc(arena, 4 * sizeof *argv);

    if (argv) {
        argv[0] = "/bin/sh";
        argv[1] = "-c";
        argv[2] = context->command[0];
        argv[3] = NULL;
    }
    return argv;
}

static int prepare(const struct nm_yarn_task *task, const struct nm_yarn_preparation_listener *listener,
                   struct nm_yarn_preparation **ret)
{
    struct nm_yarn_preparation *p = calloc(1, sizeof *p);

    assert_string_equal(task->node_host, TOKENS_HOST);
    assert_string_equal(task->submitter, fake_launcher.submitter);
    if (!p)
        return -ENOMEM; /* a test may inject this failure */
    *p = (struct nm_yarn_preparation){.listener = *listener, .context = task->context};
    fake_launcher.newest = *ret = p;
    fake_launcher.n_preparations++;
    return 0;
}

int nm_yarn_launcher_prepare(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                             const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret)
{
    (void)l;
    return prepare(task, listener, ret);
}

int nm_yarn_launcher_retain(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                            const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret)
{
    int r = prepare(task, listener, ret);

    (void)l;
    if (r == 0)
        (*ret)->retains = true;
    return r;
}

int nm_yarn_launcher_fetch(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                           const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret)
{
    int r = prepare(task, listener, ret);

    (void)l;
    if (r == 0)
        (*ret)->fetches = true;
    return r;
}

int nm_yarn_launcher_localize(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                              const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret)
{
    int r = prepare(task, listener, ret);

    (void)l;
    if (r == 0)
        (*ret)->links = true;
    return r;
}

struct nm_yarn_preparation *nm_yarn_preparation_free(struct nm_yarn_preparation *p)
{
    fake_launcher.n_preparations -= p != NULL;
    if (p == fake_launcher.newest)
        fake_launcher.newest = NULL;
    free(p);
    return NULL;
}

int32_t nm_yarn_preparation_state(const struct nm_yarn_preparation *p, size_t i, const char **ret_why)
{
    assert_true(i < p->context->n_resources);
    if (p->failed)
        *ret_why = "There is no such file.";
    return p->failed ? 3 : 2;
}

void nm_yarn_launcher_allow_removals(struct nm_yarn_launcher *l)
{
    (void)l;
}

void nm_yarn_launcher_set_known(struct nm_yarn_launcher *l, bool (*is_known)(const char *application, void *userdata),
                                void *userdata)
{
    (void)l;
    fake_launcher.is_known = is_known;
    fake_launcher.is_known_userdata = userdata;
}

int nm_yarn_log_files_read(struct nm_yarn_launcher *l, const char *application, const char *container,
                           struct nm_yarn_log_files *ret)
{
    (void)l, (void)application;
    *ret = (struct nm_yarn_log_files){.all = calloc(2, sizeof *ret->all)};
    if (!ret->all)
        return -ENOMEM; /* a test may inject this failure */
    if (asprintf(&ret->all[0].name, "%s.log", container) >= 0)
        ret->n = 1;
    ret->all[ret->n].name = strdup("\xff");
    ret->n += ret->all[ret->n].name != NULL;
    return 0;
}

void nm_yarn_log_files_done(struct nm_yarn_log_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->all[i].name);
    free(files->all);
    *files = (struct nm_yarn_log_files){};
}

const char *nm_yarn_launcher_diagnostics(struct nm_yarn_launcher *l, const char *log_dir, const char *application,
                                         const char *container, struct nm_arena *arena)
{
    (void)l, (void)log_dir, (void)application, (void)container, (void)arena;
    return "alas";
}

void nm_yarn_launcher_end_container(struct nm_yarn_launcher *l, const char *submitter, const char *application,
                                    const char *container)
{
    (void)l, (void)submitter, (void)application, (void)container;
    fake_launcher.ended_containers++;
}

void nm_yarn_launcher_end_application(struct nm_yarn_launcher *l, const char *submitter, const char *application)
{
    (void)l, (void)submitter, (void)application;
    fake_launcher.ended_applications++;
}

void nm_yarn_launcher_set_log_keeper(struct nm_yarn_launcher *l,
                                     bool (*keeps_logs)(const char *application, void *userdata), void *userdata)
{
    (void)l, (void)keeps_logs, (void)userdata;
}

int nm_yarn_launcher_has_log_dir(const struct nm_yarn_launcher *l, size_t i)
{
    (void)l, (void)i;
    return 1;
}

void nm_yarn_launcher_recheck_dirs(struct nm_yarn_launcher *l)
{
    (void)l;
}

const char *nm_yarn_launcher_log_dir_id(const struct nm_yarn_launcher *l, size_t i)
{
    (void)l, (void)i;
    return "";
}

void nm_yarn_launcher_release_logs(struct nm_yarn_launcher *l, const char *application, enum nm_yarn_logs_end end)
{
    (void)l, (void)application, (void)end;
}

void nm_yarn_launcher_keep_view_acl(struct nm_yarn_launcher *l, const char *application, const char *view_acl)
{
    (void)l, (void)application;
    (void)snprintf(fake_launcher.view_acl, sizeof fake_launcher.view_acl, "%s", view_acl);
}

const char *nm_yarn_log_files_submitter(struct nm_yarn_launcher *l, const char *application, const char **ret_view_acl)
{
    (void)l, (void)application;
    *ret_view_acl = *fake_launcher.view_acl ? fake_launcher.view_acl : NULL;
    return fake_launcher.ended_applications > 0 ? fake_launcher.submitter : NULL;
}

struct nm_bytes nm_yarn_shuffle_metadata(const struct nm_yarn_shuffle *s)
{
    (void)s;
    return nm_bytes_of("port");
}

int nm_yarn_shuffle_add(struct nm_yarn_shuffle *s, const char *submitter, const char *user, const char *application,
                        struct nm_bytes data)
{
    (void)s, (void)submitter, (void)user, (void)application, (void)data;
    fake_launcher.shuffle_added++;
    return 0;
}

void nm_yarn_shuffle_end_application(struct nm_yarn_shuffle *s, const char *application)
{
    (void)s, (void)application;
    fake_launcher.shuffle_ended++;
}

/* ---- the node ----------------------------------------------------------------------------- */

static void on_update(void *userdata)
{
    (void)userdata;
    fake_launcher.n_updates++;
}

static bool on_no_room(void *userdata)
{
    (void)userdata;
    fake_launcher.n_no_room++;
    return fake_launcher.sent_although_full;
}

static void on_application_ended(const struct nm_yarn_application_id *id, void *userdata)
{
    (void)id, (void)userdata;
    fake_launcher.n_ended_callbacks++;
}

static void on_report(int level, const char *sentence)
{
    assert_int_equal(level, LOG_NOTICE);
    (void)snprintf(fake_launcher.reported, sizeof fake_launcher.reported, "%s", sentence);
}

int fake_launcher_set_up(void **state)
{
    fake_launcher_reset();
    return manager_fixture_set_up_started(state);
}

int fake_launcher_try_node(struct manager_fixture *w, struct nm_yarn_node **ret)
{
    static const struct nm_yarn_settings settings; /* the node offers no further resources */
    struct nm_yarn_node_params p = {.event = w->event, .manager = w->m, .state_dir = w->m->state_dir,
                                    .on_change = on_update, .no_room = on_no_room,
                                    .application_ended = on_application_ended, .report_cb = on_report};

    /* The node only passes these pointers to the fake launcher, which doesn't use them, so any pointer will do. */
    p.settings = &settings;
    p.launcher = (struct nm_yarn_launcher *)(uintptr_t)&p;
    p.shuffle = fake_launcher.shuffles ? (struct nm_yarn_shuffle *)(uintptr_t)&p : NULL;
    return nm_yarn_node_new(&p, ret);
}

struct nm_yarn_node *fake_launcher_node(struct manager_fixture *w)
{
    struct nm_yarn_node *n = NULL;

    assert_int_equal(fake_launcher_try_node(w, &n), 0);
    nm_yarn_node_set_address(n, TOKENS_HOST, TOKENS_PORT, 8042);
    return n;
}
