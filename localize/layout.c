/* SPDX-License-Identifier: Apache-2.0 */

/* See layout.h. */

#include "localize/layout.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "util/error.h"
#include "util/fileio.h"

#define BASE_SIZE 300
#define CHECKS_MAX 256u

/* Returns the path of a resource's directory. The directory's name is a number instead of the resource's name. Two
 * sources may have the same name, and containers may still use an old version of a changed resource. */
char *nm_layout_target(const char *local_dir, const struct nm_cache_entry *e)
{
    const struct nm_cache_key *k = &e->key;
    char *path = NULL;
    int n;

    if (k->visibility == NM_VISIBILITY_PUBLIC)
        n = asprintf(&path, "%s/filecache/%" PRIu64, local_dir, e->id);
    else if (k->visibility == NM_VISIBILITY_PRIVATE)
        n = asprintf(&path, "%s/usercache/%s/filecache/%" PRIu64, local_dir, k->user, e->id);
    else
        n = asprintf(&path, "%s/usercache/%s/appcache/%s/filecache/%" PRIu64, local_dir, k->user, k->application,
                     e->id);
    return n < 0 ? NULL : path;
}

/* Returns whether the directory, or a directory below it, contains a file that isn't a directory. *left: how many
 * directories may still be read. If an archive has more empty directories before its first file, it is fetched again,
 * which is better than giving every container an empty directory. Directories that can't be read count as having
 * content. */
static bool has_content(int fd, unsigned *left)
{
    _cleanup_closedir_ DIR *dir = NULL;
    const struct dirent *d;

    if (nm_opendir_at(fd, &dir) < 0)
        return true;
    while ((d = readdir(dir))) {
        _cleanup_close_ int sub = -EBADF;

        if (nm_streq(d->d_name, ".") || nm_streq(d->d_name, ".."))
            continue;
        if (d->d_type != DT_DIR && d->d_type != DT_UNKNOWN)
            return true;
        if (*left == 0)
            return false;
        --*left;
        sub = nm_open_plain_beneath(fd, d->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
        if (sub < 0 || has_content(sub, left))
            return true;
    }
    return false;
}

/* Returns whether a directory is empty. Makes a limited number of system calls, however large or deep the directory is,
 * because the event loop waits for them. */
static bool is_empty(int fd)
{
    unsigned left = CHECKS_MAX;

    return !has_content(fd, &left);
}

/* Returns whether a resource still exists. A directory without files counts as removed, because programs that clean up
 * temporary files remove files first and empty directories later. */
bool nm_layout_is_unchanged(int local_fd, const struct nm_cache_entry *e, const char *name)
{
    _cleanup_free_ char *target = nm_layout_target(".", e), *path = NULL;
    _cleanup_close_ int fd = -EBADF;
    struct stat st;

    if (!target || asprintf(&path, "%s/%s", target, name ?: ".") < 0)
        return true;
    fd = nm_open_plain_beneath(local_fd, path, O_PATH | O_NOFOLLOW);
    if (fd < 0)
        return fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP;
    if (fstat(fd, &st) < 0)
        return true;
    if (S_ISREG(st.st_mode))
        return (uint64_t)st.st_size >= e->bytes; /* e->bytes may have been limited (localizer.c) */
    return S_ISDIR(st.st_mode) && (e->bytes == 0 || !is_empty(fd));
}

/* Prints the path of the base directory. User names were checked before (localizer.c), but the system determines their
 * maximum length. A truncated path could be that of another user. */
static int print_base(const char *user, bool is_public, char buf[static BASE_SIZE])
{
    int n = is_public ? snprintf(buf, BASE_SIZE, "filecache") : snprintf(buf, BASE_SIZE, "usercache/%s", user);

    return n < 0 || n >= BASE_SIZE ? -ENAMETOOLONG : 0;
}

/* Makes the base directory. It is in a directory that belongs to nmd, so its owner can't have replaced it by another
 * user's directory. */
int nm_layout_make_base(int local_fd, const char *user, bool is_public, uid_t uid, gid_t gid)
{
    _cleanup_close_ int fd = -EBADF;
    char base[BASE_SIZE];
    struct stat st;
    int r = print_base(user, is_public, base);

    if (r < 0)
        return r;
    if (mkdirat(local_fd, base, 0700) < 0 && errno != EEXIST)
        return -errno;
    fd = nm_open_beneath(local_fd, base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    /* root still owns a directory that was just made, or that an nmd made that ended before the chown */
    if (st.st_uid != uid && (st.st_uid != 0 || fchown(fd, uid, gid) < 0))
        return -EPERM;
    return st.st_uid == uid && (st.st_mode & 0777) != 0700 ? 0 : RET_NERRNO(fchmod(fd, is_public ? 0755 : 0750));
}

/* Returns the directory's current owner. The account database isn't used, because an account may be deleted before its
 * files. */
int nm_layout_owner(int local_fd, const struct nm_cache_key *key, uid_t *ret_uid, gid_t *ret_gid)
{
    char base[BASE_SIZE];
    struct stat st;
    int r = print_base(key->user, key->visibility == NM_VISIBILITY_PUBLIC, base);

    if (r < 0)
        return r;
    if (fstatat(local_fd, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    *ret_uid = st.st_uid;
    *ret_gid = st.st_gid;
    return 0;
}
