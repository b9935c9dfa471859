/* SPDX-License-Identifier: Apache-2.0 */

/* See caches.h. */

#include "yarn/launch/caches.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "util/clock.h"
#include "util/fileio.h"

/* ---- ownership of a local directory ------------------------------------------------------- */

#define ASIDE "_DEL_" /* prefix of moved directories, as in Hadoop */
#define NAME_SIZE 64

/* The subdirectories that a NodeManager makes in a local directory. set_aside() moves them aside. */
static const char *const subdirs[] = {"filecache", "usercache", "nmPrivate"};

static int set_aside(const struct nm_yarn_dir *dir)
{
    char name[NAME_SIZE];

    for (size_t i = 0; i < NM_ARRAY_SIZE(subdirs); i++) {
        (void)snprintf(name, sizeof name, "%s" ASIDE "%" PRIx64, subdirs[i], nm_realtime_usec());
        if (renameat(dir->fd, subdirs[i], dir->fd, name) < 0 && errno != ENOENT)
            return -errno;
    }
    return 0;
}

/* NULL: no memory. */
static char *state_path(const char *state_dir, const char *id)
{
    return nm_strdup_printf("%s/local-%s", state_dir, id);
}

/* Gives the subdirectory of a directory that had no id its present name. -ENOENT: there is no such subdirectory. */
static int take_former_name(const char *state_dir, const struct nm_yarn_dir *dir, const char *path)
{
    _cleanup_free_ char *former = NULL;
    char id[NM_YARN_DIR_ID_SIZE];
    int r = nm_yarn_dir_id_of_inode(dir->fd, id);

    if (r < 0)
        return r;
    former = state_path(state_dir, id);
    return former ? RET_NERRNO(rename(former, path)) : -ENOMEM;
}

/* Identifies the directory by its id and not by its name. Otherwise, if the configuration used another spelling of the
 * name, files of running containers would be removed. The state directory is made last: while it doesn't exist, the
 * contents are treated as those of another NodeManager. */
int nm_yarn_claim(const char *state_dir, const struct nm_yarn_dir *dir, char **ret)
{
    _cleanup_free_ char *path = state_path(state_dir, dir->id);
    int r = path ? RET_NERRNO(access(path, F_OK)) : -ENOMEM;

    if (r == -ENOENT)
        r = take_former_name(state_dir, dir, path);
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
    for (size_t i = 0; i < NM_ARRAY_SIZE(subdirs); i++)
        if (strncmp(name, subdirs[i], strlen(subdirs[i])) == 0 &&
            strncmp(name + strlen(subdirs[i]), ASIDE, strlen(ASIDE)) == 0)
            return true;
    return false;
}

/* Removes files with nmd's rights, since the files may belong to many users. Links are not followed. */
static void sweep_one(struct nm_localizer *l, const struct nm_yarn_dir *dir)
{
    _cleanup_closedir_ DIR *d = NULL;
    const struct dirent *e;

    if (nm_opendir_at(dir->fd, &d) < 0)
        return;
    while ((e = readdir(d))) {
        _cleanup_free_ char *path = NULL;

        if (is_aside(e->d_name) && asprintf(&path, "%s/%s", dir->name, e->d_name) >= 0)
            (void)nm_localizer_remove(l, "nmd", geteuid(), getegid(), (const char *const[]){path}, 1, NULL, NULL);
    }
}

void nm_yarn_claim_sweep(struct nm_localizer *l, const struct nm_yarn_dirs *dirs)
{
    for (size_t i = 0; i < dirs->n; i++)
        if (dirs->all[i].fd >= 0)
            sweep_one(l, &dirs->all[i]);
}

/* By default, mke2fs(8) makes one inode per this number of bytes. */
#define INODE_BYTES 16384u

/* ---- opening localizers ------------------------------------------------------------------- */

/* The localizer of a directory whose disk was replaced by another one. Containers may still have requests of it. The
 * same disk may come back. */
struct nm_yarn_former_cache {
    struct nm_yarn_former_cache *next;
    struct nm_localizer *localizer;
    size_t i; /* the directory's index */
    char id[NM_YARN_DIR_ID_SIZE];
};

/* Sets the localizer of a directory aside. It must not remove files any more, because the new directory has files of
 * the same names. Without memory for that, the directory keeps its localizer, whose resources are then found missing
 * and fetched again. */
static void on_replaced(size_t i, void *userdata)
{
    struct nm_yarn_caches *c = userdata;
    const struct nm_yarn_dir *d = &c->dirs->all[i];
    struct nm_yarn_former_cache *f = c->all[i] ? calloc(1, sizeof *f) : NULL;

    if (!f)
        return;
    (void)nm_localizer_set_usable(c->all[i], false);
    nm_localizer_set_room(c->all[i], UINT64_MAX);
    *f = (struct nm_yarn_former_cache){.next = c->former, .localizer = c->all[i], .i = i};
    (void)snprintf(f->id, sizeof f->id, "%s", d->id);
    c->former = f;
    if (c->now == c->all[i])
        c->now = NULL;
    c->all[i] = NULL;
}

/* Returns the localizer that a directory had before its disk was replaced, if the same directory is back. */
static struct nm_localizer *take_former(struct nm_yarn_caches *c, size_t i)
{
    const struct nm_yarn_dir *d = &c->dirs->all[i];

    for (struct nm_yarn_former_cache **at = &c->former, *f; (f = *at); at = &f->next)
        if (f->i == i && nm_streq(f->id, d->id)) {
            struct nm_localizer *l = f->localizer;

            *at = f->next;
            free(f);
            nm_localizer_set_room(l, 0);
            return l;
        }
    return NULL;
}

static int adopt(struct nm_yarn_caches *c, size_t i)
{
    const struct nm_yarn_dir *d = &c->dirs->all[i];
    struct nm_localizer_params p = c->params;
    _cleanup_free_ char *state = NULL;
    int r;

    c->all[i] = take_former(c, i);
    if (c->all[i]) {
        c->has_new = true;
        return 0;
    }
    r = nm_yarn_claim(c->state_dir, d, &state);
    if (r < 0)
        return r;
    p.local_dir = d->name;
    p.state_dir = state;
    r = nm_localizer_new(&p, &c->all[i]);
    c->has_new |= r >= 0;
    return r;
}

/* Opens the localizer of a directory. If this fails, marks the directory as bad. A read-only disk can cause this
 * failure, although the directory itself could be opened. The directory is marked as good when its localizer can be
 * opened. */
static int adopt_or_report(struct nm_yarn_caches *c, size_t i)
{
    struct nm_yarn_dir *d = &c->dirs->all[i];
    int r = c->all[i] ? 0 : adopt(c, i);

    if (r >= 0)
        r = nm_localizer_set_usable(c->all[i], true);
    if (r < 0 && d->is_good) {
        d->is_good = false;
        (void)snprintf(d->why, sizeof d->why, "can't open its cache of resources: %s", strerror(-r));
    }
    return r;
}

/* ---- choice ------------------------------------------------------------------------------- */

static bool is_good(const struct nm_yarn_caches *c, size_t i)
{
    return c->all[i] && c->dirs->all[i].is_good;
}

/* If the current localizer isn't good, makes the first good localizer current. A good localizer stays current, because
 * each change causes resources to be fetched again. */
static void choose(struct nm_yarn_caches *c)
{
    struct nm_localizer *good = NULL;

    for (size_t i = 0; i < c->dirs->n; i++) {
        if (is_good(c, i) && c->all[i] == c->now)
            return;
        if (is_good(c, i) && !good)
            good = c->all[i];
    }
    if (!good)
        return;
    c->now = good;
    for (size_t i = 0; i < c->dirs->n; i++)
        if (c->all[i])
            nm_localizer_set_room(c->all[i], c->all[i] == good ? c->params.cache_max_bytes : 0);
}

void nm_yarn_caches_check(struct nm_yarn_caches *c)
{
    nm_yarn_dirs_check(c->dirs);
    for (size_t i = 0; i < c->dirs->n; i++) {
        const bool is_new = !c->all[i];

        if (c->dirs->all[i].is_good && adopt_or_report(c, i) >= 0 && is_new)
            sweep_one(c->all[i], &c->dirs->all[i]);
        if (c->dirs->all[i].fd < 0 && c->all[i])
            (void)nm_localizer_set_usable(c->all[i], false);
    }
    choose(c);
}

/* Returns the space in the directory that users can use. Few free inodes count as little space, since an archive may
 * contain many small files. A total of 0 inodes is ignored: file systems that make inodes on demand report this
 * total. */
static uint64_t free_bytes(const struct nm_yarn_caches *c, size_t i)
{
    struct statvfs vfs;
    uint64_t bytes;

    if (c->dirs->all[i].fd < 0 || fstatvfs(c->dirs->all[i].fd, &vfs) < 0)
        return 0;
    bytes = vfs.f_bavail * vfs.f_frsize;
    if (vfs.f_files == 0 || vfs.f_favail >= bytes / INODE_BYTES)
        return bytes;
    return vfs.f_favail * INODE_BYTES;
}

static size_t index_of(const struct nm_yarn_caches *c, const struct nm_localizer *l)
{
    size_t i = 0;

    while (i < c->dirs->n && (!l || c->all[i] != l))
        i++;
    return i;
}

/* Returns the index of the good directory with the most free space, or dirs->n if no directory is good. Skips the
 * directories in `tried`. */
static size_t find_room(const struct nm_yarn_caches *c, const bool *tried)
{
    size_t best = c->dirs->n;
    uint64_t most = 0;

    for (size_t i = 0; i < c->dirs->n; i++) {
        const uint64_t bytes = is_good(c, i) && !tried[i] ? free_bytes(c, i) : 0;

        if (bytes > most) {
            most = bytes;
            best = i;
        }
    }
    return best;
}

struct nm_localizer *nm_yarn_caches_with_more_room(const struct nm_yarn_caches *c, const struct nm_localizer *full,
                                                   bool *tried)
{
    const size_t from = index_of(c, full);
    size_t to;

    if (from == c->dirs->n)
        return NULL;
    tried[from] = true;
    to = find_room(c, tried);
    if (to == c->dirs->n)
        return NULL;
    tried[to] = true;
    return c->all[to];
}

/* Returns the good localizer that lacks the fewest bytes of the resources and has room for these bytes. If several
 * localizers lack the same number of bytes, returns the one whose directory has the most free space. If no good
 * directory has enough room, returns the current localizer. */
static struct nm_localizer *find_fewest_missing(const struct nm_yarn_caches *c, const struct nm_localizer_user *user,
                                                const struct nm_localizer_resource *resources, size_t n)
{
    uint64_t fewest = UINT64_MAX, most = 0;
    struct nm_localizer *best = c->now;

    for (size_t i = 0; i < c->dirs->n; i++) {
        const uint64_t room = is_good(c, i) ? free_bytes(c, i) : 0;
        const uint64_t lacks = room > 0 ? nm_localizer_count_missing_bytes(c->all[i], user, resources, n) : UINT64_MAX;

        if (lacks <= room && (lacks < fewest || (lacks == fewest && room > most))) {
            fewest = lacks;
            most = room;
            best = c->all[i];
        }
    }
    return best;
}

/* Returns a good localizer that has all resources, preferably the current localizer. If no localizer has all resources,
 * returns the current localizer. */
static struct nm_localizer *find_all(const struct nm_yarn_caches *c, const struct nm_localizer_user *user,
                                     const struct nm_localizer_resource *resources, size_t n)
{
    if (nm_localizer_count_known(c->now, user, resources, n) == n)
        return c->now;
    for (size_t i = 0; i < c->dirs->n; i++)
        if (is_good(c, i) && c->all[i] != c->now && nm_localizer_count_known(c->all[i], user, resources, n) == n)
            return c->all[i];
    return c->now;
}

/* Chooses a localizer by the sizes that the application states. These sizes are used for this choice only, and the
 * current localizer doesn't change. The code checks which resources exist only if there isn't room for all resources,
 * or if the application states no sizes. */
struct nm_localizer *nm_yarn_caches_choose(const struct nm_yarn_caches *c, const struct nm_localizer_user *user,
                                           const struct nm_localizer_resource *resources, size_t n)
{
    const size_t now = index_of(c, c->now);
    uint64_t bytes = 0, has_bytes;

    for (size_t i = 0; i < n; i++)
        bytes = nm_add_u64(bytes, resources[i].room_bytes);
    if (now == c->dirs->n || n == 0)
        return c->now;
    if (bytes == 0)
        return find_all(c, user, resources, n);
    has_bytes = free_bytes(c, now);
    if (has_bytes >= bytes || has_bytes >= nm_localizer_count_missing_bytes(c->now, user, resources, n))
        return c->now;
    return find_fewest_missing(c, user, resources, n);
}

bool nm_yarn_caches_is_good(const struct nm_yarn_caches *c, const struct nm_localizer *l)
{
    for (size_t i = 0; l && i < c->dirs->n; i++)
        if (c->all[i] == l)
            return is_good(c, i);
    return false;
}

const char *nm_yarn_caches_dir(const struct nm_yarn_caches *c)
{
    for (size_t i = 0; i < c->dirs->n; i++)
        if (c->now && c->all[i] == c->now)
            return c->dirs->all[i].name;
    return "";
}

struct nm_localizer *nm_yarn_caches_any(const struct nm_yarn_caches *c)
{
    struct nm_localizer *any = NULL;

    for (size_t i = 0; !any && i < c->dirs->n; i++)
        any = c->all[i];
    return any;
}

/* ---- all caches --------------------------------------------------------------------------- */

int nm_yarn_caches_open(struct nm_yarn_caches *c, const struct nm_localizer_params *params, const char *state_dir,
                        struct nm_yarn_dirs *dirs, char **ret_message)
{
    const char *name = "";
    int r, first = 0;

    *c = (struct nm_yarn_caches){.params = *params, .state_dir = state_dir, .dirs = dirs};
    c->all = calloc(dirs->n + 1, sizeof(struct nm_localizer *));
    if (!c->all)
        return -ENOMEM;
    for (size_t i = 0; i < dirs->n; i++) {
        r = dirs->all[i].fd < 0 ? 0 : adopt_or_report(c, i);
        if (r == -ENOMEM)
            return r;
        if (r < 0 && first == 0) {
            first = r;
            name = dirs->all[i].name;
        }
    }
    if (!nm_yarn_caches_any(c))
        return nm_fail(ret_message, first, "Can't fetch resources to %s with %s: %s", name, params->program,
                       strerror(-first));
    choose(c);
    nm_yarn_claim_sweep(nm_yarn_caches_any(c), dirs);
    dirs->replaced_cb = on_replaced;
    dirs->userdata = c;
    return 0;
}

void nm_yarn_caches_done(struct nm_yarn_caches *c)
{
    for (size_t i = 0; c->all && i < c->dirs->n; i++)
        (void)nm_localizer_free(c->all[i]);
    while (c->former) {
        struct nm_yarn_former_cache *f = c->former;

        c->former = f->next;
        (void)nm_localizer_free(f->localizer);
        free(f);
    }
    free(c->all);
    *c = (struct nm_yarn_caches){};
}

void nm_yarn_caches_allow_removals(struct nm_yarn_caches *c)
{
    for (size_t i = 0; i < c->dirs->n; i++)
        if (c->all[i])
            nm_localizer_allow_removals(c->all[i]);
}

void nm_yarn_caches_end_application(struct nm_yarn_caches *c, const char *submitter, const char *application)
{
    for (size_t i = 0; i < c->dirs->n; i++)
        if (c->all[i])
            nm_localizer_end_application(c->all[i], submitter, application);
    for (struct nm_yarn_former_cache *f = c->former; f; f = f->next)
        nm_localizer_end_application(f->localizer, submitter, application);
}
