/* SPDX-License-Identifier: Apache-2.0 */

/* See remote-dirs.h. */

#include "aggregate/worker/remote-dirs.h"

#include "aggregate/upload-names.h"
#include "util/error.h"

#define PARENT_MODE 0755U

static char *dir_at(const struct nm_upload_work *work, unsigned depth)
{
    return nm_upload_names_dir(work->remote.path, work->user, work->suffix, work->application, depth);
}

/* Checks that the user's directory is the user's. All users may make directories beside it, so another user may have
 * made it, and would get access to the logs by the directory's group. */
static int check_user_dir(const struct nm_upload_work *work, struct nm_target *target, char **ret_message)
{
    _cleanup_free_ char *path = dir_at(work, 1), *message = NULL;
    struct nm_target_status status;
    int r = path ? target->ops->stat(target, path, &status, &message) : -ENOMEM;

    if (r < 0)
        return nm_fail(ret_message, r, "can't read the status of %s: %s", path ?: "a directory",
                       message ?: strerror(-r));
    if (!status.is_directory || !status.is_owned)
        return nm_fail(ret_message, -EPERM, "%s is not a directory of the user %s; an administrator must correct this",
                       path, work->user);
    return 0;
}

/* Finds the deepest directory that exists. *ret: the number of directories below the remote directory. */
static int find_existing(const struct nm_upload_work *work, struct nm_target *target, unsigned *ret,
                         struct nm_target_status *ret_status, char **ret_message)
{
    for (unsigned depth = NM_UPLOAD_DEPTH;; depth--) {
        _cleanup_free_ char *path = dir_at(work, depth), *message = NULL;
        int r = path ? target->ops->stat(target, path, ret_status, &message) : -ENOMEM;

        if (r >= 0) {
            *ret = depth;
            return 0;
        }
        if (r == -ENOENT && depth == 0)
            return nm_fail(ret_message, -ENOENT, "the remote directory %s doesn't exist", path);
        if (r != -ENOENT)
            return nm_fail(ret_message, r, "can't read the status of %s: %s", path ?: "a directory",
                           message ?: strerror(-r));
    }
}

int nm_remote_dirs_make(const struct nm_upload_work *work, struct nm_target *target, char **ret_message)
{
    struct nm_target_status status = {0};
    unsigned depth = 0;
    int r = find_existing(work, target, &depth, &status, ret_message);

    if (r >= 0 && depth > 0)
        r = check_user_dir(work, target, ret_message);
    if (r >= 0 && depth > 0 && status.mode != NM_APPLICATION_DIR_MODE) {
        _cleanup_free_ char *path = dir_at(work, depth), *message = NULL;

        r = path ? target->ops->set_mode(target, path, NM_APPLICATION_DIR_MODE, &message) : -ENOMEM;
        if (r < 0)
            return nm_fail(ret_message, r, "can't set the mode of %s: %s", path ?: "a directory",
                           message ?: strerror(-r));
    }
    for (unsigned below = depth + 1; r >= 0 && below <= NM_UPLOAD_DEPTH; below++) {
        _cleanup_free_ char *path = dir_at(work, below), *message = NULL;

        r = path ? target->ops->make_dir(target, path, NM_APPLICATION_DIR_MODE, &message) : -ENOMEM;
        if (r < 0)
            return nm_fail(ret_message, r, "can't make the directory %s: %s", path ?: "", message ?: strerror(-r));
        if (below == 1) /* another user may have been faster */
            r = check_user_dir(work, target, ret_message);
    }
    return r;
}

/* ---- the remote directory itself ------------------------------------------------------------- */

/* Makes the parents that are missing. */
static int make_parents(struct nm_target *target, const char *path, char **ret_message)
{
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        _cleanup_free_ char *parent = strndup(path, (size_t)(slash - path)), *message = NULL;
        struct nm_target_status status;
        int r = parent ? target->ops->stat(target, parent, &status, &message) : -ENOMEM;

        if (r == -ENOENT) {
            free(STEAL_PTR(message));
            r = target->ops->make_dir(target, parent, PARENT_MODE, &message);
        }
        if (r < 0)
            return nm_fail(ret_message, r, "can't make the directory %s: %s", parent ?: "", message ?: strerror(-r));
    }
    return 0;
}

/* Sets the owner and the group of a directory that was made just now. Readers of all users' logs, such as the
 * JobHistoryServer, get access by the group. */
static void set_owner(const struct nm_upload_work *work, struct nm_target *target, struct nm_upload_report *report)
{
    const bool is_local = work->remote.scheme == NM_URI_FILE;
    const char *owner = is_local && geteuid() == 0 ? work->remote_owner : "";
    _cleanup_free_ char *message = NULL;
    int r = *owner || *work->remote_group
                ? target->ops->set_owner(target, work->remote.path, owner, work->remote_group, &message)
                : 0;

    if (r < 0)
        nm_upload_report_note(report, "can't set the owner and the group of %s: %s", work->remote.path,
                              message ?: strerror(-r));
}

int nm_remote_dirs_prepare(const struct nm_upload_work *work, struct nm_target *target,
                           struct nm_upload_report *report, char **ret_message)
{
    const char *path = work->remote.path;
    _cleanup_free_ char *message = NULL;
    struct nm_target_status status;
    int r = target->ops->stat(target, path, &status, &message);

    if (r >= 0 && !status.is_directory)
        return nm_fail(ret_message, -ENOTDIR, "%s is not a directory", path);
    if (r >= 0 && status.mode != NM_REMOTE_DIR_MODE)
        nm_upload_report_note(report, "the mode of %s is %04o instead of %04o, so users may be unable to upload logs",
                              path, status.mode, NM_REMOTE_DIR_MODE);
    if (r >= 0)
        return 0;
    if (r != -ENOENT)
        return nm_fail(ret_message, r, "can't read the status of %s: %s", path, message ?: strerror(-r));
    r = make_parents(target, path, ret_message);
    if (r < 0)
        return r;
    free(STEAL_PTR(message));
    r = target->ops->make_dir(target, path, NM_REMOTE_DIR_MODE, &message);
    if (r < 0)
        return nm_fail(ret_message, r, "can't make the directory %s: %s", path, message ?: strerror(-r));
    set_owner(work, target, report);
    return 0;
}
