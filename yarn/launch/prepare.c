/* SPDX-License-Identifier: Apache-2.0 */

/* Preparation of a container (launcher.h), in three steps: first the directories, then the resources, then the script
 * and the file with the tokens. The script comes last because it contains the resources' paths. */

#include <inttypes.h>
#include <syslog.h>

#include "util/fnv1a.h"
#include "util/loop.h"
#include "yarn/launch/aux-access.h"
#include "yarn/launch/launcher-state.h"
#include "yarn/launch/resources.h"
#include "yarn/launch/retention.h"
#include "yarn/launch/script.h"
#include "yarn/launch/user.h"
#include "yarn/launch/variables.h"

#define MEMORY_MAX (64 * NM_MIB) /* limit of memory for one preparation */
#define PROGRESS_SIZE 120
#define REFETCH_MAX 3
#define SCRIPT "launch_container.sh"
#define PIECE 64U /* limit of resources checked or linked per turn, because a user may name thousands */

enum kind {
    ALL,    /* prepare everything that a container needs */
    RETAIN, /* an earlier nmd has started the container, whose resources must not be removed */
    FETCH,  /* the container is running; fetch the resources that it needs when it runs again */
    LINK,   /* the container is running; link more resources into its working directory */
};

/* The work that the next turn does. */
enum stage {
    BEGIN,
    RECHECK, /* check that all resources still exist after the last of them has been fetched */
    MAKE_LINKS,
};

struct nm_yarn_preparation {
    struct nm_yarn_launcher *launcher;
    struct nm_yarn_preparation_listener listener;
    struct nm_yarn_task task; /* the task's strings are copies in the arena */
    struct nm_yarn_dirs_owner owner;
    gid_t *groups; /* the user's supplementary groups */
    struct nm_arena arena;
    enum kind kind;
    struct nm_fair_item turn; /* the work is done in one or several turns of the event loop */
    enum stage stage;
    size_t at; /* index of the next resource that this stage handles */
    bool is_lost; /* a resource that was checked no longer exists */
    struct nm_yarn_launch links; /* for LINK: the links to make */
    struct nm_localizer_request *request;
    struct nm_localizer *asked; /* the localizer to which `request` belongs */
    bool asked_other;           /* a second localizer was asked, since the first one's directory became bad */
    struct nm_localizer *next_localizer; /* the localizer to ask next, because a disk was full */
    bool *tried;                /* the argument of nm_yarn_caches_with_more_room(); NULL: no disk was full so far */
    bool local_failed, log_failed; /* that directory has caused the failure of the preparation */
    unsigned n_refetches; /* how often a resource no longer existed after all resources had been fetched */
    TAILQ_ENTRY(nm_yarn_preparation) retained_link; /* for RETAIN: in the launcher's list */
    struct nm_yarn_retention retention;             /* for RETAIN */
    bool is_retaining; /* for RETAIN: counted in the launcher's n_retaining */
    bool has_ended;    /* for RETAIN: the listener was called */
    int result;    /* < 0: the preparation failed */
    char *message; /* reason for the failure; NULL: there was no memory for the text */
};

/* Ends the preparation. The caller must not use p afterwards, because the listener may free p. */
static void end(struct nm_yarn_preparation *p, int result, const char *message)
{
    p->result = result;
    if (result < 0) {
        p->message = strdup(message ?: strerror(-result));
        /* a disk may be the cause; check the disks soon, so that the next container doesn't use it */
        nm_yarn_dirs_schedule_check(&p->launcher->local);
        nm_yarn_dirs_schedule_check(&p->launcher->log);
    }
    p->listener.ended(p, result, result < 0 ? message ?: strerror(-result) : NULL, p->listener.userdata);
}

/* ---- directories -------------------------------------------------------------------------- */

/* Looks up the user. This is done for each preparation, since an account may be removed after the container was
 * accepted. */
static int find_user(struct nm_yarn_preparation *p, char **ret_message)
{
    struct nm_identity *as = &p->owner.as;
    int r = nm_yarn_user_find(p->task.user, &as->uid, &as->gid);

    if (r >= 0 && geteuid() == 0) { /* an nmd that isn't root can't change its user */
        r = nm_groups_find(p->task.user, as->gid, &p->groups, &as->n_groups);
        as->groups = p->groups;
    }
    if (r == -ENOENT)
        return nm_fail(ret_message, r, "The user %s doesn't exist on this node any more", p->task.user);
    return r < 0 ? nm_fail(ret_message, r, "Can't look up the user %s: %s", p->task.user, strerror(-r)) : 0;
}

/* Returns whether a failing, full or removed disk can cause this error. A user can cause the same errors. */
static bool is_of_disk(int r)
{
    static const int errors[] = {EIO,     EROFS,  ENOSPC,   EDQUOT,    ENODEV, ENXIO,
                                 EUCLEAN, ESTALE, ENOTCONN, EREMOTEIO, ENOENT};

    for (size_t i = 0; i < NM_ARRAY_SIZE(errors); i++)
        if (r == -errors[i])
            return true;
    return false;
}

/* Checks that a directory can be written to. The check is needed because mkdir() of an existing directory doesn't
 * detect that the disk has become read-only. A full disk passes the check, since the container's files may already be
 * on this disk. */
static int check_usable(const struct nm_yarn_dir *d)
{
    if (d->fd < 0)
        return -ENODEV;
    if (!d->is_good && !d->is_full)
        return -EIO;
    return RET_NERRNO(faccessat(d->fd, ".", W_OK, AT_EACCESS));
}

static int cannot_use(const struct nm_yarn_dir *d, int r, char **ret_message)
{
    return nm_fail(ret_message, r, "Can't make the container's directory in %s: %s", d->name,
                   d->is_good ? strerror(-r) : d->why);
}

static int cannot_make(const char *dir, int r, char **ret_message)
{
    if (r == -EPERM)
        return nm_fail(ret_message, r, "Can't make the container's directory in %s: a directory of the same "
                       "name exists and belongs to another user", dir);
    return nm_fail(ret_message, r, "Can't make the container's directory in %s: %s", dir, strerror(-r));
}

/* Makes the container's directory in each of the node's directories, since an application may use any of the local
 * directories. A failure matters only in the directory that was chosen for the container. */
static int make_each(struct nm_yarn_preparation *p, const struct nm_yarn_dirs *dirs, const char *own,
                     int (*make)(const struct nm_yarn_dir *d, const struct nm_yarn_dirs_owner *t, bool is_own),
                     char **ret_message)
{
    for (size_t i = 0; i < dirs->n; i++) {
        const struct nm_yarn_dir *d = &dirs->all[i];
        const bool is_own = nm_streq(d->name, own);
        int r = is_own ? check_usable(d) : 0;

        if (r < 0)
            return cannot_use(d, r, ret_message);
        r = is_own || d->is_good ? make(d, &p->owner, is_own) : -ENODEV;
        if (r < 0 && is_own)
            return cannot_make(d->name, r, ret_message);
    }
    return 0;
}

static int make_local_one(const struct nm_yarn_dir *d, const struct nm_yarn_dirs_owner *t, bool is_own)
{
    return nm_yarn_dirs_make_local(d->fd, t, is_own);
}

/* Gives auxiliary services that are written in Java access to what the application's tasks write. A failure isn't
 * reported here: the service can't read the files, and says so to its clients. */
static void grant_access(const struct nm_yarn_preparation *p)
{
    const struct nm_yarn_dirs *dirs = &p->launcher->local;

    for (size_t i = 0; p->launcher->grants_access && i < dirs->n; i++)
        if (dirs->all[i].fd >= 0 && dirs->all[i].is_good)
            (void)nm_yarn_aux_access_grant(dirs->all[i].fd, &p->owner, p->launcher->aux_gid);
}

static int make_log_one(const struct nm_yarn_dir *d, const struct nm_yarn_dirs_owner *t, bool is_own)
{
    (void)is_own;
    return nm_yarn_dirs_make_log(d->fd, t);
}

static int make_local(struct nm_yarn_preparation *p, char **ret_message)
{
    int r = make_each(p, &p->launcher->local, p->task.dirs.local_dir, make_local_one, ret_message);

    if (r >= 0)
        grant_access(p);
    p->local_failed = is_of_disk(r);
    return r;
}

static int make_logs(struct nm_yarn_preparation *p, char **ret_message)
{
    int r = make_each(p, &p->launcher->log, p->task.dirs.log_dir, make_log_one, ret_message);

    p->log_failed = is_of_disk(r);
    return r;
}

int nm_yarn_launcher_choose_other_dirs(struct nm_yarn_launcher *l, const struct nm_yarn_preparation *p,
                                       struct nm_yarn_container_dirs *ret)
{
    struct nm_yarn_container_dirs dirs = p->task.dirs;
    const struct nm_yarn_dir *d;

    if (p->result >= 0 || (!p->local_failed && !p->log_failed))
        return -ENOENT;
    nm_yarn_launcher_recheck_dirs(l);
    if (p->local_failed) {
        d = nm_yarn_dirs_next(&l->local, dirs.local_dir);
        dirs.local_dir = d ? d->name : NULL;
    }
    if (p->log_failed) {
        d = nm_yarn_dirs_next(&l->log, dirs.log_dir);
        dirs.log_dir = d ? d->name : NULL;
    }
    if (!dirs.local_dir || !dirs.log_dir)
        return -ENOENT;
    *ret = dirs;
    return 0;
}

/* ---- the script and the tokens ------------------------------------------------------------ */

static int make_links(struct nm_yarn_preparation *p, struct nm_yarn_launch *l)
{
    const Yarn__LaunchContext *c = p->task.context;
    struct nm_yarn_link *links = nm_arena_alloc(&p->arena, (c->n_resources + 1) * sizeof *links);

    if (!links)
        return -ENOMEM;
    for (size_t i = 0; i < c->n_resources; i++) {
        _cleanup_free_ char *dir = nm_localizer_target(p->request, i);

        links[i] = (struct nm_yarn_link){.name = c->resources[i]->key};
        if (dir)
            links[i].target = nm_arena_print(&p->arena, "%s/%s", dir, nm_yarn_resource_name(c->resources[i]));
        if (!links[i].target)
            return -ENOMEM;
    }
    l->links = links;
    l->n_links = c->n_resources;
    return 0;
}

static void add_counts(struct nm_yarn_launcher_figures *f, const struct nm_localizer_counts *c)
{
    f->n_fetched += c->n_fetched;
    f->n_cached += c->n_cached;
    f->fetched_bytes += c->fetched_bytes;
    f->cached_bytes += c->cached_bytes;
    nm_yarn_rate_add(&f->localization, c->usec, nm_now_usec());
}

/* Returns the values of MapReduce's counters LOCALIZED_*, in the order in which tasks read them: bytes fetched, bytes
 * cached, files fetched, files cached, milliseconds. Adds them to the launcher's figures. */
static const char *count_resources(struct nm_yarn_preparation *p)
{
    struct nm_localizer_counts c;

    nm_localizer_count(p->request, &c);
    add_counts(&p->launcher->counted, &c);
    return nm_arena_print(&p->arena, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, c.fetched_bytes,
                          c.cached_bytes, c.n_fetched, c.n_cached, c.usec / NM_USEC_PER_MSEC);
}

static int make_script(struct nm_yarn_preparation *p, struct nm_yarn_launch *launch, char **ret, char **ret_message)
{
    const struct nm_yarn_variable_sources s = {p->launcher->params.settings, &p->launcher->local, &p->launcher->log,
                                               p->launcher->java_version, count_resources(p),
                                               p->launcher->params.shim_program};
    int r = nm_yarn_variables(&s, &p->task, &p->arena, launch, ret_message);

    if (r >= 0)
        r = make_links(p, launch);
    return r < 0 ? r : nm_yarn_launch_script(launch, ret, ret_message);
}

/* Makes the first links, which the script would otherwise make with one process each. The script makes the other links,
 * and those that fail here: then the shell's error message is in the container's log, and a failure has the same
 * consequences as in Hadoop. The number is limited, because a user may name thousands of resources, and this is the
 * work of one turn of the event loop. */
static void make_first_links(const struct nm_yarn_preparation *p, const struct nm_yarn_launch *launch, int work_fd)
{
    const size_t n = NM_MIN((size_t)PIECE, launch->n_links);

    for (size_t at = 0, made; at < n; at += made + 1)
        (void)nm_yarn_dirs_links(work_fd, &p->owner, launch->links + at, n - at, &made);
}

/* Copies the script to the logs, so that it can be read after the container's end, when the working directory no longer
 * exists. The container doesn't need the copy, so a failure is ignored. */
static void copy_script(const struct nm_yarn_preparation *p, const char *script)
{
    const struct nm_yarn_dir *d = nm_yarn_launcher_dir(&p->launcher->log, p->task.dirs.log_dir);
    _cleanup_close_ int logs = d ? nm_yarn_dirs_open_log(d->fd, &p->owner) : -ENODEV;

    if (logs >= 0)
        (void)nm_yarn_dirs_write(logs, &p->owner, SCRIPT, script, strlen(script), 0640);
}

/* Makes the links, and writes the script and the file with the tokens. A link must not replace the script, so the files
 * are written last. The tokens are written unchanged. If there are no tokens, the file is a valid file with an empty
 * list. */
static int write_files(struct nm_yarn_preparation *p, const struct nm_yarn_launch *launch, const char *script)
{
    static const uint8_t none[] = {'H', 'D', 'T', 'S', 0, 0, 0};
    const struct nm_yarn_dir *d = nm_yarn_launcher_dir(&p->launcher->local, p->task.dirs.local_dir);
    const ProtobufCBinaryData *tokens = &p->task.context->tokens;
    _cleanup_close_ int work = d ? nm_yarn_dirs_open_work(d->fd, &p->owner) : -ENODEV;
    int r = work;

    if (r < 0)
        return r;
    make_first_links(p, launch, work);
    r = nm_yarn_dirs_write(work, &p->owner, SCRIPT, script, strlen(script), 0700);
    if (r < 0)
        return r;
    return nm_yarn_dirs_write(work, &p->owner, "container_tokens", tokens->len > 0 ? tokens->data : none,
                              tokens->len > 0 ? tokens->len : sizeof none, 0600);
}

static int finish(struct nm_yarn_preparation *p, char **ret_message)
{
    _cleanup_free_ char *script = NULL;
    struct nm_yarn_launch launch;
    int r = make_script(p, &launch, &script, ret_message);

    if (r < 0)
        return r;
    r = write_files(p, &launch, script);
    p->local_failed = is_of_disk(r);
    if (r >= 0 && p->launcher->params.settings->debug_info)
        copy_script(p, script);
    return r < 0 ? nm_fail(ret_message, r, "Can't write the container's script: %s", strerror(-r)) : 0;
}

static bool is_at_end(const struct nm_yarn_preparation *p)
{
    return p->at == p->task.context->n_resources;
}

static size_t next_piece(const struct nm_yarn_preparation *p)
{
    return NM_MIN(p->task.context->n_resources - p->at, PIECE);
}

static int next_turn(struct nm_yarn_preparation *p, enum stage stage)
{
    struct nm_yarn_launcher *l = p->launcher;
    int r = nm_loop_schedule_work(l->turns_source);

    if (r < 0)
        return r;
    p->stage = stage;
    if (!nm_fair_waits(&p->turn))
        nm_fair_put(&l->turns, &p->turn, nm_fnv1a_64(p->task.submitter), nm_fnv1a_64(p->task.application));
    return 0;
}

/* Makes links to the resources. Returns 1 if links are left for the next turn. */
static int add_links(struct nm_yarn_preparation *p, char **ret_message)
{
    const struct nm_yarn_dir *d = nm_yarn_launcher_dir(&p->launcher->local, p->task.dirs.local_dir);
    _cleanup_close_ int work = d ? nm_yarn_dirs_open_work(d->fd, &p->owner) : -ENODEV;
    size_t made;
    int r = NM_MIN(work, 0);

    if (r >= 0 && !p->links.links)
        r = make_links(p, &p->links);
    if (r < 0)
        return r;
    r = nm_yarn_dirs_links(work, &p->owner, p->links.links + p->at, next_piece(p), &made);
    p->at += made;
    if (r < 0 && is_at_end(p))
        return r;
    if (r < 0)
        return nm_fail(ret_message, r, "Can't link the resource '%.100s': %s", p->links.links[p->at].name,
                       strerror(-r));
    if (is_at_end(p))
        return 0;
    r = next_turn(p, MAKE_LINKS);
    return r < 0 ? r : 1;
}

/* ---- resources ---------------------------------------------------------------------------- */

static int ask_for_resources(struct nm_yarn_preparation *p, char **ret_message);

/* Checks the next resources. A resource that existed when it was requested may have been removed while the other
 * resources were being fetched. */
static void recheck_some(struct nm_yarn_preparation *p)
{
    const Yarn__LaunchContext *c = p->task.context;

    for (size_t n = next_piece(p); n > 0; n--, p->at++)
        if (!nm_localizer_check(p->request, p->at, nm_yarn_resource_name(c->resources[p->at])))
            p->is_lost = true;
}

/* Requests the resources again, at most REFETCH_MAX times. Without this limit, a process that keeps removing the
 * resources would cause an endless loop. */
static int ask_again(struct nm_yarn_preparation *p, char **ret_message)
{
    if (++p->n_refetches > REFETCH_MAX)
        return nm_fail(ret_message, -ESTALE, "The container's resources in %s were removed each time after they had "
                                             "been fetched",
                       nm_yarn_caches_dir(&p->launcher->caches));
    p->request = nm_localizer_request_free(p->request);
    return ask_for_resources(p, ret_message);
}

/* Returns a localizer whose directory has room. Each localizer is returned only once: a directory that was full appears
 * to have room again after the files of the failed fetch were removed. */
static struct nm_localizer *find_with_room(struct nm_yarn_preparation *p)
{
    const struct nm_yarn_caches *c = &p->launcher->caches;

    if (!p->tried) {
        p->tried = nm_arena_alloc(&p->arena, (c->dirs->n + 1) * sizeof *p->tried);
        for (size_t i = 0; p->tried && i < c->dirs->n; i++)
            p->tried[i] = false;
    }
    return p->tried ? nm_yarn_caches_with_more_room(c, p->asked, p->tried) : NULL;
}

/* Asks the localizer of another directory. If the current directory is full, tries all directories with more room, one
 * after the other. If the current directory has become bad, tries one other directory. Returns 1 if another localizer
 * was asked, 0 if there is no reason to ask another one. */
static int ask_other(struct nm_yarn_preparation *p, bool was_full, char **ret_message)
{
    struct nm_localizer *failed = p->asked;
    int r;

    nm_yarn_launcher_recheck_dirs(p->launcher);
    p->next_localizer = was_full ? find_with_room(p) : NULL;
    if (!p->next_localizer && (p->asked_other || nm_yarn_caches_is_good(&p->launcher->caches, failed) ||
                               p->launcher->caches.now == failed))
        return 0;
    p->asked_other = p->asked_other || !p->next_localizer;
    p->request = nm_localizer_request_free(p->request);
    r = ask_for_resources(p, ret_message);
    return r < 0 ? r : 1;
}

static void on_ended(struct nm_localizer_request *request, int result, const char *message, void *userdata)
{
    struct nm_yarn_preparation *p = userdata;
    _cleanup_free_ char *why = NULL;

    (void)request;
    if (result < 0) {
        int r = ask_other(p, result == -ENOSPC, &why);

        if (r > 0)
            return;
        result = r < 0 ? r : result;
        message = r < 0 ? why : message;
    } else if (p->kind != FETCH) {
        p->at = 0;
        p->is_lost = false;
        result = next_turn(p, RECHECK);
        if (result >= 0)
            return;
    }
    end(p, result, message);
}

/* Formats progress such as "3 of 7 resources, 12 of 40 MB". */
static void on_progress(struct nm_localizer_request *request, const struct nm_localizer_progress *progress,
                        void *userdata)
{
    const uint64_t mb = 1000 * 1000;
    struct nm_yarn_preparation *p = userdata;
    char text[PROGRESS_SIZE];
    int n = snprintf(text, sizeof text, "%zu of %zu resources", progress->n_done, progress->n);

    (void)request;
    if (progress->is_unpacking)
        (void)snprintf(text + n, sizeof text - (size_t)n, ", unpacking");
    else if (progress->total_bytes >= mb)
        (void)snprintf(text + n, sizeof text - (size_t)n, ", %" PRIu64 " of %" PRIu64 " MB", progress->bytes / mb,
                       progress->total_bytes / mb);
    else if (progress->bytes >= mb)
        (void)snprintf(text + n, sizeof text - (size_t)n, ", %" PRIu64 " MB", progress->bytes / mb);
    if (p->listener.progress)
        p->listener.progress(p, text, p->listener.userdata);
}

static int convert_resources(struct nm_yarn_preparation *p, struct nm_localizer_resource **ret, char **ret_message)
{
    const Yarn__LaunchContext *c = p->task.context;

    return nm_yarn_resources(c->resources, c->n_resources, p->launcher->params.settings->default_fs, &p->arena, ret,
                             ret_message);
}

static int ask_for_resources(struct nm_yarn_preparation *p, char **ret_message)
{
    const struct nm_localizer_user user = {p->task.submitter, p->task.application, p->owner.as.uid, p->owner.as.gid,
                                           p->task.user};
    const struct nm_localizer_listener listener = {.progress = on_progress, .ended = on_ended, .userdata = p};
    const size_t n = p->task.context->n_resources;
    struct nm_localizer_resource *list = NULL;
    int r = convert_resources(p, &list, ret_message);

    if (r < 0)
        return r;
    do {
        if (p->next_localizer && nm_yarn_caches_is_good(&p->launcher->caches, p->next_localizer))
            p->asked = p->next_localizer;
        else
            p->asked = nm_yarn_caches_choose(&p->launcher->caches, &user, list, n);
        r = p->asked ? nm_localizer_request(p->asked, &user, list, n, &listener, &p->request) : -ENOSPC;
        /* the new directories of a user also need room */
    } while ((r == -ENOSPC || r == -EDQUOT) && (p->next_localizer = find_with_room(p)));
    return r < 0 ? nm_fail(ret_message, r, "Can't start localizing the container's files: %s", strerror(-r)) : 0;
}

/* ---- resources of containers that an earlier nmd has started -------------------------------- */

/* Allows removals, unless resources are left to retain. */
static void settle_removals(struct nm_yarn_launcher *l)
{
    if (l->awaits_removals && l->n_retaining == 0 && !l->caches.has_new) {
        l->awaits_removals = false;
        nm_yarn_caches_allow_removals(&l->caches);
    }
}

/* Retains the resources in all caches that are open now. On failure, the preparation stays counted, so that nothing is
 * removed until its container has ended. */
static int begin_to_retain(struct nm_yarn_preparation *p)
{
    p->launcher->n_retaining += !p->is_retaining;
    p->is_retaining = true;
    return next_turn(p, BEGIN);
}

static void end_retaining(struct nm_yarn_preparation *p)
{
    p->launcher->n_retaining -= p->is_retaining;
    p->is_retaining = false;
    settle_removals(p->launcher);
}

void nm_yarn_launcher_retain_again(struct nm_yarn_launcher *l)
{
    struct nm_yarn_preparation *p;

    l->caches.has_new = false;
    l->awaits_removals = true;
    TAILQ_FOREACH(p, &l->retained, retained_link)
        (void)begin_to_retain(p);
    settle_removals(l);
}

static int find_resources(struct nm_yarn_preparation *p, char **ret_message)
{
    struct nm_localizer_resource *list;
    int r = convert_resources(p, &list, ret_message);

    if (r >= 0)
        p->retention = (struct nm_yarn_retention){.user = {.name = p->task.submitter,
                                                           .application = p->task.application},
                                                  .resources = list, .n = p->task.context->n_resources};
    return r;
}

static void report_unretained(const struct nm_yarn_preparation *p, const char *why)
{
    char sentence[400];

    (void)snprintf(sentence, sizeof sentence, "The files that container %s uses can't be determined (%.200s), so no "
                   "resources are removed until it has ended", p->task.container, why);
    if (p->launcher->params.report_cb)
        p->launcher->params.report_cb(LOG_WARNING, sentence);
}

/* Does the work of one turn. */
static void retain_some(struct nm_yarn_preparation *p)
{
    _cleanup_free_ char *message = NULL;
    int r = p->retention.resources ? 0 : find_resources(p, &message);

    if (r >= 0)
        r = nm_yarn_retention_continue(&p->retention, &p->launcher->caches, PIECE);
    if (r > 0)
        r = next_turn(p, BEGIN) ?: 1;
    if (r > 0)
        return;
    if (r < 0)
        report_unretained(p, message ?: strerror(-r));
    else
        end_retaining(p);
    if (!p->has_ended) {
        p->has_ended = true;
        end(p, r, message);
    }
}

/* ---- course ------------------------------------------------------------------------------- */

static int begin(struct nm_yarn_preparation *p, char **ret_message)
{
    int r = find_user(p, ret_message);

    if (r >= 0 && p->kind == ALL)
        r = make_local(p, ret_message);
    if (r >= 0 && p->kind == ALL)
        r = make_logs(p, ret_message);
    if (r >= 0)
        r = ask_for_resources(p, ret_message);
    return r < 0 ? r : 1;
}

static int recheck(struct nm_yarn_preparation *p, char **ret_message)
{
    int r;

    recheck_some(p);
    if (!is_at_end(p))
        r = next_turn(p, RECHECK);
    else if (p->is_lost)
        r = ask_again(p, ret_message);
    else if (p->kind == ALL)
        return finish(p, ret_message);
    else {
        p->at = 0;
        return add_links(p, ret_message);
    }
    return r < 0 ? r : 1;
}

/* Does the work of one turn. Each function returns 1 if more work follows. */
static void take_turn(struct nm_yarn_preparation *p)
{
    _cleanup_free_ char *message = NULL;
    int r;

    if (p->kind == RETAIN) {
        retain_some(p);
        return;
    }
    if (p->stage == BEGIN)
        r = begin(p, &message);
    else
        r = p->stage == RECHECK ? recheck(p, &message) : add_links(p, &message);
    if (r <= 0)
        end(p, r, message);
}

int nm_yarn_launcher_on_turns(sd_event_source *source, void *userdata)
{
    struct nm_yarn_launcher *l = userdata;
    uint64_t end_usec = nm_now_usec() + NM_LOOP_TURN_USEC;
    struct nm_fair_item *t;

    if (l->may_remove && l->caches.has_new)
        nm_yarn_launcher_retain_again(l);
    while ((t = nm_fair_take(&l->turns))) {
        take_turn(NM_CONTAINER_OF(t, struct nm_yarn_preparation, turn)); /* a listener may free any preparation */
        if (nm_now_usec() >= end_usec)
            break;
    }
    return l->turns.first ? nm_loop_schedule_work(source) : 0;
}

static int copy_word(struct nm_arena *arena, const char **word)
{
    *word = nm_arena_print(arena, "%s", *word);
    return *word ? 0 : -ENOMEM;
}

/* Copies the services' data, because the caller frees its arena before the script is written. */
static int copy_services(struct nm_yarn_preparation *p)
{
    Yarn__Data **list = nm_arena_alloc(&p->arena, (p->task.n_services + 1) * sizeof *list);

    for (size_t i = 0; list && i < p->task.n_services; i++) {
        const Yarn__Data *from = p->task.services[i];

        list[i] = nm_arena_alloc(&p->arena, sizeof **list);
        if (!list[i])
            return -ENOMEM;
        yarn__data__init(list[i]);
        list[i]->key = nm_arena_print(&p->arena, "%s", from->key);
        list[i]->value.data = nm_arena_alloc(&p->arena, from->value.len + 1);
        if (!list[i]->key || !list[i]->value.data)
            return -ENOMEM;
        if (from->value.len > 0)
            memcpy(list[i]->value.data, from->value.data, from->value.len);
        list[i]->value.len = from->value.len;
    }
    p->task.services = list;
    return list ? 0 : -ENOMEM;
}

static int copy_task(struct nm_yarn_preparation *p)
{
    struct nm_yarn_task *t = &p->task;
    const char **words[] = {&t->application, &t->container,      &t->user,         &t->submitter,
                            &t->node_host,   &t->dirs.local_dir, &t->dirs.log_dir};

    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++)
        if (copy_word(&p->arena, words[i]) < 0)
            return -ENOMEM;
    p->owner = (struct nm_yarn_dirs_owner){.submitter = t->submitter, .application = t->application,
                                           .container = t->container};
    return copy_services(p);
}

static int new_preparation(struct nm_yarn_launcher *l, const struct nm_yarn_task *task, enum kind kind,
                           const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret)
{
    _cleanup_(nm_yarn_preparation_freep) struct nm_yarn_preparation *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return -ENOMEM;
    nm_arena_init(&p->arena, MEMORY_MAX, NULL);
    p->launcher = l;
    l->n_preparations++;
    p->listener = *listener;
    p->task = *task;
    p->kind = kind;
    if (kind == RETAIN)
        TAILQ_INSERT_TAIL(&l->retained, p, retained_link);
    r = copy_task(p);
    if (r >= 0)
        r = kind == RETAIN ? begin_to_retain(p) : next_turn(p, BEGIN);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(p);
    return 0;
}

int nm_yarn_launcher_prepare(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                             const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret)
{
    return new_preparation(l, task, ALL, listener, ret);
}

int nm_yarn_launcher_retain(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                            const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret)
{
    int r = new_preparation(l, task, RETAIN, listener, ret);

    l->n_retaining += r < 0; /* this nmd then removes nothing */
    return r;
}

int nm_yarn_launcher_fetch(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                           const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret)
{
    return new_preparation(l, task, FETCH, listener, ret);
}

int nm_yarn_launcher_localize(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                              const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret)
{
    return new_preparation(l, task, LINK, listener, ret);
}

struct nm_yarn_preparation *nm_yarn_preparation_free(struct nm_yarn_preparation *p)
{
    if (!p)
        return NULL;
    p->launcher->n_preparations--;
    if (nm_fair_waits(&p->turn))
        nm_fair_remove(&p->launcher->turns, &p->turn);
    if (p->kind == RETAIN) {
        TAILQ_REMOVE(&p->launcher->retained, p, retained_link);
        nm_yarn_retention_done(&p->retention);
        end_retaining(p);
    }
    (void)nm_localizer_request_free(p->request);
    nm_arena_done(&p->arena);
    free(p->groups);
    free(p->message);
    free(p);
    return NULL;
}

int32_t nm_yarn_preparation_state(const struct nm_yarn_preparation *p, size_t i, const char **ret_why)
{
    enum { PENDING = 1, COMPLETED, FAILED };

    if (p->kind == RETAIN || (p->request && nm_localizer_is_available(p->request, i)))
        return COMPLETED;
    if (p->result >= 0)
        return PENDING;
    *ret_why = p->message ?: strerror(-p->result);
    return FAILED;
}
