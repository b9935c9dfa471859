/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Attempts of uploads: see logs.h. The books contain when an attempt is due. At most settings->logs.uploads attempts
 * run at the same time, and one user has at most half of them, so that a user with many applications, or with slow
 * ones, doesn't delay the others. While the remote file system can't be reached, only one process tries: the one that
 * checks the remote directory. If it fails, this counts as a failed attempt of all uploads that were due.
 */

#include "yarn/logs/logs-state.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <syslog.h>
#include <time.h>

#include "util/clock.h"
#include "util/error.h"
#include "yarn/logs/log-state.h"
#include "yarn/logs/log-store.h"
#include "yarn/logs/log-work.h"

#define DIRS_MAX 64
#define AT_ONCE_MAX 100u /* uploads in one turn of the event loop. Those without a process write files. */
#define SILENT_USEC (300 * NM_USEC_PER_SEC)
#define MOST_USEC ((NM_YARN_LOG_SECONDS + 60) * NM_USEC_PER_SEC)
#define PREPARE_MOST_USEC (600 * NM_USEC_PER_SEC)
#define PREPARE_RETRY_USEC (10 * NM_USEC_PER_SEC)
#define BAD_DISK_ATTEMPTS 3u /* then the logs on the other disks are uploaded without those of a disk with errors */
#define FORMAT_BYTES (64 * NM_MIB) /* more than the names and lengths of the files of one upload need */
#ifdef __SANITIZE_ADDRESS__
#define WORKER_MAX_BYTES(mib) UINT64_MAX /* sanitizers reserve large address ranges, so there is no limit */
#else
#define WORKER_MAX_BYTES(mib) ((uint64_t)(mib) * NM_MIB)
#endif

/* ---- reports ------------------------------------------------------------------------------ */

/* Failures to add a report are ignored: without memory, the ResourceManager shows the application as timed out. */
static void report(struct nm_yarn_logs *l, const struct nm_yarn_log_book *b, enum nm_yarn_log_status status,
                   const char *text)
{
    (void)nm_yarn_log_reports_add(&l->reports, &b->number, status, text);
    l->p.on_change(l->p.userdata);
}

/* Reports an upload with Java's text, which scripts may look for. */
static void report_upload(struct nm_yarn_logs *l, const struct nm_yarn_log_book *b, bool has_files)
{
    char text[600] = "", date[64] = "", node[sizeof l->node];
    const time_t now = (time_t)(nm_realtime_usec() / NM_USEC_PER_SEC);
    struct tm tm;

    (void)snprintf(node, sizeof node, "%s", l->node);
    if (strrchr(node, ':'))
        *strrchr(node, ':') = '_';
    if (localtime_r(&now, &tm))
        (void)strftime(date, sizeof date, "%a %b %d %H:%M:%S %z %Y", &tm);
    if (has_files)
        (void)snprintf(text, sizeof text, "Log uploaded successfully for Application: %s in NodeManager: %s at %s\n",
                       b->id, node, date);
    report(l, b, NM_YARN_LOG_STATUS_RUNNING, text);
}

static void report_given_up(struct nm_yarn_logs *l, const struct nm_yarn_log_book *b)
{
    const char *others = l->p.settings->log_dirs[1] ? " and the other log directories" : "";
    _cleanup_free_ char *text =
        nm_strdup_printf("The logs of %s are not completely uploaded, and nmd doesn't try again: %s. They stay in "
                         "%s/%s%s until %" PRIi64 " seconds after the application's end.", b->id, b->error,
                         l->p.settings->log_dirs[0], b->id, others, l->p.settings->log_retain_sec);

    if (text && l->p.on_event)
        l->p.on_event(LOG_WARNING, text, l->p.event_userdata);
}

void nm_yarn_logs_close(struct nm_yarn_logs *l, struct nm_yarn_log_book *b)
{
    const enum nm_yarn_logs_end uploaded = l->p.settings->logs.cleans_up ? NM_YARN_LOGS_REMOVE : NM_YARN_LOGS_KEEP;
    const bool is_uploaded = b->state == NM_YARN_LOG_UPLOADED;

    assert(b->state != NM_YARN_LOG_OPEN);
    nm_yarn_log_store_save(l->state_fd, b); /* first, because the next nmd must not upload the removed logs */
    nm_yarn_launcher_release_logs(l->p.launcher, b->id, is_uploaded ? uploaded : NM_YARN_LOGS_BY_TIME);
    report(l, b, is_uploaded ? NM_YARN_LOG_STATUS_SUCCEEDED : NM_YARN_LOG_STATUS_FAILED, b->error);
}

/* ---- results ------------------------------------------------------------------------------ */

/* Logs and reports the first failure of an upload. If the remote file system can't be reached, many uploads may fail.
 * set_away() has then logged the reason once. */
static void report_failure(struct nm_yarn_logs *l, struct nm_yarn_log_book *b)
{
    l->totals.failures++;
    if (b->failures != 1 || b->upload.is_abandoned)
        return;
    if (!l->is_away)
        nm_yarn_logs_log(l, LOG_WARNING, "Can't upload the logs of %s: %s; nmd tries again", b->id, b->error);
    report(l, b, NM_YARN_LOG_STATUS_RUNNING_WITH_FAILURE, b->error);
}

/* Adds to the totals of the node. The numbers come from a process of the user, who can make it report any number. */
static void count_upload(struct nm_yarn_logs *l, const struct nm_yarn_log_outcome *o, uint64_t most_bytes)
{
    const uint64_t bytes = nm_add_u64(l->totals.bytes, NM_MIN(o->bytes, most_bytes));

    l->totals.files += o->n_files; /* nm_upload_reply_parse() limits it */
    l->totals.bytes = NM_MIN(bytes, (uint64_t)INT64_MAX);
}

/* Records the result of an attempt, in the books, in their file, and for the ResourceManager. */
static void take_result(struct nm_yarn_logs *l, struct nm_yarn_log_book *b, const struct nm_yarn_log_outcome *o)
{
    const bool was_abandoned = b->upload.is_abandoned;
    const struct nm_yarn_log_now now = {
        .usec = nm_now_usec(), .started_usec = l->started_usec,
        .retry_usec = (uint64_t)l->p.settings->logs.retry_sec * NM_USEC_PER_SEC};
    const bool is_over = nm_yarn_log_book_take_result(b, o->result, o->error, &now);

    if (o->result == NM_YARN_LOG_DONE)
        report_upload(l, b, o->n_files > 0);
    else if (!was_abandoned)
        report_failure(l, b);
    if (o->n_files > 0)
        nm_yarn_logs_log(l, LOG_INFO, "Uploaded %" PRIu64 " log files of %s as %s (%" PRIu64 " bytes)", o->n_files,
                         b->id, o->name, o->bytes);
    if (b->state == NM_YARN_LOG_OPEN && is_over)
        nm_yarn_log_store_save(l->state_fd, b);
    if (b->state == NM_YARN_LOG_OPEN)
        return;
    l->totals.uploaded += b->state == NM_YARN_LOG_UPLOADED;
    l->totals.given_up += b->state == NM_YARN_LOG_GIVEN_UP;
    if (b->state == NM_YARN_LOG_GIVEN_UP)
        report_given_up(l, b);
    nm_yarn_logs_close(l, b);
}

static void begin(struct nm_yarn_logs *l, struct nm_yarn_log_book *b)
{
    if (nm_yarn_log_book_begin(b, nm_realtime_usec() / 1000))
        nm_yarn_log_store_append(l->state_fd, b, nm_yarn_log_state_upload_line(b));
}

/* Records a failure of an attempt whose process could not be started. */
static void fail(struct nm_yarn_logs *l, struct nm_yarn_log_book *b, const char *error)
{
    const struct nm_yarn_log_outcome o = {.result = NM_YARN_LOG_TEMPORARY, .error = error, .name = ""};

    take_result(l, b, &o);
}

/* ---- attempts ----------------------------------------------------------------------------- */

static void on_note(struct nm_yarn_log_job *job, const char *text, void *userdata)
{
    struct nm_yarn_logs *l = userdata;

    for (size_t i = 0; i < (size_t)l->p.settings->logs.uploads; i++)
        if (l->slots[i].job == job)
            nm_yarn_logs_log(l, LOG_NOTICE, "Upload of the logs of %s: %s", l->slots[i].book->id, text);
}

static void on_ended(struct nm_yarn_log_job *job, const struct nm_yarn_log_outcome *o, void *userdata)
{
    struct nm_yarn_logs *l = userdata;
    struct nm_yarn_log_slot *slot = l->slots;

    while (slot->job != job)
        slot++;
    if (o->result == NM_YARN_LOG_DONE)
        count_upload(l, o, slot->most_bytes);
    else if (!slot->book->upload.is_abandoned)
        l->is_prepared = false;
    take_result(l, slot->book, o);
    *slot = (struct nm_yarn_log_slot){0};
    l->n_running--;
    nm_yarn_log_job_free(job);
    nm_yarn_logs_wake(l);
}

/* The log directories that have a directory of the application, and its owner. nmd doesn't look up the account, because
 * name services may block. */
struct places {
    const char *dirs[DIRS_MAX];
    size_t n;
    uid_t uid;
    gid_t gid;
    uint64_t used_bytes; /* of their file systems */
    const char *bad_dir; /* nmd can't read this log directory, which may have logs; NULL: it can read all */
    const char *bad_why;
};

static uint64_t used_bytes_of(const char *dir)
{
    struct statvfs vfs;

    return statvfs(dir, &vfs) < 0 ? 0 : (uint64_t)(vfs.f_blocks - vfs.f_bfree) * vfs.f_frsize;
}

static void add_place(struct places *p, const char *dir, const struct stat *st)
{
    if (p->n == 0) {
        p->uid = st->st_uid;
        p->gid = st->st_gid;
    }
    if (st->st_uid != p->uid)
        return;
    p->dirs[p->n++] = dir;
    p->used_bytes = nm_add_u64(p->used_bytes, used_bytes_of(dir));
}

/* Looks for the application's directory in a log directory. If the log directory isn't in its place, its logs come back
 * with its disk. They would be removed then without having been uploaded, if the upload counted as done now. */
static int find_place(const struct nm_yarn_logs *l, size_t i, const char *path, struct places *p)
{
    const char *dir = l->p.settings->log_dirs[i];
    struct stat st;
    int r = nm_yarn_launcher_has_log_dir(l->p.launcher, i);

    if (r == -ENOMEM)
        return r;
    if (r > 0)
        r = fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? 1 : -errno;
    if (r == 1 && S_ISDIR(st.st_mode))
        add_place(p, dir, &st);
    if (r > 0 || r == -ENOENT || r == -ENOTDIR)
        return 0;
    p->bad_dir = dir;
    p->bad_why = r == 0 ? "it was removed, or its disk isn't mounted" : strerror(-r);
    return 0;
}

static bool has_dir(const struct nm_yarn_logs *l, const char *id)
{
    char *const *dirs = l->p.settings->log_dirs;

    for (size_t i = 0; dirs[i]; i++)
        if (nm_streq(nm_yarn_launcher_log_dir_id(l->p.launcher, i), id))
            return true;
    return false;
}

/* Returns the first directory in which the containers may have logs and that can't be used, or NULL. It may be away
 * since before nmd was started, and another disk may have its path now. */
static const struct nm_yarn_log_dir *find_absent(const struct nm_yarn_logs *l, const struct nm_yarn_log_book *b)
{
    for (size_t k = 0; k < b->n_dirs; k++)
        if (!has_dir(l, b->dirs[k].id))
            return &b->dirs[k];
    return NULL;
}

/* -ENOMEM: a directory may be missing. The upload would then count as done without its logs. */
static int find_places(const struct nm_yarn_logs *l, const struct nm_yarn_log_book *b, struct places *ret)
{
    char *const *dirs = l->p.settings->log_dirs;
    const struct nm_yarn_log_dir *absent = find_absent(l, b);

    if (absent) { /* its disk may have come back since the last check */
        nm_yarn_launcher_recheck_dirs(l->p.launcher);
        absent = find_absent(l, b);
    }
    *ret = (struct places){.n = 0};
    for (size_t i = 0; dirs[i] && ret->n < DIRS_MAX; i++) {
        _cleanup_free_ char *path = nm_strdup_printf("%s/%s", dirs[i], b->id);
        int r = path ? find_place(l, i, path, ret) : -ENOMEM;

        if (r < 0)
            return r;
    }
    if (absent && !ret->bad_dir) {
        ret->bad_dir = absent->path;
        ret->bad_why = "its disk isn't mounted, or was replaced by another one";
    }
    return 0;
}

/* Handles a log directory that can't be read, for example because its disk fails. Returns true if the attempt failed
 * for this reason: the disk may be back at the next one. After several attempts the other logs are uploaded, and the
 * books are incomplete, so that no local logs are removed before their time. */
static bool waits_for_disk(struct nm_yarn_logs *l, struct nm_yarn_log_book *b, const struct places *places)
{
    _cleanup_free_ char *text = NULL;

    if (!places->bad_dir || b->upload.is_abandoned)
        return false;
    text = nm_strdup_printf("%s can't be read: %s", places->bad_dir, places->bad_why);
    if (b->failures < BAD_DISK_ATTEMPTS) {
        begin(l, b);
        fail(l, b, text ?: "a log directory can't be read");
        return true;
    }
    if (!b->is_incomplete)
        nm_yarn_logs_log(l, LOG_WARNING, "The logs of %s are uploaded without those in %s", b->id, places->bad_dir);
    nm_yarn_log_book_set_incomplete(b, text ?: "a log directory can't be read");
    nm_yarn_log_store_save(l->state_fd, b);
    return false;
}

static struct nm_yarn_log_job_params job_params(struct nm_yarn_logs *l, uid_t uid, gid_t gid, const char *account,
                                                const char *work)
{
    return (struct nm_yarn_log_job_params){
        .event = l->p.event, .program_fd = l->program_fd, .uid = uid, .gid = gid, .account = account, .work = work,
        .most_memory_bytes = WORKER_MAX_BYTES(l->p.settings->localizer_memory_mib),
        .silent_usec = l->p.silent_usec ?: SILENT_USEC, .most_usec = MOST_USEC, .note = on_note, .ended = on_ended,
        .userdata = l};
}

static int start_job(struct nm_yarn_logs *l, struct nm_yarn_log_book *b, const struct places *places)
{
    _cleanup_free_ char *work = nm_yarn_log_work(l->p.settings, b, l->node, places->dirs, places->n);
    const struct nm_yarn_log_job_params p = job_params(l, places->uid, places->gid, b->account, work);
    struct nm_yarn_log_slot *slot = l->slots;
    int r;

    if (!work)
        return -ENOMEM;
    while (slot->job)
        slot++;
    r = nm_yarn_log_job_new(&p, &slot->job);
    if (r < 0)
        return r;
    slot->book = b;
    slot->most_bytes = nm_add_u64(places->used_bytes, FORMAT_BYTES);
    l->n_running++;
    l->totals.attempts++;
    return 0;
}

/* Completes an upload that needs no process. */
static void attempt_empty(struct nm_yarn_logs *l, struct nm_yarn_log_book *b)
{
    static const struct nm_yarn_log_outcome nothing = {.result = NM_YARN_LOG_DONE, .error = "", .name = ""};

    begin(l, b);
    take_result(l, b, &nothing);
}

/* Begins an attempt. If the application has no logs on this node, the upload is done without a process. */
static void attempt(struct nm_yarn_logs *l, struct nm_yarn_log_book *b)
{
    struct places places;
    int r = find_places(l, b, &places);

    if (r == 0 && waits_for_disk(l, b, &places))
        return;
    if (r == 0 && places.n == 0 && !b->upload.is_abandoned) {
        attempt_empty(l, b);
        return;
    }
    begin(l, b);
    if (r == 0 && places.n == 0) {
        fail(l, b, "there are no logs");
        return;
    }
    if (r == 0 && geteuid() == 0 && places.uid == 0 && !l->p.settings->allow_root) {
        fail(l, b, "the directory of its logs belongs to root");
        return;
    }
    if (r == 0)
        r = start_job(l, b, &places);
    if (r < 0)
        fail(l, b, strerror(-r));
}

/* ---- the remote directory ----------------------------------------------------------------- */

static void set_away(struct nm_yarn_logs *l, const char *error)
{
    if (error && !l->is_away)
        nm_yarn_logs_log(l, LOG_WARNING, "Can't upload logs to %s: %s; nmd keeps the logs and tries again",
                         l->p.settings->logs.remote, error);
    else if (!error && l->is_away)
        nm_yarn_logs_log(l, LOG_NOTICE, "Logs can be uploaded to %s again", l->p.settings->logs.remote);
    l->is_away = error != NULL;
}

/* Records that the remote directory can't be used. */
static void fail_all_due(struct nm_yarn_logs *l, const char *error)
{
    const uint64_t now_usec = nm_now_usec();

    set_away(l, error);
    for (struct nm_yarn_log_book *b = l->books; b; b = b->next)
        if (nm_yarn_log_book_due(b) <= now_usec && nm_yarn_log_book_has_work(b)) {
            begin(l, b);
            fail(l, b, error);
        }
}

static void on_prepare_note(struct nm_yarn_log_job *job, const char *text, void *userdata)
{
    (void)job;
    nm_yarn_logs_log(userdata, LOG_NOTICE, "The directory for uploaded logs: %s", text);
}

static void on_prepared(struct nm_yarn_log_job *job, const struct nm_yarn_log_outcome *o, void *userdata)
{
    struct nm_yarn_logs *l = userdata;

    l->is_prepared = o->result == NM_YARN_LOG_DONE;
    l->prepare_due_usec = nm_now_usec() + PREPARE_RETRY_USEC;
    l->prepare_job = NULL;
    if (l->is_prepared)
        set_away(l, NULL);
    else
        fail_all_due(l, o->error);
    nm_yarn_log_job_free(job);
    nm_yarn_logs_wake(l);
}

static void start_prepare(struct nm_yarn_logs *l)
{
    _cleanup_free_ char *work = nm_yarn_log_work_prepare(l->p.settings);
    struct nm_yarn_log_job_params p = job_params(l, l->owner_uid, l->owner_gid, NULL, work);
    int r = -ENOMEM;

    p.most_usec = PREPARE_MOST_USEC;
    p.note = on_prepare_note;
    p.ended = on_prepared;
    if (work)
        r = nm_yarn_log_job_new(&p, &l->prepare_job);
    if (r == 0)
        return;
    l->prepare_due_usec = nm_now_usec() + PREPARE_RETRY_USEC;
    fail_all_due(l, strerror(-r));
}

/* ---- choice ------------------------------------------------------------------------------- */

static size_t count_running(const struct nm_yarn_logs *l, const char *user)
{
    size_t n = 0;

    for (size_t i = 0; i < (size_t)l->p.settings->logs.uploads; i++)
        n += l->slots[i].job && nm_streq(l->slots[i].book->user, user);
    return n;
}

static bool is_within_share(const struct nm_yarn_logs *l, const struct nm_yarn_log_book *b)
{
    return count_running(l, b->user) < ((size_t)l->p.settings->logs.uploads + 1) / 2;
}

/* Chooses among the due applications one of the user with the fewest attempts. Among these, the longest due one. */
static struct nm_yarn_log_book *choose(const struct nm_yarn_logs *l, uint64_t now_usec)
{
    struct nm_yarn_log_book *best = NULL;
    size_t best_running = 0;

    for (struct nm_yarn_log_book *b = l->books; b; b = b->next) {
        size_t n;

        if (nm_yarn_log_book_due(b) > now_usec || !is_within_share(l, b))
            continue;
        n = count_running(l, b->user);
        if (!best || n < best_running ||
            (n == best_running && nm_yarn_log_book_due(b) < nm_yarn_log_book_due(best))) {
            best = b;
            best_running = n;
        }
    }
    return best;
}

/* Completes due uploads that need no process. Returns false if more of them are left for the next turn. */
static bool finish_empty(struct nm_yarn_logs *l, uint64_t now_usec)
{
    unsigned n = 0;

    for (struct nm_yarn_log_book *b = l->books; b; b = b->next)
        while (nm_yarn_log_book_due(b) <= now_usec && !nm_yarn_log_book_has_work(b)) {
            if (n++ == AT_ONCE_MAX)
                return false;
            attempt_empty(l, b);
        }
    return true;
}

static void set_timer(struct nm_yarn_logs *l)
{
    uint64_t due_usec = NM_YARN_LOG_NEVER;

    if (l->prepare_job || l->n_running == (size_t)l->p.settings->logs.uploads)
        return; /* the end of a process wakes this file */
    for (const struct nm_yarn_log_book *b = l->books; b; b = b->next)
        if (is_within_share(l, b))
            due_usec = NM_MIN(due_usec, nm_yarn_log_book_due(b));
    if (due_usec == NM_YARN_LOG_NEVER)
        return;
    if (!l->is_prepared)
        due_usec = NM_MAX(due_usec, l->prepare_due_usec);
    (void)sd_event_source_set_time(l->timer, due_usec);
    (void)sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
}

int nm_yarn_logs_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_yarn_logs *l = userdata;
    struct nm_yarn_log_book *b;
    const uint64_t now_usec = nm_now_usec();

    (void)source, (void)usec;
    if (!*l->node)
        return 0;
    if (!finish_empty(l, now_usec)) {
        nm_yarn_logs_wake(l);
        return 0;
    }
    if (!l->is_prepared && !l->prepare_job && now_usec >= l->prepare_due_usec && choose(l, now_usec))
        start_prepare(l);
    for (unsigned n = 0; n < AT_ONCE_MAX && l->is_prepared && l->n_running < (size_t)l->p.settings->logs.uploads &&
                         (b = choose(l, now_usec)); n++)
        attempt(l, b);
    set_timer(l);
    return 0;
}

void nm_yarn_logs_wake(struct nm_yarn_logs *l)
{
    (void)sd_event_source_set_time(l->timer, 0);
    (void)sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
}
