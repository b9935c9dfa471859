/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See target.h. A directory of this host. All users may create directories in it, so nothing below it is reached
 * through a symbolic link, which another user may have put there.
 */

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include "aggregate/worker/target.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"

#define PIECE_BYTES (64U << 10)
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

struct file_target {
    struct nm_target target;
};

/* Fails with the system's reason. */
static int failed(int r, const char *path, char **ret_message)
{
    return nm_fail(ret_message, r, "%s: %s", path, strerror(-r));
}

/* Opens a directory. The remote directory itself is the administrator's, and may be a link. */
static int open_dir(const struct nm_target *t, const char *path)
{
    const char *remote = t->work->remote.path;
    const size_t n = strlen(remote);
    _cleanup_close_ int base = -EBADF;

    if (strncmp(path, remote, n) != 0 || (path[n] && path[n] != '/'))
        return RET_NERRNO(open(path, DIR_FLAGS)); /* a parent of the remote directory */
    base = RET_NERRNO(open(remote, DIR_FLAGS));
    if (base < 0 || !path[n])
        return base < 0 ? base : STEAL_FD(base);
    return nm_open_plain_beneath(base, path + n + 1, DIR_FLAGS);
}

/* Opens the directory that contains the path. *ret_name: the path's last part. */
static int open_parent(const struct nm_target *t, const char *path, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *parent = strndup(path, slash == path ? 1 : (size_t)(slash - path));

    *ret_name = slash + 1;
    return parent ? open_dir(t, parent) : -ENOMEM;
}

/* Opens a directory that was made just now. A link in its place was put there by another user. The process may be
 * root's when it makes the remote directory, and all users may be able to write to the parent, as to /tmp. */
static int open_made(const struct nm_target *t, const char *path)
{
    const char *name;
    _cleanup_close_ int dir = open_parent(t, path, &name);

    return dir < 0 ? dir : RET_NERRNO(openat(dir, name, DIR_FLAGS | O_NOFOLLOW));
}

static int file_stat(struct nm_target *t, const char *path, struct nm_target_status *ret, char **ret_message)
{
    const bool is_remote = nm_streq(path, t->work->remote.path);
    const char *name;
    _cleanup_close_ int dir = open_parent(t, path, &name);
    struct stat st;

    if (dir < 0 || fstatat(dir, name, &st, is_remote ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
        return failed(dir < 0 ? dir : -errno, path, ret_message);
    *ret = (struct nm_target_status){.is_directory = S_ISDIR(st.st_mode), .mode = st.st_mode & 01777,
                                     .bytes = (uint64_t)st.st_size, .is_owned = st.st_uid == geteuid()};
    return 0;
}

static int file_set_mode(struct nm_target *t, const char *path, unsigned mode, char **ret_message)
{
    _cleanup_close_ int fd = open_dir(t, path);

    if (fd < 0 || fchmod(fd, mode) < 0)
        return failed(fd < 0 ? fd : -errno, path, ret_message);
    return 0;
}

static int file_make_dir(struct nm_target *t, const char *path, unsigned mode, char **ret_message)
{
    const char *name;
    _cleanup_close_ int dir = open_parent(t, path, &name), fd = -EBADF;

    if (dir < 0)
        return failed(dir, path, ret_message);
    if (mkdirat(dir, name, mode & 0700) < 0)
        return errno == EEXIST ? 0 : failed(-errno, path, ret_message);
    fd = open_made(t, path);
    if (fd < 0 || fchmod(fd, mode) < 0) /* mkdirat() applies the umask */
        return failed(fd < 0 ? fd : -errno, path, ret_message);
    return 0;
}

static int file_set_owner(struct nm_target *t, const char *path, const char *owner, const char *group,
                          char **ret_message)
{
    const struct passwd *account = *owner ? getpwnam(owner) : NULL;
    uid_t uid = account ? account->pw_uid : (uid_t)-1;
    gid_t gid = account ? account->pw_gid : (gid_t)-1;
    _cleanup_close_ int fd = open_made(t, path);

    if (*owner && !account)
        return nm_fail(ret_message, -EINVAL, "there is no account %s", owner);
    if (*group) {
        const struct group *g = getgrnam(group);

        if (!g)
            return nm_fail(ret_message, -EINVAL, "there is no group %s", group);
        gid = g->gr_gid;
    }
    if (fd < 0 || fchown(fd, uid, gid) < 0)
        return failed(fd < 0 ? fd : -errno, path, ret_message);
    return 0;
}

static int copy(const struct nm_target *t, int fd, const struct nm_target_source *source)
{
    _cleanup_free_ char *piece = malloc(PIECE_BYTES);

    if (!piece)
        return -ENOMEM;
    for (;;) {
        ssize_t n = source->body.read(source->body.userdata, piece, PIECE_BYTES);
        int r = n <= 0 ? (int)n : nm_write_all(fd, piece, (size_t)n);

        if (r < 0)
            return r;
        if (n == 0)
            return RET_NERRNO(fdatasync(fd)); /* the local logs are removed afterwards */
        if (nm_now_usec() >= t->deadline_usec)
            return -ETIMEDOUT;
        if (source->progress)
            source->progress(source->body.userdata, 0, 0);
    }
}

static int copy_whole(const struct nm_target *t, int fd, const char *path, const struct nm_target_source *source,
                      char **ret_message)
{
    int r = source->body.restart(source->body.userdata);
    const char *own;

    if (r >= 0)
        r = copy(t, fd, source);
    if (r >= 0)
        return 0;
    own = source->message ? source->message(source->body.userdata) : NULL;
    return own ? nm_fail(ret_message, r, "%s", own) : failed(r, path, ret_message);
}

static int file_create(struct nm_target *t, const char *path, const struct nm_target_source *source,
                       char **ret_message)
{
    const char *name;
    _cleanup_close_ int dir = open_parent(t, path, &name), fd = -EBADF;

    if (dir < 0)
        return failed(dir, path, ret_message);
    if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
        return failed(-errno, path, ret_message);
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, 0640) < 0)
        return failed(-errno, path, ret_message);
    return copy_whole(t, fd, path, source, ret_message);
}

static int file_append(struct nm_target *t, const char *path, const struct nm_target_source *source,
                       char **ret_message)
{
    const char *name;
    _cleanup_close_ int dir = open_parent(t, path, &name);
    _cleanup_close_ int fd =
        dir < 0 ? dir : RET_NERRNO(openat(dir, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));

    return fd < 0 ? failed(fd, path, ret_message) : copy_whole(t, fd, path, source, ret_message);
}

static int file_read(struct nm_target *t, const char *path, uint64_t offset, void *buf, size_t size,
                     char **ret_message)
{
    const char *name;
    _cleanup_close_ int dir = open_parent(t, path, &name);
    _cleanup_close_ int fd =
        dir < 0 ? dir : RET_NERRNO(openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    size_t done = 0;
    ssize_t n = 1;

    while (fd >= 0 && done < size && n > 0) {
        n = pread(fd, (char *)buf + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno != EINTR)
            return failed(-errno, path, ret_message);
        done += n > 0 ? (size_t)n : 0;
        n = n < 0 ? 1 : n;
    }
    if (fd >= 0 && done < size)
        return nm_fail(ret_message, -EBADMSG, "%s is shorter than expected", path);
    return fd < 0 ? failed(fd, path, ret_message) : 0;
}

/* Renames without replacing a file. Some file systems, such as NFS, lack RENAME_NOREPLACE. Only this node's uploads of
 * this application have such names, so a check before the rename is sufficient there. */
static int rename_new(int dir, const char *from, const char *to)
{
    if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (!nm_error_is_not_supported(errno))
        return errno == ENOENT ? -EEXIST : -errno;
    if (faccessat(dir, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    return RET_NERRNO(renameat(dir, from, dir, to));
}

static int file_rename(struct nm_target *t, const char *from, const char *to, char **ret_message)
{
    const char *name;
    _cleanup_close_ int dir = open_parent(t, from, &name);
    int r = dir < 0 ? dir : rename_new(dir, name, strrchr(to, '/') + 1);

    if (r >= 0)
        r = RET_NERRNO(fsync(dir));
    return r < 0 ? failed(r, from, ret_message) : 0;
}

static int file_remove(struct nm_target *t, const char *path, char **ret_message)
{
    const char *name;
    _cleanup_close_ int dir = open_parent(t, path, &name);
    int r = dir < 0 ? dir : RET_NERRNO(unlinkat(dir, name, 0));

    return r < 0 && r != -ENOENT ? failed(r, path, ret_message) : 0;
}

static int file_list(struct nm_target *t, const char *path, int (*found)(void *userdata, const char *name),
                     void *userdata, char **ret_message)
{
    _cleanup_closedir_ DIR *dir = NULL;
    int r = nm_fdopendir(open_dir(t, path), &dir);

    if (r < 0)
        return failed(r, path, ret_message);
    for (size_t n = 0; r >= 0 && n < NM_TARGET_MAX_LIST_ENTRIES; n++) {
        struct dirent *e = (errno = 0, readdir(dir));

        if (!e && errno != 0)
            return failed(-errno, path, ret_message);
        if (!e)
            break;
        r = found(userdata, e->d_name);
    }
    return r;
}

static void file_free(struct nm_target *t)
{
    free(NM_CONTAINER_OF(t, struct file_target, target));
}

static const struct nm_target_ops file_ops = {
    .stat = file_stat,
    .make_dir = file_make_dir,
    .set_mode = file_set_mode,
    .set_owner = file_set_owner,
    .create = file_create,
    .append = file_append,
    .read = file_read,
    .rename = file_rename,
    .remove = file_remove,
    .list = file_list,
    .free = file_free,
};

int nm_target_file_new(const struct nm_upload_work *work, uint64_t deadline_usec, struct nm_target **ret,
                       char **ret_message)
{
    struct file_target *t = calloc(1, sizeof *t);

    (void)ret_message;
    if (!t)
        return -ENOMEM;
    t->target = (struct nm_target){.ops = &file_ops, .work = work, .deadline_usec = deadline_usec};
    *ret = &t->target;
    return 0;
}

struct nm_target *nm_target_free(struct nm_target *t)
{
    if (t)
        t->ops->free(t);
    return NULL;
}
