/* SPDX-License-Identifier: Apache-2.0 */

/* See connection.h. */

#include "spark/connection.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "spark/receiver.h"
#include "spark/sender.h"
#include "spark/session.h"
#include "util/clock.h"
#include "util/error.h"

struct connection {
    struct nm_shuffle_turns turns;
    struct nm_spark_service *service;
    unsigned slot;
    bool is_answering; /* an answer is being sent, or waits for its share */
    bool is_closing;   /* the last answer is being sent */
    uint64_t taken_bytes; /* of service->memory */
    bool has_answered; /* since the time for the next frame has begun */
    struct nm_spark_cipher *cipher;
    struct nm_spark_account account;
    struct nm_spark_session session;
    struct nm_spark_sender sender;
    struct nm_spark_receiver receiver;
};

static struct connection *of_turns(struct nm_shuffle_turns *t)
{
    return NM_CONTAINER_OF(t, struct connection, turns);
}

void nm_spark_connection_end(struct nm_shuffle_turns *t, int result)
{
    struct connection *c = of_turns(t);
    struct nm_spark_service *service = c->service;
    struct nm_shuffle_connections *connections = service->connections;
    unsigned slot = c->slot;

    (void)result;
    atomic_fetch_sub(&c->service->count.streams, c->session.streams.n);
    nm_spark_session_done(&c->session);
    nm_spark_sender_done(&c->sender);
    nm_spark_receiver_done(&c->receiver);
    nm_spark_cipher_free(c->cipher);
    nm_spark_memory_give(service->memory, c->session.application.uid, c->session.application.id, c->taken_bytes);
    free(c);
    if (atomic_fetch_sub(&service->n_connections, 1) == 1)
        nm_spark_data_files_expire(service->data_files, UINT64_MAX);
    /* from here on, a thread that waits for the end of the last connection may free all other data */
    nm_shuffle_connections_leave(connections, slot);
}

/* ---- in a thread of the pool -------------------------------------------------------------- */

/* Assigns the connection to the application of its first message. */
static int belong(struct connection *c)
{
    const struct nm_spark_application *app = &c->session.application;

    if (c->receiver.is_known || !*app->id)
        return 0;
    if (!nm_shuffle_connections_belongs(c->service->connections, c->slot, app->uid, app->id)) {
        atomic_fetch_add(&c->service->count.refused, 1);
        return -EBUSY;
    }
    c->receiver.is_known = true;
    return 0;
}

/* Takes the memory that the connection has now from that of its application, or gives it back. */
static int account(struct connection *c)
{
    const struct nm_spark_application *app = &c->session.application;
    const uint64_t bytes = c->session.streams.bytes + nm_spark_sender_memory(&c->sender);
    int r;

    if (bytes > c->taken_bytes) {
        r = nm_spark_memory_take(c->service->memory, app->uid, app->id, bytes - c->taken_bytes);
        if (r < 0)
            return r;
    } else {
        nm_spark_memory_give(c->service->memory, app->uid, app->id, c->taken_bytes - bytes);
    }
    c->taken_bytes = bytes;
    return 0;
}

/* The function of struct nm_spark_account. */
static bool pay_index(uint64_t bytes, void *userdata)
{
    struct connection *c = userdata;

    return nm_spark_sender_pay_index(&c->sender, bytes);
}

/* Encrypts all bytes after the answer and its frame. */
static int encrypt(struct connection *c, struct nm_spark_cipher *cipher)
{
    int r;

    c->cipher = cipher;
    r = nm_spark_sender_encrypt(&c->sender, cipher);
    return r < 0 ? r : nm_spark_receiver_encrypt(&c->receiver, cipher);
}

/* Answers a frame. */
static int answer(struct connection *c, struct nm_bytes frame, uint64_t now_usec)
{
    const struct nm_spark_limits *limits = &c->service->limits;
    const unsigned n_streams = c->session.streams.n;
    const size_t collected = c->sender.out.size;
    struct nm_spark_answer a = {.part.fd = -EBADF};
    int r = nm_spark_sender_pay(&c->sender, frame.size, now_usec);

    if (r != 0)
        return r;
    /* Threads that look at the same time may exceed the limit by their number, as in Spark. */
    c->session.has_room = limits->chunks == 0 || atomic_load(&c->service->count.chunks) < limits->chunks;
    r = nm_spark_session_answer(&c->session, frame, &c->sender.out, &a);
    atomic_fetch_add(&c->service->count.streams, (uint_fast64_t)c->session.streams.n - n_streams);
    if (r == 0 && (r = account(c)) < 0) {
        nm_spark_part_close(&a.part);
        nm_spark_cipher_free(a.cipher);
    }
    if (r == -EBUSY)
        atomic_fetch_add(&c->service->count.refused, 1);
    if (r < 0) {
        c->sender.out.size = collected; /* the earlier answers are still sent */
        return r;
    }
    atomic_fetch_add(&c->service->count.blocks_failed, a.has_failed);
    nm_spark_sender_begin(&c->sender, &a.part);
    c->is_closing = a.closes;
    if (a.cipher && (r = encrypt(c, a.cipher)) < 0)
        return r;
    nm_spark_receiver_next(&c->receiver, a.skipped_bytes);
    c->is_answering = true;
    return belong(c);
}

/* Answers the next frame. Without a whole one, the collected answers are sent before the connection waits. */
static int answer_next(struct connection *c, uint64_t now_usec, struct nm_shuffle_wait *ret_wait)
{
    struct nm_bytes frame = {};
    int r = nm_spark_sender_is_full(&c->sender) ? nm_spark_sender_flush(&c->sender, false) : 0;

    *ret_wait = c->sender.wait;
    if (r == 0)
        r = c->is_closing ? -ECONNRESET : nm_spark_receiver_frame(&c->receiver, &frame);
    else if (r > 0)
        return r;
    if (r < 0)
        return r;
    if (r > 0) {
        r = answer(c, frame, now_usec);
        *ret_wait = c->sender.wait;
        return r;
    }
    r = nm_spark_sender_flush(&c->sender, false);
    if (r == 0 && c->has_answered) {
        nm_spark_receiver_restart(&c->receiver);
        c->has_answered = false;
    }
    *ret_wait = r == 0 ? (struct nm_shuffle_wait){POLLIN, c->receiver.deadline_usec} : c->sender.wait;
    return r < 0 ? r : NM_SHUFFLE_E_WAIT;
}

int nm_spark_connection_answer(struct nm_shuffle_turns *t, struct nm_shuffle_wait *ret_wait)
{
    struct connection *c = of_turns(t);
    _cleanup_(nm_spark_open_dirs_close) struct nm_spark_open_dirs dirs = {};
    const uint64_t end_usec = nm_now_usec() + NM_SHUFFLE_TURN_USEC;
    int r = 0;

    c->session.lookups.open_dirs = &dirs;
    while (r == 0) {
        const uint64_t now_usec = c->is_answering ? 0 : nm_now_usec();

        if (c->is_answering) {
            r = nm_spark_sender_continue(&c->sender, end_usec);
            *ret_wait = c->sender.wait;
            c->is_answering = r != 0;
            c->has_answered |= r == 0;
        } else if (now_usec > end_usec) {
            r = NM_SHUFFLE_E_TURN;
        } else {
            r = answer_next(c, now_usec, ret_wait);
        }
    }
    /* a client need not wait for earlier answers while the next one waits for the share, or cannot be made */
    if (r < 0 || (r == NM_SHUFFLE_E_WAIT && ret_wait->events == 0))
        (void)nm_spark_sender_flush(&c->sender, false);
    c->session.lookups.open_dirs = NULL;
    nm_spark_sender_own(&c->sender);
    nm_spark_sender_trim(&c->sender);
    (void)account(c); /* the memory has not grown */
    return r;
}

/* ---- in the loop's thread ----------------------------------------------------------------- */

int nm_spark_connection_begin(struct nm_spark_service *s, int accepted, const char *host)
{
    _cleanup_close_ int fd = accepted;
    _cleanup_free_ struct connection *c = malloc(sizeof *c);
    struct nm_shuffle_wait first;
    unsigned slot;
    int r;

    if (!c)
        return -ENOMEM;
    r = nm_shuffle_connections_enter(s->connections, fd, host, &slot);
    if (r == NM_SHUFFLE_CONNECTIONS_E_SPARE) { /* there is no answer that makes a client try again */
        (void)STEAL_FD(fd);
        nm_shuffle_connections_leave(s->connections, slot);
        r = -EBUSY;
    }
    if (r < 0) {
        atomic_fetch_add(&s->count.refused, 1);
        return r;
    }
    c->service = s;
    c->turns = (struct nm_shuffle_turns){.loop = s->loop, .idle.fd = STEAL_FD(fd)}; /* the slot owns it from here on */
    c->slot = slot;
    c->is_answering = c->is_closing = c->has_answered = false;
    c->taken_bytes = 0;
    c->cipher = NULL;
    c->account = (struct nm_spark_account){pay_index, c};
    nm_spark_session_init(&c->session, s->applications, &s->auth);
    c->session.lookups = (struct nm_spark_lookup_state){NULL, s->data_files, s->index_cache, &c->account};
    nm_spark_sender_init(&c->sender, s, c->turns.idle.fd, c->session.application.id);
    nm_spark_receiver_init(&c->receiver, s, c->turns.idle.fd, &c->session.application);
    atomic_fetch_add(&s->count.connections, 1);
    atomic_fetch_add(&s->n_connections, 1);
    first = (struct nm_shuffle_wait){POLLIN, c->receiver.deadline_usec};
    return nm_shuffle_turns_wait(&STEAL_PTR(c)->turns, &first);
}

/* A client that has closed its side does not get the rest of an answer. */
void nm_spark_connection_ready(struct nm_shuffle_turns *t)
{
    if (t->idle.ready_events & EPOLLOUT)
        nm_spark_receiver_restart(&of_turns(t)->receiver);
    if (t->idle.ready_events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        nm_spark_connection_end(t, -ECONNRESET);
    else
        nm_shuffle_turns_submit(t);
}

/* The receiver and the sender check their own deadlines, and the connection may have waited only for the time. */
void nm_spark_connection_expired(struct nm_shuffle_turns *t)
{
    nm_shuffle_turns_submit(t);
}
