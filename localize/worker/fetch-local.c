/* SPDX-License-Identifier: Apache-2.0 */

/* Fetches file: resources, files or directories of this host that the requesting user can read. */

#include <dirent.h>
#include <sys/stat.h>

#include "localize/worker/fetch.h"
#include "localize/worker/unpack.h"
#include "util/error.h"
#include "util/fileio.h"

/* Checks that all users can read a PUBLIC resource at its source, because all users may get the resource. */
static int check_public(const char *path, const struct stat *st, char **ret_message)
{
    _cleanup_free_ char *dir = strdup(path);
    char *slash;

    if (!dir)
        return -ENOMEM;
    if (!(st->st_mode & S_IROTH) || (S_ISDIR(st->st_mode) && !(st->st_mode & S_IXOTH)))
        return nm_fail(ret_message, -EACCES, "the resource is PUBLIC, but not all users may read it; run chmod o+%s "
                                             "on it",
                       S_ISDIR(st->st_mode) ? "rx" : "r");
    while ((slash = strrchr(dir, '/'))) {
        struct stat parent;

        slash[slash == dir] = '\0';
        if (stat(dir, &parent) < 0)
            return nm_fail(ret_message, -errno, "%s: %s", dir, strerror(errno));
        if (!(parent.st_mode & S_IXOTH))
            return nm_fail(ret_message, -EACCES, "the resource is PUBLIC, but not all users may enter %s; run chmod "
                                                 "o+x on it",
                           dir);
        if (slash == dir)
            break;
    }
    return 0;
}

/* Returns the modification time, rounded down as in Java. */
static uint64_t modified_msec(const struct stat *st)
{
    return st->st_mtim.tv_sec < 0 ? 0 : (uint64_t)st->st_mtim.tv_sec * 1000 + (uint64_t)st->st_mtim.tv_nsec / 1000000;
}

/* Opens the source, and checks time and mode of the open file, so that the source can't be replaced between the check
 * and the copy. */
int nm_fetch_local(const struct nm_work_resource *res, const struct nm_uri *uri, int *ret_fd, char **ret_message)
{
    /* O_NONBLOCK: a FIFO must not block the worker */
    _cleanup_close_ int fd = open(uri->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return nm_fail(ret_message, -errno, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return nm_fail(ret_message, -EINVAL, "it is a device or a pipe; only files and directories can be fetched");
    r = nm_fetch_check_time(res, modified_msec(&st), ret_message);
    if (r >= 0 && res->is_public)
        r = check_public(uri->path, &st, ret_message);
    if (r < 0)
        return r;
    *ret_fd = STEAL_FD(fd);
    return S_ISDIR(st.st_mode) ? NM_FETCH_E_DIRECTORY : 0;
}

/* ---- directories ----------------------------------------------------------------------------- */

/* Links are followed with the requesting user's rights, as in Hadoop. Links in PUBLIC resources are refused, because
 * some users may have no access to a directory on the path of the link. */

static int copy_all(struct nm_fetch_tree *t, int fd, int to_fd, unsigned depth, char **ret_message);

static int copy_file(struct nm_fetch_tree *t, int fd, int to_fd, const char *name, char **ret_message)
{
    const uint64_t left_bytes = t->fetch->work->limits.fetch_bytes - t->bytes;
    _cleanup_close_ int to = -EBADF;
    uint64_t bytes;
    int r = nm_fetch_tree_make_file(to_fd, name, &to, ret_message);

    if (r < 0)
        return r;
    r = nm_copy_file(fd, to, left_bytes, t->fetch->deadline_usec, nm_fetch_tree_progress, t, &bytes);
    if (r < 0)
        return nm_fail(ret_message, r, "can't copy it: %s", strerror(-r));
    t->bytes += bytes;
    return nm_fetch_tree_finish(t, to, false, ret_message);
}

static int copy_dir(struct nm_fetch_tree *t, int fd, int to_fd, const char *name, unsigned depth, char **ret_message)
{
    _cleanup_close_ int to = -EBADF;
    int r = nm_fetch_tree_make_dir(to_fd, name, &to, ret_message);

    if (r >= 0)
        r = copy_all(t, fd, to, depth + 1, ret_message);
    return r < 0 ? r : nm_fetch_tree_finish(t, to, true, ret_message);
}

static int copy_entry(struct nm_fetch_tree *t, int from_fd, int to_fd, const char *name, unsigned depth,
                      char **ret_message)
{
    /* O_NONBLOCK: a FIFO must not block the worker */
    _cleanup_close_ int fd = openat(from_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC |
                                                       (t->is_public ? O_NOFOLLOW : 0));
    struct stat st;
    int r;

    if (fd < 0 && errno == ENOENT) /* a dangling link, or a file that was just removed: Hadoop skips both */
        return 0;
    if (fd < 0 && errno == ELOOP && t->is_public)
        return nm_fail(ret_message, -ELOOP, "it is a symbolic link, and PUBLIC resources may not contain symbolic "
                                            "links");
    if (fd < 0 || fstat(fd, &st) < 0)
        return nm_fail(ret_message, -errno, "%s", strerror(errno));
    r = nm_fetch_tree_count(t, depth, S_ISDIR(st.st_mode), st.st_mode, ret_message);
    if (r < 0)
        return r;
    if (S_ISDIR(st.st_mode))
        return copy_dir(t, fd, to_fd, name, depth, ret_message);
    if (!S_ISREG(st.st_mode))
        return nm_fail(ret_message, -EINVAL, "it is a device or a pipe; only files and directories can be fetched");
    return copy_file(t, fd, to_fd, name, ret_message);
}

static int copy_all(struct nm_fetch_tree *t, int fd, int to_fd, unsigned depth, char **ret_message)
{
    _cleanup_closedir_ DIR *dir = NULL;
    const struct dirent *e;
    int r = nm_fdopendir(RET_NERRNO(fcntl(fd, F_DUPFD_CLOEXEC, 0)), &dir);

    if (r < 0)
        return nm_fail(ret_message, r, "%s", strerror(-r));
    while ((errno = 0, e = readdir(dir))) {
        char *message = NULL;

        if (nm_streq(e->d_name, ".") || nm_streq(e->d_name, ".."))
            continue;
        r = copy_entry(t, fd, to_fd, e->d_name, depth, &message);
        if (r < 0)
            return nm_fetch_tree_failed(t, e->d_name, r, message, ret_message);
    }
    return errno != 0 ? nm_fail(ret_message, -errno, "%s", strerror(errno)) : 0;
}

int nm_fetch_local_tree(struct nm_fetch_tree *t, int fd, int to_fd, char **ret_message)
{
    return copy_all(t, fd, to_fd, 0, ret_message);
}
