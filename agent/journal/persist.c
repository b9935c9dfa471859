/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The data of a container on disk: its row in the journal, its snapshot beside its shim's records
 * (container-snapshot.h), and its directories, <state>/containers/<id>, which nmd and the shim use, and <logs>/<id>.
 * Also the state of a live container, which is journalled and reported at each change.
 */

#include "agent/journal/containers.h"

#include <assert.h>
#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "agent/journal/records.h"
#include "agent/problem.h"
#include "agent/store/container-snapshot.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fileio.h"
#include "util/log.h"

int nm_persist_journal(struct nm_live_container *l)
{
    int r = nm_store_put_container(l->m->store, l->c);

    nm_record_store_result(l->m, r);
    return r;
}

int nm_persist_write_snapshot(struct nm_live_container *l)
{
    char dir[NM_DIR_SIZE];
    int r;

    assert(l->c->view.state != NM_COMPLETED);
    nm_files_container_dir(l->m, l->c->id, dir);
    r = nm_container_snapshot_write(dir, l->m->journal.boot_id, l->c);
    l->has_snapshot = l->has_snapshot || r >= 0;
    if (r < 0)
        nm_debug("%s: can't write container.json: %s", l->c->id, strerror(-r));
    return r;
}

int nm_persist_snapshot(struct nm_live_container *l)
{
    int r;

    if (l->c->shim_pid == 0 && !l->has_snapshot)
        return 0; /* the round writes the snapshot if the container has to wait */
    r = nm_persist_write_snapshot(l);
    NM_FAULT("snapshot-written");
    return r;
}

void nm_persist_snapshot_waiting(struct nm_live_container *l)
{
    if (l->has_snapshot || !nm_policy_container_is_waiting(&l->c->view))
        return;
    (void)nm_persist_write_snapshot(l);
    NM_FAULT("waiting-snapshot-written");
}

void nm_persist_set_state(struct nm_live_container *l, enum nm_state to)
{
    enum nm_state from = l->c->view.state;

    assert(l->phase != NM_RUN_REMOVED);
    if (from == to)
        return;
    if (nm_container_set_state(l->c, to) < 0) {
        nm_err("%s: invalid state change from %s to %s; state unchanged", l->c->id, nm_state_name(from),
               nm_state_name(to));
        return;
    }
    l->c->view.state_usec = nm_now_usec();
    l->c->view.state_samples = 0;
    (void)nm_persist_journal(l);
    nm_events_publish_state(l, from, to);
}

int nm_persist_refuse(const struct nm_manager *m, int error, struct nm_problem *ret_problem)
{
    const char *advice = nm_store_error_advice(error);

    assert(error < 0);
    return nm_problem_set(ret_problem, NM_AGENT_E_UNAVAILABLE, "journal", strerror(-error),
                          "Nothing was changed, because the journal in %s can't be written (%s)%s%s.",
                          m->state_dir, strerror(-error), advice ? ": " : "", advice ?: "");
}

int nm_persist_check(struct nm_manager *m, struct nm_problem *ret_problem)
{
    int r = m->journal.error;

    if (r < 0)
        r = nm_store_flush(m->store);
    nm_record_store_result(m, r);
    if (r >= 0 || r == -EUCLEAN) /* -EUCLEAN: the journal is replaced soon, with all known state */
        return 0;
    return nm_persist_refuse(m, r, ret_problem);
}

int nm_persist_answer(const struct nm_manager *m, const char *id, const char *done, struct nm_problem *ret_problem)
{
    int r = m->journal.error;

    if (r >= 0 || r == -EUCLEAN)
        return 0;
    return nm_problem_set(ret_problem, NM_AGENT_E_UNAVAILABLE, "journal", strerror(-r),
                          "%s %s, but this isn't saved yet, because the journal in %s can't be written (%s). If nmd "
                          "restarts before it can be written, the change may be "
                          "lost.", id, done, m->state_dir, strerror(-r));
}

/*
 * ---- directories -------------------------------------------------------------------------------
 *
 * Only names that can be a container's id are read or removed, since an operator may have set log-dir to a directory
 * that has other contents.
 */

void nm_files_container_dir(const struct nm_manager *m, const char *id, char buf[NM_DIR_SIZE])
{
    assert(id);
    /* The length of the state directory's path was checked when the directory was opened. */
    (void)snprintf(buf, NM_DIR_SIZE, "%s/containers/%s", m->state_dir, id);
}

/*
 * Marks a directory as one whose subdirectories belong to different subjects (chattr +T). ext4 then distributes the
 * subdirectories over its block groups. Otherwise it puts the files of all containers into one group, and skips the
 * inodes of this group that were freed in the last minutes one by one for each new file. Other file systems do not need
 * the mark, and may refuse it.
 */
static void spread_subdirs(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int flags;

    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || flags & FS_TOPDIR_FL)
        return;
    flags |= FS_TOPDIR_FL;
    if (ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0)
        nm_debug("%s can't be marked for ext4: %s; ignoring", path, strerror(errno));
}

void nm_files_prepare(const struct nm_manager *m)
{
    const bool has_configured_logs = m->config->log_dir && m->config->log_dir[0];
    char path[NM_DIR_SIZE];

    nm_files_container_dir(m, "", path);
    if (nm_mkdir_p(path, 0700) >= 0)
        spread_subdirs(path);
    if (!has_configured_logs) /* a configured directory may have other contents */
        spread_subdirs(m->log_dir);
}

int nm_files_foreach(const struct nm_manager *m, nm_files_cb_t cb, void *userdata)
{
    _cleanup_closedir_ DIR *dir = NULL;
    char path[NM_DIR_SIZE];

    assert(cb);
    nm_files_container_dir(m, "", path);
    dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : -errno;
    for (struct dirent *de; (de = readdir(dir));)
        if (nm_id_is_valid(de->d_name))
            cb(de->d_name, userdata);
    return 0;
}

static int unlink_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

/* Removes a few small files, which nmd or the shim have made. The container's user has no access: both directories
 * belong to root with mode 0700, which is checked before a start (nm_check_private_dir()). So no worker is needed. */
void nm_files_drop(struct nm_manager *m, const char *id)
{
    char path[NM_DIR_SIZE];

    if (!nm_id_is_valid(id))
        return;
    nm_files_container_dir(m, id, path);
    (void)nftw(path, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", m->log_dir, id) < sizeof path)
        (void)nftw(path, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}
