/* SPDX-License-Identifier: Apache-2.0 */

/* See log-reader.h. */

#include "rpc/local/log-reader.h"

#include <assert.h>
#include <sys/stat.h>

#include "util/macros.h"

/* ---- the last lines ----------------------------------------------------------------------- */

#define BLOCK 32768

/* Reads blocks backwards from the end and counts newlines. */
off_t nm_tail_offset(int fd, off_t begin, off_t end, bool followed, uint64_t *lines)
{
    off_t floor = end - begin > NM_TAIL_MAX_BYTES ? end - (off_t)NM_TAIL_MAX_BYTES : begin, at = end;
    char buf[BLOCK];

    assert(begin >= 0 && begin <= end);
    if (*lines == 0)
        return end;
    while (at > floor) {
        off_t from = NM_MAX(floor, at - BLOCK);
        ssize_t got = pread(fd, buf, (size_t)(at - from), from);
        /* the file was truncated meanwhile, so its content is no longer the tail */
        if (got != at - from)
            return end;
        for (ssize_t i = got - 1; i >= 0; i--) {
            /* A newline at the end of the file ends the last line; no line begins after it. */
            if (buf[i] == '\n' && (followed || from + i + 1 < end) && --*lines == 0)
                return from + i + 1;
        }
        at = from;
    }
    if (floor > begin) /* the search limit was reached */
        *lines = 0;
    return floor;
}

/* ---- the reader --------------------------------------------------------------------------- */

void nm_log_reader_init(struct nm_log_reader *r, struct nm_manager *m, const struct nm_caller *who, const char *id,
                        const char *stream)
{
    assert(strlen(id) < sizeof r->container_id && strlen(stream) < sizeof r->stream);
    *r = (struct nm_log_reader){.manager = m, .caller = *who, .tail = UINT64_MAX, .until = UINT64_MAX,
                                .piece.fd = -EBADF};
    strcpy(r->container_id, id);
    strcpy(r->stream, stream);
}

static int open_piece(struct nm_log_reader *r, uint64_t from, struct nm_output_piece *ret,
                      struct nm_problem *ret_problem)
{
    return nm_manager_open_log(r->manager, &r->caller, r->container_id, r->stream, from, ret, ret_problem);
}

/* Switches to the piece. Shows the head of the piece only if bytes before the piece were cut. */
static void take(struct nm_log_reader *r, const struct nm_output_piece *p, uint64_t from)
{
    (void)nm_close(r->piece.fd);
    r->piece = *p;
    r->is_open = true;
    r->next = from < p->base ? 0 : p->head + (from - p->base);
}

static uint64_t size_of(const struct nm_output_piece *p)
{
    struct stat st;

    return fstat(p->fd, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

/* Opens the file in which the newest lines begin. This is the newest file or the file before it. */
static int open_tail(struct nm_log_reader *r, struct nm_problem *ret_problem)
{
    struct nm_output_piece p, older;
    uint64_t size, lines = r->tail;
    off_t begin;
    int k = open_piece(r, UINT64_MAX, &p, ret_problem);

    if (k != 0)
        return k;
    size = size_of(&p);
    begin = nm_tail_offset(p.fd, (off_t)NM_MIN(p.head, size), (off_t)size, false, &lines);
    take(r, &p, p.base);
    r->next = (uint64_t)begin;
    if (lines == 0 || p.base == 0 || (uint64_t)begin > p.head)
        return 0;
    k = open_piece(r, p.base - 1, &older, ret_problem);
    if (k != 0)
        return k;
    size = size_of(&older);
    if (older.newest || older.base >= p.base) { /* the older piece was cut and no longer exists */
        (void)nm_close(older.fd);
        return 0;
    }
    begin = nm_tail_offset(older.fd, (off_t)NM_MIN(older.head, size), (off_t)size, true, &lines);
    take(r, &older, older.base);
    r->next = (uint64_t)begin;
    return 0;
}

int nm_log_reader_open(struct nm_log_reader *r, struct nm_problem *ret_problem)
{
    struct nm_output_piece p;
    int k;

    if (r->tail != UINT64_MAX)
        k = open_tail(r, ret_problem);
    else {
        k = open_piece(r, r->from, &p, ret_problem);
        if (k == 0)
            take(r, &p, r->from);
        if (k == 0)
            r->next = NM_MIN(r->next, NM_MAX(size_of(&r->piece), r->piece.head));
    }
    return k == -ENOENT ? 0 : k;
}

/* Converts the position in the file to a position in the output. */
uint64_t nm_log_reader_position(const struct nm_log_reader *r)
{
    return r->piece.base + r->next - NM_MIN(r->piece.head, r->next);
}

int nm_log_reader_stop_at_end(struct nm_log_reader *r, uint64_t *ret_size, bool *ret_whole,
                              struct nm_problem *ret_problem)
{
    struct nm_output_piece p = {.fd = -EBADF};
    uint64_t size;
    int k = r->is_open ? open_piece(r, UINT64_MAX, &p, ret_problem) : -ENOENT;

    if (k != 0 && k != -ENOENT)
        return k;
    r->until = *ret_size = 0;
    *ret_whole = p.base == 0;
    if (k == -ENOENT)
        return 0;
    size = size_of(&p);
    (void)nm_close(p.fd);
    r->until = p.base + size - NM_MIN(p.head, size);
    *ret_size = r->until - NM_MIN(r->until, nm_log_reader_position(r)) +
                (r->piece.head - NM_MIN(r->piece.head, r->next));
    return 0;
}

/* Switches to the next output file at the end of the current file. Returns whether more output can be read, or
 * -errno. */
static int move_on(struct nm_log_reader *r)
{
    uint64_t at = nm_log_reader_position(r);
    struct nm_output_piece p;
    struct nm_problem problem;
    struct stat a, b;
    int k;

    if (r->next == 0 && r->piece.base > 0) /* the head of the piece hasn't been written yet */
        return false;
    k = open_piece(r, at, &p, &problem);
    if (k != 0) /* -ENOENT: the file or the container was removed; a positive value: more output exists but can't be
                   opened */
        return k < 0 && k != -ENOENT ? k : false;
    if (fstat(p.fd, &a) < 0 || fstat(r->piece.fd, &b) < 0 ||
        (a.st_ino == b.st_ino && a.st_dev == b.st_dev && p.base == r->piece.base)) {
        bool was_cut = size_of(&r->piece) < r->next; /* another process truncated the file: start at its beginning */

        (void)nm_close(p.fd);
        if (was_cut)
            r->next = 0;
        return was_cut;
    }
    take(r, &p, at);
    return true;
}

ssize_t nm_log_reader_read(struct nm_log_reader *r, char *buf, size_t max, bool *ret_moved)
{
    struct nm_problem problem;
    ssize_t n;
    int k = 0;

    *ret_moved = false;
    if (!r->is_open) {
        if (nm_log_reader_open(r, &problem) != 0)
            return -EIO;
        if (!r->is_open)
            return 0;
        *ret_moved = true;
    }
    if (nm_log_reader_position(r) >= r->until)
        return 0;
    if (r->next >= r->piece.head)
        max = (size_t)NM_MIN((uint64_t)max, r->until - nm_log_reader_position(r));
    else
        max = (size_t)NM_MIN((uint64_t)max, r->piece.head - r->next);
    while ((n = RET_NERRNO(pread(r->piece.fd, buf, max, (off_t)r->next))) == 0 && (k = move_on(r)) > 0)
        *ret_moved = true;
    if (n > 0)
        r->next += (uint64_t)n;
    return n == 0 && k < 0 ? k : n;
}

bool nm_log_reader_is_empty(const struct nm_log_reader *r)
{
    return !r->is_open || size_of(&r->piece) == 0;
}

uint64_t nm_log_reader_begin_of(const struct nm_log_reader *r, size_t n)
{
    uint64_t at = r->next - NM_MIN(r->next, (uint64_t)n);

    return r->piece.base + at - NM_MIN(r->piece.head, at);
}

void nm_log_reader_done(struct nm_log_reader *r)
{
    r->piece.fd = nm_close(r->piece.fd);
    r->is_open = false;
}
