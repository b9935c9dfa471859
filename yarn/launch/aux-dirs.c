/* SPDX-License-Identifier: Apache-2.0 */

/* See aux-dirs.h. */

#include "yarn/launch/aux-dirs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "util/fileio.h"
#include "util/macros.h"
#include "yarn/launch/user.h"

#define LINK "usercache"
#define DIRS_MAX 64u /* local directories */
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---- account ------------------------------------------------------------------------------ */

/* No container may run as this account, because the process could be killed by it. nm-shuffle's account isn't used:
 * nm-shuffle can read files of all users, and services of Java must not send signals to it. */
int nm_yarn_aux_find_account(struct nm_identity *ret, bool *ret_changes, char **ret_message)
{
    static const char *const names[] = {"nmd-aux", "daemon"};
    int r = -ENOENT;

    *ret_changes = geteuid() == 0;
    if (!*ret_changes)
        return 0;
    for (size_t i = 0; r == -ENOENT && i < NM_ARRAY_SIZE(names); i++) {
        struct nm_identity who = {};

        r = nm_yarn_user_find(names[i], &who.uid, &who.gid);
        if (r >= 0)
            *ret = who;
    }
    return r < 0 ? nm_fail(ret_message, r, "auxiliary services that are written in Java run as the user nmd-aux, but "
                           "this user can't be looked up: %s", strerror(-r))
                 : 0;
}

/* ---- directories -------------------------------------------------------------------------- */

unsigned nm_yarn_aux_dirs_count(const struct nm_yarn_settings *s)
{
    return (unsigned)NM_MIN(NM_STRV_LENGTH(s->local_dirs), (size_t)DIRS_MAX);
}

/* Returns the directory's absolute path: the process has another working directory than nmd. */
static int find_path(const char *state_dir, char **ret)
{
    _cleanup_free_ char *real = realpath(state_dir, NULL);

    if (!real)
        return -errno;
    *ret = nm_strdup_printf("%s-aux", real);
    return *ret ? 0 : -ENOMEM;
}

/* Makes a directory and opens it. The owner of a directory of nmd is nmd. */
static int make_one(const struct nm_yarn_aux_dirs *d, int at, const char *name, bool is_of_nmd)
{
    _cleanup_close_ int fd = -EBADF;
    int r = mkdirat(at, name, 0700) < 0 && errno != EEXIST ? -errno : 0;

    if (r >= 0)
        r = fd = RET_NERRNO(openat(at, name, DIR_FLAGS));
    if (r >= 0 && !is_of_nmd && d->changes_user)
        r = RET_NERRNO(fchown(fd, d->as.uid, d->as.gid));
    if (r >= 0)
        r = RET_NERRNO(fchmod(fd, is_of_nmd ? 0755 : 0700));
    return r < 0 ? r : STEAL_FD(fd);
}

static int make_link(int fd, const char *local_dir)
{
    _cleanup_free_ char *target = nm_strdup_printf("%s/" LINK, local_dir);

    if (!target)
        return -ENOMEM;
    (void)unlinkat(fd, LINK, 0);
    return RET_NERRNO(symlinkat(target, fd, LINK));
}

/* Makes local/N for each local directory. The process doesn't use those with higher numbers, which an earlier
 * configuration may have left. */
static int make_local(const struct nm_yarn_aux_dirs *d, const struct nm_yarn_settings *s, int local_fd)
{
    const unsigned n = nm_yarn_aux_dirs_count(s);
    char name[16];
    int r = 0;

    for (unsigned i = 0; r >= 0 && i < n; i++) {
        _cleanup_close_ int fd = -EBADF;

        (void)snprintf(name, sizeof name, "%u", i);
        r = fd = make_one(d, local_fd, name, false);
        if (r >= 0)
            r = make_link(fd, s->local_dirs[i]);
    }
    return r;
}

static int make_all(struct nm_yarn_aux_dirs *d, const struct nm_yarn_settings *s)
{
    static const char *const own[] = {"log", "recovery", "tmp"};
    _cleanup_close_ int base = -EBADF, local = -EBADF;
    int r = base = make_one(d, AT_FDCWD, d->path, true);

    for (size_t i = 0; r >= 0 && i < NM_ARRAY_SIZE(own); i++) {
        _cleanup_close_ int fd = -EBADF;

        r = fd = make_one(d, base, own[i], false);
    }
    if (r >= 0)
        r = local = make_one(d, base, "local", true);
    return r < 0 ? r : make_local(d, s, local);
}

int nm_yarn_aux_dirs_make(const struct nm_yarn_settings *s, const char *state_dir, struct nm_yarn_aux_dirs *ret,
                          char **ret_message)
{
    struct nm_yarn_aux_dirs d = {};
    int r = nm_yarn_aux_find_account(&d.as, &d.changes_user, ret_message);

    if (r >= 0) {
        r = find_path(state_dir, &d.path);
        if (r >= 0)
            r = make_all(&d, s);
        if (r < 0)
            (void)nm_fail(ret_message, r, "can't make the directory of the auxiliary services, %s: %s",
                          d.path ?: state_dir, strerror(-r));
    }
    if (r < 0)
        nm_yarn_aux_dirs_done(&d);
    else
        *ret = d;
    return NM_MIN(r, 0);
}

void nm_yarn_aux_dirs_done(struct nm_yarn_aux_dirs *d)
{
    free(d->path);
    *d = (struct nm_yarn_aux_dirs){};
}
