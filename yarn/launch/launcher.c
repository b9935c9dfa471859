/* SPDX-License-Identifier: Apache-2.0 */

/* See launcher.h. */

#include "yarn/launch/launcher-state.h"

#include <assert.h>
#include <pwd.h>
#include <sys/stat.h>
#include <syslog.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/loop.h"
#include "yarn/launch/aux-dirs.h"
#include "yarn/launch/resources.h"
#include "yarn/launch/user.h"
#include "yarn/launch/variables.h"

#ifdef __SANITIZE_ADDRESS__
#define WORKER_MAX_BYTES(mib) UINT64_MAX /* sanitizers reserve large address ranges, so there is no limit */
#else
#define WORKER_MAX_BYTES(mib) ((uint64_t)(mib) * NM_MIB)
#endif

nm_printf(3, 4) static void log_message(struct nm_yarn_launcher *l, int level, const char *format, ...)
{
    char sentence[600];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(sentence, sizeof sentence, format, ap);
    va_end(ap);
    if (l->params.report_cb)
        l->params.report_cb(level, sentence);
}

/* ---- user and paths ------------------------------------------------------------------------- */

int nm_yarn_launcher_user(struct nm_yarn_launcher *l, const char *submitter, char **ret, char **ret_message)
{
    return nm_yarn_user_choose(l->params.settings, l->user_pattern, geteuid(), submitter, ret, ret_message);
}

char *nm_yarn_work_dir(const char *local_dir, const char *submitter, const char *application, const char *container)
{
    char *path;

    return asprintf(&path, "%s/usercache/%s/appcache/%s/%s", local_dir, submitter, application, container) < 0 ? NULL
                                                                                                              : path;
}

char *nm_yarn_log_dir(const char *log_dir, const char *application, const char *container)
{
    char *path;

    return asprintf(&path, "%s/%s/%s", log_dir, application, container) < 0 ? NULL : path;
}

/* ---- creation and end --------------------------------------------------------------------- */

/* Makes a subdirectory of nmd's state directory. */
static int make_state(struct nm_yarn_launcher *l, const char *name, char **ret)
{
    _cleanup_free_ char *path = NULL;
    int r;

    if (asprintf(&path, "%s/%s", l->params.state_dir, name) < 0)
        return -ENOMEM;
    r = nm_mkdir_p(path, 0700);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(path);
    return 0;
}

/* Chooses the account that fetches public resources: a dedicated account that can read only public files. If it doesn't
 * exist, chooses an account that runs no containers, because a container of that account could change other users'
 * resources. */
static void choose_public(struct nm_localizer_params *p)
{
    static const char *const names[] = {"nmd-localizer", "daemon", "nobody"};
    const struct passwd *pw = NULL;

    for (size_t i = 0; geteuid() == 0 && !pw && i < NM_ARRAY_SIZE(names); i++)
        pw = getpwnam(names[i]);
    p->public_uid = pw ? pw->pw_uid : geteuid();
    p->public_gid = pw ? pw->pw_gid : getegid();
}

static void read_boot_id(char *buf, size_t size)
{
    if (nm_read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", buf, size, NULL) < 0)
        (void)snprintf(buf, size, "unknown");
    buf[strcspn(buf, "\n")] = '\0';
}

static int refuse_localizer(const char *dir, const char *program, int r, char **ret_message)
{
    return nm_fail(ret_message, r, "Can't fetch resources to %s with %s: %s", dir, program, strerror(-r));
}

static int open_caches(struct nm_yarn_launcher *l, char **ret_message)
{
    const struct nm_yarn_settings *s = l->params.settings;
    struct nm_localizer_params p = {
        .event = l->params.event,
        .program = l->localizer_program,
        .boot_id = l->boot_id,
        .cache_max_bytes = (uint64_t)s->cache_target_mib * NM_MIB,
        .max_workers = (unsigned)s->localizer_threads,
        .worker_max_bytes = WORKER_MAX_BYTES(s->localizer_memory_mib),
        .silent_usec = s->localizer_timeout_usec,
        .report_cb = l->params.report_cb,
    };

    read_boot_id(l->boot_id, sizeof l->boot_id);
    choose_public(&p);
    p.settings = l->worker_settings = nm_yarn_fetching(s);
    return p.settings ? nm_yarn_caches_open(&l->caches, &p, l->params.state_dir, &l->local, ret_message) : -ENOMEM;
}

/* Determines the version of the Java that runs Hadoop on this node. */
static void find_java(struct nm_yarn_launcher *l)
{
    const char *home = getenv("JAVA_HOME");
    char path[512], text[8192];

    l->java_version = l->params.settings->java_version;
    if (l->java_version > 0 || !home)
        return;
    (void)snprintf(path, sizeof path, "%s/release", home);
    if (nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) >= 0)
        l->java_version = nm_yarn_java_version(text);
}

/* Finds the group of auxiliary services that are written in Java. Without their account, aux-host.c refuses to
 * start. */
static void find_aux_group(struct nm_yarn_launcher *l)
{
    const struct nm_yarn_settings *s = l->params.settings;
    struct nm_identity account = {};

    if (s->aux.names && s->aux.names[0] && nm_yarn_aux_find_account(&account, &l->grants_access, NULL) < 0)
        l->grants_access = false;
    l->aux_gid = account.gid;
}

/* Refuses LinuxContainerExecutor if nmd isn't root. Unknown classes were refused when the settings were read. */
static int check_executor(const struct nm_yarn_settings *s, char **ret_message)
{
    if (geteuid() == 0 || !strstr(s->executor, "LinuxContainerExecutor"))
        return 0;
    return nm_fail(ret_message, -EPERM,
                   "yarn.nodemanager.container-executor.class = %s runs containers as other users, so nmd must run as "
                   "root", s->executor);
}

static void report_bad(const struct nm_yarn_dir *d, void *userdata)
{
    log_message(userdata, LOG_WARNING, "Containers don't use %s: %s", d->name, d->why);
}

/* Reports problems that don't prevent the start of nmd. Is called only after a successful start, because a failed start
 * must report only the cause of the failure. */
static void report_warnings(struct nm_yarn_launcher *l)
{
    if (!getenv("JAVA_HOME"))
        log_message(l, LOG_WARNING,
                    "JAVA_HOME isn't set for nmd, so containers don't have it, and most Hadoop jobs fail; set it with "
                    "Environment=JAVA_HOME=DIR in a drop-in of nmd.service, or start nmd as JAVA_HOME=DIR nmd");
    nm_yarn_dirs_report(&l->local, report_bad, l);
    nm_yarn_dirs_report(&l->log, report_bad, l);
}

static int begin(struct nm_yarn_launcher *l, char **ret_message)
{
    const struct nm_yarn_settings *s = l->params.settings;
    _cleanup_free_ char *state = NULL;
    int r = check_executor(s, ret_message);

    if (r == 0)
        r = nm_yarn_user_compile(s, &l->user_pattern, ret_message);
    if (r == 0)
        r = nm_yarn_dirs_open(s, s->local_dirs, l->params.state_dir, true, &l->local, ret_message);
    if (r == 0)
        r = nm_yarn_dirs_open(s, s->log_dirs, l->params.state_dir, false, &l->log, ret_message);
    if (r == 0)
        r = open_caches(l, ret_message);
    if (r == 0)
        r = make_state(l, "ended", &state);
    if (r == 0)
        r = nm_yarn_cleanup_queue_new(l->params.event, s, nm_yarn_caches_any(&l->caches), &l->local, &l->log, state,
                                      l->params.report_cb, &l->cleanup_queue);
    if (r == 0)
        r = nm_yarn_strays_new(l->params.event, &l->local, l->cleanup_queue, l->params.report_cb, &l->strays);
    find_java(l);
    find_aux_group(l);
    return r;
}

int nm_yarn_launcher_check(const struct nm_yarn_settings *s, const char *localizer_program,
                           void (*reporter)(int level, const char *sentence), char **ret_message)
{
    struct nm_yarn_launcher reported = {.params.report_cb = reporter};
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    char *message = NULL;
    _cleanup_(nm_pattern_freep) struct nm_pattern *pattern = NULL;
    int r = check_executor(s, &message);

    r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    if (r == 0)
        r = nm_yarn_user_compile(s, &pattern, &message);
    r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    if (r == 0)
        r = nm_yarn_dirs_examine(s->local_dirs, report_bad, &reported, &message);
    r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    if (r == 0)
        r = nm_yarn_dirs_examine(s->log_dirs, report_bad, &reported, &message);
    r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    if (r == 0 && (r = RET_NERRNO(access(localizer_program, F_OK))) < 0)
        r = refuse_localizer(s->local_dirs[0], localizer_program, r, &message);
    r = nm_refusals_add(&refusals, r, message);
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}

int nm_yarn_launcher_new(const struct nm_yarn_launcher_params *params, struct nm_yarn_launcher **ret,
                         char **ret_message)
{
    _cleanup_(nm_yarn_launcher_freep) struct nm_yarn_launcher *l = calloc(1, sizeof *l);
    int r;

    if (!l)
        return -ENOMEM;
    l->params = *params;
    TAILQ_INIT(&l->retained);
    l->localizer_program = strdup(params->localizer_program);
    if (!l->localizer_program)
        return -ENOMEM;
    r = nm_loop_add_work(params->event, "yarn-prepare", nm_yarn_launcher_on_turns, l, &l->turns_source);
    if (r >= 0)
        r = begin(l, ret_message);
    if (r < 0)
        return r;
    report_warnings(l);
    *ret = STEAL_PTR(l);
    return 0;
}

struct nm_yarn_launcher *nm_yarn_launcher_free(struct nm_yarn_launcher *l)
{
    if (!l)
        return NULL;
    assert(l->n_preparations == 0);
    (void)sd_event_source_disable_unref(l->turns_source);
    nm_yarn_caches_done(&l->caches);
    json_decref(l->worker_settings);
    free(l->localizer_program);
    (void)nm_yarn_strays_free(l->strays);
    (void)nm_yarn_cleanup_queue_free(l->cleanup_queue); /* must be freed after the localizers */
    nm_yarn_dirs_done(&l->local);
    nm_yarn_dirs_done(&l->log);
    (void)nm_pattern_free(l->user_pattern);
    free(l);
    return NULL;
}

void nm_yarn_launcher_allow_removals(struct nm_yarn_launcher *l)
{
    l->may_remove = true;
    nm_yarn_launcher_retain_again(l);
    nm_yarn_strays_search(l->strays);
}

void nm_yarn_launcher_set_known(struct nm_yarn_launcher *l, bool (*is_known)(const char *application, void *userdata),
                                void *userdata)
{
    nm_yarn_strays_set_known(l->strays, is_known, userdata);
}

/* ---- after the end ------------------------------------------------------------------------ */

void nm_yarn_launcher_end_container(struct nm_yarn_launcher *l, const char *submitter, const char *application,
                                    const char *container)
{
    (void)nm_yarn_cleanup_queue_add(l->cleanup_queue, submitter, application, container);
}

/* Drops the resources with the visibility APPLICATION first, because otherwise the localizer would list them as
 * available after their removal. */
void nm_yarn_launcher_end_application(struct nm_yarn_launcher *l, const char *submitter, const char *application)
{
    nm_yarn_caches_end_application(&l->caches, submitter, application);
    (void)nm_yarn_cleanup_queue_add(l->cleanup_queue, submitter, application, NULL);
}

void nm_yarn_launcher_set_log_keeper(struct nm_yarn_launcher *l,
                                     bool (*keeps_logs)(const char *application, void *userdata), void *userdata)
{
    nm_yarn_cleanup_queue_set_keeper(l->cleanup_queue, keeps_logs, userdata);
}

void nm_yarn_launcher_release_logs(struct nm_yarn_launcher *l, const char *application, enum nm_yarn_logs_end end)
{
    nm_yarn_cleanup_queue_release_logs(l->cleanup_queue, application, end);
}

int nm_yarn_launcher_has_log_dir(const struct nm_yarn_launcher *l, size_t i)
{
    return i < l->log.n ? nm_yarn_dirs_is_in_place(&l->log.all[i]) : 1;
}

const char *nm_yarn_launcher_log_dir_id(const struct nm_yarn_launcher *l, size_t i)
{
    return i < l->log.n ? nm_yarn_dirs_id(&l->log.all[i]) : "";
}

void nm_yarn_launcher_keep_view_acl(struct nm_yarn_launcher *l, const char *application, const char *view_acl)
{
    nm_yarn_cleanup_queue_set_view_acl(l->cleanup_queue, application, view_acl);
}
