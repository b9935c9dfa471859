/* SPDX-License-Identifier: Apache-2.0 */

/* See log-files.h. */

#include "yarn/launch/log-files.h"

#include <dirent.h>
#include <sys/stat.h>

#include "util/array.h"
#include "util/fileio.h"
#include "yarn/launch/as-user.h"
#include "yarn/launch/launcher-state.h"

/* O_NONBLOCK: a FIFO must not block the event loop. */
#define FILE_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define PATH_SIZE (2 * NM_YARN_ID_SIZE)

/* Calls visit() for the container's directory in each log directory, with the rights of the directory's owner. Stops if
 * the result isn't -ENOENT, and returns that result. A directory that can't be opened counts as missing. */
static int visit_dirs(struct nm_yarn_launcher *l, const char *application, const char *container,
                      int (*visit)(int fd, void *userdata), void *userdata)
{
    char path[PATH_SIZE];
    int r = -ENOENT;

    if (snprintf(path, sizeof path, "%s/%s", application, container) >= (int)sizeof path)
        return -ENOENT;
    for (size_t i = 0; i < l->log.n && r == -ENOENT; i++) {
        _cleanup_(nm_yarn_return) struct nm_yarn_saved_identity saved = {0};
        struct nm_identity as = {};
        _cleanup_close_ int fd = -EBADF;

        if (l->log.all[i].fd < 0 ||
            nm_yarn_dirs_find_owner(l->log.all[i].fd, application, &as.uid, &as.gid) < 0 ||
            nm_yarn_become(&as, &saved) < 0)
            continue;
        fd = nm_open_plain_beneath(l->log.all[i].fd, path, DIR_FLAGS);
        if (fd >= 0)
            r = visit(fd, userdata);
    }
    return r;
}

/* ---- lists -------------------------------------------------------------------------------- */

struct listing {
    struct nm_yarn_log_files files;
    unsigned n_names, n_looks; /* names that were read, and files that were looked at */
    bool found;
};

/* Gets the data of a regular file. stat() would cross a mount point, and a user's file system may block. */
static int stat_file(int dir_fd, const char *name, struct stat *ret)
{
    _cleanup_close_ int fd = nm_open_plain_beneath(dir_fd, name, O_PATH | O_NOFOLLOW);

    if (fd < 0)
        return fd;
    if (fstat(fd, ret) < 0)
        return -errno;
    return S_ISREG(ret->st_mode) ? 0 : -ENOENT;
}

static int add_file(struct nm_yarn_log_files *files, const char *name, const struct stat *st)
{
    struct nm_yarn_log_file *f;

    if (NM_ARRAY_ROOM(files->all, files->n, files->room) < 0)
        return -ENOMEM;
    f = &files->all[files->n];
    *f = (struct nm_yarn_log_file){strdup(name), (uint64_t)st->st_size, st->st_mtim.tv_sec};
    if (!f->name)
        return -ENOMEM;
    files->n++;
    return 0;
}

/* Adds the files of one directory. Returns -ENOENT, so that the next log directory is visited too, or -ENOMEM. */
static int list_dir(int fd, void *userdata)
{
    struct listing *list = userdata;
    _cleanup_closedir_ DIR *dir = NULL;
    const struct dirent *d;
    struct stat st;
    int r = nm_opendir_at(fd, &dir);

    list->found = true;
    if (r < 0)
        return -ENOENT;
    while (!list->files.more && (d = readdir(dir))) {
        if (list->n_names++ >= NM_YARN_LOG_NAMES_MAX) {
            list->files.more = true;
            break;
        }
        if (d->d_type != DT_REG && d->d_type != DT_UNKNOWN)
            continue;
        if (list->n_looks++ >= NM_YARN_LOG_FILES_MAX) {
            list->files.more = true;
            break;
        }
        if (stat_file(fd, d->d_name, &st) < 0)
            continue;
        r = add_file(&list->files, d->d_name, &st);
        if (r < 0)
            return r;
    }
    return -ENOENT;
}

static int by_name(const void *a, const void *b)
{
    const struct nm_yarn_log_file *x = a, *y = b;

    return strcmp(x->name, y->name);
}

int nm_yarn_log_files_read(struct nm_yarn_launcher *l, const char *application, const char *container,
                           struct nm_yarn_log_files *ret)
{
    struct listing list = {};
    int r = visit_dirs(l, application, container, list_dir, &list);

    if (r == -ENOENT && list.found) {
        if (list.files.n > 0)
            qsort(list.files.all, list.files.n, sizeof *list.files.all, by_name);
        *ret = list.files;
        return 0;
    }
    nm_yarn_log_files_done(&list.files);
    return r;
}

void nm_yarn_log_files_done(struct nm_yarn_log_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->all[i].name);
    free(files->all);
    *files = (struct nm_yarn_log_files){};
}

/* ---- one file ----------------------------------------------------------------------------- */

struct opening {
    const char *name;
    int fd;
    struct stat st;
};

static int open_in(int dir_fd, void *userdata)
{
    struct opening *o = userdata;
    _cleanup_close_ int fd = -EBADF;
    int r = stat_file(dir_fd, o->name, &o->st); /* checked first, because opening a FIFO wakes its writer */

    if (r < 0)
        return -ENOENT;
    fd = nm_open_plain_beneath(dir_fd, o->name, FILE_FLAGS);
    if (fd < 0 || fstat(fd, &o->st) < 0 || !S_ISREG(o->st.st_mode))
        return -ENOENT;
    o->fd = STEAL_FD(fd);
    return 0;
}

int nm_yarn_log_files_open(struct nm_yarn_launcher *l, const char *application, const char *container, const char *name,
                           int *ret_fd, struct nm_yarn_log_file *ret)
{
    struct opening o = {.name = name, .fd = -EBADF};
    int r;

    if (!*name || strchr(name, '/') || nm_streq(name, ".") || nm_streq(name, ".."))
        return -ENOENT;
    r = visit_dirs(l, application, container, open_in, &o);
    if (r < 0)
        return r;
    *ret_fd = o.fd;
    *ret = (struct nm_yarn_log_file){NULL, (uint64_t)o.st.st_size, o.st.st_mtim.tv_sec};
    return 0;
}

const char *nm_yarn_log_files_submitter(struct nm_yarn_launcher *l, const char *application, const char **ret_view_acl)
{
    return nm_yarn_cleanup_queue_submitter(l->cleanup_queue, application, ret_view_acl);
}
