/* SPDX-License-Identifier: Apache-2.0 */

/* See cleanup-queue.h. */

#include "yarn/launch/cleanup-queue.h"

#include <dirent.h>
#include <search.h>
#include <syslog.h>

#include <jansson.h>

#include "util/clock.h"
#include "util/fileio.h"
#include "util/json-text.h"
#include "util/parse.h"
#include "util/utf8.h"
#include "yarn/launch/container-dirs.h"

#define RETRY_MIN_USEC NM_USEC_PER_SEC
#define RETRY_MAX_USEC (3600 * NM_USEC_PER_SEC)
#define RETRY_REPORTED_USEC (30 * NM_USEC_PER_SEC) /* the delay before the retry that is logged */
/* The files of containers are removed at multiples of this time, so that a process removes those of many short
 * containers. */
#define TOGETHER_USEC (250 * NM_USEC_PER_MSEC)
#define FILE_MAX 4096
#define ACL_MAX 512 /* bytes of an ACL. JSON needs at most six for each. */
#define PATH_SIZE 700
#define PATHS_MAX 16u
#define NEVER (-1)

/* An entry of the queue. With a long delete.debug-delay-sec, the queue can become very long. So a tree finds entries by
 * name. Each entry has its own timer, so one turn of the event loop handles one entry. */
struct cleanup {
    struct nm_yarn_cleanup_queue *all;
    char *submitter, *application, *container; /* container NULL: for the application's own files */
    char *view_acl;                            /* NULL: not set */
    uint64_t ended_realtime_usec;
    uint64_t age_usec, seen_usec; /* how old the end was when the entry was made, and when that was (CLOCK_BOOTTIME) */
    uint64_t retry_usec, again_usec; /* retry_usec: the last delay before a retry; again_usec: time of the next retry */
    sd_event_source *timer;
    unsigned n_removals; /* number of removals in progress */
    bool is_tried, are_logs_tried, are_files_removed;
    enum nm_yarn_logs_end logs_end;
};

struct nm_yarn_cleanup_queue {
    sd_event *event;
    const struct nm_yarn_settings *settings;
    struct nm_localizer *localizer;
    const struct nm_yarn_dirs *local, *log;
    int state_fd;
    bool (*keeps_logs)(const char *application, void *userdata);
    void *userdata;
    void (*report_cb)(int level, const char *sentence); /* may be NULL */
    void *entries; /* a tree of tsearch(3), ordered by by_name() */
    char *left_submitter, *left_view_acl; /* those of the note that was last read for a caller */
};

static int by_name(const void *a, const void *b)
{
    const struct cleanup *x = a, *y = b;
    int r = strcmp(x->application, y->application);

    return r != 0 ? r : strcmp(x->container ?: "", y->container ?: "");
}

static struct cleanup *find(const struct nm_yarn_cleanup_queue *q, const char *application, const char *container)
{
    const struct cleanup name = {.application = (char *)application, .container = (char *)container};
    void *found = tfind(&name, &q->entries, by_name);

    return found ? *(struct cleanup **)found : NULL;
}

static void free_entry(void *entry)
{
    struct cleanup *i = entry;

    (void)sd_event_source_disable_unref(i->timer);
    free(i->submitter);
    free(i->application);
    free(i->container);
    free(i->view_acl);
    free(i);
}

/* Removes an entry from the queue, but keeps its note. As long as the logs exist, the submitter in the note decides who
 * may read them. */
static void leave_note(struct cleanup *i)
{
    (void)tdelete(i, &i->all->entries, by_name);
    free_entry(i);
}

/* Removes an entry whose files have all been removed. If nmd exits before this, the next nmd restores the entry and
 * finds no files. */
static void free_cleanup(struct cleanup *i)
{
    if (!i->container)
        (void)unlinkat(i->all->state_fd, i->application, 0);
    leave_note(i);
}

/* ---- times -------------------------------------------------------------------------------- */

static void wake_at(struct cleanup *i, uint64_t usec)
{
    (void)sd_event_source_set_time(i->timer, usec);
    (void)sd_event_source_set_enabled(i->timer, SD_EVENT_ONESHOT);
}

/* Returns true if the files have been kept for keep_sec. Otherwise schedules another check. The wall clock, which
 * continues over a reboot, is used only for the age of entries of an earlier nmd. If it was set back meanwhile, their
 * files are kept for at most keep_sec from the start of this nmd. */
static bool is_due(struct cleanup *i, int64_t keep_sec)
{
    const uint64_t keep_usec = (uint64_t)keep_sec * NM_USEC_PER_SEC;
    const uint64_t age_usec = nm_add_u64(i->age_usec, nm_now_usec() - i->seen_usec);

    if (age_usec >= keep_usec)
        return true;
    wake_at(i, nm_add_u64(nm_now_usec(), keep_usec - age_usec));
    return false;
}

/* ---- removal ------------------------------------------------------------------------------ */

static void on_removed(void *userdata)
{
    struct cleanup *i = userdata;

    /* continue in another turn of the event loop, since the localizer has called this function */
    if (--i->n_removals == 0)
        wake_at(i, i->again_usec);
}

/* Returns false if the path doesn't exist beneath the directory. Doesn't follow links out of the directory. If an error
 * prevents the look-up, for example of a failing disk, the path may exist. A user can cause only the errors listed
 * here. */
static bool exists(int dir_fd, const char *path)
{
    _cleanup_close_ int fd = nm_open_beneath(dir_fd, path, O_PATH | O_NOFOLLOW);

    return fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP && fd != -EXDEV && fd != -ENAMETOOLONG;
}

/* Paths of one owner, which one process removes. */
struct removal {
    char *paths[PATHS_MAX];
    size_t n;
    uid_t uid;
    gid_t gid;
};

static void start_removal(struct cleanup *i, struct removal *r)
{
    if (r->n > 0 && nm_localizer_remove(i->all->localizer, i->submitter, r->uid, r->gid, (const char *const *)r->paths,
                                        r->n, on_removed, i) >= 0)
        i->n_removals++;
    while (r->n > 0)
        free(r->paths[--r->n]);
}

/* Adds a path, which is removed with the rights of the user who owns `owned`, a directory that lies in a directory of
 * nmd. Starts the removal of the other paths before if they have another owner. */
static void remove_path(struct cleanup *i, struct removal *r, const struct nm_yarn_dir *d, const char *owned,
                        const char *path)
{
    uid_t uid = 0;
    gid_t gid = 0;
    char *whole;

    if (nm_yarn_dirs_find_owner(d->fd, owned, &uid, &gid) < 0)
        return;
    if (r->n == PATHS_MAX || (r->n > 0 && (r->uid != uid || r->gid != gid)))
        start_removal(i, r);
    whole = nm_strdup_printf("%s/%s", d->name, path);
    if (!whole)
        return;
    r->uid = uid;
    r->gid = gid;
    r->paths[r->n++] = whole;
}

/* Returns whether an application's files in a directory that can't be used are removed later. The removal is tried
 * until its delay has grown to the maximum, which takes two hours. Afterwards they are left, because the disk may never
 * come back. */
static bool waits_for_disk(const struct cleanup *i)
{
    return !i->container && i->retry_usec < RETRY_MAX_USEC;
}

/* Starts the removal of the files. Returns whether files are left to remove. */
static bool remove_files(struct cleanup *i)
{
    const struct nm_yarn_dirs *dirs = i->all->local;
    char owned[PATH_SIZE / 2], path[PATH_SIZE];
    struct removal removal = {.n = 0};
    bool any = false;

    (void)snprintf(owned, sizeof owned, "usercache/%s", i->submitter);
    (void)snprintf(path, sizeof path, "%s/appcache/%s%s%s", owned, i->application, i->container ? "/" : "",
                   i->container ?: "");
    for (size_t k = 0; k < dirs->n; k++)
        if (dirs->all[k].fd < 0)
            any |= waits_for_disk(i);
        else if (exists(dirs->all[k].fd, path)) {
            any = true;
            remove_path(i, &removal, &dirs->all[k], owned, path);
        }
    start_removal(i, &removal);
    return any;
}

/* Removes the logs. The application's log directory belongs to the user and lies in nmd's log directory. So the
 * contents are removed with the user's rights, and the directory itself is removed with nmd's rights. */
static bool remove_logs(struct cleanup *i)
{
    const struct nm_yarn_dirs *dirs = i->all->log;
    struct removal removal = {.n = 0};
    bool any = false;

    for (size_t k = 0; k < dirs->n; k++) {
        const struct nm_yarn_dir *d = &dirs->all[k];

        if (d->fd < 0) {
            any |= waits_for_disk(i);
            continue;
        }
        if (unlinkat(d->fd, i->application, AT_REMOVEDIR) == 0 || errno == ENOENT)
            continue;
        any = true;
        remove_path(i, &removal, d, i->application, i->application);
    }
    start_removal(i, &removal);
    return any;
}

static bool are_all_open(const struct nm_yarn_dirs *dirs)
{
    for (size_t k = 0; k < dirs->n; k++)
        if (dirs->all[k].fd < 0)
            return false;
    return true;
}

/* A directory that can't be used was reported when it failed. */
static void report_left(const struct cleanup *i)
{
    char sentence[400];

    if (i->container || !i->all->report_cb || !are_all_open(i->all->local) || !are_all_open(i->all->log))
        return;
    (void)snprintf(sentence, sizeof sentence, "Not all files of %s could be removed from the local and log "
                   "directories; nmd tries again, at intervals that grow up to one hour", i->application);
    i->all->report_cb(LOG_WARNING, sentence);
}

/* Schedules a retry of a failed removal. The first retries follow soon, since a process that was just killed may still
 * have written a file. A container's files are retried only together with its application. If removals are in progress,
 * no timer is set, because their end starts the next check. */
static void wait_or_retry(struct cleanup *i, bool *tried)
{
    if (i->n_removals > 0 && !*tried) {
        *tried = true;
        return;
    }
    i->retry_usec = NM_MIN(NM_MAX(2 * i->retry_usec, RETRY_MIN_USEC), RETRY_MAX_USEC);
    i->again_usec = nm_now_usec() + i->retry_usec;
    if (i->retry_usec >= RETRY_REPORTED_USEC && i->retry_usec < 2 * RETRY_REPORTED_USEC)
        report_left(i);
    if (i->n_removals == 0)
        wake_at(i, i->again_usec);
}

static bool must_keep_logs(const struct cleanup *i)
{
    return i->all->keeps_logs && i->all->keeps_logs(i->application, i->all->userdata);
}

/* Does what is due for the logs of an application. This may free the entry. While the logs are kept, the entry has no
 * timer. */
static void process_logs(struct cleanup *i)
{
    const struct nm_yarn_settings *s = i->all->settings;
    const bool by_time = i->logs_end == NM_YARN_LOGS_BY_TIME;

    if (must_keep_logs(i))
        return;
    if (by_time && !is_due(i, NM_MAX(s->log_retain_sec, s->delete_delay_sec)))
        return;
    if (i->logs_end == NM_YARN_LOGS_KEEP)
        leave_note(i);
    else if (remove_logs(i))
        wait_or_retry(i, &i->are_logs_tried);
    else
        free_cleanup(i);
}

/* Returns whether the files of a container are about to be removed with those of its application. Many containers often
 * end together with their application, and a process for each of them would delay the removal of the others. */
static bool is_covered(const struct cleanup *i)
{
    struct cleanup *application = i->container ? find(i->all, i->application, NULL) : NULL;

    return application && !application->are_files_removed && is_due(application, i->all->settings->delete_delay_sec);
}

/* Does the work that is due for an entry. This may free the entry. */
static void process_entry(struct cleanup *i)
{
    const struct nm_yarn_settings *s = i->all->settings;

    if (s->delete_delay_sec == NEVER || (i->container && i->is_tried) || is_covered(i)) {
        free_cleanup(i);
        return;
    }
    if (!is_due(i, s->delete_delay_sec))
        return;
    if (!i->are_files_removed && remove_files(i)) {
        wait_or_retry(i, &i->is_tried);
        return;
    }
    i->are_files_removed = true; /* the logs don't wait for a local directory that fails later */
    if (i->container) {
        free_cleanup(i);
        return;
    }
    process_logs(i);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct cleanup *i = userdata;

    (void)source, (void)usec;
    if (i->n_removals == 0)
        process_entry(i);
    return 0;
}

/* ---- entries ------------------------------------------------------------------------------ */

static const char *const logs_ends[] = {
    [NM_YARN_LOGS_BY_TIME] = "by time",
    [NM_YARN_LOGS_REMOVE] = "remove",
    [NM_YARN_LOGS_KEEP] = "keep",
};

static void set_end(struct cleanup *i, uint64_t ended_realtime_usec, enum nm_yarn_logs_end logs_end)
{
    i->ended_realtime_usec = ended_realtime_usec;
    i->age_usec = nm_sub_u64(nm_realtime_usec(), ended_realtime_usec);
    i->seen_usec = nm_now_usec();
    i->logs_end = logs_end;
}

static uint64_t first_usec(const char *container)
{
    return container ? (nm_now_usec() / TOGETHER_USEC + 1) * TOGETHER_USEC : 0;
}

static int insert(struct nm_yarn_cleanup_queue *q, const char *submitter, const char *application,
                  const char *container, uint64_t ended_realtime_usec, enum nm_yarn_logs_end logs_end)
{
    struct cleanup *i = calloc(1, sizeof *i);

    if (!i)
        return -ENOMEM;
    i->all = q;
    i->submitter = strdup(submitter);
    i->application = strdup(application);
    i->container = container ? strdup(container) : NULL;
    set_end(i, ended_realtime_usec, logs_end);
    if (!i->submitter || !i->application || (container && !i->container) ||
        sd_event_add_time(q->event, &i->timer, CLOCK_BOOTTIME, first_usec(container), NM_USEC_PER_SEC / 10, on_timer,
                          i) < 0 ||
        !tsearch(i, &q->entries, by_name)) {
        free_entry(i);
        return -ENOMEM;
    }
    return 0;
}

/* Saves an entry under the application's id, by which find() looks for it. view_acl may be NULL. */
static int note(struct nm_yarn_cleanup_queue *q, const char *submitter, const char *application,
                uint64_t ended_realtime_usec, enum nm_yarn_logs_end logs_end, const char *view_acl)
{
    json_t *o = json_pack("{s:s, s:I, s:s, s:s*}", "submitter", submitter, "ended_usec",
                          (json_int_t)ended_realtime_usec, "logs", logs_ends[logs_end], "view_acl", view_acl);
    _cleanup_free_ char *text = nm_json_text(o, JSON_COMPACT);

    json_decref(o);
    return text ? nm_write_file_atomic_at(q->state_fd, application, text, 0600) : -ENOMEM;
}

/* Removes the files again. */
static void repeat(struct cleanup *i)
{
    i->is_tried = i->are_files_removed = false;
    i->retry_usec = i->again_usec = 0;
    if (i->n_removals == 0)
        wake_at(i, 0);
}

/* Begins again. The application had ended before, and its files may have been removed then, but it had another
 * container on this node afterwards. */
static void restart(struct cleanup *i, uint64_t now_usec)
{
    set_end(i, now_usec, NM_YARN_LOGS_BY_TIME);
    (void)note(i->all, i->submitter, i->application, now_usec, i->logs_end, i->view_acl);
    i->are_logs_tried = false;
    repeat(i);
}

int nm_yarn_cleanup_queue_add(struct nm_yarn_cleanup_queue *q, const char *submitter, const char *application,
                              const char *container)
{
    const uint64_t now_usec = nm_realtime_usec();
    struct cleanup *i;

    if (!nm_user_name_is_valid(submitter) || !nm_name_is_valid(application) ||
        (container && !nm_name_is_valid(container)))
        return -EINVAL;
    i = find(q, application, container);
    if (i && !container)
        restart(i, now_usec);
    if (i)
        return 0;
    if (!container) /* a failure is ignored: the removal may free a full disk */
        (void)note(q, submitter, application, now_usec, NM_YARN_LOGS_BY_TIME, NULL);
    return insert(q, submitter, application, container, now_usec, NM_YARN_LOGS_BY_TIME);
}

void nm_yarn_cleanup_queue_set_keeper(struct nm_yarn_cleanup_queue *q,
                                      bool (*keeps_logs)(const char *application, void *userdata), void *userdata)
{
    q->keeps_logs = keeps_logs;
    q->userdata = userdata;
}

/* The entry may be waiting for the removal of the application's files. Its timer is then set, too, which is
 * harmless: process_entry() checks again what is due. */
void nm_yarn_cleanup_queue_release_logs(struct nm_yarn_cleanup_queue *q, const char *application,
                                        enum nm_yarn_logs_end end)
{
    struct cleanup *i = find(q, application, NULL);

    if (!i)
        return;
    i->logs_end = end;
    (void)note(q, i->submitter, application, i->ended_realtime_usec, end, i->view_acl);
    if (i->n_removals == 0)
        wake_at(i, 0);
}

/* Drops an ACL that is too long or isn't UTF-8, because the note is a small JSON object. Then, and without memory, only
 * the submitter and administrators may read the logs. */
static void take_view_acl(struct cleanup *i, const char *view_acl)
{
    free(i->view_acl);
    if (view_acl && (strlen(view_acl) > ACL_MAX || view_acl[nm_utf8_prefix(view_acl)] != '\0'))
        view_acl = NULL;
    i->view_acl = view_acl ? strdup(view_acl) : NULL;
}

void nm_yarn_cleanup_queue_set_view_acl(struct nm_yarn_cleanup_queue *q, const char *application, const char *view_acl)
{
    struct cleanup *i = find(q, application, NULL);

    if (!i)
        return;
    take_view_acl(i, view_acl);
    (void)note(q, i->submitter, i->application, i->ended_realtime_usec, i->logs_end, i->view_acl);
}

/* The contents of an application's note. The JSON object owns the strings. */
struct note {
    json_t *json;
    const char *submitter, *view_acl;
    uint64_t ended_realtime_usec;
    enum nm_yarn_logs_end logs_end;
};

static int read_note(const struct nm_yarn_cleanup_queue *q, const char *name, struct note *ret)
{
    struct note n = {.logs_end = NM_YARN_LOGS_BY_TIME};
    const char *logs = logs_ends[n.logs_end];
    json_int_t ended_usec = 0;
    char text[FILE_MAX];

    if (!nm_name_is_valid(name) || nm_read_file_at(q->state_fd, name, text, sizeof text, NULL) < 0)
        return -ENOENT;
    n.json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (json_unpack(n.json, "{s:s, s:I, s?s, s?s}", "submitter", &n.submitter, "ended_usec", &ended_usec, "logs", &logs,
                    "view_acl", &n.view_acl) < 0 ||
        !nm_user_name_is_valid(n.submitter) || ended_usec < 0 || NM_PARSE_NAME(logs_ends, logs, &n.logs_end) < 0) {
        json_decref(n.json);
        return -EBADMSG;
    }
    n.ended_realtime_usec = (uint64_t)ended_usec;
    *ret = n;
    return 0;
}

const char *nm_yarn_cleanup_queue_submitter(struct nm_yarn_cleanup_queue *q, const char *application,
                                            const char **ret_view_acl)
{
    const struct cleanup *i = find(q, application, NULL);
    struct note n;

    if (i) {
        *ret_view_acl = i->view_acl;
        return i->submitter;
    }
    if (read_note(q, application, &n) < 0)
        return NULL;
    free(q->left_submitter);
    free(q->left_view_acl);
    q->left_submitter = strdup(n.submitter);
    q->left_view_acl = n.view_acl ? strdup(n.view_acl) : NULL;
    json_decref(n.json);
    *ret_view_acl = q->left_view_acl;
    return q->left_submitter;
}

/* The entry of an application whose files were removed still waits for the removal of its logs. */
bool nm_yarn_cleanup_queue_will_remove(const struct nm_yarn_cleanup_queue *q, const char *application)
{
    const struct cleanup *i = find(q, application, NULL);

    return i && !i->are_files_removed;
}

/* An application whose logs are never removed has a note, but no entry. No note is written: if nmd exits before the
 * files are removed, the next nmd finds them as this one has. */
int nm_yarn_cleanup_queue_add_stray(struct nm_yarn_cleanup_queue *q, const char *submitter, const char *application,
                                    uint64_t ended_realtime_usec)
{
    enum nm_yarn_logs_end logs_end = NM_YARN_LOGS_BY_TIME;
    struct cleanup *i = find(q, application, NULL);
    struct note n;

    if (!nm_user_name_is_valid(submitter) || !nm_name_is_valid(application) ||
        (i && !nm_streq(i->submitter, submitter)))
        return -EINVAL;
    if (i) {
        repeat(i);
        return 0;
    }
    if (read_note(q, application, &n) >= 0) {
        logs_end = n.logs_end;
        json_decref(n.json);
    }
    return insert(q, submitter, application, NULL, ended_realtime_usec, logs_end);
}

static bool has_logs(const struct nm_yarn_cleanup_queue *q, const char *application)
{
    for (size_t k = 0; k < q->log->n; k++)
        if (q->log->all[k].fd < 0 || exists(q->log->all[k].fd, application))
            return true;
    return false;
}

/* Logs that are never removed have a note, but no entry in the queue. After somebody has removed the logs, removes the
 * note as well. */
static void load_one(struct nm_yarn_cleanup_queue *q, const char *name)
{
    struct cleanup *i;
    struct note n;

    if (read_note(q, name, &n) < 0)
        return;
    if (n.logs_end != NM_YARN_LOGS_KEEP) {
        if (insert(q, n.submitter, name, NULL, n.ended_realtime_usec, n.logs_end) == 0 && (i = find(q, name, NULL)))
            take_view_acl(i, n.view_acl);
    } else if (!has_logs(q, name))
        (void)unlinkat(q->state_fd, name, 0);
    json_decref(n.json);
}

static int load(struct nm_yarn_cleanup_queue *q)
{
    _cleanup_closedir_ DIR *dir = NULL;
    const struct dirent *d;
    int r = nm_opendir_at(q->state_fd, &dir);

    if (r < 0)
        return r;
    while ((d = readdir(dir)))
        load_one(q, d->d_name);
    return 0;
}

int nm_yarn_cleanup_queue_new(sd_event *event, const struct nm_yarn_settings *settings, struct nm_localizer *localizer,
                              const struct nm_yarn_dirs *local, const struct nm_yarn_dirs *log, const char *state_dir,
                              void (*report_cb)(int level, const char *sentence), struct nm_yarn_cleanup_queue **ret)
{
    _cleanup_(nm_yarn_cleanup_queue_freep) struct nm_yarn_cleanup_queue *q = calloc(1, sizeof *q);
    int r;

    if (!q)
        return -ENOMEM;
    q->event = event;
    q->settings = settings;
    q->localizer = localizer;
    q->local = local;
    q->log = log;
    q->report_cb = report_cb;
    q->state_fd = RET_NERRNO(open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (q->state_fd < 0)
        return q->state_fd;
    r = load(q);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(q);
    return 0;
}

struct nm_yarn_cleanup_queue *nm_yarn_cleanup_queue_free(struct nm_yarn_cleanup_queue *q)
{
    if (!q)
        return NULL;
    tdestroy(q->entries, free_entry);
    free(q->left_submitter);
    free(q->left_view_acl);
    (void)nm_close(q->state_fd);
    free(q);
    return NULL;
}
