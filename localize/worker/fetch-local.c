/* SPDX-License-Identifier: Apache-2.0 */

/* Opens file: resources, files or directories of this host that the requesting user can read. */

#include <sys/stat.h>

#include "localize/worker/fetch-schemes.h"
#include "util/error.h"

/* Checks that all users can read a PUBLIC resource at its source, since all users may get it. */
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

/* Opens the source, and checks time and mode on the open file, so that the source can't be replaced between check and
 * copy. */
int nm_fetch_local(const struct nm_resource *res, const struct nm_uri *uri, int *ret_fd, char **ret_message)
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
