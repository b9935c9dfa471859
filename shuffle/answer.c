/* SPDX-License-Identifier: Apache-2.0 */

/* See answer.h. */

#include "shuffle/answer.h"

#include <stdio.h>
#include <sys/socket.h>

#include "shuffle/answer-pay.h"
#include "shuffle/answer-plan.h"
#include "shuffle/answer-send.h"
#include "util/clock.h"
#include "util/error.h"

#define REFUSAL_USEC (60 * NM_USEC_PER_SEC)
#define REFUSAL_BYTES_MAX 1024u

/* ---- refusals ----------------------------------------------------------------------------- */

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

/* Makes the text of a refusal. */
static size_t format_refusal(enum nm_shuffle_status status, const char *why, char ret[static REFUSAL_BYTES_MAX])
{
    /* Fetcher reads Retry-After as milliseconds, in spite of RFC 9110. */
    int n =
        snprintf(ret, REFUSAL_BYTES_MAX,
                 "HTTP/1.1 %d %s\r\nname: mapreduce\r\nversion: 1.0.0\r\nContent-Type: text/plain; charset=UTF-8\r\n"
                 "Content-Length: %zu\r\n%s%sConnection: close\r\n\r\n%s",
                 (int)status, phrase(status), strlen(why), status == NM_SHUFFLE_TOO_MANY ? "Retry-After: 1000\r\n" : "",
                 status == NM_SHUFFLE_BAD_METHOD ? "Allow: GET\r\n" : "", why);

    return NM_MIN((size_t)n, REFUSAL_BYTES_MAX - 1);
}

/* Sends the text once: a client that has not read the answers before does not need it. */
int nm_shuffle_refuse(int fd, enum nm_shuffle_status status, const char *why)
{
    char text[REFUSAL_BYTES_MAX];
    const size_t size = format_refusal(status, why, text);

    return send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : NM_SHUFFLE_E_CLOSE;
}

/* Replaces the answer. */
static int refuse(struct nm_shuffle_answer *a, enum nm_shuffle_status status, const char *why)
{
    char text[REFUSAL_BYTES_MAX];
    const size_t size = format_refusal(status, why, text);

    nm_shuffle_out_put(a, text, size);
    a->is_refused = true;
    a->deadline_usec = a->stalled_usec = nm_now_usec() + REFUSAL_USEC;
    a->phase = NM_SHUFFLE_PHASE_END;
    return 0;
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

/* ---- refusing a map ------------------------------------------------------------------------ */

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
static int refuse_map(struct nm_shuffle_answer *a, int error)
{
    const struct nm_shuffle_request *q = &a->request;
    const char *what = error == -ERANGE && q->n_reduces > 1
                           ? "it does not have parts for all of these reducers" : describe(error);
    char why[NM_SHUFFLE_HEAD_MAX / 32], last[16] = "";

    if (error == -ECONNRESET)
        return error;
    if (error == -EBUSY)
        return refuse(a, NM_SHUFFLE_TOO_MANY, "The job has more requests than its share of this node permits\n");
    atomic_fetch_add(&a->service->count.outputs_failed, 1);
    if (q->n_reduces > 1)
        snprintf(last, sizeof last, "-%u", q->reduce + q->n_reduces - 1);
    snprintf(why, sizeof why, "The output of %.*s for reducer%s %u%s: %s\n", (int)q->maps[a->map].size,
             (const char *)q->maps[a->map].data, *last ? "s" : "", q->reduce, last, what);
    return refuse(a, NM_SHUFFLE_FAILED, why);
}

/* ---- the request -------------------------------------------------------------------------- */

/* Checks who sends the request, and whether the sender may have another connection. */
static int check(struct nm_shuffle_answer *a)
{
    struct nm_shuffle_service *s = a->service;
    const char *why = "";
    int r = nm_shuffle_request_parse(a->head, a->decoded, &a->request, &why);

    if (r > 0)
        return refuse(a, (enum nm_shuffle_status)r, why);
    r = nm_shuffle_jobs_find(s->jobs, a->request.job, &a->job);
    if (r == 0) {
        r = verify(s, &a->job, &a->request, a->reply_hash);
        explicit_bzero(a->job.key, sizeof a->job.key);
    }
    /* the same answer for both cases, so that clients cannot find out which jobs exist */
    if (r < 0)
        return refuse(a, NM_SHUFFLE_UNAUTHORIZED,
                      "The job is unknown here, or the request isn't signed with its key\n");
    if (!nm_shuffle_connections_belongs(s->connections, a->slot, a->job.uid, a->job.id))
        return refuse(a, NM_SHUFFLE_TOO_MANY,
                      "The job's user already has half of all connections, or the job has most of the user's\n");
    return 0;
}

/* Initializes only what is read before it is written: the answer is large. */
int nm_shuffle_answer_new(struct nm_shuffle_service *s, int fd, unsigned slot, struct nm_bytes head,
                          struct nm_shuffle_answer **ret)
{
    struct nm_shuffle_answer *a = malloc(sizeof *a);
    int r;

    if (!a)
        return -ENOMEM;
    a->service = s;
    a->fd = fd;
    a->slot = slot;
    a->head = head;
    a->phase = NM_SHUFFLE_PHASE_BEGIN;
    a->is_refused = a->is_paid = false;
    a->map = 0;
    a->paid_check_bytes = 0;
    a->file = -EBADF;
    a->job_dirs.n = 0;
    a->plan.n_files = 0;
    a->plan.lengths = NULL;
    a->plan.heads = (struct nm_writer){};
    a->plan.length_bytes = 0;
    a->out_sent = a->out_size = 0;
    r = check(a);
    if (r < 0)
        a = nm_shuffle_answer_free(a);
    else
        *ret = a;
    return r;
}

struct nm_shuffle_answer *nm_shuffle_answer_free(struct nm_shuffle_answer *a)
{
    if (!a)
        return NULL;
    if (nm_shuffle_answer_is_sending(a))
        atomic_fetch_add(&a->service->count.outputs_failed, 1);
    nm_close(a->file);
    nm_shuffle_plan_done(a);
    free(a);
    return NULL;
}

bool nm_shuffle_answer_has_owner(const struct nm_shuffle_answer *a, struct nm_shuffle_owner *ret)
{
    if (!a->is_refused)
        *ret = nm_shuffle_owner_of(a->job.user, a->job.number);
    return !a->is_refused;
}

/* ---- the steps ---------------------------------------------------------------------------- */

static int begin(struct nm_shuffle_answer *a)
{
    int r = nm_shuffle_pay(a, NM_SHUFFLE_REQUEST_PRICE_USEC);

    if (r != 0 || (r = nm_shuffle_plan_init(&a->plan, &a->request)) < 0)
        return r;
    a->is_paid = false;
    a->phase = NM_SHUFFLE_PHASE_PLAN;
    return 0;
}

/* Finds all maps of a request before any map is sent: after the head, a failure can be reported only by breaking the
 * connection, which does not show the reducer which map failed. */
static int plan(struct nm_shuffle_answer *a)
{
    int r = nm_shuffle_plan_map(a);

    if (r != 0)
        return r;
    a->map++;
    return a->map < a->request.n_maps ? 0 : nm_shuffle_send_begin(a);
}

static int find_maps(struct nm_shuffle_answer *a)
{
    int r = a->phase == NM_SHUFFLE_PHASE_BEGIN ? begin(a) : plan(a);

    return r < 0 ? refuse_map(a, r) : r;
}

static int send_rest(struct nm_shuffle_answer *a)
{
    int r = nm_shuffle_out_flush(a, false);

    if (r == 0)
        a->phase = NM_SHUFFLE_PHASE_DONE;
    return r;
}

static int take_step(struct nm_shuffle_answer *a)
{
    switch (a->phase) {
    case NM_SHUFFLE_PHASE_BEGIN:
    case NM_SHUFFLE_PHASE_PLAN: return find_maps(a);
    case NM_SHUFFLE_PHASE_MAP: return nm_shuffle_send_map(a);
    case NM_SHUFFLE_PHASE_HEADS: return nm_shuffle_send_heads(a);
    case NM_SHUFFLE_PHASE_PART: return nm_shuffle_send_part(a);
    case NM_SHUFFLE_PHASE_END: return send_rest(a);
    case NM_SHUFFLE_PHASE_DONE: break;
    }
    return 0;
}

/* A row of heads that fits into the socket's buffer is sent even if the reducer reads slowly, so the deadline is
 * checked after each step. */
static int take_steps(struct nm_shuffle_answer *a, struct nm_shuffle_wait *ret_wait)
{
    const uint64_t end_usec = nm_now_usec() + NM_SHUFFLE_TURN_USEC;

    while (a->phase != NM_SHUFFLE_PHASE_DONE) {
        const uint64_t now_usec = nm_now_usec();
        int r;

        if (nm_shuffle_answer_is_sending(a) && now_usec > a->deadline_usec)
            return -ETIMEDOUT;
        if (now_usec > end_usec)
            return NM_SHUFFLE_E_TURN;
        r = take_step(a);
        if (r == NM_SHUFFLE_E_WAIT)
            *ret_wait = a->wait;
        if (r != 0)
            return r;
    }
    return !a->is_refused && a->request.keep_alive ? 0 : NM_SHUFFLE_E_CLOSE;
}

/* Closes the directories at the end of each turn: thousands of answers may wait, and each would have a descriptor
 * for each disk. */
int nm_shuffle_answer_continue(struct nm_shuffle_answer *a, struct nm_shuffle_wait *ret_wait)
{
    int r = take_steps(a, ret_wait);

    nm_shuffle_job_dirs_close(&a->job_dirs);
    return r;
}
