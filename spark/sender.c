/* SPDX-License-Identifier: Apache-2.0 */

/* See sender.h. */

#include "spark/sender.h"

#include <errno.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/macros.h"

/* Prices that an application's account is charged (shuffle/share.h). An answer opens at most two files, and the price
 * of a part of COPIED_MAX is a part of it. An index is read completely only once. At the price of a MiB, an application
 * may fetch 2.5 GB per second, as a job of MapReduce. */
#define ANSWER_PRICE_USEC 10u
#define INDEX_PRICE_USEC_PER_MIB 1000u
#define PARSE_PRICE_USEC_PER_MIB 20000u
#define SEND_PRICE_USEC_PER_MIB 100u
/* Bytes of a file that are paid and sent at once. */
#define PIECE_BYTES (UINT64_C(1) << 20)
/* The server closes a connection if its client reads fewer bytes per second than this on average, or reads nothing for
 * GRACE_USEC or the time that the operator has set. Other clients need the slot of the connection. */
#define SLOWEST_BYTES_PER_SEC 16384u
#define GRACE_USEC (60 * NM_USEC_PER_SEC)
/* Collected bytes that are sent, and the largest part that is copied to them. */
#define OUT_BYTES (64u << 10)
#define COPIED_MAX (16u << 10)
/* Pause before a new try to book. */
#define BUSY_PAUSE_USEC (200 * NM_USEC_PER_MSEC)

void nm_spark_sender_init(struct nm_spark_sender *s, struct nm_spark_service *service, int fd, const char *app,
                          uint64_t host)
{
    *s = (struct nm_spark_sender){.service = service, .fd = fd, .app = app, .host = host, .part.fd = -EBADF};
}

static uint64_t grace_usec(const struct nm_spark_sender *s)
{
    return s->service->limits.timeout_usec ?: GRACE_USEC;
}

static void end_part(struct nm_spark_sender *s, bool is_whole)
{
    if (s->has_part) {
        s->done.blocks_ok += is_whole;
        s->done.blocks_failed += !is_whole;
        atomic_fetch_add(is_whole ? &s->service->count.blocks_ok : &s->service->count.blocks_failed, 1);
        atomic_fetch_sub(&s->service->count.chunks, 1);
    }
    s->has_part = false;
    nm_spark_part_close(&s->part);
}

void nm_spark_sender_done(struct nm_spark_sender *s)
{
    end_part(s, false);
    nm_writer_done(&s->out);
    nm_writer_done(&s->wire);
}

/* ---- paying ------------------------------------------------------------------------------- */

static int wait_for_time(struct nm_spark_sender *s, uint64_t until_usec)
{
    s->wait = (struct nm_shuffle_wait){0, until_usec};
    return NM_SHUFFLE_E_WAIT;
}

/* Books work of a client whose application is not known. */
static int book_guest(struct nm_spark_sender *s, uint64_t work_usec, uint64_t now_usec, bool *ret_booked)
{
    uint64_t wait_usec = 0;
    int r = nm_spark_guests_book(s->service->guests, s->host, work_usec, now_usec, &wait_usec);

    *ret_booked = r == 0;
    if (r < 0)
        return r;
    s->booked_usec += work_usec;
    return wait_usec > 0 ? wait_for_time(s, now_usec + wait_usec) : 0;
}

/* Books work. Returns NM_SHUFFLE_E_WAIT if it may start only later; *ret_booked then says whether it is booked. */
static int book(struct nm_spark_sender *s, uint64_t work_usec, uint64_t now_usec, bool *ret_booked)
{
    uint64_t wait_usec = 0;
    int r;

    if (!*s->app)
        return book_guest(s, work_usec, now_usec, ret_booked);
    r = nm_spark_applications_charge(s->service->applications, s->app, work_usec, now_usec, &wait_usec);
    *ret_booked = r == 0;
    s->booked_usec += r == 0 ? work_usec : 0;
    if (r == -ENOENT)
        return -ECONNRESET; /* the application has ended */
    if (r == -EBUSY)
        return wait_for_time(s, now_usec + BUSY_PAUSE_USEC);
    return wait_usec > 0 ? wait_for_time(s, now_usec + wait_usec) : 0;
}

int nm_spark_sender_pay(struct nm_spark_sender *s, uint64_t bytes, uint64_t extra_usec, uint64_t now_usec)
{
    const uint64_t work_usec = ANSWER_PRICE_USEC + bytes * PARSE_PRICE_USEC_PER_MIB / NM_MIB + extra_usec;

    return s->is_paid ? 0 : book(s, work_usec, now_usec, &s->is_paid);
}

bool nm_spark_sender_pay_index(struct nm_spark_sender *s, uint64_t bytes)
{
    bool is_booked;

    (void)book(s, bytes * INDEX_PRICE_USEC_PER_MIB / NM_MIB, nm_now_usec(), &is_booked);
    return is_booked;
}

/* ---- collected bytes ---------------------------------------------------------------------- */

static int fail_slow(struct nm_spark_sender *s)
{
    s->done.slow++;
    atomic_fetch_add(&s->service->count.slow, 1);
    return -ETIMEDOUT;
}

/* Waits until the client has read a part of the bytes before. The wait is interrupted once, to note that the client has
 * read nothing for a time. */
static int wait_for_client(struct nm_spark_sender *s)
{
    const uint64_t now_usec = nm_now_usec(), note_usec = s->moved_usec + NM_SPARK_STALLED_USEC;
    uint64_t end_usec = s->moved_usec + grace_usec(s);

    if (s->has_part)
        end_usec = NM_MIN(end_usec, s->part_deadline_usec);
    if (now_usec > end_usec)
        return fail_slow(s);
    s->is_stalled = now_usec >= note_usec;
    s->wait = (struct nm_shuffle_wait){POLLOUT, s->is_stalled ? end_usec : NM_MIN(end_usec, note_usec)};
    return NM_SHUFFLE_E_WAIT;
}

static void note_sent(struct nm_spark_sender *s, uint64_t now_usec)
{
    s->moved_usec = now_usec;
    s->is_stalled = false;
}

/* Sends bytes, and removes them when all are sent. Their memory is kept, because it is soon used again. */
static int send_all(struct nm_spark_sender *s, struct nm_writer *w, bool more)
{
    if (w->failed)
        return -ENOMEM;
    while (s->sent < w->size) {
        ssize_t n = send(s->fd, w->data + s->sent, w->size - s->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0));

        if (n >= 0) {
            s->sent += (size_t)n;
            note_sent(s, nm_now_usec());
        } else if (errno == EAGAIN) {
            return wait_for_client(s);
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    w->size = s->sent = 0;
    return 0;
}

bool nm_spark_sender_is_full(const struct nm_spark_sender *s)
{
    return s->out.size >= OUT_BYTES || s->wire.size > 0;
}

uint64_t nm_spark_sender_memory(const struct nm_spark_sender *s)
{
    return s->out.room + s->wire.room;
}

void nm_spark_sender_trim(struct nm_spark_sender *s)
{
    if (s->out.size == 0)
        nm_writer_done(&s->out);
    if (s->wire.size == 0)
        nm_writer_done(&s->wire);
}

int nm_spark_sender_flush(struct nm_spark_sender *s, bool more)
{
    int r;

    if (!s->cipher)
        return send_all(s, &s->out, more);
    if ((r = send_all(s, &s->wire, more)) != 0 || s->out.size == 0)
        return r;
    if (s->out.failed)
        return -ENOMEM;
    if ((r = nm_spark_cipher_seal(s->cipher, (struct nm_bytes){s->out.data, s->out.size}, &s->wire)) < 0)
        return r;
    nm_writer_done(&s->out);
    return send_all(s, &s->wire, more);
}

int nm_spark_sender_encrypt(struct nm_spark_sender *s, struct nm_spark_cipher *cipher)
{
    s->wire = s->out; /* the bytes before are sent as they are */
    s->out = (struct nm_writer){};
    s->cipher = cipher;
    return s->wire.failed ? -ENOMEM : 0;
}

/* ---- parts of files ----------------------------------------------------------------------- */

void nm_spark_sender_begin(struct nm_spark_sender *s, const struct nm_spark_part *part)
{
    s->is_paid = false;
    s->is_new = true;
    s->part = *part;
    if (part->bytes == 0) {
        nm_spark_part_close(&s->part);
        return;
    }
    if (part->bytes > COPIED_MAX)
        nm_spark_part_own(&s->part);
    s->has_part = true;
    atomic_fetch_add(&s->service->count.chunks, 1);
    s->at = part->start;
    s->paid_to = part->start + (part->bytes <= COPIED_MAX ? part->bytes : 0); /* the answer's price includes these */
}

void nm_spark_sender_own(struct nm_spark_sender *s)
{
    nm_spark_part_own(&s->part);
}

/* Sets the times that begin with an answer. Answers are made only while the client reads, or while they fit into the
 * collected bytes. */
static void begin_times(struct nm_spark_sender *s, uint64_t now_usec)
{
    s->is_new = false;
    note_sent(s, now_usec);
    if (s->has_part)
        s->part_deadline_usec =
            nm_add_u64(now_usec + grace_usec(s), s->part.bytes / SLOWEST_BYTES_PER_SEC * NM_USEC_PER_SEC);
}

/* Notes the result of reading or sending a part of the file. */
static int has_moved(struct nm_spark_sender *s, ssize_t n)
{
    if (n == 0)
        return -EBADMSG; /* the file was truncated; the connection must break, because the client has the length */
    s->at += (uint64_t)n;
    s->done.sent_bytes += (uint64_t)n;
    atomic_fetch_add(&s->service->count.sent_bytes, (uint_fast64_t)n);
    return 0;
}

/* Collects bytes of the file, up to the end of those that are paid. */
static int copy_some(struct nm_spark_sender *s)
{
    const size_t size = (size_t)NM_MIN(s->paid_to - s->at, (uint64_t)COPIED_MAX);
    uint8_t *to;
    ssize_t n;
    int r;

    if (s->out.size + size > OUT_BYTES && (r = nm_spark_sender_flush(s, true)) != 0)
        return r;
    to = nm_writer_reserve(&s->out, NM_MAX(size, nm_sub_u64(OUT_BYTES, s->out.size)));
    if (!to)
        return -ENOMEM;
    n = pread(s->part.fd, to, size, (off_t)s->at);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    s->out.size += (size_t)n;
    return has_moved(s, n);
}

/* Sends bytes of the file, with sendfile() if the file system supports it. */
static int send_some(struct nm_spark_sender *s)
{
    off_t at = (off_t)s->at;
    ssize_t n;
    int r = nm_spark_sender_flush(s, true);

    if (r != 0)
        return r;
    n = sendfile(s->fd, s->part.fd, &at, (size_t)(s->paid_to - s->at));
    if (n >= 0) {
        note_sent(s, nm_now_usec());
        return has_moved(s, n);
    }
    if (errno == EAGAIN)
        return wait_for_client(s);
    if (errno == EINTR)
        return 0;
    return nm_error_is_not_supported(errno) ? copy_some(s) : -errno;
}

/* Sends a piece of the part. Each piece is paid before it is sent. */
static int send_piece(struct nm_spark_sender *s)
{
    const uint64_t end = s->part.start + s->part.bytes;
    bool is_booked;
    int r;

    if (s->at == s->paid_to) {
        const uint64_t bytes = NM_MIN(end - s->at, PIECE_BYTES);

        r = book(s, bytes * SEND_PRICE_USEC_PER_MIB / NM_MIB, nm_now_usec(), &is_booked);
        if (is_booked)
            s->paid_to += bytes;
        if (r != 0)
            return r;
    }
    return s->part.bytes <= COPIED_MAX || s->cipher ? copy_some(s) : send_some(s);
}

int nm_spark_sender_continue(struct nm_spark_sender *s, uint64_t end_usec)
{
    uint64_t now_usec = nm_now_usec();

    if (s->is_new)
        begin_times(s, now_usec);
    while (s->has_part && s->at < s->part.start + s->part.bytes) {
        int r;

        if (now_usec > s->part_deadline_usec)
            return fail_slow(s);
        if (now_usec > end_usec)
            return NM_SHUFFLE_E_TURN;
        if ((r = send_piece(s)) != 0)
            return r;
        if (s->at < s->part.start + s->part.bytes)
            now_usec = nm_now_usec();
    }
    end_part(s, true);
    return 0;
}
