/* SPDX-License-Identifier: Apache-2.0 */

/* See remove-tree.h. Each level of the walk holds a descriptor. Directories deeper than MAX_DEPTH are
 * moved up to the top, where the walk finds them again. A tree of any depth is thus removed with a limited number of
 * descriptors. */

#include "localize/worker/remove-tree.h"

#include <assert.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/macros.h"

#define MAX_DEPTH 32

struct walk {
    int top_fd;     /* the root directory of the tree */
    dev_t device;   /* device of the tree */
    uint64_t moved; /* number of entries that were already moved up to the top */
    void (*progress)(void *userdata);
    void *userdata;
};

/* Removes one entry. For a directory, unlink() fails with EISDIR on Linux or EPERM on file systems that follow POSIX
 * strictly. */
static int remove_in(struct walk *w, int dir_fd, const char *name, unsigned depth);

/* Opens a directory and gives its owner full rights if they are missing. A caller that may change the mode is the
 * owner. */
static int open_dir(int dir_fd, const char *name, dev_t *ret_device)
{
    _cleanup_close_ int fd = -EBADF;
    struct stat st;

    fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && fchmodat(dir_fd, name, 0700, 0) == 0)
        fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    /* entries can be removed only with write and search permission; if chmod fails, the later unlink reports the
     * error */
    if ((st.st_mode & 0700) != 0700)
        (void)fchmod(fd, 0700);
    *ret_device = st.st_dev;
    return STEAL_FD(fd);
}

/* Removes everything in the directory fd, and takes ownership of fd. */
static int empty_dir(struct walk *w, int fd, unsigned depth)
{
    _cleanup_closedir_ DIR *d = NULL;
    int result = 0, r = nm_fdopendir(fd, &d);

    if (r < 0)
        return r;
    for (struct dirent *e; (errno = 0, e = readdir(d));) {
        if (nm_streq(e->d_name, ".") || nm_streq(e->d_name, ".."))
            continue;
        r = remove_in(w, dirfd(d), e->d_name, depth);
        if (r < 0)
            result = r;
    }
    return errno > 0 && result == 0 ? -errno : result;
}

static int move_up(struct walk *w, int dir_fd, const char *name)
{
    char to[64];

    (void)snprintf(to, sizeof to, ".nmd-deep-%" PRIu64, w->moved++);
    return RET_NERRNO(renameat(dir_fd, name, w->top_fd, to));
}

static int remove_in(struct walk *w, int dir_fd, const char *name, unsigned depth)
{
    dev_t device;
    int fd, r;

    if (w->progress)
        w->progress(w->userdata);
    if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
        return 0;
    fd = open_dir(dir_fd, name, &device);
    if (fd < 0)
        return fd;
    if (device != w->device) {
        (void)nm_close(fd);
        return -EXDEV;
    }
    if (depth >= MAX_DEPTH) {
        (void)nm_close(fd);
        return move_up(w, dir_fd, name);
    }
    r = empty_dir(w, fd, depth + 1);
    return r < 0 ? r : RET_NERRNO(unlinkat(dir_fd, name, AT_REMOVEDIR));
}

int nm_remove_tree_with_progress(int dir_fd, const char *name, void (*progress)(void *userdata), void *userdata)
{
    struct walk w = {.progress = progress, .userdata = userdata};
    _cleanup_close_ int top = -EBADF;
    int r;

    assert(name[0] && !strchr(name, '/'));
    if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    /* EACCES: a user who can't remove the tree's root from its parent may still own it, so empty it */
    if (errno != EISDIR && errno != EPERM && errno != EACCES)
        return -errno;
    top = open_dir(dir_fd, name, &w.device);
    if (top < 0)
        return top;
    w.top_fd = top;
    /* repeat, because a round may have moved entries up to the top */
    do {
        uint64_t before = w.moved;
        int fd = RET_NERRNO(openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

        r = fd < 0 ? fd : empty_dir(&w, fd, 1);
        if (r >= 0 && w.moved == before)
            return RET_NERRNO(unlinkat(dir_fd, name, AT_REMOVEDIR));
    } while (r >= 0);
    return r;
}

int nm_remove_tree_at(int dir_fd, const char *name)
{
    return nm_remove_tree_with_progress(dir_fd, name, NULL, NULL);
}
