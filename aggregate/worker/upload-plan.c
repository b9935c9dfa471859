/* SPDX-License-Identifier: Apache-2.0 */

/* See upload-plan.h. The limits are on what one user can make this process read and store. */

#include "aggregate/worker/upload-plan.h"

#include <sys/stat.h>

#include "aggregate/upload-protocol.h"
#include "aggregate/worker/upload-select.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"

#define MAX_DIR_ENTRIES 65536U
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct making {
    const struct nm_upload_work *work;
    const struct nm_upload_memory *memory;
    struct nm_upload_select select;
    struct nm_upload_report *report;
    struct nm_upload_plan plan;
    bool *is_found;  /* for each entry of the memory: its file still exists */
    bool is_partial; /* not all files were looked at */
    size_t container, log_dir;
    uint64_t deadline_usec;
};

void nm_upload_plan_done(struct nm_upload_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        free(plan->items[i].name);
    free(plan->items);
    nm_upload_memory_done(&plan->kept);
    *plan = (struct nm_upload_plan){0};
}

/* The log directory is nmd's. Everything below it is the user's, and must not be a link. */
int nm_upload_plan_open_dir(const struct nm_upload_work *work, size_t log_dir, const char *container)
{
    _cleanup_close_ int base = RET_NERRNO(open(work->log_dirs[log_dir], O_PATH | O_DIRECTORY | O_CLOEXEC));
    _cleanup_close_ int application = base < 0 ? base : RET_NERRNO(openat(base, work->application, DIR_FLAGS));

    if (application < 0 || !container)
        return application < 0 ? application : STEAL_FD(application);
    return RET_NERRNO(openat(application, container, DIR_FLAGS));
}

int nm_upload_plan_open_file(int dir_fd, const char *name)
{
    return RET_NERRNO(openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

/* ---- one file -------------------------------------------------------------------------------- */

/* Finds the memory's entry of an open file. Returns NULL if no upload has read the file. The inode's number alone
 * doesn't identify the file: the file may have replaced another one. */
static const struct nm_upload_entry *find_uploaded(struct making *m, int fd, const struct stat *st)
{
    const char *container = m->work->containers[m->container].id;
    const struct nm_upload_memory *memory = m->memory;

    for (size_t i = nm_upload_memory_search(memory, st->st_ino);
         i < memory->n && memory->entries[i].inode == st->st_ino; i++) {
        const struct nm_upload_entry *e = &memory->entries[i];
        uint64_t fingerprint;

        if (e->bytes <= (uint64_t)st->st_size && nm_streq(e->container, container) &&
            nm_upload_fingerprint(fd, e->bytes, &fingerprint) == 0 && fingerprint == e->fingerprint) {
            m->is_found[i] = true;
            return e;
        }
    }
    return NULL;
}

static int keep(struct making *m, const struct nm_upload_entry *e)
{
    int r = nm_upload_memory_add(&m->plan.kept, e->container, e->inode, e->bytes, e->fingerprint);

    return r == -E2BIG ? 0 : r; /* the worst consequence is that lines are uploaded again */
}

static int add_item(struct making *m, const char *name, const struct stat *st, const struct nm_upload_entry *former)
{
    const uint64_t offset = former ? former->bytes : 0;
    struct nm_upload_plan *plan = &m->plan;
    char *copy;

    if (NM_ARRAY_ROOM(plan->items, plan->n, plan->size) < 0)
        return -ENOMEM;
    copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    plan->items[plan->n++] = (struct nm_upload_item){
        .container = m->container,
        .log_dir = m->log_dir,
        .name = copy,
        .device = st->st_dev,
        .inode = st->st_ino,
        .offset = offset,
        .fingerprint = former ? former->fingerprint : 0,
        .size = (uint64_t)st->st_size - offset,
        .modified_msec = (uint64_t)NM_MAX(st->st_mtim.tv_sec, (time_t)0) * 1000 +
                         (uint64_t)st->st_mtim.tv_nsec / 1000000,
    };
    plan->total_bytes = nm_add_u64(plan->total_bytes, (uint64_t)st->st_size - offset);
    return 0;
}

/* Considers a regular file with a suitable name. Opens it only if something of it may have been uploaded before,
 * because an upload needs at most one open file at a time. */
static int consider(struct making *m, int dir_fd, const char *name, struct stat *st)
{
    const struct nm_upload_entry *former = NULL;
    _cleanup_close_ int fd = -EBADF;

    if (m->memory->n == 0)
        return add_item(m, name, st, NULL);
    fd = nm_upload_plan_open_file(dir_fd, name);
    if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode)) {
        nm_upload_report_note(m->report, "%s of %s is left out: %s", name, m->work->containers[m->container].id,
                              fd < 0 ? strerror(-fd) : "it was replaced");
        m->is_partial = true;
        return 0;
    }
    former = find_uploaded(m, fd, st);
    if (former && former->bytes == (uint64_t)st->st_size)
        return keep(m, former);
    return add_item(m, name, st, former);
}

/* ---- directories ----------------------------------------------------------------------------- */

/* Notes that files of the present container are missing in the plan. */
static void note_partial(struct making *m, int r)
{
    nm_upload_report_note(m->report, "%s/%s/%s is left out or incomplete: %s", m->work->log_dirs[m->log_dir],
                          m->work->application, m->work->containers[m->container].id, strerror(-r));
    m->is_partial = true;
}

/* Returns 1 if the plan is full. */
static int add_entry(struct making *m, int dir_fd, const char *name)
{
    const struct nm_upload_container *c = &m->work->containers[m->container];
    struct stat st;

    if (nm_streq(name, ".") || nm_streq(name, "..") || !nm_upload_select_match(&m->select, name, c->is_running))
        return 0;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0; /* it was removed in the meantime */
    if (!S_ISREG(st.st_mode)) {
        if (!S_ISDIR(st.st_mode))
            nm_upload_report_note(m->report, "%s of %s is left out: it isn't a regular file", name, c->id);
        return 0;
    }
    if (m->plan.n >= NM_UPLOAD_MAX_FILES) {
        nm_upload_report_note(m->report, "files are left out: an upload has at most %u", NM_UPLOAD_MAX_FILES);
        m->is_partial = true;
        return 1;
    }
    return consider(m, dir_fd, name, &st);
}

static int read_dir(struct making *m)
{
    const char *container = m->work->containers[m->container].id;
    _cleanup_closedir_ DIR *dir = NULL;
    int r = nm_fdopendir(nm_upload_plan_open_dir(m->work, m->log_dir, container), &dir);

    if (r == -ENOENT)
        return 0; /* a container has no logs in most of several directories */
    if (r < 0) {
        note_partial(m, r);
        return r == -ENOMEM ? r : 0;
    }
    for (size_t n = 0; n <= MAX_DIR_ENTRIES; n++) {
        struct dirent *e = (errno = 0, readdir(dir));

        if (!e && errno != 0)
            note_partial(m, -errno); /* for instance a disk that fails */
        if (!e)
            return 0;
        if (nm_now_usec() >= m->deadline_usec)
            return -ETIMEDOUT;
        r = add_entry(m, dirfd(dir), e->d_name);
        if (r != 0)
            return r;
    }
    nm_upload_report_note(m->report, "files of %s are left out: its directory has more than %u entries", container,
                          MAX_DIR_ENTRIES);
    m->is_partial = true;
    return 0;
}

static int compare_items(const void *a, const void *b)
{
    const struct nm_upload_item *x = a, *y = b;
    int order;

    if (x->container != y->container)
        return x->container < y->container ? -1 : 1;
    order = strcmp(x->name, y->name);
    return order != 0 ? order : x->log_dir < y->log_dir ? -1 : x->log_dir > y->log_dir;
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Keeps the entries of containers that aren't in the work, because a later upload may contain them again. Drops the
 * entries of the work's containers whose files don't exist any more. */
static int keep_others(struct making *m)
{
    const size_t n = m->work->n_containers;
    _cleanup_free_ const char **ids = calloc(n + 1, sizeof *ids);
    int r = ids ? 0 : -ENOMEM;

    for (size_t i = 0; r >= 0 && i < n; i++)
        ids[i] = m->work->containers[i].id;
    if (r >= 0)
        qsort(ids, n, sizeof *ids, compare_ids);
    for (size_t i = 0; r >= 0 && i < m->memory->n; i++) {
        const struct nm_upload_entry *e = &m->memory->entries[i];

        if (!m->is_found[i] && (m->is_partial || !bsearch(&e->container, ids, n, sizeof *ids, compare_ids)))
            r = keep(m, e);
    }
    return r;
}

static int make(struct making *m)
{
    int r = nm_upload_select_init(&m->select, m->work, m->report);

    m->is_found = calloc(m->memory->n + 1, sizeof *m->is_found);
    if (!m->is_found)
        return -ENOMEM;
    for (; r >= 0 && m->container < m->work->n_containers; m->container++)
        for (m->log_dir = 0; r == 0 && m->log_dir < m->work->n_log_dirs; m->log_dir++)
            r = read_dir(m);
    if (r >= 0)
        r = keep_others(m);
    if (r >= 0 && m->plan.n > 1)
        qsort(m->plan.items, m->plan.n, sizeof *m->plan.items, compare_items);
    return NM_MIN(r, 0);
}

int nm_upload_plan_make(const struct nm_upload_work *work, const struct nm_upload_memory *memory,
                        uint64_t deadline_usec, struct nm_upload_report *report, struct nm_upload_plan *ret,
                        char **ret_message)
{
    struct making m = {.work = work, .memory = memory, .report = report, .deadline_usec = deadline_usec};
    int r = make(&m);

    nm_upload_select_done(&m.select);
    free(m.is_found);
    if (r < 0) {
        nm_upload_plan_done(&m.plan);
        return nm_fail(ret_message, r, "can't read the log directories: %s", strerror(-r));
    }
    *ret = m.plan;
    return 0;
}
