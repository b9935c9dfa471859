/* SPDX-License-Identifier: Apache-2.0 */

/* See wal-mark.h. The log's format is in https://www.sqlite.org/fileformat2.html#walformat: numbers are big-endian,
 * each frame's checksum continues the previous one, and a frame that ends a transaction has the database's size. */

#include "agent/store/wal-mark.h"

#include <assert.h>
#include <endian.h>
#include <sys/stat.h>

#include "util/error.h"
#include "util/fileio.h"

#define MAGIC 0x377f0682u /* its last bit means that the checksums use big-endian words */
#define HEADER_SIZE 32u
#define FRAME_HEADER_SIZE 24u
#define PAGE_MAX 65536u
#define MARK_MAGIC "nmdmark1"

/* The format on disk; both numbers of a mark are written in one call, and read in one call. */
struct mark {
    char magic[8];
    char boot_id[64];
    uint32_t salt[2];
    uint32_t n, check;
};

/* The checksum detects a mark that was written partly. */
static uint32_t check_of(const struct mark *m)
{
    return m->salt[0] * 31u ^ m->salt[1] * 17u ^ m->n ^ 0x6e6d6421u;
}

static uint32_t be32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof v);
    return be32toh(v);
}

struct sum {
    bool big_endian;
    uint32_t a, b;
};

static void add(struct sum *s, const uint8_t *p, size_t n)
{
    assert(n % 8 == 0);
    for (size_t i = 0; i < n; i += 8) {
        uint32_t x, y;

        memcpy(&x, p + i, 4);
        memcpy(&y, p + i + 4, 4);
        s->a += (s->big_endian ? be32toh(x) : le32toh(x)) + s->b;
        s->b += (s->big_endian ? be32toh(y) : le32toh(y)) + s->a;
    }
}

/* Returns the number of sound frames up to the last one that ends a transaction. */
static uint32_t count_frames(int fd, const uint8_t header[HEADER_SIZE], uint32_t page)
{
    _cleanup_free_ uint8_t *frame = malloc(FRAME_HEADER_SIZE + page);
    struct sum s = {.big_endian = be32(header) & 1};
    uint32_t committed = 0;
    off_t at = HEADER_SIZE;

    add(&s, header, 24);
    if (!frame || s.a != be32(header + 24) || s.b != be32(header + 28))
        return 0;
    for (uint32_t n = 1;; n++, at += (off_t)(FRAME_HEADER_SIZE + page)) {
        if (pread(fd, frame, FRAME_HEADER_SIZE + page, at) != (ssize_t)(FRAME_HEADER_SIZE + page) ||
            memcmp(frame + 8, header + 16, 8) != 0)
            return committed;
        add(&s, frame, 8);
        add(&s, frame + FRAME_HEADER_SIZE, page);
        if (s.a != be32(frame + 16) || s.b != be32(frame + 20))
            return committed;
        if (be32(frame + 4) != 0)
            committed = n;
    }
}

static int read_mark(const char *path, const char *boot_id, struct mark *ret)
{
    _cleanup_close_ int fd = -EBADF;
    char name[512];
    struct mark m;

    if ((size_t)snprintf(name, sizeof name, "%s" NM_WAL_MARK_SUFFIX, path) >= sizeof name)
        return -ENAMETOOLONG;
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (pread(fd, &m, sizeof m, 0) != (ssize_t)sizeof m || memcmp(m.magic, MARK_MAGIC, sizeof m.magic) != 0 ||
        m.check != check_of(&m) || strncmp(m.boot_id, boot_id, sizeof m.boot_id - 1) != 0)
        return -ENOENT;
    *ret = m;
    return 0;
}

/* Returns whether another program has checkpointed the log: the database is then newer than the mark. If the database
 * was removed, too, no change can be rolled back. */
static bool was_checkpointed(const char *path)
{
    struct stat db, mark;
    char name[512];

    (void)snprintf(name, sizeof name, "%s" NM_WAL_MARK_SUFFIX, path);
    if (stat(path, &db) < 0 || stat(name, &mark) < 0)
        return true;
    return db.st_mtim.tv_sec > mark.st_mtim.tv_sec ||
           (db.st_mtim.tv_sec == mark.st_mtim.tv_sec && db.st_mtim.tv_nsec > mark.st_mtim.tv_nsec);
}

int nm_wal_mark_check(const char *path, const char *boot_id, uint32_t *ret_frames, uint32_t *ret_promised)
{
    _cleanup_close_ int fd = -EBADF;
    uint8_t header[HEADER_SIZE];
    uint32_t page, n = 0;
    char name[512];
    struct mark m = {0};
    struct stat st;

    if (read_mark(path, boot_id, &m) < 0 || m.n == 0 ||
        (size_t)snprintf(name, sizeof name, "%s-wal", path) >= sizeof name)
        return 0;
    fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno != ENOENT)
        return 0; /* opening the database will report the reason */
    if ((fd < 0 || (fstat(fd, &st) == 0 && st.st_size == 0)) && was_checkpointed(path))
        return 0;
    if (fd >= 0 && pread(fd, header, sizeof header, 0) == (ssize_t)sizeof header) {
        page = be32(header + 8);
        /* This is the next log in the same file, whose first salt SQLite increments; the mark does not cover it yet. */
        if (be32(header + 16) == m.salt[0] + 1)
            return 0;
        if ((be32(header) & ~1u) == MAGIC && be32(header + 16) == m.salt[0] && be32(header + 20) == m.salt[1] &&
            page >= 512 && page <= PAGE_MAX && page % 8 == 0)
            n = count_frames(fd, header, page);
    }
    if (n >= m.n)
        return 0;
    *ret_frames = n;
    *ret_promised = m.n;
    return -EUCLEAN;
}

static void write_mark(struct nm_wal_mark *k, const char *boot_id, uint32_t n)
{
    struct mark m = {.magic = MARK_MAGIC, .salt = {k->salt[0], k->salt[1]}, .n = n};

    (void)snprintf(m.boot_id, sizeof m.boot_id, "%s", boot_id);
    m.check = check_of(&m);
    if (k->fd >= 0 && pwrite(k->fd, &m, sizeof m, 0) != (ssize_t)sizeof m)
        (void)!ftruncate(k->fd, 0); /* a missing mark is better than a wrong mark */
}

void nm_wal_mark_open(struct nm_wal_mark *k, const char *path, const char *boot_id)
{
    char name[512];

    assert(k->fd < 0);
    if ((size_t)snprintf(name, sizeof name, "%s" NM_WAL_MARK_SUFFIX, path) >= sizeof name)
        return;
    k->fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (asprintf(&k->log_path, "%s-wal", path) < 0)
        k->log_path = NULL;
    write_mark(k, boot_id, 0);
}

/* Rewrites only the bytes after the boot id. */
static void update(struct nm_wal_mark *k, uint32_t n)
{
    struct mark m = {.salt = {k->salt[0], k->salt[1]}, .n = n};
    const size_t from = offsetof(struct mark, salt);

    m.check = check_of(&m);
    if (pwrite(k->fd, (const char *)&m + from, sizeof m - from, (off_t)from) != (ssize_t)(sizeof m - from))
        (void)!ftruncate(k->fd, 0);
}

void nm_wal_mark_put(struct nm_wal_mark *k, uint32_t n)
{
    uint8_t salt[8];

    if (k->fd < 0 || !k->log_path)
        return;
    if (k->log_fd < 0)
        k->log_fd = open(k->log_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (k->log_fd < 0 || pread(k->log_fd, salt, sizeof salt, 16) != (ssize_t)sizeof salt)
        return;
    k->salt[0] = be32(salt);
    k->salt[1] = be32(salt + 4);
    update(k, n);
}

void nm_wal_mark_clear(struct nm_wal_mark *k)
{
    if (k->fd >= 0)
        update(k, 0);
}

void nm_wal_mark_done(struct nm_wal_mark *k)
{
    k->fd = nm_close(k->fd);
    k->log_fd = nm_close(k->log_fd);
    free(STEAL_PTR(k->log_path));
}
