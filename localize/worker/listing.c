/* SPDX-License-Identifier: Apache-2.0 */

/* See install.h. An entry is a letter for the type (d, f, l), a number, the path in the target, and a NUL, which a name
 * can't contain: "f 1234 python.tgz/bin/python". The number is the size of a file, or the ctime of a directory. If the
 * ctime of a directory is unchanged, no file was removed from the directory, so one check of the directory replaces
 * checks of its files. A program that cleans up temporary files can restore other times, but not the ctime. The entry
 * of a directory is followed by the entries of the directory's own files, and then by the next directory. The target's
 * owner can write anything into the list, but the process that reads the list has only the owner's rights. */

#include "localize/worker/install.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/parse.h"

#define CHECKS 64u /* number of checks between two reads of the clock; also the minimum number of checks */
#define CUT_USEC (10 * NM_USEC_PER_MSEC) /* time limit for the sizes of files in unchanged directories */
#define BUFFER_BYTES (64U << 10)

/* ---- making a list ---- */

struct list {
    const struct nm_listing_params *params;
    FILE *file;
    uint64_t bytes;
    bool is_full;
    char path[PATH_MAX]; /* path of the directory that is being listed */
};

static char letter_of(mode_t mode)
{
    return S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : 'f';
}

static uint64_t number_of(const struct stat *st)
{
    const uint64_t nsec_per_sec = UINT64_C(1000000000);

    if (!S_ISDIR(st->st_mode))
        return (uint64_t)st->st_size;
    return (uint64_t)st->st_ctim.tv_sec * nsec_per_sec + (uint64_t)st->st_ctim.tv_nsec;
}

static int put(struct list *l, const struct stat *st)
{
    const uint64_t most_bytes = NM_MIN(l->params->most_bytes, (uint64_t)NM_LISTING_MAX_BYTES);
    char head[32];
    int n = snprintf(head, sizeof head, "%c %" PRIu64 " ", letter_of(st->st_mode), number_of(st));
    const size_t len = strlen(l->path) + 1;

    if (l->bytes + (size_t)n + len > most_bytes) {
        l->is_full = true;
        return 0;
    }
    if (fwrite(head, (size_t)n, 1, l->file) != 1 || fwrite(l->path, len, 1, l->file) != 1)
        return errno > 0 ? -errno : -EIO;
    l->bytes += (size_t)n + len;
    return 0;
}

static int list_dir(struct list *l, int fd);

/* Lists an entry if it is a directory and wants_dir is true, or if it isn't a directory and wants_dir is false. l->path
 * is the directory of the entry before and after the call. */
static int list_entry(struct list *l, int dir_fd, const char *name, bool wants_dir)
{
    const size_t len = strlen(l->path), name_len = strlen(name);
    struct stat st;
    int r;

    /* the path of this entry would be too long to be opened later */
    if (len + 1 + name_len + 1 > sizeof l->path)
        return 0;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode) != wants_dir)
        return 0;
    if (len > 0)
        l->path[len] = '/';
    memcpy(l->path + len + (len > 0), name, name_len + 1);
    r = put(l, &st);
    if (r >= 0 && S_ISDIR(st.st_mode)) {
        int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        r = fd < 0 ? -errno : list_dir(l, fd);
    }
    l->path[len] = '\0';
    return r;
}

static int list_some(struct list *l, DIR *d, bool wants_dirs)
{
    int r = 0;

    for (struct dirent *e; r >= 0 && !l->is_full && (errno = 0, e = readdir(d));)
        if (!nm_streq(e->d_name, ".") && !nm_streq(e->d_name, "..") &&
            (e->d_type == DT_UNKNOWN || (e->d_type == DT_DIR) == wants_dirs))
            r = list_entry(l, dirfd(d), e->d_name, wants_dirs);
    return r < 0 || l->is_full ? r : -errno;
}

/* Lists a directory. Takes ownership of fd. The depth is limited, because it was limited when the directory was
 * created. */
static int list_dir(struct list *l, int fd)
{
    _cleanup_closedir_ DIR *d = NULL;
    int r = nm_fdopendir(fd, &d);

    if (r < 0)
        return r;
    l->params->progress(l->params->userdata);
    r = list_some(l, d, false);
    rewinddir(d);
    return r < 0 || l->is_full ? r : list_some(l, d, true);
}

/* Creates the list's file. The file's sticky bit makes systemd-tmpfiles preserve the file, because the list must
 * outlive the files that it lists. */
static int make_file(int dir_fd, FILE **ret)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    _cleanup_close_ int fd = openat(dir_fd, NM_LISTING_NAME, flags, S_IRUSR);
    FILE *file;

    if (fd < 0)
        return -errno;
    (void)fchmod(fd, S_IRUSR | S_ISVTX);
    file = fdopen(fd, "w");
    if (!file)
        return -errno;
    (void)STEAL_FD(fd);
    *ret = file;
    return 0;
}

int nm_listing_make(int dir_fd, const char *name, const struct nm_listing_params *p)
{
    _cleanup_fclose_ FILE *file = NULL;
    struct list l = {.params = p};
    struct stat st;
    int r;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode) || nm_streq(name, NM_LISTING_NAME))
        return 0;
    r = make_file(dir_fd, &file);
    if (r < 0)
        return r;
    l.file = file;
    r = list_entry(&l, dir_fd, name, true);
    if (r >= 0 && fflush(file) != 0)
        r = -errno;
    return r < 0 ? r : NM_LISTING_E_MADE;
}

/* ---- checking a list ---- */

struct list_check {
    int dir_fd;
    FILE *file;
    char *entry;  /* the buffer of getdelim() */
    char *parent; /* directory of the last entry; NULL: no entry has been read yet */
    int parent_fd;
    bool parent_is_same, spares_same; /* the parent is unchanged; files in unchanged directories are skipped */
    size_t room;
    uint64_t n, deadline_usec;
};

static bool is_gone(int r)
{
    return r == -ENOENT || r == -ENOTDIR || r == -ELOOP;
}

static int broken(const char *path, const char *what, char **ret_message)
{
    (void)nm_fail(ret_message, -ESTALE, "%.1000s %s", path, what);
    return NM_LISTING_E_BROKEN;
}

/* Opens an entry's directory. Keeps the directory open for the next entry, which is usually in the same directory. This
 * halves the time of a check. */
static int open_parent(struct list_check *l, const char *parent)
{
    if (l->parent && nm_streq(l->parent, parent))
        return l->parent_fd;
    free(l->parent);
    l->parent_is_same = false;
    l->parent_fd = nm_close(l->parent_fd);
    l->parent = strdup(parent);
    if (!l->parent)
        return l->parent_fd = -ENOMEM;
    return l->parent_fd = RET_NERRNO(openat(l->dir_fd, parent, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* Checks a directory. A directory that can't be examined counts as unchanged. */
static int check_dir(struct list_check *l, const char *path, uint64_t changed_nsec, char **ret_message)
{
    int fd = open_parent(l, path);
    struct stat st;

    if (fd < 0)
        return is_gone(fd) ? broken(path, "was removed", ret_message) : 0;
    l->parent_is_same = fstat(fd, &st) == 0 && number_of(&st) == changed_nsec;
    return 0;
}

static int check_file(struct list_check *l, char *path, uint64_t size, char **ret_message)
{
    char *slash = strrchr(path, '/');
    struct stat st;
    int r;

    if (!slash)
        return 0; /* a resource that is a file has no list */
    *slash = '\0';
    r = open_parent(l, path);
    *slash = '/';
    if (r >= 0 && l->parent_is_same && l->spares_same)
        return 0;
    if (r >= 0)
        r = RET_NERRNO(fstatat(r, slash + 1, &st, AT_SYMLINK_NOFOLLOW));
    if (r < 0)
        return is_gone(r) ? broken(path, "was removed", ret_message) : 0;
    if (letter_of(st.st_mode) != l->entry[0])
        return broken(path, "was replaced", ret_message);
    return S_ISREG(st.st_mode) && (uint64_t)st.st_size < size ? broken(path, "was truncated", ret_message) : 0;
}

/* Checks one entry. Skips an entry that can't be parsed. */
static int check_entry(struct list_check *l, char **ret_message)
{
    const char *number_text = l->entry + 2;
    char *path = l->entry[0] && l->entry[1] == ' ' ? strchr(number_text, ' ') : NULL;
    uint64_t number;

    if (!path)
        return 0;
    *path++ = '\0';
    if (nm_parse_u64(number_text, &number) < 0)
        return 0;
    return l->entry[0] == 'd' ? check_dir(l, path, number, ret_message)
                              : check_file(l, path, number, ret_message);
}

enum { CHECK_E_LATE = 100 };

/* Checks entries up to the end of the list, or up to the first entry that begins after `end`. */
static int check_until(struct list_check *l, off_t end, char **ret_message)
{
    for (off_t at = ftello(l->file); at < end;) {
        ssize_t n = getdelim(&l->entry, &l->room, '\0', l->file);
        int r;

        if (n <= 0)
            return 0;
        at += n;
        r = check_entry(l, ret_message);
        if (r != 0)
            return r;
        if (++l->n % CHECKS == 0 && nm_now_usec() >= l->deadline_usec)
            return CHECK_E_LATE;
    }
    return 0;
}

/* Checks the list from an arbitrary position to its end, and then from its beginning to this position. If the time is
 * too short for the whole list, different checks therefore cover different parts. */
static int check_from_random_entry(struct list_check *l, off_t size, char **ret_message)
{
    off_t begin = size > 0 ? (off_t)(nm_now_usec() % (uint64_t)size) : 0;
    int r;

    if (fseeko(l->file, 0, SEEK_SET) < 0)
        return -errno;
    if (begin > 0 && (fseeko(l->file, begin, SEEK_SET) < 0 || getdelim(&l->entry, &l->room, '\0', l->file) < 0))
        return -EIO;
    begin = ftello(l->file);
    r = check_until(l, size, ret_message);
    if (r != 0 || begin == 0)
        return r;
    if (fseeko(l->file, 0, SEEK_SET) < 0)
        return -errno;
    return check_until(l, begin, ret_message);
}

static int open_list(int dir_fd, FILE **ret, off_t *ret_size)
{
    _cleanup_close_ int fd = openat(dir_fd, NM_LISTING_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    FILE *file;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -ENOENT;
    file = fdopen(fd, "r");
    if (!file)
        return -errno;
    (void)STEAL_FD(fd);
    (void)setvbuf(file, NULL, _IOFBF, BUFFER_BYTES);
    *ret = file;
    *ret_size = st.st_size;
    return 0;
}

/* Checks a target. A missing list counts as broken: a program that has removed the list may have removed more files. */
int nm_listing_check(const char *target, uint64_t deadline_usec, char **ret_message)
{
    _cleanup_close_ int dir_fd = RET_NERRNO(open(target, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    _cleanup_fclose_ FILE *file = NULL;
    struct list_check l = {.dir_fd = dir_fd, .parent_fd = -EBADF, .deadline_usec = deadline_usec};
    off_t size = 0;
    int r = dir_fd < 0 ? dir_fd : open_list(dir_fd, &file, &size);

    if (is_gone(r))
        return broken(target, "has no list of its files any more", ret_message);
    if (r < 0)
        return r;
    l.file = file;
    l.spares_same = true;
    r = check_from_random_entry(&l, size, ret_message);
    l.spares_same = false;
    l.deadline_usec = NM_MIN(deadline_usec, nm_now_usec() + CUT_USEC);
    if (r == 0)
        r = check_from_random_entry(&l, size, ret_message);
    (void)nm_close(l.parent_fd);
    free(l.parent);
    free(l.entry);
    return r == CHECK_E_LATE ? 0 : r;
}
