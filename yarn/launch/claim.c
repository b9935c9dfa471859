/* SPDX-License-Identifier: Apache-2.0 */

/* See claim.h. */

#include "yarn/launch/claim.h"

#include <dirent.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "util/clock.h"
#include "util/fileio.h"

#define ASIDE "_DEL_" /* prefix that Hadoop uses */
#define NAME_SIZE 64

/* Subdirectories that a NodeManager makes in a local directory. */
static const char *const kept[] = {"filecache", "usercache", "nmPrivate"};

static int set_aside(const struct nm_yarn_dir *dir)
{
    char name[NAME_SIZE];

    for (size_t i = 0; i < NM_ARRAY_SIZE(kept); i++) {
        (void)snprintf(name, sizeof name, "%s" ASIDE "%" PRIx64, kept[i], nm_realtime_usec());
        if (renameat(dir->fd, kept[i], dir->fd, name) < 0 && errno != ENOENT)
            return -errno;
    }
    return 0;
}

/* Identifies the directory by device and inode and not by its name, so that another spelling of the name doesn't remove
 * files of running containers. The state directory is made last: until the state directory exists, the contents count
 * as foreign. */
int nm_yarn_claim(const char *state_dir, const struct nm_yarn_dir *dir, char **ret)
{
    _cleanup_free_ char *path = NULL;
    struct stat st;
    int r;

    if (fstat(dir->fd, &st) < 0)
        return -errno;
    if (asprintf(&path, "%s/local-%jx-%jx", state_dir, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino) < 0)
        return -ENOMEM;
    r = RET_NERRNO(access(path, F_OK));
    if (r == -ENOENT) {
        r = set_aside(dir);
        if (r >= 0)
            r = nm_mkdir_p(path, 0700);
    }
    if (r < 0)
        return r;
    *ret = STEAL_PTR(path);
    return 0;
}

static bool is_aside(const char *name)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(kept); i++)
        if (strncmp(name, kept[i], strlen(kept[i])) == 0 &&
            strncmp(name + strlen(kept[i]), ASIDE, strlen(ASIDE)) == 0)
            return true;
    return false;
}

/* Removes with nmd's rights, since the files may belong to many users. No link on the way is followed. */
static void sweep_one(struct nm_localizer *l, const struct nm_yarn_dir *dir)
{
    _cleanup_closedir_ DIR *d = NULL;
    const struct dirent *e;

    if (nm_opendir_at(dir->fd, &d) < 0)
        return;
    while ((e = readdir(d))) {
        _cleanup_free_ char *path = NULL;

        if (is_aside(e->d_name) && asprintf(&path, "%s/%s", dir->name, e->d_name) >= 0)
            (void)nm_localizer_remove(l, "nmd", geteuid(), getegid(), path, NULL, NULL);
    }
}

void nm_yarn_claim_sweep(struct nm_localizer *l, const struct nm_yarn_dirs *dirs)
{
    for (size_t i = 0; i < dirs->n; i++)
        if (dirs->all[i].fd >= 0)
            sweep_one(l, &dirs->all[i]);
}
