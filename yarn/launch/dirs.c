/* SPDX-License-Identifier: Apache-2.0 */

/* See dirs.h. */

#include "yarn/launch/dirs.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <syslog.h>

#include "util/clock.h"
#include "util/fileio.h"
#include "util/lockfile.h"
#include "util/parse.h"

#define PROBE ".nmd-probe"
#define WHY_SIZE sizeof((struct nm_yarn_dir *)NULL)->why
#define LOCK "local-dirs.lock"
#define LOCK_WAIT_USEC (2 * NM_USEC_PER_SEC)
#define SUSPECTED_CHECK_USEC NM_USEC_PER_SEC
#define AGAIN_USEC NM_USEC_PER_MSEC /* less than a fetch takes until it fails */

/* ---- opening ------------------------------------------------------------------------------ */

/* Checks that only root and nmd's own user can replace the directory. */
static int check_above(int fd)
{
    _cleanup_close_ int above = RET_NERRNO(openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));

    return above < 0 ? above : nm_check_parent_dirs(above);
}

/* Makes the directory. Its mode doesn't depend on nmd's umask, and permits all users to pass through it to the
 * directories of their containers. */
static int make(const char *name)
{
    int r = RET_NERRNO(access(name, F_OK));

    if (r != -ENOENT)
        return r;
    r = nm_mkdir_p(name, 0755);
    return r < 0 ? r : RET_NERRNO(chmod(name, 0755));
}

static int open_private(const char *name, int *ret)
{
    _cleanup_close_ int fd = RET_NERRNO(open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int r = fd < 0 ? fd : nm_check_private_dir(fd);

    if (r >= 0)
        r = check_above(fd);
    if (r < 0)
        return r;
    *ret = STEAL_FD(fd);
    return 0;
}

static void report_why(int r, char why[WHY_SIZE])
{
    (void)snprintf(why, WHY_SIZE, "%s",
                   r == -EPERM       ? "a user other than root and nmd's own can change it or a directory above it"
                   : r == -ENOMEDIUM ? "its disk isn't mounted"
                                     : strerror(-r));
}

/* Returns the length of the path of the directory that contains this one. The path has no "/" at its end. */
static size_t parent_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash > path ? (size_t)(slash - path) : 1;
}

/* Returns 1 if a disk is mounted on the directory, 0 if not, or -errno. */
static int is_mount(const char *path)
{
    char parent[PATH_MAX];
    struct stat own, above;

    (void)snprintf(parent, sizeof parent, "%.*s", (int)parent_length(path), path);
    return stat(path, &own) < 0 || stat(parent, &above) < 0 ? -errno : own.st_dev != above.st_dev;
}

/* Finds the path at which the directory's disk is mounted. *ret is NULL if that can't be found out, or it is the disk
 * of "/". Fails only without memory. */
static int find_mount(int fd, char **ret)
{
    char link[sizeof "/proc/self/fd/" + 11], path[PATH_MAX];
    ssize_t n;
    int r = 0;

    *ret = NULL;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (n <= 0 || path[0] != '/')
        return 0;
    for (path[n] = '\0'; r == 0 && !nm_streq(path, "/"); path[parent_length(path)] = '\0') {
        r = is_mount(path);
        if (r > 0)
            *ret = strdup(path);
    }
    return r > 0 && !*ret ? -ENOMEM : 0;
}

/* Makes a missing directory. A directory that was open before, also in an earlier nmd, isn't made on the disk of its
 * mount point while its own disk isn't mounted: containers would fill that disk, often the one of "/". Its own disk may
 * be a new one, without the directory. */
static int make_missing(const struct nm_yarn_dir *d)
{
    int r = d->mount ? is_mount(d->mount) : d->ino == 0;

    if (r == 0 && d->mount)
        return -ENOMEDIUM;
    return r > 0 ? make(d->name) : r;
}

/* Returns whether the path leads to the directory that was open before. An administrator may have copied it with all of
 * its contents, from a disk of its own to another disk. */
static bool has_moved(const struct nm_yarn_dir *d)
{
    _cleanup_close_ int fd = -EBADF;
    char id[NM_YARN_DIR_ID_SIZE];

    return *d->id && open_private(d->name, &fd) >= 0 && nm_yarn_dir_id_read(fd, id) >= 0 && nm_streq(id, d->id);
}

/* Opens a directory. If it can't be opened, returns 0, because its disk may have failed while other directories are
 * usable. Returns -ENOMEM without memory, because otherwise nmd would run without that disk. */
static int open_dir(struct nm_yarn_dir *d)
{
    int r = make_missing(d);

    if (r == -ENOMEDIUM && has_moved(d))
        r = 0;
    if (r >= 0)
        r = open_private(d->name, &d->fd);
    if (r < 0)
        report_why(r, d->why);
    return r == -ENOMEM ? r : 0;
}

static int refuse_all(const char *first, const char *why, char **ret_message)
{
    return nm_fail(ret_message, -ENOTDIR, "The directory %s can't be used: %s", first, why);
}

/* Returns the result that opening or making the directory would have, without changing it. */
static int check_dir(const char *name, char why[WHY_SIZE])
{
    _cleanup_close_ int fd = -EBADF;
    int r = open_private(name, &fd);

    if (r == -ENOENT)
        r = nm_check_mkdir_p(name);
    if (r < 0)
        report_why(r, why);
    return r;
}

int nm_yarn_dirs_examine(char *const *names, void (*report_cb)(const struct nm_yarn_dir *d, void *userdata),
                         void *userdata,
                         char **ret_message)
{
    struct nm_yarn_dir d = {.fd = -EBADF};
    char first[WHY_SIZE] = "";
    size_t i, good = 0;

    for (i = 0; names[i]; i++) {
        good += check_dir(names[i], d.why) >= 0;
        if (i == 0)
            (void)snprintf(first, sizeof first, "%s", d.why);
    }
    if (good == 0 && i > 0)
        return refuse_all(names[0], first, ret_message);
    for (i = 0; report_cb && names[i]; i++)
        if (check_dir(names[i], d.why) < 0) {
            d.name = names[i];
            report_cb(&d, userdata);
        }
    return 0;
}

/* Returns the position of the byte that represents a directory in the lock file. All nmds on this host lock bytes of
 * one file. A lock on the directory itself would keep a file open on a disk that an administrator may want to unmount
 * or remount read-only. The positions are spread over a wide range, so a conflict means that another nmd uses the
 * directory. */
static int64_t lock_offset(dev_t dev, ino_t ino)
{
    const uint64_t spread = UINT64_C(0x9e3779b97f4a7c15);

    return (int64_t)(((uint64_t)dev * spread ^ (uint64_t)ino) & INT64_MAX);
}

/* Locks the byte of the lock file that represents this directory (lock_offset()). -EBUSY: another nmd holds the lock;
 * buf then contains the name of that nmd. */
static int lock_byte(int lock_fd, int dir_fd, uint64_t wait_usec, char buf[NM_LOCKFILE_HOLDER_SIZE])
{
    struct stat st;
    pid_t holder = 0;
    int r = RET_NERRNO(fstat(dir_fd, &st));

    if (r >= 0)
        r = nm_lockfile_take_byte(lock_fd, lock_offset(st.st_dev, st.st_ino), wait_usec, &holder);
    if (r == -EBUSY)
        (void)nm_lockfile_name_holder(holder, buf);
    return r;
}

/* Locks the byte that represents the directory. If an nmd that was just stopped is still exiting, reports a message and
 * waits for its exit. */
static int wait_for_byte(int lock_fd, int dir_fd, const char *name, void (*report_cb)(int level, const char *sentence),
                         char buf[NM_LOCKFILE_HOLDER_SIZE])
{
    char text[PATH_MAX + 160];
    int r = lock_byte(lock_fd, dir_fd, 0, buf);

    if (r != -EBUSY)
        return r;
    (void)snprintf(text, sizeof text, "another nmd (%s) uses the local directory %s: waiting %u s for it to exit", buf,
                   name, (unsigned)(LOCK_WAIT_USEC / NM_USEC_PER_SEC));
    report_cb(LOG_NOTICE, text);
    return lock_byte(lock_fd, dir_fd, LOCK_WAIT_USEC, buf);
}

/* Loads what an earlier nmd has remembered of the directory. */
static int recall(const char *state_dir, struct nm_yarn_dir *d)
{
    struct nm_yarn_dir_memory memory = {};
    int r = state_dir ? nm_yarn_dir_memory_load(state_dir, d->name, &memory) : 0;

    if (r < 0)
        return r;
    (void)snprintf(d->id, sizeof d->id, "%s", memory.id);
    d->mount = memory.mount;
    return 0;
}

/* Locks a directory. If the directory can't be opened, succeeds without a lock: its disk may have failed, and then no
 * nmd uses the directory. */
static int lock_dir(int lock_fd, const char *name, const char *state_dir,
                    void (*report_cb)(int level, const char *sentence), char **ret_message)
{
    char buf[NM_LOCKFILE_HOLDER_SIZE];
    struct nm_yarn_dir d = {.name = name, .fd = -EBADF};
    int r = recall(state_dir, &d);

    if (r >= 0)
        r = open_dir(&d);
    free(d.mount);
    if (r < 0 || d.fd < 0)
        return r;
    r = wait_for_byte(lock_fd, d.fd, name, report_cb, buf);
    d.fd = nm_close(d.fd);
    if (r != -EBUSY)
        return r == -ENOMEM ? r : 0;
    return nm_fail(ret_message, r,
                   "another nmd (%s) uses the local directory %s; stop that nmd, or give this one directories of "
                   "its own (yarn.nodemanager.local-dirs)", buf, name);
}

/* Opens the lock file. It stays open until the process exits, because POSIX locks are released when any descriptor of
 * the file is closed. */
static int open_locks(char **ret_message)
{
    static int fd = -EBADF;
    char dir[PATH_MAX], path[PATH_MAX + sizeof LOCK + 1];
    int r;

    if (fd >= 0)
        return fd;
    r = nm_lockfile_dir(dir);
    (void)snprintf(path, sizeof path, "%s/" LOCK, dir);
    if (r >= 0)
        r = fd = RET_NERRNO(open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (r < 0)
        return nm_fail(ret_message, r, "can't take the lock %s of the local directories: %s", path, strerror(-r));
    return r;
}

int nm_yarn_dirs_lock(char *const *names, const char *state_dir, void (*report_cb)(int level, const char *sentence),
                      char **ret_message)
{
    int r = open_locks(ret_message), fd = r;

    for (; r >= 0 && *names; names++)
        r = lock_dir(fd, *names, state_dir, report_cb, ret_message);
    return r < 0 ? r : 0;
}

/* Locks a directory that could not be locked before, since another nmd may have locked it while the disk was
 * unavailable. Doesn't wait, because the next check tries again. */
static int lock_if_needed(const struct nm_yarn_dirs *dirs, struct nm_yarn_dir *d)
{
    char buf[NM_LOCKFILE_HOLDER_SIZE];
    int r = dirs->are_locked ? open_locks(NULL) : 0;

    if (r >= 0 && dirs->are_locked)
        r = lock_byte(r, d->fd, 0, buf);
    if (r >= 0)
        return 0;
    if (r == -EBUSY)
        (void)snprintf(d->why, sizeof d->why, "another nmd (%s) uses it; stop that nmd, or give this one directories "
                       "of its own", buf);
    else
        (void)snprintf(d->why, sizeof d->why, "can't lock it against other nmd processes: %s", strerror(-r));
    (void)nm_close(d->fd);
    d->fd = -EBADF;
    return r;
}

/* Releases the lock of a directory, which is also held while the directory is closed after an error. If the lock were
 * kept, a new directory with the same inode number would appear to be locked. */
static void unlock(const struct nm_yarn_dirs *dirs, const struct nm_yarn_dir *d)
{
    int r = dirs->are_locked && d->ino != 0 ? open_locks(NULL) : -EBADF;

    if (r >= 0)
        nm_lockfile_drop_byte(r, lock_offset(d->dev, d->ino));
}

void nm_yarn_dirs_done(struct nm_yarn_dirs *dirs)
{
    for (size_t i = 0; i < dirs->n; i++) {
        unlock(dirs, &dirs->all[i]);
        (void)nm_close(dirs->all[i].fd);
        free(dirs->all[i].mount);
    }
    free(dirs->all);
    *dirs = (struct nm_yarn_dirs){};
}

/* Returns whether another open directory has the id, because one of the two is a copy of the other. */
static bool is_id_taken(const struct nm_yarn_dirs *dirs, const struct nm_yarn_dir *d, const char *id,
                        const struct stat *st)
{
    for (size_t i = 0; i < dirs->n; i++) {
        const struct nm_yarn_dir *other = &dirs->all[i];

        if (other != d && other->fd >= 0 && nm_streq(other->id, id) &&
            (other->dev != st->st_dev || other->ino != st->st_ino))
            return true;
    }
    return false;
}

static int find_id(const struct nm_yarn_dirs *dirs, const struct nm_yarn_dir *d, const struct stat *st,
                   char ret[static NM_YARN_DIR_ID_SIZE])
{
    int r = nm_yarn_dir_id_get(d->fd, ret);

    return r >= 0 && is_id_taken(dirs, d, ret, st) ? nm_yarn_dir_id_renew(d->fd, ret) : r;
}

/* Makes the directory's present mount and id the known ones. Takes over mount, which is NULL if it is the same as
 * before, or unknown. */
static void remember(const struct nm_yarn_dirs *dirs, struct nm_yarn_dir *d, char *mount, const char *id)
{
    const bool has_changed = !nm_streq(d->id, id) || (mount && !nm_streq(mount, d->mount ?: ""));
    struct nm_yarn_dir_memory memory = {};

    if (mount) {
        free(d->mount);
        d->mount = mount;
    }
    (void)snprintf(d->id, sizeof d->id, "%s", id);
    if (!has_changed || !dirs->state_dir)
        return;
    (void)snprintf(memory.id, sizeof memory.id, "%s", id);
    memory.mount = d->mount;
    nm_yarn_dir_memory_save(dirs->state_dir, d->name, &memory);
}

/* Stores which directory is open now. If it isn't the one that was open before, releases the lock of the former one.
 * The same directory has another device number if its disk was connected again. */
static int identify(struct nm_yarn_dirs *dirs, struct nm_yarn_dir *d)
{
    char *mount = NULL, id[NM_YARN_DIR_ID_SIZE];
    struct stat st;
    bool is_new;
    int r;

    if (fstat(d->fd, &st) < 0)
        return -errno;
    r = find_id(dirs, d, &st, id);
    is_new = st.st_dev != d->dev || st.st_ino != d->ino;
    if (r >= 0 && (!d->mount || is_new))
        r = find_mount(d->fd, &mount);
    if (r < 0)
        return r;
    if (is_new && d->ino != 0) {
        unlock(dirs, d);
        d->is_full = false;
        if (dirs->replaced_cb && !nm_streq(id, d->id))
            dirs->replaced_cb((size_t)(d - dirs->all), dirs->userdata);
    }
    remember(dirs, d, mount, id);
    d->n_opened++;
    d->dev = st.st_dev;
    d->ino = st.st_ino;
    return 0;
}

/* Opens a directory that could not be opened before, or was closed. Its disk may be available now. */
static int join(struct nm_yarn_dirs *dirs, struct nm_yarn_dir *d)
{
    int r = open_dir(d);

    if (r < 0 || d->fd < 0)
        return r;
    r = lock_if_needed(dirs, d);
    if (r >= 0 && (r = identify(dirs, d)) < 0) {
        report_why(r, d->why);
        d->fd = nm_close(d->fd);
    }
    return r == -ENOMEM ? r : 0;
}

int nm_yarn_dirs_open(const struct nm_yarn_settings *s, char *const *names, const char *state_dir, bool are_locked,
                      struct nm_yarn_dirs *ret, char **ret_message)
{
    struct nm_yarn_dirs dirs = {.settings = s, .state_dir = state_dir, .are_locked = are_locked};
    size_t n = NM_STRV_LENGTH(names), usable = 0;
    int r = 0;

    dirs.all = calloc(n + 1, sizeof *dirs.all);
    if (!dirs.all)
        return -ENOMEM;
    for (dirs.n = 0; r >= 0 && dirs.n < n; dirs.n++) {
        struct nm_yarn_dir *d = &dirs.all[dirs.n];

        *d = (struct nm_yarn_dir){.name = names[dirs.n], .fd = -EBADF, .was_good = true};
        r = recall(state_dir, d);
        if (r >= 0)
            r = join(&dirs, d);
        usable += d->fd >= 0;
    }
    if (usable == 0 && r >= 0)
        r = refuse_all(dirs.all[0].name, dirs.all[0].why, ret_message);
    if (r < 0) {
        nm_yarn_dirs_done(&dirs);
        return r;
    }
    dirs.is_opening = true;
    nm_yarn_dirs_check(&dirs);
    dirs.is_opening = false;
    *ret = dirs;
    return 0;
}

/* ---- checks ------------------------------------------------------------------------------- */

/* Makes and removes a directory, since some disk failures occur only in writes. */
static int try_to_make(int fd)
{
    if (mkdirat(fd, PROBE, 0700) < 0 && errno != EEXIST)
        return -errno;
    return RET_NERRNO(unlinkat(fd, PROBE, AT_REMOVEDIR));
}

/* Prints a percentage as Java prints a number of type float. */
static const char *format_percent(double percent, char *buf, size_t size)
{
    (void)snprintf(buf, size, (double)(long)percent == percent ? "%.1f" : "%g", percent);
    return buf;
}

/* Returns the reason why the directory is full, or NULL. The limit at which a full directory becomes usable again is
 * stricter than the limit at which it becomes full. With a single limit, the state would change with each file. The
 * texts begin like those of Hadoop, for which administrators may have alerts. */
static const char *full(const struct nm_yarn_dir *d, const struct nm_yarn_settings *s, const struct statvfs *vfs,
                        char *buf, size_t size)
{
    const double used_percent = 100 * (1 - d->free);
    const uint64_t free_mib = vfs->f_bavail * vfs->f_frsize / NM_MIB;
    char total[32], limit[32];
    double most = d->is_full ? NM_MIN(s->low_disk_percent, s->max_disk_percent) : s->max_disk_percent;
    int64_t least = d->is_full ? NM_MAX(s->high_free_disk_mib, s->min_free_disk_mib) : s->min_free_disk_mib;

    (void)nm_format_size(vfs->f_blocks * vfs->f_frsize, total, sizeof total);
    if (s->checks_disks && s->checks_disk_use && (used_percent > most || used_percent >= 100))
        (void)snprintf(buf, size, "used space above threshold of %s%% (%.0f %% of %s are used)",
                       format_percent(most, limit, sizeof limit), used_percent, total);
    else if (s->checks_disks && s->checks_disk_room && free_mib < (uint64_t)least)
        (void)snprintf(buf, size, "free space below limit of %jdMB (%" PRIu64 " MiB of %s are free)", (intmax_t)least,
                       free_mib, total);
    else
        return NULL;
    return buf;
}

/* Returns 1 if the name still leads to the open directory, 0 if it leads elsewhere, or -errno. */
static int has_name(const struct nm_yarn_dir *d)
{
    struct stat named;
    int r = RET_NERRNO(stat(d->name, &named));

    if (r < 0)
        return r == -ENOENT || r == -ENOTDIR ? 0 : r;
    return named.st_dev == d->dev && named.st_ino == d->ino;
}

static bool is_no_room(int r)
{
    return r == -ENOSPC || r == -EDQUOT;
}

/* Checks the open directory. Returns 0 if it is good or full, or -errno and the reason in d->why. */
static int check_open(struct nm_yarn_dir *d, const struct nm_yarn_settings *s)
{
    struct statvfs vfs;
    char text[sizeof d->why];
    const char *why;
    int r = RET_NERRNO(fstatvfs(d->fd, &vfs));

    if (r < 0 || vfs.f_blocks == 0) {
        (void)snprintf(d->why, sizeof d->why, "%s", r < 0 ? strerror(-r) : "its file system can't store files");
        return r < 0 ? r : -ENOTSUP;
    }
    d->free = (double)vfs.f_bavail / (double)vfs.f_blocks;
    d->total_bytes = (uint64_t)vfs.f_blocks * vfs.f_frsize;
    why = full(d, s, &vfs, text, sizeof text);
    d->is_full = why;
    if (vfs.f_flag & ST_RDONLY) {
        (void)snprintf(d->why, sizeof d->why, "its file system is read-only");
        return -EROFS;
    }
    r = s->checks_disks ? try_to_make(d->fd) : 0;
    if (r < 0 && r != -ENOMEM && !(why && is_no_room(r))) { /* if nmd has no memory, the directory may still be good */
        (void)snprintf(d->why, sizeof d->why, "can't write to it: %s", strerror(-r));
        return r;
    }
    if (why)
        (void)snprintf(d->why, sizeof d->why, "%s", why);
    d->lacks_room = why;
    d->is_good = !why;
    return 0;
}

/* Checks the space on the disk that containers can use. The file system's reserve for root counts as used. After an
 * error, closes the directory. A directory without room stays open, so that files are removed from it. */
static void check_disk(const struct nm_yarn_dirs *dirs, struct nm_yarn_dir *d)
{
    int r = check_open(d, dirs->settings);

    if (r < 0 && !is_no_room(r) && !dirs->is_opening)
        d->fd = nm_close(d->fd);
}

/* Closes a directory that was removed or unmounted. Containers have files in the former directory, but access them by
 * path. A lack of memory says nothing about the directory. */
static void check_name(struct nm_yarn_dir *d)
{
    int r = d->fd < 0 || d->ino == 0 ? 1 : has_name(d);

    if (r > 0 || r == -ENOMEM)
        return;
    report_why(r < 0 ? r : -ENOENT, d->why);
    d->fd = nm_close(d->fd);
}

static void check_after(struct nm_yarn_dirs *dirs, uint64_t pause_usec)
{
    const uint64_t now_usec = nm_now_usec();

    if (dirs->checked_usec > 0 && now_usec - dirs->checked_usec < pause_usec)
        return;
    dirs->checked_usec = now_usec;
    dirs->is_suspected = false;
    for (size_t i = 0; i < dirs->n; i++) {
        struct nm_yarn_dir *d = &dirs->all[i];

        d->is_good = d->lacks_room = false;
        check_name(d);
        if (d->fd >= 0 || (join(dirs, d) >= 0 && d->fd >= 0))
            check_disk(dirs, d);
    }
}

/* Checks the directories at intervals only. Otherwise each failing container would cause a check of all disks. */
void nm_yarn_dirs_check(struct nm_yarn_dirs *dirs)
{
    check_after(dirs, dirs->is_suspected ? SUSPECTED_CHECK_USEC : dirs->settings->check_disks_usec);
}

void nm_yarn_dirs_check_again(struct nm_yarn_dirs *dirs)
{
    check_after(dirs, AGAIN_USEC);
}

void nm_yarn_dirs_report(struct nm_yarn_dirs *dirs, void (*report_cb)(const struct nm_yarn_dir *d, void *userdata),
                         void *userdata)
{
    for (size_t i = 0; i < dirs->n; i++) {
        struct nm_yarn_dir *d = &dirs->all[i];

        if (d->is_good == d->was_good)
            continue;
        d->was_good = d->is_good;
        report_cb(d, userdata);
    }
}

/* Chooses the next directory. For each choice, each directory's free share is added to its credit. The directory with
 * the most credit is chosen, and its credit is reduced. So every directory is chosen regularly. A directory is chosen
 * twice in a row only if it has much more free space than the others. */
struct nm_yarn_dir *nm_yarn_dirs_next(struct nm_yarn_dirs *dirs, const char *but)
{
    struct nm_yarn_dir *best = NULL;
    double sum = 0;

    for (size_t i = 0; i < dirs->n; i++) {
        struct nm_yarn_dir *d = &dirs->all[i];

        if (!d->is_good || (but && nm_streq(d->name, but)))
            continue;
        d->credit += d->free;
        sum += d->free;
        if (!best || d->credit > best->credit)
            best = d;
    }
    if (best)
        best->credit -= sum;
    return best;
}

size_t nm_yarn_dirs_count_good(const struct nm_yarn_dirs *dirs)
{
    size_t n = 0;

    for (size_t i = 0; i < dirs->n; i++)
        n += dirs->all[i].is_good;
    return n;
}

const char *nm_yarn_dirs_id(const struct nm_yarn_dir *d)
{
    return d->fd >= 0 ? d->id : "";
}

int nm_yarn_dirs_is_in_place(const struct nm_yarn_dir *d)
{
    if (d->ino == 0)
        return !*d->id;
    return has_name(d);
}

void nm_yarn_dirs_schedule_check(struct nm_yarn_dirs *dirs)
{
    dirs->is_suspected = true;
}
