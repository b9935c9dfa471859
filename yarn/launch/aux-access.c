/* SPDX-License-Identifier: Apache-2.0 */

/* See aux-access.h. */

#include "yarn/launch/aux-access.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "util/fileio.h"
#include "yarn/launch/as-user.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define PASS 0001 /* others may pass through the directory */
#define APPLICATION_MODE (02000 | 0710)
#define PATH_SIZE 300

/* Opens a subdirectory of the user, with the user's rights. */
static int open_own(int at, const char *name, const struct nm_yarn_dirs_owner *o)
{
    _cleanup_close_ int fd = RET_NERRNO(openat(at, name, DIR_FLAGS));
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    return st.st_uid == o->as.uid ? STEAL_FD(fd) : -EPERM;
}

static int let_pass(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    return st.st_mode & PASS ? 0 : RET_NERRNO(fchmod(fd, (st.st_mode & 07777) | PASS));
}

/* Opens the application's directory with the user's rights, so that links and directories that the user has put there
 * lead only to what the user owns. */
static int open_application(int local_fd, const struct nm_yarn_dirs_owner *o)
{
    _cleanup_(nm_yarn_return) struct nm_yarn_saved_identity saved = {0};
    _cleanup_close_ int base = -EBADF, cache = -EBADF;
    char path[PATH_SIZE];
    int r;

    (void)snprintf(path, sizeof path, "usercache/%s", o->submitter);
    base = nm_open_beneath(local_fd, path, DIR_FLAGS);
    r = base < 0 ? base : nm_yarn_become(&o->as, &saved);
    if (r >= 0)
        r = let_pass(base);
    if (r >= 0)
        r = cache = open_own(base, "appcache", o);
    if (r >= 0)
        r = let_pass(cache);
    return r < 0 ? r : open_own(cache, o->application, o);
}

/* Changes the group as root, because the user is not a member. The kernel clears the set-group-ID bit of a file when a
 * user who isn't a member makes it executable for the group, so the user can't gain the group. */
int nm_yarn_aux_access_grant(int local_fd, const struct nm_yarn_dirs_owner *o, gid_t gid)
{
    _cleanup_close_ int fd = open_application(local_fd, o);
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_gid == gid && (st.st_mode & 07777) == APPLICATION_MODE)
        return 0;
    if (st.st_uid != o->as.uid)
        return -EPERM;
    return fchown(fd, (uid_t)-1, gid) < 0 ? -errno : RET_NERRNO(fchmod(fd, APPLICATION_MODE));
}
