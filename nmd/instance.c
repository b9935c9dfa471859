/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See instance.h. The lock of a directory is a file in the directory. The lock of the socket is a file beside the
 * socket. The lock of the slice is a file with the slice's name, in a directory that depends only on the user and not
 * on any option. The slice's cgroup directory itself isn't locked, because any user who may read the directory could
 * lock it, and because systemd removes the directory of an empty slice.
 */

#include "nmd/instance.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/lockfile.h"
#include "util/log.h"

#define LOCK_WAIT_USEC (2 * NM_USEC_PER_SEC)
#define LOCK_NAME "lock" /* in the state and the runtime directory */
#define LOCK_SUFFIX ".lock"

static int refuse_dir(const char *what, const char *path, int r, char **ret_message)
{
    return r < 0 ? nm_fail(ret_message, r, "the %s directory %s can't be created: %s", what, path, strerror(-r)) : 0;
}

/* Takes the lock. If another nmd holds the lock, logs this and waits, because the other nmd may be about to end. */
static int take(const char *path, const char *what, const char *name, pid_t *ret_holder)
{
    char buf[NM_LOCKFILE_HOLDER_SIZE];
    int r = nm_lockfile_take(path, 0, ret_holder);

    if (r != -EBUSY)
        return r;
    nm_notice("another nmd (%s) uses the %s %s: waiting %u s for its end",
              nm_lockfile_name_holder(*ret_holder, buf), what, name, (unsigned)(LOCK_WAIT_USEC / NM_USEC_PER_SEC));
    return nm_lockfile_take(path, LOCK_WAIT_USEC, ret_holder);
}

/* Locks the file. `what` and `name` describe the locked object, and `way_out` is the advice in the message of a
 * refusal. */
static int lock_file(const char *path, const char *what, const char *name, const char *way_out, char **ret_message)
{
    char buf[NM_LOCKFILE_HOLDER_SIZE];
    pid_t holder = 0;
    int r = take(path, what, name, &holder);

    if (r == -EBUSY)
        return nm_fail(ret_message, r, "another nmd (%s) uses the %s %s; stop that nmd, or %s",
                       nm_lockfile_name_holder(holder, buf), what, name, way_out);
    return r < 0 ? nm_fail(ret_message, r, "the lock %s of the %s %s can't be taken: %s", path, what, name,
                           strerror(-r))
                 : 0;
}

static int lock_in_dir(const char *dir, const char *what, const char *way_out, char **ret_message)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s/" LOCK_NAME, dir) >= sizeof path)
        return refuse_dir(what, dir, -ENAMETOOLONG, ret_message);
    return lock_file(path, what, dir, way_out, ret_message);
}

static int lock_state(const char *dir, char **ret_message)
{
    int r = nm_mkdir_p(dir, 0700);

    return r < 0 ? refuse_dir("state", dir, r, ret_message)
                 : lock_in_dir(dir, "state directory", "give this one its own with --state-dir", ret_message);
}

/* Creates a directory that other users can search to reach the socket, independent of nmd's umask. */
static int make_passable(const char *path)
{
    mode_t mask = umask(022);
    int r = nm_mkdir_p(path, 0755);

    (void)umask(mask);
    return r;
}

static int lock_runtime(const char *dir, char **ret_message)
{
    int r = make_passable(dir);

    return r < 0 ? refuse_dir("runtime", dir, r, ret_message)
                 : lock_in_dir(dir, "runtime directory", "give this one its own with --runtime-dir", ret_message);
}

static int lock_slice(const char *slice, char **ret_message)
{
    char dir[PATH_MAX], path[PATH_MAX + 80];
    int r;

    r = nm_lockfile_dir(dir);
    if (r < 0)
        return nm_fail(ret_message, r, "the directory %s, for the lock of the slice %s, can't be used: %s", dir, slice,
                       r == -EPERM ? "it belongs to another user, or other users may write to it" : strerror(-r));
    (void)snprintf(path, sizeof path, "%s/%s" LOCK_SUFFIX, dir, slice);
    return lock_file(path, "slice", slice, "give this one its own with --slice", ret_message);
}

int nm_instance_lock(const struct nm_instance *i, char **ret_message)
{
    int r = lock_state(i->state_dir, ret_message);

    if (r >= 0)
        r = lock_runtime(i->runtime_dir, ret_message);
    return r < 0 ? r : lock_slice(i->slice, ret_message);
}

int nm_instance_lock_socket(const char *path, char **ret_message)
{
    char lock[PATH_MAX];

    if ((size_t)snprintf(lock, sizeof lock, "%s" LOCK_SUFFIX, path) >= sizeof lock)
        return nm_fail(ret_message, -ENAMETOOLONG, "the socket's path is too long");
    return lock_file(lock, "socket", path, "give this one its own with --socket", ret_message);
}

void nm_instance_find_locks(const struct nm_instance *i, char ret[NM_INSTANCE_LOCKS_MAX][PATH_MAX])
{
    char dir[PATH_MAX], paths[NM_INSTANCE_LOCKS_MAX][PATH_MAX];

    if (nm_lockfile_dir(dir) < 0)
        *dir = '\0';
    (void)snprintf(paths[0], PATH_MAX, "%.4080s/" LOCK_NAME, i->state_dir);
    (void)snprintf(paths[1], PATH_MAX, "%.4080s/" LOCK_NAME, i->runtime_dir);
    (void)snprintf(paths[2], PATH_MAX, "%.4000s/%.80s" LOCK_SUFFIX, dir, i->slice);
    (void)snprintf(paths[3], PATH_MAX, "%.4080s" LOCK_SUFFIX, i->socket);
    for (size_t k = 0; k < NM_INSTANCE_LOCKS_MAX; k++)
        if (!realpath(paths[k], ret[k]))
            *ret[k] = '\0';
}

/* ---- checks without a lock ------------------------------------------------------------------- */

int nm_instance_check_dir(const char *what, const char *dir, char **ret_message)
{
    char path[PATH_MAX];
    int r = nm_check_mkdir_p(dir);

    if (r < 0)
        return refuse_dir(what, dir, r, ret_message);
    (void)snprintf(path, sizeof path, "%.4080s/" LOCK_NAME, dir);
    r = RET_NERRNO(faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS));
    if (r == -ENOENT && access(dir, F_OK) == 0)
        r = RET_NERRNO(faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS));
    if (r >= 0 || r == -ENOENT)
        return 0;
    return nm_fail(ret_message, r, "the lock %s of the %s directory %s can't be taken: %s", path, what, dir,
                   strerror(-r));
}

pid_t nm_instance_holder(const char *state_dir)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%.4080s/" LOCK_NAME, state_dir);
    return nm_lockfile_holder(path);
}

bool nm_instance_is_running(const char *state_dir)
{
    const pid_t holder = nm_instance_holder(state_dir);

    return holder > 0 || holder == -EBUSY;
}
