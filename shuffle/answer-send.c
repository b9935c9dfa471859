/* SPDX-License-Identifier: Apache-2.0 */

/* See answer-send.h. */

#include "shuffle/answer-send.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "shuffle/answer-pay.h"
#include "shuffle/answer-plan.h"
#include "util/clock.h"
#include "util/error.h"

/* The default of ShuffleHandler, which reducers expect. */
#define KEEP_ALIVE_SEC 5
/* Bytes of a file that are paid and sent at once. */
#define PIECE_BYTES (UINT64_C(1) << 20)
/* The server ends the connection of a client that reads more slowly than this on average, or that reads nothing for
 * GRACE_USEC, since other clients need its slot. */
#define SLOWEST_BYTES_PER_SEC 16384u
#define GRACE_USEC (60 * NM_USEC_PER_SEC)
/* A shorter part is not worth the calls, and the kernel's readahead reads the parts of other reducers with it. */
#define DROPPED_BYTES_MIN (128u << 10)
/* Room for a row of heads: each has a name of up to 128 bytes, and four numbers of up to 9 bytes. */
#define ROW_BYTES_MAX (NM_SHUFFLE_HEADS_AT_ONCE * 164u + 9u)

/* ---- collected bytes ---------------------------------------------------------------------- */

/* The socket does not block. Waits until the reducer has read a part of the bytes before. */
static int wait_for_reducer(struct nm_shuffle_answer *a)
{
    const uint64_t end_usec = NM_MIN(a->deadline_usec, a->stalled_usec);

    if (nm_now_usec() > end_usec)
        return -ETIMEDOUT;
    a->wait = (struct nm_shuffle_wait){POLLOUT, end_usec};
    return NM_SHUFFLE_E_WAIT;
}

static void note_sent(struct nm_shuffle_answer *a)
{
    a->stalled_usec = nm_now_usec() + GRACE_USEC;
}

void nm_shuffle_out_put(struct nm_shuffle_answer *a, const void *data, size_t size)
{
    assert(size <= sizeof a->out - a->out_size);
    memcpy(a->out + a->out_size, data, size);
    a->out_size += size;
}

int nm_shuffle_out_flush(struct nm_shuffle_answer *a, bool more)
{
    while (a->out_sent < a->out_size) {
        ssize_t n = send(a->fd, a->out + a->out_sent, a->out_size - a->out_sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0));

        if (n >= 0) {
            a->out_sent += (size_t)n;
            note_sent(a);
        } else if (errno == EAGAIN)
            return wait_for_reducer(a);
        else if (errno != EINTR)
            return -errno;
    }
    a->out_sent = a->out_size = 0;
    return 0;
}

static int make_room(struct nm_shuffle_answer *a, size_t size)
{
    return size > sizeof a->out - a->out_size ? nm_shuffle_out_flush(a, true) : 0;
}

/* ---- the steps ---------------------------------------------------------------------------- */

int nm_shuffle_send_begin(struct nm_shuffle_answer *a)
{
    char text[512], lasting[64];
    int n;

    snprintf(lasting, sizeof lasting, "keep-alive\r\nKeep-Alive: timeout=%d", KEEP_ALIVE_SEC);
    n = snprintf(text, sizeof text,
                 "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\nConnection: %s\r\nReplyHash: %s\r\nname: mapreduce\r\n"
                 "version: 1.0.0\r\n\r\n",
                 (unsigned long long)a->plan.length_bytes, a->request.keep_alive ? lasting : "close", a->reply_hash);
    nm_shuffle_out_put(a, text, (size_t)n);
    a->deadline_usec =
        nm_add_u64(nm_now_usec() + GRACE_USEC, a->plan.length_bytes / SLOWEST_BYTES_PER_SEC * NM_USEC_PER_SEC);
    note_sent(a);
    a->map = 0;
    a->phase = NM_SHUFFLE_PHASE_MAP;
    return 0;
}

/* Opens the file with the same checks again if its lookup did not keep it open, because another user's file may have
 * replaced it since. */
int nm_shuffle_send_map(struct nm_shuffle_answer *a)
{
    const struct nm_shuffle_lookup lookup = {&a->service->dirs, &a->job, NULL, &a->job_dirs};
    const unsigned i = a->map;
    int r = nm_shuffle_plan_ensure_lengths(a);

    if (r != 0 || (a->plan.files[i] < 0 && (r = nm_shuffle_output_open(&lookup, a->request.maps[i],
                                                                       &a->plan.outputs[i], &a->file)) < 0))
        return r;
    a->reducer = 0;
    a->phase = NM_SHUFFLE_PHASE_HEADS;
    return 0;
}

static int file_of(const struct nm_shuffle_answer *a)
{
    return a->plan.files[a->map] < 0 ? a->file : a->plan.files[a->map];
}

/* Returns whether a part must be read from the disk, judged by its first byte. */
static bool is_on_disk(int file, const struct nm_shuffle_part *part)
{
    char byte;
    const struct iovec to = {&byte, 1};

    return preadv2(file, &to, 1, (off_t)part->start_bytes, RWF_NOWAIT) < 0 && errno == EAGAIN;
}

/* Returns whether the kernel should read further ahead for a part, which is then removed from the page cache after it
 * was sent. A part that the answer reads from the disk is usually fetched only once, so the page cache is more useful
 * for other data. A part in the page cache stays there: its pages may be dirty, and then posix_fadvise() would not
 * remove them, but start their write-back and wait for all CPUs (lru_add_drain_all()). A retry finds it there. The
 * kernel reclaims such pages first, and they are freed with the file. */
static bool reads_disk(const struct nm_shuffle_service *s, int file, const struct nm_shuffle_part *part)
{
    return s->drops_cache && part->part_bytes >= DROPPED_BYTES_MIN && is_on_disk(file, part);
}

int nm_shuffle_send_heads(struct nm_shuffle_answer *a)
{
    const struct nm_shuffle_part *part = &a->plan.outputs[a->map].part;
    int r;

    if (a->reducer < a->request.n_reduces) {
        if ((r = make_room(a, ROW_BYTES_MAX)) != 0 || (r = nm_shuffle_plan_make_heads(a, a->reducer)) < 0)
            return r;
        nm_shuffle_out_put(a, a->plan.heads.data, a->plan.heads.size);
        a->reducer += NM_SHUFFLE_HEADS_AT_ONCE;
        return 0;
    }
    a->at = a->paid_to = (off_t)part->start_bytes;
    a->reads_disk = reads_disk(a->service, file_of(a), part);
    if (a->reads_disk)
        (void)posix_fadvise(file_of(a), 0, 0, POSIX_FADV_SEQUENTIAL);
    a->phase = NM_SHUFFLE_PHASE_PART;
    return 0;
}

static int end_map(struct nm_shuffle_answer *a)
{
    const struct nm_shuffle_part *part = &a->plan.outputs[a->map].part;

    if (a->reads_disk)
        (void)posix_fadvise(file_of(a), (off_t)part->start_bytes, (off_t)part->part_bytes, POSIX_FADV_DONTNEED);
    a->file = nm_close(a->file);
    nm_shuffle_plan_drop_file(a, a->map);
    atomic_fetch_add(&a->service->count.outputs_ok, 1);
    a->map++;
    a->phase = a->map < a->request.n_maps ? NM_SHUFFLE_PHASE_MAP : NM_SHUFFLE_PHASE_END;
    return 0;
}

/* Notes the result of reading or sending a part of the file. */
static int has_moved(struct nm_shuffle_answer *a, ssize_t n)
{
    if (n == 0)
        /* the file was truncated; the connection must break, because the client already has the answer's length */
        return -EBADMSG;
    a->at += n;
    atomic_fetch_add(&a->service->count.sent_bytes, (uint_fast64_t)n);
    return 0;
}

/* Collects bytes of the file, up to the end of those that are paid. */
static int copy_some(struct nm_shuffle_answer *a)
{
    const size_t size = NM_MIN((size_t)(a->paid_to - a->at), sizeof a->out);
    ssize_t n;
    int r = make_room(a, size);

    if (r != 0)
        return r;
    n = pread(file_of(a), a->out + a->out_size, size, a->at);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    a->out_size += (size_t)n;
    return has_moved(a, n);
}

/* Sends bytes of the file, with sendfile() if the file system supports it. */
static int send_some(struct nm_shuffle_answer *a)
{
    off_t at = a->at;
    ssize_t n;
    int r = nm_shuffle_out_flush(a, true);

    if (r != 0)
        return r;
    n = sendfile(a->fd, file_of(a), &at, (size_t)(a->paid_to - a->at));
    if (n >= 0) {
        note_sent(a);
        return has_moved(a, n);
    }
    if (errno == EAGAIN)
        return wait_for_reducer(a);
    if (errno == EINTR)
        return 0;
    return nm_error_is_not_supported(errno) ? copy_some(a) : -errno;
}

/* Sends a piece of a part. The job is charged for each piece before the piece is sent. The parts of many maps are
 * short: such a part is copied, so that one call sends several of them in full packets. */
int nm_shuffle_send_part(struct nm_shuffle_answer *a)
{
    const struct nm_shuffle_part *part = &a->plan.outputs[a->map].part;
    const off_t end = (off_t)(part->start_bytes + part->part_bytes);

    if (a->at == end)
        return end_map(a);
    if (a->at == a->paid_to) {
        const uint64_t piece_bytes = NM_MIN((uint64_t)(end - a->at), PIECE_BYTES);
        int r = nm_shuffle_pay(a, piece_bytes * NM_SHUFFLE_SEND_PRICE_USEC_PER_MIB / NM_MIB);

        if (r != 0)
            return r;
        a->is_paid = false;
        a->paid_to += (off_t)piece_bytes;
    }
    return part->part_bytes <= NM_SHUFFLE_COPIED_MAX ? copy_some(a) : send_some(a);
}
