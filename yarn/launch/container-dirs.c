/* SPDX-License-Identifier: Apache-2.0 */

/* See container-dirs.h. */

#include "yarn/launch/container-dirs.h"

#include <limits.h>
#include <sys/stat.h>

#include "localize/layout.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "yarn/launch/as-user.h"

#define DIR_MODE 0710
#define PATH_SIZE 300
#define LINK_DEPTH_MAX 32
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Opens a subdirectory of the open directory *at, and makes it if necessary. Closes *at and replaces it by the
 * subdirectory. Must be called with the user's rights, so that a link or directory that the user has placed there leads
 * only to files that the user can access. */
static int enter(int *at, const char *name)
{
    const int made = RET_NERRNO(mkdirat(*at, name, DIR_MODE));
    _cleanup_close_ int next = made < 0 && made != -EEXIST ? made : RET_NERRNO(openat(*at, name, DIR_FLAGS));

    if (next < 0)
        return next;
    if (made >= 0 && fchmod(next, DIR_MODE) < 0) /* the umask may have cleared bits of the mode */
        return -errno;
    (void)nm_close(*at);
    *at = STEAL_FD(next);
    return 0;
}

/* ---- local directories -------------------------------------------------------------------- */

static int make_below(int *at, const struct nm_yarn_dirs_owner *o, bool has_tmp)
{
    _cleanup_(nm_yarn_return) struct nm_yarn_saved_identity saved = {0};
    int r = nm_yarn_become(&o->as, &saved);

    if (r >= 0)
        r = enter(at, "appcache");
    if (r >= 0)
        r = enter(at, o->application);
    if (r >= 0)
        r = enter(at, o->container);
    return r >= 0 && has_tmp ? enter(at, "tmp") : r;
}

/* Makes usercache. Users must be able to pass through it to their own directories, but not to read it. */
static int make_usercache(int local_fd)
{
    if (mkdirat(local_fd, "usercache", 0755) < 0)
        return errno == EEXIST ? 0 : -errno;
    return RET_NERRNO(fchmodat(local_fd, "usercache", 0755, 0));
}

int nm_yarn_dirs_make_local(int local_fd, const struct nm_yarn_dirs_owner *o, bool has_tmp)
{
    _cleanup_close_ int at = -EBADF;
    char base[PATH_SIZE];
    int r = make_usercache(local_fd);

    if (r >= 0)
        r = nm_layout_make_base(local_fd, o->submitter, false, o->as.uid, o->as.gid);
    if (r < 0)
        return r;
    (void)snprintf(base, sizeof base, "usercache/%s", o->submitter);
    at = nm_open_beneath(local_fd, base, DIR_FLAGS);
    return at < 0 ? at : make_below(&at, o, has_tmp);
}

/* ---- logs --------------------------------------------------------------------------------- */

/* Changes the owner of the directory to the user. If root owns the directory, this nmd has just made it, or an earlier
 * nmd has made it and exited before it could change the owner. */
static int take_over(int fd, const struct nm_yarn_dirs_owner *o)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid == o->as.uid && (st.st_mode & 0777) == DIR_MODE)
        return 0;
    if (st.st_uid != o->as.uid && (st.st_uid != 0 || fchown(fd, o->as.uid, o->as.gid) < 0))
        return -EPERM;
    return RET_NERRNO(fchmod(fd, DIR_MODE));
}

int nm_yarn_dirs_make_log(int log_fd, const struct nm_yarn_dirs_owner *o)
{
    _cleanup_(nm_yarn_return) struct nm_yarn_saved_identity saved = {0};
    _cleanup_close_ int at = -EBADF;
    int r;

    if (mkdirat(log_fd, o->application, 0700) < 0 && errno != EEXIST)
        return -errno;
    at = RET_NERRNO(openat(log_fd, o->application, DIR_FLAGS));
    if (at < 0)
        return at;
    r = take_over(at, o);
    if (r >= 0)
        r = nm_yarn_become(&o->as, &saved);
    return r < 0 ? r : enter(&at, o->container);
}

/* ---- contents ----------------------------------------------------------------------------- */

/* Opens a path as the user. The first component of the path lies in a directory of nmd, and all other components lie in
 * the user's directories. */
static int open_path(int base_fd, const struct nm_yarn_dirs_owner *o, const char *const *path)
{
    _cleanup_(nm_yarn_return) struct nm_yarn_saved_identity saved = {0};
    _cleanup_close_ int at = -EBADF;
    int r = nm_yarn_become(&o->as, &saved);

    for (int from = base_fd; r >= 0 && *path; path++, from = at) {
        int next = RET_NERRNO(openat(from, *path, DIR_FLAGS));

        (void)nm_close(at);
        r = at = next;
    }
    return r < 0 ? r : STEAL_FD(at);
}

/* Opens the directory for each use, since the user may have replaced it in the meantime. */
int nm_yarn_dirs_open_work(int local_fd, const struct nm_yarn_dirs_owner *o)
{
    _cleanup_close_ int base = RET_NERRNO(openat(local_fd, "usercache", DIR_FLAGS));

    if (base < 0)
        return base;
    return open_path(base, o, (const char *const[]){o->submitter, "appcache", o->application, o->container, NULL});
}

int nm_yarn_dirs_open_log(int log_fd, const struct nm_yarn_dirs_owner *o)
{
    return open_path(log_fd, o, (const char *const[]){o->application, o->container, NULL});
}

int nm_yarn_dirs_write(int dir_fd, const struct nm_yarn_dirs_owner *o, const char *name, const void *data, size_t size,
                       mode_t mode)
{
    _cleanup_(nm_yarn_return) struct nm_yarn_saved_identity saved = {0};
    _cleanup_close_ int fd = -EBADF;
    int r = nm_yarn_become(&o->as, &saved);

    if (r < 0)
        return r;
    if (unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT)
        return -errno;
    fd = RET_NERRNO(openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (fd < 0)
        return fd;
    r = RET_NERRNO(fchmod(fd, mode));
    return r < 0 ? r : nm_write_all(fd, data, size);
}

static bool leads_out(const char *name)
{
    if (*name == '/')
        return true;
    for (const char *p = name; *p; p += strcspn(p, "/"), p += strspn(p, "/"))
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0'))
            return true;
    return false;
}

/* Returns whether a name is short enough. All directories of a name are made in one turn of the event loop, and a user
 * may name a resource with a megabyte of "a/a/a/". A longer name would be refused by the kernel if it were not taken
 * apart. */
static bool is_short(const char *name)
{
    unsigned n = 0;

    for (const char *p = name; *p; p++)
        n += *p == '/';
    return strlen(name) < PATH_MAX && n <= LINK_DEPTH_MAX;
}

/* Makes a link. If the name exists, replaces it atomically. */
static int replace_link(int dir_fd, const char *name, const char *target)
{
    char other[] = ".nmd-link-XXXXXXXXXXXXXXXX";

    if (symlinkat(target, dir_fd, name) == 0)
        return 0;
    if (errno != EEXIST)
        return -errno;
    (void)snprintf(other, sizeof other, ".nmd-link-%016jx", (uintmax_t)nm_now_usec());
    if (symlinkat(target, dir_fd, other) < 0)
        return -errno;
    if (renameat(dir_fd, other, dir_fd, name) < 0) {
        int r = -errno;

        (void)unlinkat(dir_fd, other, 0);
        return r;
    }
    return 0;
}

static int make_link(int dir_fd, const struct nm_yarn_link *link)
{
    _cleanup_close_ int at = RET_NERRNO(fcntl(dir_fd, F_DUPFD_CLOEXEC, 0));
    _cleanup_free_ char *copy = strdup(link->name);
    char *rest = copy, *slash;
    int r = copy ? at : -ENOMEM;

    if (!is_short(link->name))
        return -ENAMETOOLONG;
    if (leads_out(link->name))
        return -EINVAL;
    while (r >= 0 && (slash = strchr(rest, '/'))) {
        *slash = '\0';
        r = *rest ? enter(&at, rest) : 0;
        rest = slash + 1;
    }
    return r < 0 ? r : replace_link(at, rest, link->target);
}

/* Changes to the user's rights only once, for all links. */
int nm_yarn_dirs_links(int dir_fd, const struct nm_yarn_dirs_owner *o, const struct nm_yarn_link *links, size_t n,
                       size_t *ret_made)
{
    _cleanup_(nm_yarn_return) struct nm_yarn_saved_identity saved = {0};
    int r = nm_yarn_become(&o->as, &saved);

    *ret_made = 0;
    while (r >= 0 && *ret_made < n) {
        r = make_link(dir_fd, &links[*ret_made]);
        *ret_made += r >= 0;
    }
    return r;
}

int nm_yarn_dirs_find_owner(int base_fd, const char *path, uid_t *ret_uid, gid_t *ret_gid)
{
    struct stat st;

    if (fstatat(base_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    *ret_uid = st.st_uid;
    *ret_gid = st.st_gid;
    return 0;
}
