/* SPDX-License-Identifier: Apache-2.0 */

/* See answer.h. */

#include "shuffle/answer.h"

#include <poll.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "rpc/hadoop/digest.h"
#include "rpc/hadoop/writable.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fnv1a.h"

/* The default of ShuffleHandler, which reducers expect. */
#define KEEP_ALIVE_SEC 5
/* Bytes of a file sent between two checks of the time. */
#define PIECE_BYTES (UINT64_C(1) << 20)
/* A client that reads more slowly on average occupies a slot that other clients need. */
#define SLOWEST_BYTES_PER_SEC 16384u
/* A shorter part is not worth the calls, and the kernel's readahead reads the parts of other reducers with it. */
#define DROPPED_BYTES_MIN (128u << 10)
/* Files that one request keeps open between their lookup and their sending. Fetcher requests up to 20 maps. */
#define KEPT_FILES_PER_REQUEST 32u
#define GRACE_USEC (60 * NM_USEC_PER_SEC)
/* Prices that a job's account is charged. For a request: its head of up to 16 KiB is parsed and signed. For each name,
 * even if repeated: it is compared with the names before it, and its file is opened, sent and closed. For each map: its
 * files are opened in each directory, and each MB of its index is checked (zlib's crc32() processes some 1,700 MB per
 * second); reading the records of a range costs the same. For each part of a range: its head is made twice and sent,
 * which takes some 0.2 us. For each MiB sent: at this price a job may fetch 2.5 GB per second. */
#define REQUEST_USEC 40u
#define NAME_USEC 20u
#define LOOKUP_USEC 15u
#define PART_USEC 1u
#define CHECK_USEC_PER_MB 1000u
#define SEND_USEC_PER_MIB 100u
/* Work that is worth a look at the connection, which costs a microsecond. */
#define POLLED_WORK_USEC 100u
/* Pause before a new try to book. An answer that has begun must be completed, so its sending waits while no more work
 * can be booked. */
#define BUSY_PAUSE_USEC (200 * NM_USEC_PER_MSEC)

static const char *phrase(enum nm_shuffle_status status)
{
    switch (status) {
    case NM_SHUFFLE_OK: return "OK";
    case NM_SHUFFLE_BAD_REQUEST: return "Bad Request";
    case NM_SHUFFLE_UNAUTHORIZED: return "Unauthorized";
    case NM_SHUFFLE_BAD_METHOD: return "Method Not Allowed";
    case NM_SHUFFLE_TOO_MANY: return "Too Many Requests";
    case NM_SHUFFLE_HEAD_TOO_LARGE: return "Request Header Fields Too Large";
    case NM_SHUFFLE_FAILED: break;
    }
    return "Internal Server Error";
}

/* more: further data follows immediately, so that a small head is not sent in a packet of its own. */
static int send_all(int fd, const void *data, size_t size, bool more, uint64_t deadline_usec)
{
    const char *at = data;

    while (size > 0) {
        ssize_t n = send(fd, at, size, MSG_NOSIGNAL | (more ? MSG_MORE : 0));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += n;
        size -= (size_t)n;
        if (size > 0 && nm_now_usec() > deadline_usec)
            return -ETIMEDOUT;
    }
    return 0;
}

int nm_shuffle_refuse(int fd, enum nm_shuffle_status status, const char *why)
{
    char text[1024];
    /* Fetcher reads Retry-After as milliseconds, in spite of RFC 9110. */
    int n =
        snprintf(text, sizeof text,
                 "HTTP/1.1 %d %s\r\nname: mapreduce\r\nversion: 1.0.0\r\nContent-Type: text/plain; charset=UTF-8\r\n"
                 "Content-Length: %zu\r\n%s%sConnection: close\r\n\r\n%s",
                 (int)status, phrase(status), strlen(why), status == NM_SHUFFLE_TOO_MANY ? "Retry-After: 1000\r\n" : "",
                 status == NM_SHUFFLE_BAD_METHOD ? "Allow: GET\r\n" : "", why);
    int r = send_all(fd, text, NM_MIN((size_t)n, sizeof text - 1), false, nm_now_usec() + GRACE_USEC);

    return r < 0 ? r : NM_SHUFFLE_E_CLOSE;
}

/* ---- hashes ------------------------------------------------------------------------------- */

/* Computes the base64 of an HMAC, NUL-terminated. */
static int sign(const struct nm_shuffle_job *job, struct nm_bytes what, char ret[NM_DIGEST_TEXT_SIZE])
{
    uint8_t digest[NM_DIGEST_SIZE];
    int r = nm_digest_hmac(job->key, job->key_size, what.data, what.size, digest);

    if (r < 0)
        return r;
    nm_digest_text(digest, ret);
    return 0;
}

/* Returns 0 and the hash for the reply, or -EKEYREJECTED if the signature was made with another key. */
static int verify(const struct nm_shuffle_service *s, const struct nm_shuffle_job *job,
                  const struct nm_shuffle_request *q, char ret_reply[NM_DIGEST_TEXT_SIZE])
{
    char message[NM_SHUFFLE_HEAD_MAX + 8], expected[NM_DIGEST_TEXT_SIZE];
    int n = snprintf(message, sizeof message, "%u%.*s", s->port, (int)q->target.size, (const char *)q->target.data);
    int r = sign(job, (struct nm_bytes){(const uint8_t *)message, (size_t)n}, expected);

    if (r < 0)
        return r;
    if (!nm_digest_equal((const uint8_t *)expected, strlen(expected), q->url_hash.data, q->url_hash.size))
        return -EKEYREJECTED;
    return sign(job, q->url_hash, ret_reply);
}

/* ---- charging the job --------------------------------------------------------------------- */

struct request {
    struct nm_shuffle_service *service;
    int fd;
    const struct nm_shuffle_job *job;
    const struct nm_shuffle_request *q;
    uint64_t deadline_usec; /* time until which the answer must have been sent */
};

/* Waits until the time is over. Returns -ECONNRESET if the other side closes or the connection is shut down before.
 * Received bytes stay in the socket, because they are the next request. */
static int sleep_or_stop(int fd, uint64_t usec)
{
    const uint64_t end_usec = nm_now_usec() + usec;
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};

    for (;;) {
        const uint64_t left_usec = nm_sub_u64(end_usec, nm_now_usec());
        int r = poll(&p, 1, (int)((left_usec + NM_USEC_PER_MSEC - 1) / NM_USEC_PER_MSEC));

        if (r > 0)
            return -ECONNRESET;
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r == 0 && nm_now_usec() >= end_usec)
            return 0;
    }
}

/* Books work before the work is done, and waits until the job's share permits the work. Otherwise a user could make
 * this process, which runs outside of any container's limits, work without end. Detects a closed connection only before
 * a wait or a large piece of work. */
static int spend(const struct request *t, uint64_t work_usec)
{
    uint64_t wait_usec;
    int r = nm_shuffle_jobs_charge(t->service->jobs, t->job->id, work_usec, nm_now_usec(), &wait_usec);

    if (r < 0)
        return r == -ENOENT ? -ECONNRESET : r; /* the job has ended since its request was accepted */
    return wait_usec > 0 || work_usec >= POLLED_WORK_USEC ? sleep_or_stop(t->fd, wait_usec) : 0;
}

static int spend_on_sending(const struct request *t, uint64_t work_usec)
{
    int r;

    while ((r = spend(t, work_usec)) == -EBUSY) {
        if (nm_now_usec() > t->deadline_usec)
            return -ETIMEDOUT;
        r = sleep_or_stop(t->fd, BUSY_PAUSE_USEC);
        if (r < 0)
            return r;
    }
    return r;
}

static int spend_check(uint64_t index_bytes, void *userdata)
{
    return spend(userdata, index_bytes * CHECK_USEC_PER_MB / 1000000);
}

static int spend_check_on_sending(uint64_t index_bytes, void *userdata)
{
    return spend_on_sending(userdata, index_bytes * CHECK_USEC_PER_MB / 1000000);
}

/* ---- planning the answer ------------------------------------------------------------------ */

/* The plan of an answer. A range has very many heads, so they are made twice, HEADS_AT_ONCE in a row: first for their
 * length, then to be sent. If the lengths of all maps' parts do not fit into memory, the lengths of a map's parts are
 * looked up again before the map is sent. So a request's memory does not grow with the request's size. */
struct plan {
    struct nm_shuffle_output outputs[NM_SHUFFLE_MAPS_MAX];
    unsigned first[NM_SHUFFLE_MAPS_MAX];       /* index of the first map of the same name */
    uint64_t head_bytes[NM_SHUFFLE_MAPS_MAX];  /* sum over all parts of the map */
    uint64_t fingerprint[NM_SHUFFLE_MAPS_MAX]; /* hash of the planned lengths */
    int files[NM_SHUFFLE_MAPS_MAX];            /* open file.out; -EBADF: it will be opened to be sent */
    unsigned n_files;
    struct nm_shuffle_lengths *lengths;        /* n_slots slots, each with an entry per reducer of the request */
    /* map whose lengths are in the slot; NM_SHUFFLE_MAPS_MAX: the slot is empty */
    unsigned n_slots, in_slot[NM_SHUFFLE_MAPS_MAX];
    struct nm_writer heads;
    uint64_t length_bytes;
};

#define HEADS_AT_ONCE 64u

static int plan_init(struct plan *p, const struct nm_shuffle_request *q)
{
    for (unsigned i = 0; i < q->n_maps; i++)
        p->files[i] = -EBADF;
    p->n_slots = NM_MIN(q->n_maps, NM_SHUFFLE_PARTS_MAX / q->n_reduces);
    p->lengths = calloc((size_t)p->n_slots * q->n_reduces, sizeof *p->lengths);
    for (unsigned i = 0; i < p->n_slots; i++)
        p->in_slot[i] = NM_SHUFFLE_MAPS_MAX;
    return p->lengths ? 0 : -ENOMEM;
}

/* Limits the descriptors: a request has up to 256 maps, and thousands of requests may wait for the share of their
 * job. */
static bool may_keep_file(struct nm_shuffle_service *s, const struct plan *p)
{
    if (p->n_files == KEPT_FILES_PER_REQUEST)
        return false;
    if (atomic_fetch_add(&s->n_kept_files, 1) < s->max_kept_files)
        return true;
    atomic_fetch_sub(&s->n_kept_files, 1);
    return false;
}

/* Takes ownership of the file that a lookup has opened, or of -EBADF. */
static void keep_file(struct nm_shuffle_service *s, struct plan *p, unsigned i, int file)
{
    if (file < 0)
        return;
    if (!may_keep_file(s, p)) {
        nm_close(file);
        return;
    }
    p->files[i] = file;
    p->n_files++;
}

/* Closes a file if it was kept. */
static void drop_file(struct nm_shuffle_service *s, struct plan *p, unsigned i)
{
    if (p->files[i] < 0)
        return;
    p->files[i] = nm_close(p->files[i]);
    p->n_files--;
    atomic_fetch_sub(&s->n_kept_files, 1);
}

static void plan_done(struct nm_shuffle_service *s, const struct nm_shuffle_request *q, struct plan *p)
{
    for (unsigned i = 0; i < q->n_maps; i++)
        drop_file(s, p, i);
    nm_writer_done(&p->heads);
    free(p->lengths);
}

static struct nm_shuffle_lengths *lengths_of(const struct plan *p, const struct nm_shuffle_request *q, unsigned i)
{
    return p->lengths + (size_t)(p->first[i] % p->n_slots) * q->n_reduces;
}

/* Fills the slot of the map, which must be the first of its name. */
static int look_up(const struct request *t, unsigned i, const struct nm_shuffle_account *account, struct plan *p,
                   struct nm_shuffle_output *ret, int *ret_file)
{
    const struct nm_shuffle_request *q = t->q;

    p->in_slot[i % p->n_slots] = NM_SHUFFLE_MAPS_MAX;
    return nm_shuffle_output_find(&t->service->dirs, t->job, q->maps[i],
                                  (struct nm_shuffle_range){q->reduce, q->n_reduces}, account,
                                  lengths_of(p, q, i), ret, ret_file);
}

static uint64_t fingerprint_of(const struct plan *p, const struct nm_shuffle_request *q, unsigned i)
{
    return nm_fnv1a_64_more(NM_FNV1A_64_BASIS, lengths_of(p, q, i), q->n_reduces * sizeof *p->lengths);
}

/* Makes the heads of a map's parts, starting at this position in the range. */
static int make_heads(struct plan *p, const struct nm_shuffle_request *q, unsigned i, uint32_t from)
{
    const struct nm_shuffle_lengths *lengths = lengths_of(p, q, i);

    p->heads.size = 0;
    if (q->is_range && from == 0)
        nm_writer_vint(&p->heads, q->n_reduces);
    for (uint32_t k = from; k < q->n_reduces && k < from + HEADS_AT_ONCE; k++) {
        nm_writer_bytes(&p->heads, q->maps[i]);
        nm_writer_vint(&p->heads, (int64_t)lengths[k].part_bytes);
        nm_writer_vint(&p->heads, (int64_t)lengths[k].raw_bytes);
        nm_writer_vint(&p->heads, (int64_t)q->reduce + k);
    }
    return p->heads.failed ? -ENOMEM : 0;
}

static int find(struct request *t, unsigned i, struct plan *p)
{
    const struct nm_shuffle_account account = {spend_check, t};
    const struct nm_shuffle_request *q = t->q;
    int file, r = spend(t, (uint64_t)LOOKUP_USEC * t->service->dirs.n);

    p->first[i] = i;
    if (r < 0 || (r = look_up(t, i, &account, p, &p->outputs[i], &file)) < 0)
        return r;
    keep_file(t->service, p, i, file);
    p->in_slot[i % p->n_slots] = i;
    p->fingerprint[i] = fingerprint_of(p, q, i);
    for (uint32_t from = 0; from < q->n_reduces; from += HEADS_AT_ONCE) {
        if ((r = make_heads(p, q, i, from)) < 0)
            return r;
        p->head_bytes[i] += p->heads.size;
    }
    return 0;
}

static uint64_t parts_usec(const struct nm_shuffle_request *q)
{
    return q->is_range ? (uint64_t)q->n_reduces * PART_USEC : 0;
}

/* Plans a map. The length of the whole answer must be sent before its first byte; the data are checked again when they
 * are sent. A map that is named again uses the plan of its first occurrence. */
static int plan_map(struct request *t, unsigned i, struct plan *p)
{
    const struct nm_shuffle_request *q = t->q;
    unsigned first = 0;
    int r = spend(t, NAME_USEC + parts_usec(q));

    if (r < 0)
        return r;
    while (first < i && !nm_bytes_equal(q->maps[i], q->maps[first]))
        first++;
    if (first == i && (r = find(t, i, p)) < 0)
        return r;
    p->first[i] = first;
    p->outputs[i] = p->outputs[first];
    p->length_bytes = nm_add_u64(p->length_bytes, p->head_bytes[first]);
    p->length_bytes = nm_add_u64(p->length_bytes, p->outputs[i].part.part_bytes);
    return 0;
}

/* The text names no path, because not only the node's administrator reads a reducer's log. */
static const char *describe(int error)
{
    switch (error) {
    case -ENOENT: return "there is no such output on this node";
    case -EPERM:
    case -ELOOP: return "it is not a file of the job's user";
    case -ERANGE: return "it has no part for that reducer";
    case -EBADMSG: return "its index doesn't match its checksum or its file";
    default: return strerror(-error);
    }
}

/* The client may see the sentence, because it has proved that it belongs to this job. */
static int refuse_map(struct nm_shuffle_service *s, int fd, const struct nm_shuffle_request *q, unsigned i, int error)
{
    const char *what = error == -ERANGE && q->n_reduces > 1
                           ? "it does not have parts for all of these reducers" : describe(error);
    char why[NM_SHUFFLE_HEAD_MAX / 32], last[16] = "";

    if (error == -ECONNRESET)
        return error;
    if (error == -EBUSY)
        return nm_shuffle_refuse(fd, NM_SHUFFLE_TOO_MANY,
                                 "The job has more requests than its share of this node permits\n");
    atomic_fetch_add(&s->count.outputs_failed, 1);
    if (q->n_reduces > 1)
        snprintf(last, sizeof last, "-%u", q->reduce + q->n_reduces - 1);
    snprintf(why, sizeof why, "The output of %.*s for reducer%s %u%s: %s\n", (int)q->maps[i].size,
             (const char *)q->maps[i].data, *last ? "s" : "", q->reduce, last, what);
    return nm_shuffle_refuse(fd, NM_SHUFFLE_FAILED, why);
}

/* ---- sending ------------------------------------------------------------------------------ */

/* MSG_MORE: the first map's head follows, so that both fit into one packet. */
static int send_head(const struct request *t, const struct plan *p, const char *reply_hash)
{
    char text[512], lasting[64];
    int n;

    snprintf(lasting, sizeof lasting, "keep-alive\r\nKeep-Alive: timeout=%d", KEEP_ALIVE_SEC);
    n = snprintf(text, sizeof text,
                 "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\nConnection: %s\r\nReplyHash: %s\r\nname: mapreduce\r\n"
                 "version: 1.0.0\r\n\r\n",
                 (unsigned long long)p->length_bytes, t->q->keep_alive ? lasting : "close", reply_hash);
    return send_all(t->fd, text, (size_t)n, true, t->deadline_usec);
}

/* Sends a part of the file and advances *at, with sendfile() if the file system supports it. */
static ssize_t send_some(const struct request *t, int file, off_t *at, size_t size)
{
    char buf[64U << 10];
    ssize_t n = sendfile(t->fd, file, at, size);
    int r;

    if (n >= 0 || !nm_error_is_not_supported(errno))
        return RET_NERRNO(n);
    n = RET_NERRNO(pread(file, buf, NM_MIN(size, sizeof buf), *at));
    r = n > 0 ? send_all(t->fd, buf, (size_t)n, false, t->deadline_usec) : 0;
    if (r < 0)
        return r;
    *at += n > 0 ? n : 0;
    return n;
}

/* Returns whether a part must be read from the disk, judged by its first byte. */
static bool is_on_disk(int file, const struct nm_shuffle_part *part)
{
    char byte;
    const struct iovec to = {&byte, 1};

    return preadv2(file, &to, 1, (off_t)part->start_bytes, RWF_NOWAIT) < 0 && errno == EAGAIN;
}

/* Returns whether to remove a part from the page cache after it was sent. A part that the answer reads from the disk is
 * usually fetched only once, so the page cache is more useful for other data. A part in the page cache stays there: its
 * pages may be dirty, and then posix_fadvise() would not remove them, but start their write-back and wait for all CPUs
 * (lru_add_drain_all()). A retry finds it there. The kernel reclaims such pages first, and they are freed with the
 * file. */
static bool must_drop(const struct nm_shuffle_service *s, int file, const struct nm_shuffle_part *part)
{
    return s->drops_cache && part->part_bytes >= DROPPED_BYTES_MIN && is_on_disk(file, part);
}

/* Sends a part. The job is charged for each piece before the piece is sent. */
static int send_part(const struct request *t, int file, const struct nm_shuffle_part *part)
{
    off_t at = (off_t)part->start_bytes, paid = at, end = at + (off_t)part->part_bytes;
    const bool drop = must_drop(t->service, file, part);

    while (at < end) {
        const uint64_t piece_bytes = NM_MIN((uint64_t)(end - paid), PIECE_BYTES);
        ssize_t n;
        int r;

        if (at == paid && (r = spend_on_sending(t, piece_bytes * SEND_USEC_PER_MIB / NM_MIB)) < 0)
            return r;
        paid += at == paid ? (off_t)piece_bytes : 0;
        n = send_some(t, file, &at, (size_t)(paid - at));
        if (n == -EINTR)
            continue;
        if (n < 0)
            return (int)n;
        if (n == 0)
            /* the file was truncated; the connection must break, because the client already has the answer's length */
            return -EBADMSG;
        atomic_fetch_add(&t->service->count.sent_bytes, (uint_fast64_t)n);
        if (nm_now_usec() > t->deadline_usec)
            return -ETIMEDOUT;
    }
    if (drop)
        (void)posix_fadvise(file, (off_t)part->start_bytes, (off_t)part->part_bytes, POSIX_FADV_DONTNEED);
    return 0;
}

/* Ensures that the lengths of a map's parts are loaded. Returns -EBADMSG if they differ from the plan. The connection
 * must break then, because the client already has the answer's length. */
static int ensure_lengths(struct request *t, unsigned i, struct plan *p)
{
    const struct nm_shuffle_account account = {spend_check_on_sending, t};
    const unsigned first = p->first[i];
    const struct nm_shuffle_part *planned = &p->outputs[first].part;
    struct nm_shuffle_output output;
    int r;

    if (p->in_slot[first % p->n_slots] == first)
        return 0;
    r = spend_on_sending(t, (uint64_t)LOOKUP_USEC * t->service->dirs.n + parts_usec(t->q));
    if (r < 0 || (r = look_up(t, first, &account, p, &output, NULL)) < 0)
        return r;
    if (output.dir != p->outputs[first].dir || output.part.start_bytes != planned->start_bytes ||
        output.part.part_bytes != planned->part_bytes || fingerprint_of(p, t->q, first) != p->fingerprint[first])
        return -EBADMSG;
    p->in_slot[first % p->n_slots] = first;
    return 0;
}

/* more: further data of this map or another one follows the heads. */
static int send_heads(const struct request *t, unsigned i, struct plan *p, bool more)
{
    for (uint32_t from = 0; from < t->q->n_reduces; from += HEADS_AT_ONCE) {
        /* A row that fits into the socket's buffer is sent even if the reducer reads slowly, so the deadline is checked
         * here. */
        int r = nm_now_usec() > t->deadline_usec ? -ETIMEDOUT : make_heads(p, t->q, i, from);

        if (r < 0 || (r = send_all(t->fd, p->heads.data, p->heads.size,
                                   more || t->q->n_reduces - from > HEADS_AT_ONCE, t->deadline_usec)) < 0)
            return r;
    }
    return 0;
}

/* Opens the file with the same checks again if its lookup did not keep it open, because another user's file may have
 * replaced it since. */
static int send_map(struct request *t, unsigned i, struct plan *p)
{
    _cleanup_close_ int file = -EBADF;
    int r;

    if ((r = sleep_or_stop(t->fd, 0)) < 0 || (r = ensure_lengths(t, i, p)) < 0 ||
        (p->files[i] < 0 &&
         (r = nm_shuffle_output_open(&t->service->dirs, t->job, t->q->maps[i], &p->outputs[i], &file)) < 0) ||
        (r = send_heads(t, i, p, p->outputs[i].part.part_bytes > 0 || i + 1 < t->q->n_maps)) < 0)
        return r;
    r = send_part(t, p->files[i] < 0 ? file : p->files[i], &p->outputs[i].part);
    drop_file(t->service, p, i);
    return r;
}

static int send_plan(struct request *t, struct plan *p, const char *reply_hash)
{
    const struct nm_shuffle_request *q = t->q;
    struct nm_shuffle_service *s = t->service;
    int r;

    t->deadline_usec =
        nm_add_u64(nm_now_usec() + GRACE_USEC, p->length_bytes / SLOWEST_BYTES_PER_SEC * NM_USEC_PER_SEC);
    if ((r = send_head(t, p, reply_hash)) < 0)
        return r;
    for (unsigned i = 0; i < q->n_maps; i++) {
        if ((r = send_map(t, i, p)) < 0) {
            atomic_fetch_add(&s->count.outputs_failed, 1);
            return r;
        }
        atomic_fetch_add(&s->count.outputs_ok, 1);
    }
    return q->keep_alive ? 0 : NM_SHUFFLE_E_CLOSE;
}

/* Finds all maps of a request before any map is sent: after the head, a failure can be reported only by breaking the
 * connection, which does not show the reducer which map failed. */
static int send_maps(struct request *t, const char *reply_hash)
{
    const struct nm_shuffle_request *q = t->q;
    struct nm_shuffle_service *s = t->service;
    struct plan p = {0};
    unsigned i = 0;
    int r = plan_init(&p, q);

    while (r == 0 && i < q->n_maps && (r = plan_map(t, i, &p)) == 0)
        i++;
    r = r < 0 ? refuse_map(s, t->fd, q, i, r) : send_plan(t, &p, reply_hash);
    plan_done(s, q, &p);
    return r;
}

int nm_shuffle_answer(struct nm_shuffle_service *s, int fd, unsigned slot, struct nm_bytes head)
{
    char reply_hash[NM_DIGEST_TEXT_SIZE];
    uint8_t decoded[NM_SHUFFLE_HEAD_MAX];
    struct nm_shuffle_request q;
    struct nm_shuffle_job job;
    struct request t = {.service = s, .fd = fd, .job = &job, .q = &q};
    const char *why = "";
    int r = nm_shuffle_request_parse(head, decoded, &q, &why);

    if (r > 0)
        return nm_shuffle_refuse(fd, (enum nm_shuffle_status)r, why);
    r = nm_shuffle_jobs_find(s->jobs, q.job, &job);
    if (r == 0) {
        r = verify(s, &job, &q, reply_hash);
        explicit_bzero(job.key, sizeof job.key);
    }
    /* the same answer for both cases, so that clients cannot find out which jobs exist */
    if (r < 0)
        return nm_shuffle_refuse(fd, NM_SHUFFLE_UNAUTHORIZED,
                                 "The job is unknown here, or the request isn't signed with its key\n");
    if (!nm_shuffle_connections_belongs(s->connections, slot, job.uid, job.id))
        return nm_shuffle_refuse(fd, NM_SHUFFLE_TOO_MANY,
                                 "The job's user already has half of all connections, or the job has most of the "
                                 "user's\n");
    r = spend(&t, REQUEST_USEC);
    return r < 0 ? refuse_map(s, fd, &q, 0, r) : send_maps(&t, reply_hash);
}
