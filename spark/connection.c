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
#include "util/fnv1a.h"

/* Prices of work for clients without an application (spark/guests.h): accepting a connection, and Spark's handshake,
 * which makes keys. */
#define ACCEPT_PRICE_USEC 30u
#define HANDSHAKE_PRICE_USEC 400u
/* Memory for answers in a turn: both writers may have doubled their memory for a short answer. */
#define USUAL_BYTES (UINT64_C(256) << 10)
/* Frames that a client may send before it belongs to an application. Authentication takes at most two, and one more
 * that is refused. */
#define GUEST_FRAMES_MAX 8u
/* Booked work that was not done, and that may be done later, at most. */
#define CREDIT_USEC NM_SHUFFLE_TURN_USEC

struct connection {
    struct nm_shuffle_turns turns;
    struct nm_spark_service *service;
    unsigned slot;
    bool is_answering; /* an answer is being sent, or waits for its share */
    bool is_closing;   /* the last answer is being sent */
    uint64_t taken_bytes; /* of service->memory */
    uint64_t kept_bytes;  /* that were taken at the end of the last turn */
    uint64_t credit_usec; /* booked work that was not done yet */
    unsigned n_guest_frames;
    struct nm_spark_usage told; /* present numbers that the application has */
    bool has_answered; /* since the time for the next frame has begun */
    struct nm_spark_cipher *cipher;
    struct nm_spark_account account;
    struct nm_spark_reserve reserve;
    struct nm_spark_session session;
    struct nm_spark_sender sender;
    struct nm_spark_receiver receiver;
};

/* The CPU time of this thread that belongs to turns and connections that have ended. Reading it takes as long as a
 * small part of an answer, so it is read once in a turn, whose time begins with the end of the one before. */
static _Thread_local uint64_t spent_usec;

/* Returns the CPU time of this thread since the last call. */
static uint64_t take_spent(void)
{
    const uint64_t former_usec = spent_usec;

    spent_usec = nm_clock_usec(CLOCK_THREAD_CPUTIME_ID);
    return nm_sub_u64(spent_usec, former_usec);
}

static struct connection *of_turns(struct nm_shuffle_turns *t)
{
    return NM_CONTAINER_OF(t, struct connection, turns);
}

/* Adds to the figures of the application what the connection has done, and books the CPU time that was not paid. */
static void settle(struct connection *c, uint64_t unpaid_usec, const struct nm_spark_usage *now)
{
    struct nm_spark_usage change = c->sender.done;

    c->sender.done = (struct nm_spark_usage){};
    if (!c->receiver.is_known) {
        if (unpaid_usec > 0)
            nm_spark_guests_owe(c->service->guests, c->receiver.host, unpaid_usec, nm_now_usec());
        return;
    }
    change.connections = now->connections - c->told.connections;
    change.streams = now->streams - c->told.streams;
    change.stalled = now->stalled - c->told.stalled;
    c->told = *now;
    (void)nm_spark_applications_settle(c->service->applications, c->session.application.id, &change, unpaid_usec,
                                       nm_now_usec());
}

/* Ends a turn that has used so much CPU time. Prices are booked before the work is done; what a turn uses beyond them,
 * for example to encrypt a block, is booked now, and the next work waits for it. So the booked work is never less than
 * the used time for long, whatever the clients ask for. */
static void end_turn(struct connection *c, uint64_t used_usec)
{
    const uint64_t paid_usec = c->credit_usec + c->sender.booked_usec;
    const struct nm_spark_usage now = {
        .connections = 1, .streams = c->session.streams.n, .stalled = c->sender.is_stalled};

    c->sender.booked_usec = 0;
    c->credit_usec = NM_MIN(nm_sub_u64(paid_usec, used_usec), (uint64_t)CREDIT_USEC);
    settle(c, nm_sub_u64(used_usec, paid_usec), &now);
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
    settle(c, 0, &(struct nm_spark_usage){});
    nm_spark_receiver_done(&c->receiver);
    nm_spark_cipher_free(c->cipher);
    nm_spark_memory_give(service->memory, c->session.application.uid, c->session.application.id, c->taken_bytes);
    free(c);
    (void)take_spent(); /* the next connection of this thread doesn't pay for the end of this one */
    if (atomic_fetch_sub(&service->n_connections, 1) == 1)
        nm_spark_data_files_expire(service->data_files, UINT64_MAX);
    /* from here on, a thread that waits for the end of the last connection may free all other data */
    nm_shuffle_connections_leave(connections, slot);
}

/* ---- in a thread of the pool -------------------------------------------------------------- */

/* Assigns the connection to the application of its first message. Returns NM_SHUFFLE_E_TURN then, because it has used a
 * thread of its host. */
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
    c->turns.task.owner = nm_shuffle_owner_of(app->user, nm_fnv1a_64(app->id));
    return NM_SHUFFLE_E_TURN;
}

/* Takes the memory that the connection has now from that of its application, or gives it back. The usual memory
 * for answers changes only at the end of a turn: before, no more connections have it than there are threads. */
static int account(struct connection *c, bool is_end)
{
    const struct nm_spark_application *app = &c->session.application;
    const uint64_t answers = nm_spark_sender_memory(&c->sender);
    const uint64_t used = c->session.streams.bytes + nm_spark_receiver_memory(&c->receiver) +
                          (is_end || answers > USUAL_BYTES ? answers : 0);
    const uint64_t bytes = is_end ? used : NM_MAX(used, c->kept_bytes);
    int r;

    if (!*app->id) /* such a connection has only short answers */
        return 0;
    if (bytes > c->taken_bytes) {
        r = nm_spark_memory_take(c->service->memory, app->uid, app->id, bytes - c->taken_bytes);
        if (r < 0)
            return r;
    } else {
        nm_spark_memory_give(c->service->memory, app->uid, app->id, c->taken_bytes - bytes);
    }
    c->taken_bytes = bytes;
    if (is_end)
        c->kept_bytes = bytes;
    return 0;
}

/* The function of struct nm_spark_reserve. account() gives back what is not needed after the answer. */
static int reserve(uint64_t bytes, void *userdata)
{
    struct connection *c = userdata;
    const struct nm_spark_application *app = &c->session.application;
    int r = nm_spark_memory_take(c->service->memory, app->uid, app->id, bytes);

    if (r == 0)
        c->taken_bytes += bytes;
    return r;
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

/* Pays for the answer to a frame. Returns -EBUSY if a client without an application has sent too many frames. */
static int pay(struct connection *c, struct nm_bytes frame, uint64_t now_usec)
{
    const bool is_handshake = nm_spark_session_is_handshake(&c->session, frame);

    if (!c->receiver.is_known && c->n_guest_frames == GUEST_FRAMES_MAX)
        return -EBUSY;
    return nm_spark_sender_pay(&c->sender, frame.size, is_handshake ? HANDSHAKE_PRICE_USEC : 0, now_usec);
}

/* Answers a frame. */
static int answer(struct connection *c, struct nm_bytes frame, uint64_t now_usec)
{
    const struct nm_spark_limits *limits = &c->service->limits;
    const unsigned n_streams = c->session.streams.n;
    const size_t collected = c->sender.out.size;
    struct nm_spark_answer a = {.part.fd = -EBADF};
    int r = pay(c, frame, now_usec);

    if (r == -EBUSY)
        atomic_fetch_add(&c->service->count.refused, 1);
    if (r != 0)
        return r;
    c->n_guest_frames += !c->receiver.is_known;
    /* Threads that look at the same time may exceed the limit by their number, as in Spark. */
    c->session.has_room = limits->chunks == 0 || atomic_load(&c->service->count.chunks) < limits->chunks;
    r = nm_spark_session_answer(&c->session, frame, &c->sender.out, &a);
    atomic_fetch_add(&c->service->count.streams, (uint_fast64_t)c->session.streams.n - n_streams);
    if (r == 0 && (r = account(c, false)) < 0) {
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
    c->sender.done.blocks_failed += a.has_failed;
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
    /* a client need not wait for earlier answers while the next one waits for its turn or for the share, or cannot be
     * made */
    if (r != NM_SHUFFLE_E_WAIT || ret_wait->events == 0)
        (void)nm_spark_sender_flush(&c->sender, false);
    c->session.lookups.open_dirs = NULL;
    nm_spark_sender_own(&c->sender);
    nm_spark_sender_trim(&c->sender);
    end_turn(c, take_spent());
    if (account(c, true) < 0 && r >= 0) { /* the client doesn't read, and its application has no memory left */
        atomic_fetch_add(&c->service->count.refused, 1);
        return -EBUSY;
    }
    return r;
}

/* ---- in the loop's thread ----------------------------------------------------------------- */

/* Takes a slot for a connection. There is no answer that makes a client try again, so the spare slots are not used. */
static int enter(struct nm_spark_service *s, int fd, const char *host, uint64_t host_id, unsigned *ret_slot)
{
    uint64_t ignored;
    int r = nm_spark_guests_book(s->guests, host_id, ACCEPT_PRICE_USEC, nm_now_usec(), &ignored);

    return r < 0 ? r : nm_shuffle_connections_enter(s->connections, fd, host, ret_slot);
}

int nm_spark_connection_begin(struct nm_spark_service *s, int accepted, const char *host)
{
    _cleanup_close_ int fd = accepted;
    _cleanup_free_ struct connection *c = malloc(sizeof *c);
    const uint64_t host_id = nm_spark_guests_host(s->guests, host);
    struct nm_shuffle_wait first;
    unsigned slot;
    int r;

    if (!c)
        return -ENOMEM;
    r = enter(s, fd, host, host_id, &slot);
    if (r == NM_SHUFFLE_CONNECTIONS_E_SPARE) {
        (void)STEAL_FD(fd);
        nm_shuffle_connections_leave(s->connections, slot);
        r = -EBUSY;
    }
    if (r < 0) {
        atomic_fetch_add(&s->count.refused, 1);
        return r;
    }
    c->service = s;
    c->turns = (struct nm_shuffle_turns){
        .loop = s->loop, .idle.fd = STEAL_FD(fd), /* the slot owns it from here on */
        .task.owner = {NM_SHUFFLE_GUESTS, host_id}};
    c->slot = slot;
    c->is_answering = c->is_closing = c->has_answered = false;
    c->taken_bytes = c->kept_bytes = c->credit_usec = 0;
    c->n_guest_frames = 0;
    c->told = (struct nm_spark_usage){};
    c->cipher = NULL;
    c->account = (struct nm_spark_account){pay_index, c};
    c->reserve = (struct nm_spark_reserve){reserve, c};
    nm_spark_session_init(&c->session, s->applications, &s->auth);
    c->session.lookups = (struct nm_spark_lookup_state){NULL, s->data_files, s->index_cache, &c->account};
    c->session.reserve = &c->reserve;
    nm_spark_sender_init(&c->sender, s, c->turns.idle.fd, c->session.application.id, host_id);
    nm_spark_receiver_init(&c->receiver, s, c->turns.idle.fd, &c->session.application, host_id);
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
