/* SPDX-License-Identifier: Apache-2.0 */

/* See output-read.h. */

#include "agent/launch/output-read.h"

#include <assert.h>
#include <sys/stat.h>

#include "util/error.h"
#include "util/fileio.h"

#define SHORTEN_MAX (64U << 10) /* limit, because the remaining bytes are copied through memory */

/* Maximum number of directory entries to read. nmd creates the log directories as root with mode 0700, and starts no
 * container whose directory has another owner or mode (nm_check_private_dir()). The shim creates only a few files in
 * them, and the command can't access them. If a process of root has created many files in a directory, an older file
 * may not be found, but the search is short. */
#define ENTRIES_MAX 256

/* The files of one stream in a directory. */
struct found {
    bool has_newest, has_older;
    uint64_t older; /* the largest BASE; after a crash, there may be a file with a smaller BASE */
};

static void note_older(const char *stream, const char *name, struct found *f)
{
    uint64_t base;

    if (!nm_output_parse_older(stream, name, &base))
        return;
    f->older = f->has_older ? NM_MAX(f->older, base) : base;
    f->has_older = true;
}

static int find_files(int dir_fd, const char *stream, struct found *ret)
{
    _cleanup_closedir_ DIR *dir = NULL;
    const struct dirent *de;
    struct found f = {0};
    int r = nm_opendir_at(dir_fd, &dir);

    if (r < 0)
        return r;
    f.has_newest = faccessat(dir_fd, stream, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    for (unsigned n = 0; n < ENTRIES_MAX && (de = readdir(dir)); n++)
        note_older(stream, de->d_name, &f);
    *ret = f;
    return 0;
}

int nm_output_find_older(int dir_fd, const char *stream, bool *ret_has, uint64_t *ret_base)
{
    struct found f;
    int r = find_files(dir_fd, stream, &f);

    if (r < 0)
        return r;
    *ret_has = f.has_older;
    *ret_base = f.older;
    return 0;
}

static int open_plain(int dir_fd, const char *name, int flags, struct stat *ret_st)
{
    _cleanup_close_ int fd = nm_open_beneath(dir_fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return fd;
    if (fstat(fd, ret_st) < 0)
        return -errno;
    if (!S_ISREG(ret_st->st_mode))
        return -EBADMSG;
    return STEAL_FD(fd);
}

/* Returns the length of the head, up to the first newline. Returns 0 if there is no newline: then the head was not
 * written. */
static uint64_t head_length(int fd)
{
    char text[NM_OUTPUT_HEAD_MAX];
    ssize_t n = pread(fd, text, sizeof text, 0);
    const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;

    return end ? (uint64_t)(end - text) + 1 : 0;
}

static int open_older(int dir_fd, const char *stream, uint64_t base, struct nm_output_piece *ret, struct stat *ret_st)
{
    char name[NM_OUTPUT_NAME_SIZE];
    int fd;

    nm_output_older_name(stream, base, name);
    fd = open_plain(dir_fd, name, O_RDONLY, ret_st);
    if (fd < 0)
        return fd;
    *ret = (struct nm_output_piece){.fd = fd, .base = base, .head = base > 0 ? head_length(fd) : 0};
    return 0;
}

static uint64_t end_of(const struct nm_output_piece *p, const struct stat *st)
{
    return p->base + (uint64_t)st->st_size - NM_MIN(p->head, (uint64_t)st->st_size);
}

/* Chooses the file that has the byte `from`, and closes the other file. If both names refer to the same file, the shim
 * is just replacing the newest file. */
static struct nm_output_piece choose(struct nm_output_piece *older, const struct stat *older_st, int newest_fd,
                                     const struct stat *newest_st, uint64_t from)
{
    uint64_t end = end_of(older, older_st);
    bool same = older_st->st_ino == newest_st->st_ino && older_st->st_dev == newest_st->st_dev;

    if (same || from < end) {
        older->newest = same;
        (void)nm_close(newest_fd);
        return *older;
    }
    (void)nm_close(older->fd);
    return (struct nm_output_piece){
        .fd = newest_fd, .base = end, .head = end > 0 ? head_length(newest_fd) : 0, .newest = true};
}

int nm_output_piece_open(int dir_fd, const char *stream, uint64_t from, struct nm_output_piece *ret)
{
    struct nm_output_piece older = {.fd = -EBADF};
    struct stat st, older_st;
    struct found f;
    int newest, r = find_files(dir_fd, stream, &f);

    assert(dir_fd >= 0);
    if (r >= 0 && f.has_older)
        r = open_older(dir_fd, stream, f.older, &older, &older_st);
    if (r < 0)
        return r;
    newest = open_plain(dir_fd, stream, O_RDONLY, &st);
    if (newest == -ENOENT && f.has_older) {
        older.newest = true;
        *ret = older;
        return 0;
    }
    if (newest < 0) {
        (void)nm_close(older.fd);
        return newest;
    }
    *ret = f.has_older ? choose(&older, &older_st, newest, &st, from)
                       : (struct nm_output_piece){.fd = newest, .newest = true};
    return 0;
}

/* Checks the file's owner: if hard links are not restricted (fs.protected_hardlinks), any user can create a hard link
 * to another user's file with this name. */
int nm_output_own_open(int dir_fd, const char *stream, uid_t uid, struct nm_output_piece *ret)
{
    struct stat st;
    int fd = open_plain(dir_fd, stream, O_RDONLY, &st);

    if (fd < 0)
        return fd;
    if (st.st_uid != uid) {
        (void)nm_close(fd);
        return -EPERM;
    }
    *ret = (struct nm_output_piece){.fd = fd, .newest = true};
    return 0;
}

int nm_output_times_open(int dir_fd, const char *stream, int *ret_fd)
{
    char name[NM_OUTPUT_TIMES_NAME_SIZE];
    struct stat st;
    int fd;

    nm_output_times_name(stream, name);
    fd = open_plain(dir_fd, name, O_RDONLY, &st);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

static uint64_t disk_bytes(int dir_fd, const char *name)
{
    struct stat st;

    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)
               ? (uint64_t)st.st_blocks * 512
               : 0;
}

static uint64_t stream_disk_bytes(int dir_fd, const char *stream, const struct found *f)
{
    char name[NM_OUTPUT_NAME_SIZE], times[NM_OUTPUT_TIMES_NAME_SIZE];

    nm_output_times_name(stream, times);
    nm_output_older_name(stream, f->older, name);
    return disk_bytes(dir_fd, times) + disk_bytes(dir_fd, stream) + (f->has_older ? disk_bytes(dir_fd, name) : 0);
}

/* Reads the directory once for all streams, because this function is called at the end of each container. */
uint64_t nm_output_disk_bytes(int dir_fd)
{
    _cleanup_closedir_ DIR *dir = NULL;
    struct found f[NM_OUTPUT_N_STREAMS] = {0};
    const struct dirent *de;
    uint64_t sum = 0;

    if (nm_opendir_at(dir_fd, &dir) < 0)
        return 0;
    for (unsigned n = 0; n < ENTRIES_MAX && (de = readdir(dir)); n++)
        for (int i = 0; i < NM_OUTPUT_N_STREAMS; i++)
            note_older(nm_output_streams[i], de->d_name, &f[i]);
    for (int i = 0; i < NM_OUTPUT_N_STREAMS; i++)
        sum += stream_disk_bytes(dir_fd, nm_output_streams[i], &f[i]);
    return sum;
}

/* Reads the last `n` bytes of output in a file, or all bytes of output if there are fewer. */
static ssize_t read_end(int fd, uint64_t head, char *buf, uint64_t n)
{
    struct stat st;
    uint64_t size;

    if (fstat(fd, &st) < 0)
        return -errno;
    size = (uint64_t)st.st_size - NM_MIN(head, (uint64_t)st.st_size);
    n = NM_MIN(n, size);
    return RET_NERRNO(pread(fd, buf, n, st.st_size - (off_t)n));
}

/* Overwrites the beginning of the file, whose blocks exist already, and then cuts the rest off. If the write fails, the
 * rest of the file still has the newest output. */
static int overwrite(int fd, const char *text, size_t n)
{
    int r = nm_pwrite_all(fd, text, n, 0);

    return r < 0 ? r : RET_NERRNO(ftruncate(fd, (off_t)n));
}

/* Replaces the file with a new one, so that a failed write loses no output. If there is no disk space for a new file,
 * overwrites the file itself. */
static int rewrite(int dir_fd, const char *name, int fd, const char *text, size_t n)
{
    int r = nm_write_bytes_atomic_at(dir_fd, name, text, n, 0600);

    if (r == -ENOSPC || r == -EDQUOT)
        return overwrite(fd, text, n);
    if (r >= 0)
        (void)!ftruncate(fd, 0); /* frees the space even if a slow reader has the old file open */
    return r;
}

/* Reads the last `keep` bytes of output of both files into a buffer of twice this size. */
static ssize_t read_last(int first, uint64_t head, int newest, char *buf, uint64_t keep)
{
    ssize_t n = newest < 0 ? 0 : read_end(newest, head_length(newest), buf + keep, keep), k;

    if (n < 0)
        return n;
    k = read_end(first, head, buf, keep - (uint64_t)n);
    if (k < 0)
        return k;
    memmove(buf + k, buf + keep, (size_t)n);
    return k + n;
}

/* Writes the last `keep` bytes of output to the older of the existing files, removes the other file, and renames the
 * older file: BASE is the number of removed bytes. After an error, the files still have at least the newest of these
 * bytes. */
static int shorten_files(int dir_fd, const char *stream, const struct found *f, uint64_t keep)
{
    _cleanup_close_ int first = -EBADF, newest = -EBADF;
    _cleanup_free_ char *text = malloc(NM_OUTPUT_HEAD_MAX + 2 * keep);
    char name[NM_OUTPUT_NAME_SIZE], new_name[NM_OUTPUT_NAME_SIZE];
    uint64_t head, end;
    struct stat st;
    size_t len;
    ssize_t n;
    int r;

    if (!text)
        return -ENOMEM;
    (void)snprintf(name, sizeof name, "%s", stream);
    if (f->has_older)
        nm_output_older_name(stream, f->older, name);
    first = open_plain(dir_fd, name, O_RDWR, &st);
    if (first < 0)
        return first;
    head = f->older > 0 ? head_length(first) : 0;
    end = f->older + (uint64_t)st.st_size - head;
    if (f->has_older && f->has_newest) {
        newest = open_plain(dir_fd, stream, O_RDONLY, &st);
        if (newest < 0)
            return newest;
        end += (uint64_t)st.st_size - head_length(newest);
    }
    if (end - f->older <= keep)
        return 0;
    n = read_last(first, head, newest, text + NM_OUTPUT_HEAD_MAX, keep);
    if (n < 0)
        return (int)n;
    len = nm_output_print_head(end - (uint64_t)n, "the log was shortened after the container's end, because space was "
                                                  "short", text);
    memmove(text + len, text + NM_OUTPUT_HEAD_MAX, (size_t)n);
    r = rewrite(dir_fd, name, first, text, len + (size_t)n);
    if (r < 0)
        return r;
    if (newest >= 0 && unlinkat(dir_fd, stream, 0) < 0)
        return -errno;
    nm_output_older_name(stream, end - (uint64_t)n, new_name);
    return RET_NERRNO(renameat(dir_fd, name, dir_fd, new_name));
}

static int shorten(int dir_fd, const char *stream, uint64_t keep)
{
    struct found f;
    int r = find_files(dir_fd, stream, &f);

    assert(keep <= SHORTEN_MAX);
    if (r < 0 || (!f.has_newest && !f.has_older))
        return r;
    return shorten_files(dir_fd, stream, &f, keep);
}

int64_t nm_output_shorten(int dir_fd, uint64_t keep)
{
    uint64_t before = nm_output_disk_bytes(dir_fd), after;
    int r = 0;

    assert(dir_fd >= 0);
    for (int i = 0; i < NM_OUTPUT_N_STREAMS; i++) {
        int k = shorten(dir_fd, nm_output_streams[i], NM_MIN(keep, (uint64_t)SHORTEN_MAX));

        if (k < 0)
            r = k;
        nm_output_times_shorten(dir_fd, nm_output_streams[i]);
    }
    after = nm_output_disk_bytes(dir_fd);
    return r < 0 ? r : (int64_t)(before - NM_MIN(before, after));
}
