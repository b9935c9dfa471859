/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See fetch.h: a directory as a resource, which Hadoop copies unchanged whatever the resource's type is. The directory
 * has limits on bytes, entries and depth, as an archive has. The names may be hostile, because a name node may be any
 * server.
 */

#include <inttypes.h>
#include <sys/stat.h>

#include "localize/worker/fetch.h"
#include "localize/worker/unpack.h"
#include "util/error.h"

int nm_fetch_tree_count(struct nm_fetch_tree *t, unsigned depth, bool is_directory, unsigned mode, char **ret_message)
{
    const unsigned needed = is_directory ? S_IROTH | S_IXOTH : S_IROTH;

    if (++t->entries > t->fetch->work->limits.entries)
        return nm_fail(ret_message, -EFBIG, "the resource has more files and directories than the limit of %" PRIu64,
                       t->fetch->work->limits.entries);
    if (depth >= NM_FETCH_DEPTH_MAX)
        return nm_fail(ret_message, -ELOOP, "directories are nested more than %u levels deep", NM_FETCH_DEPTH_MAX);
    if (t->is_public && (mode & needed) != needed)
        return nm_fail(ret_message, -EACCES, "the resource is PUBLIC, but not all users may read this path; run chmod "
                                             "o+%s on it",
                       is_directory ? "rx" : "r");
    return 0;
}

static int cannot_write(int r, char **ret_message)
{
    return nm_fail(ret_message, r, "can't write its local copy: %s", strerror(-r));
}

int nm_fetch_tree_make_file(int to_fd, const char *name, int *ret_fd, char **ret_message)
{
    int fd = RET_NERRNO(openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));

    if (fd < 0)
        return cannot_write(fd, ret_message);
    *ret_fd = fd;
    return 0;
}

int nm_fetch_tree_make_dir(int to_fd, const char *name, int *ret_fd, char **ret_message)
{
    int fd = RET_NERRNO(mkdirat(to_fd, name, 0700));

    if (fd >= 0)
        fd = RET_NERRNO(openat(to_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd < 0)
        return cannot_write(fd, ret_message);
    *ret_fd = fd;
    return 0;
}

int nm_fetch_tree_finish(const struct nm_fetch_tree *t, int fd, bool is_directory, char **ret_message)
{
    mode_t mode = is_directory ? nm_localized_dir_mode(t->is_public) : nm_localized_file_mode(t->is_public);

    return fchmod(fd, mode) < 0 ? cannot_write(-errno, ret_message) : 0;
}

/* Adds a name to the message, so that the message contains the failed entry's path. */
int nm_fetch_tree_failed(struct nm_fetch_tree *t, const char *name, int r, char *message, char **ret_message)
{
    _cleanup_free_ char *inner = message;
    const char *between = t->names_failed ? "/" : ": ";

    t->names_failed = true;
    return nm_fail(ret_message, r, "%s%s%s", name, between, inner ?: strerror(-r));
}

void nm_fetch_tree_progress(void *userdata, uint64_t bytes, uint64_t total_bytes)
{
    const struct nm_fetch_tree *t = userdata;

    (void)total_bytes; /* total size of one file; the total size of all files isn't known */
    nm_fetch_progress(t->fetch, t->bytes + bytes, 0);
}
