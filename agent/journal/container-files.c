/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The directories of containers: <state>/containers/<id>, which nmd and the shim use, and <logs>/<id>. Only names that
 * can be a container's id are read or removed, since an operator may have set log-dir to a directory that has other
 * contents.
 */

#include "agent/journal/container-files.h"

#include <assert.h>
#include <dirent.h>
#include <ftw.h>
#include <limits.h>

#include "util/fileio.h"

void nm_files_container_dir(const struct nm_manager *m, const char *id, char buf[NM_DIR_SIZE])
{
    assert(id);
    /* The length of the state directory's path was checked when the directory was opened. */
    (void)snprintf(buf, NM_DIR_SIZE, "%s/containers/%s", m->state_dir, id);
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
void nm_files_forget(struct nm_manager *m, const char *id)
{
    char path[NM_DIR_SIZE];

    if (!nm_id_is_valid(id))
        return;
    nm_files_container_dir(m, id, path);
    (void)nftw(path, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", m->log_dir, id) < sizeof path)
        (void)nftw(path, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}
