/* SPDX-License-Identifier: Apache-2.0 */

/* See logs.h. logs-uploads.c runs the uploads. */

#include "yarn/logs/logs.h"

#include <assert.h>
#include <fcntl.h>
#include <syslog.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/loop.h"
#include "util/parse.h"
#include "util/utf8.h"
#include "yarn/id-messages.h"
#include "yarn/launch/dir-id.h"
#include "yarn/launch/user.h"
#include "yarn/logs/log-state.h"
#include "yarn/logs/log-store.h"
#include "yarn/logs/logs-state.h"

#define NOBODY 65534U
enum { VIEW_APP = 1, MODIFY_APP = 2 }; /* Hadoop's ApplicationAccessType */

/* ---- books -------------------------------------------------------------------------------- */

static struct nm_yarn_log_book *find(const struct nm_yarn_logs *l, const struct nm_yarn_application_id *id)
{
    struct nm_yarn_log_book *b = l->books;

    while (b && !nm_yarn_same_application(&b->number, id))
        b = b->next;
    return b;
}

static void configure(struct nm_yarn_logs *l, struct nm_yarn_log_book *b)
{
    const struct nm_yarn_log_settings *s = &l->p.settings->logs;
    const struct nm_yarn_log_policy policy = nm_yarn_log_policy_choose(b->context.policy, b->context.policy_parameters,
                                                                       s->policy, s->policy_parameters);

    nm_yarn_log_book_configure(b, &policy, s->roll_usec, nm_now_usec());
}

static void insert(struct nm_yarn_logs *l, struct nm_yarn_log_book *b)
{
    configure(l, b);
    b->next = l->books;
    l->books = b;
    l->n_books++;
}

/* Removes the books of an application when the ResourceManager has received its last report. */
static void drop(const struct nm_yarn_application_id *id, void *userdata)
{
    struct nm_yarn_logs *l = userdata;
    struct nm_yarn_log_book **link = &l->books, *b;

    while ((b = *link) && !nm_yarn_same_application(&b->number, id))
        link = &b->next;
    if (!b || b->state == NM_YARN_LOG_OPEN)
        return;
    nm_yarn_log_store_drop(l->state_fd, b);
    *link = b->next;
    l->n_books--;
    nm_yarn_log_book_free(b);
}

/* Returns the context of a token. If it can't be read, the defaults apply, so that logs aren't lost. */
static struct nm_yarn_log_context read_context(const struct nm_yarn_logs *l, const struct nm_yarn_log_container *c)
{
    struct nm_yarn_log_context context = {0};

    if (nm_yarn_log_context_parse(c->context, &context) < 0)
        nm_yarn_logs_log(l, LOG_NOTICE, "The token of %s has invalid patterns of logs; all logs of the "
                         "application are uploaded", c->text);
    return context;
}

static int add_book(struct nm_yarn_logs *l, const struct nm_yarn_log_container *c, struct nm_yarn_log_book **ret)
{
    struct nm_yarn_log_context context = read_context(l, c);
    struct nm_yarn_log_book *b;
    int r = nm_yarn_log_book_new(&c->id.attempt.application, c->submitter, &context, &b);

    nm_yarn_log_context_done(&context);
    if (r < 0)
        return r;
    b->has_context = c->context.size > 0;
    b->is_unsaved = true;
    insert(l, b);
    *ret = b;
    return 0;
}

/* Takes the context of a later container if the token of the first one had none, because a node had placed it. */
static void complete_context(struct nm_yarn_logs *l, struct nm_yarn_log_book *b, const struct nm_yarn_log_container *c)
{
    if (b->has_context || c->context.size == 0)
        return;
    nm_yarn_log_context_done(&b->context);
    b->context = read_context(l, c);
    b->has_context = b->is_unsaved = true;
    configure(l, b);
}

/* The saved state and the work of nm-log-uploader are JSON, which must be UTF-8, and both have a size limit. */
static bool is_usable(const char *acl)
{
    return acl && strlen(acl) <= NM_YARN_LOG_TEXT_MAX && acl[nm_utf8_prefix(acl)] == '\0';
}

/* Ignores an ACL that isn't UTF-8 or is too long. Then only the owner and administrators may read the logs. */
static int set_acls(struct nm_yarn_log_book *b, const Yarn__LaunchContext *launch)
{
    const char *view = NULL, *modify = NULL;

    if (!launch || b->view_acl)
        return 0;
    for (size_t i = 0; i < launch->n_acls; i++) {
        const Yarn__Acl *a = launch->acls[i];

        if (a->has_access_type && a->access_type == VIEW_APP && is_usable(a->acl))
            view = a->acl;
        if (a->has_access_type && a->access_type == MODIFY_APP && is_usable(a->acl))
            modify = a->acl;
    }
    if (view)
        b->is_unsaved = true;
    return nm_yarn_log_book_set_acls(b, view, modify);
}

/* ---- containers --------------------------------------------------------------------------- */

static bool accepts(const struct nm_yarn_log_book *b, const struct nm_yarn_log_container *c, int32_t exit_code)
{
    return nm_yarn_log_policy_accepts(&b->policy, &c->id, c->is_master, exit_code);
}

_Static_assert(NM_YARN_LOG_DIR_ID_SIZE >= NM_YARN_DIR_ID_SIZE, "the id of a directory must fit into the books");

/* Records the log directories that can be used now. The container's directory is made in each of them. */
static int record_dirs(const struct nm_yarn_logs *l, struct nm_yarn_log_book *b)
{
    char *const *dirs = l->p.settings->log_dirs;

    for (size_t i = 0; dirs[i]; i++) {
        const char *id = nm_yarn_launcher_log_dir_id(l->p.launcher, i);
        int r = *id ? nm_yarn_log_book_add_dir(b, id, dirs[i]) : 0;

        if (r == -E2BIG)
            nm_yarn_log_book_set_incomplete(b, "its containers had more log directories than nmd remembers");
        else if (r < 0)
            return r;
        b->is_unsaved |= r != 0;
    }
    return 0;
}

static int begin_container(struct nm_yarn_logs *l, const struct nm_yarn_log_container *c)
{
    struct nm_yarn_log_book *b = find(l, &c->id.attempt.application);
    int r = b ? 0 : add_book(l, c, &b);

    if (r < 0)
        return r;
    complete_context(l, b, c);
    if (!b->account && c->account) {
        r = nm_yarn_log_book_set_account(b, c->account);
        b->is_unsaved = true;
    }
    if (r == 0)
        r = set_acls(b, c->launch);
    if (r == 0)
        r = nm_yarn_log_book_start(b, c->text, accepts(b, c, 0));
    if (r == 0)
        r = record_dirs(l, b);
    if (b->is_unsaved)
        nm_yarn_log_store_save(l->state_fd, b);
    return r;
}

void nm_yarn_logs_begin_container(struct nm_yarn_logs *l, const struct nm_yarn_log_container *c)
{
    int r = begin_container(l, c);

    if (r < 0)
        nm_yarn_logs_log(l, LOG_WARNING, "The logs of %s may not be uploaded: %s", c->text, strerror(-r));
    nm_yarn_logs_wake(l);
}

void nm_yarn_logs_end_container(struct nm_yarn_logs *l, const struct nm_yarn_log_container *c, int32_t exit_code,
                                bool has_run)
{
    struct nm_yarn_log_book *b = find(l, &c->id.attempt.application);
    bool was_incomplete;
    int r;

    if (!b)
        return;
    was_incomplete = b->is_incomplete;
    r = nm_yarn_log_book_end(b, c->text, has_run && accepts(b, c, exit_code));
    if (r > 0)
        nm_yarn_log_store_append(l->state_fd, b, nm_yarn_log_state_ended_line(c->text));
    if (r < 0) /* the container's logs aren't uploaded and must not be removed */
        nm_yarn_log_book_set_incomplete(b, "no memory was left for the list of its containers");
    if (b->is_incomplete && !was_incomplete)
        nm_yarn_log_store_save(l->state_fd, b);
    nm_yarn_logs_wake(l);
}

/* ---- applications ------------------------------------------------------------------------- */

static void finish(struct nm_yarn_logs *l, struct nm_yarn_log_book *b)
{
    if (b->is_finished)
        return;
    nm_yarn_log_book_finish(b, nm_now_usec(), nm_realtime_usec());
    nm_yarn_log_store_append(l->state_fd, b, nm_yarn_log_state_finished_line(b));
    nm_yarn_logs_wake(l);
}

void nm_yarn_logs_end_application(struct nm_yarn_logs *l, const struct nm_yarn_application_id *id)
{
    struct nm_yarn_log_book *b = find(l, id);

    if (b)
        finish(l, b);
}

void nm_yarn_logs_end_strays(struct nm_yarn_logs *l,
                             bool (*is_here)(void *userdata, const struct nm_yarn_application_id *id), void *userdata)
{
    for (struct nm_yarn_log_book *b = l->books; b; b = b->next)
        if (!is_here(userdata, &b->number))
            finish(l, b);
}

/* Returns whether the local logs of the application must stay. */
static bool keeps_logs(const char *application, void *userdata)
{
    const struct nm_yarn_logs *l = userdata;
    struct nm_yarn_application_id id;
    const struct nm_yarn_log_book *b;

    if (nm_yarn_application_id_parse(application, &id) < 0)
        return false;
    b = find(l, &id);
    return b && b->state == NM_YARN_LOG_OPEN;
}

/* ---- the ResourceManager ------------------------------------------------------------------ */

int nm_yarn_logs_report(struct nm_yarn_logs *l, struct nm_arena *arena, Yarn__HeartbeatRequest *request)
{
    return nm_yarn_log_reports_fill(&l->reports, arena, &request->log_reports, &request->n_log_reports);
}

int nm_yarn_logs_report_all(struct nm_yarn_logs *l, struct nm_arena *arena, Yarn__RegisterRequest *request)
{
    return nm_yarn_log_reports_fill_all(&l->reports, arena, nm_now_usec(), &request->log_reports,
                                        &request->n_log_reports);
}

void nm_yarn_logs_reported(struct nm_yarn_logs *l)
{
    nm_yarn_log_reports_answered(&l->reports, nm_now_usec());
    if (nm_yarn_log_reports_has_pending(&l->reports))
        l->p.on_change(l->p.userdata);
}

/* ---- creation and end --------------------------------------------------------------------- */

void nm_yarn_logs_set_address(struct nm_yarn_logs *l, const char *host, int32_t port)
{
    (void)snprintf(l->node, sizeof l->node, "%s:%d", host, (int)port);
    nm_yarn_logs_wake(l);
}

/* Returns whether the JobHistory server would delete the logs of the application at once, because they are too old. */
static bool is_outdated(const struct nm_yarn_logs *l, const struct nm_yarn_log_book *b)
{
    const int64_t retain_sec = l->p.settings->logs.retain_sec;

    return retain_sec > 0 && b->state == NM_YARN_LOG_OPEN && b->is_finished &&
           nm_sub_u64(l->started_realtime_usec, b->finished_realtime_usec) > (uint64_t)retain_sec * NM_USEC_PER_SEC;
}

/* Takes the books that an earlier nmd has left. */
static void take(struct nm_yarn_log_book *b, void *userdata)
{
    struct nm_yarn_logs *l = userdata;

    b->has_context = true;
    insert(l, b);
    if (is_outdated(l, b)) {
        (void)snprintf(b->error, sizeof b->error, "they are older than yarn.log-aggregation.retain-seconds");
        b->upload = (struct nm_yarn_log_upload){0};
        b->state = NM_YARN_LOG_GIVEN_UP;
    }
}

/* Completes what the earlier nmd has not done before its end: releases the local logs, and informs the ResourceManager.
 * This replaces files of the directory, and some file systems would then list these files again. So it must not be done
 * while the directory is being read. */
static void close_taken(struct nm_yarn_logs *l)
{
    for (struct nm_yarn_log_book *b = l->books; b; b = b->next)
        if (b->state != NM_YARN_LOG_OPEN)
            nm_yarn_logs_close(l, b);
}

static int open_program(const char *program, char **ret_message)
{
    int fd = RET_NERRNO(open(program, O_PATH | O_CLOEXEC));

    if (fd < 0)
        return nm_fail(ret_message, fd, "Can't upload the logs of containers with %s: %s", program, strerror(-fd));
    return fd;
}

int nm_yarn_logs_check(const char *program, char **ret_message)
{
    _cleanup_close_ int fd = open_program(program, ret_message);

    return NM_MIN(fd, 0);
}

/* Chooses the local account that makes the remote directory. In HDFS it acts as nmd.log-aggregation.owner anyway. */
static void choose_owner(struct nm_yarn_logs *l)
{
    l->owner_uid = geteuid();
    l->owner_gid = getegid();
    if (l->owner_uid == 0 && nm_yarn_user_find(l->p.settings->logs.owner, &l->owner_uid, &l->owner_gid) < 0)
        l->owner_uid = l->owner_gid = NOBODY;
}

static int begin(struct nm_yarn_logs *l, char **ret_message)
{
    int r = sd_event_add_time(l->p.event, &l->timer, CLOCK_BOOTTIME, 0, NM_USEC_PER_SEC / 10, nm_yarn_logs_on_timer,
                              l);

    if (r < 0)
        return r;
    (void)sd_event_source_set_priority(l->timer, NM_LOOP_WORK);
    (void)sd_event_source_set_description(l->timer, "log-uploads");
    l->program_fd = open_program(l->p.program, ret_message);
    if (l->program_fd < 0)
        return l->program_fd;
    r = nm_yarn_log_store_open(l->p.state_dir, &l->state_fd);
    if (r == 0)
        r = nm_yarn_log_store_load(l->state_fd, take, l);
    if (r == 0)
        close_taken(l);
    return r;
}

int nm_yarn_logs_new(const struct nm_yarn_logs_params *params, struct nm_yarn_logs **ret, char **ret_message)
{
    _cleanup_(nm_yarn_logs_freep) struct nm_yarn_logs *l = calloc(1, sizeof *l);
    int r;

    assert(params->settings->logs.enabled && params->on_change);
    if (!l)
        return -ENOMEM;
    l->p = *params;
    l->state_fd = l->program_fd = -EBADF;
    l->started_usec = nm_now_usec();
    l->started_realtime_usec = nm_realtime_usec();
    nm_yarn_log_reports_init(&l->reports);
    l->reports.settled = drop;
    l->reports.userdata = l;
    l->slots = calloc((size_t)params->settings->logs.uploads, sizeof *l->slots);
    if (!l->slots)
        return -ENOMEM;
    choose_owner(l);
    r = begin(l, ret_message);
    if (r < 0)
        return r;
    nm_yarn_launcher_set_log_keeper(params->launcher, keeps_logs, l);
    *ret = STEAL_PTR(l);
    return 0;
}

/* Ends the attempts. The next nmd repeats them: nm-log-uploader continues where it was interrupted. */
struct nm_yarn_logs *nm_yarn_logs_free(struct nm_yarn_logs *l)
{
    if (!l)
        return NULL;
    nm_yarn_launcher_set_log_keeper(l->p.launcher, NULL, NULL);
    nm_yarn_log_job_free(l->prepare_job);
    for (size_t i = 0; l->slots && i < (size_t)l->p.settings->logs.uploads; i++)
        nm_yarn_log_job_free(l->slots[i].job);
    free(l->slots);
    (void)sd_event_source_disable_unref(l->timer);
    for (struct nm_yarn_log_book *b = l->books, *next; b; b = next) {
        next = b->next;
        nm_yarn_log_book_free(b);
    }
    nm_yarn_log_reports_done(&l->reports);
    (void)nm_close(l->state_fd);
    (void)nm_close(l->program_fd);
    free(l);
    return NULL;
}
