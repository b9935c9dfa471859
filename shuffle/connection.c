/* SPDX-License-Identifier: Apache-2.0 */

/* See connection.h. */

#include "shuffle/connection.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "shuffle/answer.h"
#include "shuffle/socket.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fnv1a.h"

/* Hadoop's timeout for the next request of a connection. */
#define IDLE_USEC (5 * NM_USEC_PER_SEC)
#define LINGER_USEC NM_USEC_PER_SEC
/* Longest time that a reducer has to read the rest of an answer that is in the socket's buffer: as long as a reducer
 * may take to read anything. */
#define LINGER_MAX_USEC (60 * NM_USEC_PER_SEC)

/* All memory of a connection except its answer. The buffer fits the longest head; requests have no body. */
struct connection {
    struct nm_shuffle_turns turns;
    struct nm_shuffle_service *service;
    unsigned slot;
    bool spare, is_lingering;
    struct nm_shuffle_answer *answer; /* to the request at the front of the buffer; NULL: no request is answered */
    uint64_t request_deadline_usec;   /* time until which the whole next head must have arrived, or the last answer
                                         have been read */
    size_t received, head_size;
    uint8_t buffer[NM_SHUFFLE_HEAD_MAX];
};

static struct connection *of_turns(struct nm_shuffle_turns *t)
{
    return NM_CONTAINER_OF(t, struct connection, turns);
}

static void end(struct connection *c)
{
    struct nm_shuffle_connections *connections = c->service->connections;
    unsigned slot = c->slot;

    nm_shuffle_answer_free(c->answer);
    free(c);
    /* from here on, a thread that waits for the end of the last connection may free all other data */
    nm_shuffle_connections_leave(connections, slot);
}

static void wait_for_reading(struct connection *c)
{
    (void)nm_shuffle_turns_wait(&c->turns, &(struct nm_shuffle_wait){POLLIN, nm_now_usec() + LINGER_USEC});
}

/* Lets the other side receive the last answer: closing with unread bytes would reset the connection, and the other side
 * would discard the answer. */
static void linger(struct connection *c)
{
    c->answer = nm_shuffle_answer_free(c->answer);
    shutdown(c->turns.idle.fd, SHUT_WR);
    c->is_lingering = true;
    c->request_deadline_usec = nm_now_usec() + LINGER_MAX_USEC;
    wait_for_reading(c);
}

void nm_shuffle_connection_end(struct nm_shuffle_turns *t, int result)
{
    if (result == NM_SHUFFLE_E_CLOSE)
        linger(of_turns(t));
    else
        end(of_turns(t));
}

/* Reads until the head is complete. Returns 1 then, 0 if more must arrive, -ECONNRESET if the other side closed,
 * -EMSGSIZE if the head is too long, -ETIMEDOUT if its time is over. The timeout applies to the whole head, so that a
 * client cannot extend it with one byte a second. */
static int read_head(struct connection *c)
{
    for (;;) {
        ssize_t n;

        c->head_size = nm_shuffle_head_size((struct nm_bytes){c->buffer, c->received});
        if (c->head_size > 0)
            return 1;
        if (c->received == sizeof c->buffer)
            return -EMSGSIZE;
        n = recv(c->turns.idle.fd, c->buffer + c->received, sizeof c->buffer - c->received, MSG_DONTWAIT);
        if (n == 0)
            return -ECONNRESET;
        if (n > 0)
            c->received += (size_t)n;
        else if (errno == EAGAIN)
            return nm_now_usec() < c->request_deadline_usec ? 0 : -ETIMEDOUT;
        else if (errno != EINTR)
            return -errno;
    }
}

/* ---- in a thread of the pool -------------------------------------------------------------- */

/* Gives the connection to the job that has signed its request. Returns NM_SHUFFLE_E_TURN if it had another owner, so
 * that the job uses its own threads from now on. */
static int belong(struct connection *c)
{
    struct nm_shuffle_owner owner;

    if (!nm_shuffle_answer_has_owner(c->answer, &owner) || nm_shuffle_owner_equal(owner, c->turns.task.owner))
        return 0;
    c->turns.task.owner = owner;
    return NM_SHUFFLE_E_TURN;
}

static int begin_answer(struct connection *c)
{
    struct nm_shuffle_service *s = c->service;
    int r;

    if (c->spare) {
        atomic_fetch_add(&s->count.refused, 1);
        return nm_shuffle_refuse(c->turns.idle.fd, NM_SHUFFLE_TOO_MANY,
                                 "All connections are in use, or your host has reached its limit\n");
    }
    r = nm_shuffle_answer_new(s, c->turns.idle.fd, c->slot, (struct nm_bytes){c->buffer, c->head_size}, &c->answer);
    return r < 0 ? r : belong(c);
}

static void end_answer(struct connection *c)
{
    c->answer = nm_shuffle_answer_free(c->answer);
    c->received -= c->head_size;
    memmove(c->buffer, c->buffer + c->head_size, c->received);
    c->request_deadline_usec = nm_now_usec() + IDLE_USEC;
}

int nm_shuffle_connection_answer(struct nm_shuffle_turns *t, struct nm_shuffle_wait *ret_wait)
{
    struct connection *c = of_turns(t);
    const uint64_t end_usec = nm_now_usec() + NM_SHUFFLE_TURN_USEC;

    for (;;) {
        int r;

        if (!c->answer && nm_now_usec() > end_usec)
            return NM_SHUFFLE_E_TURN;
        if (!c->answer) {
            r = read_head(c);
            if (r == -EMSGSIZE)
                return nm_shuffle_refuse(c->turns.idle.fd, NM_SHUFFLE_HEAD_TOO_LARGE, "The request is too long\n");
            if (r < 0)
                return r;
            if (r == 0) {
                *ret_wait = (struct nm_shuffle_wait){POLLIN, c->request_deadline_usec};
                return NM_SHUFFLE_E_WAIT;
            }
            if ((r = begin_answer(c)) != 0)
                return r;
        }
        if ((r = nm_shuffle_answer_continue(c->answer, ret_wait)) != 0)
            return r;
        end_answer(c);
    }
}

/* ---- in the loop's thread ----------------------------------------------------------------- */

int nm_shuffle_connection_begin(struct nm_shuffle_service *s, int accepted, const char *host)
{
    _cleanup_close_ int fd = accepted;
    _cleanup_free_ struct connection *c = malloc(sizeof *c);
    unsigned slot;
    int r;

    if (!c)
        return -ENOMEM;
    r = nm_shuffle_connections_enter(s->connections, fd, host, &slot);
    if (r < 0) {
        atomic_fetch_add(&s->count.refused, 1);
        return r;
    }
    c->service = s;
    c->turns = (struct nm_shuffle_turns){
        .loop = s->loop, .idle.fd = STEAL_FD(fd), /* the slot owns it from here on */
        .task.owner = {NM_SHUFFLE_GUESTS, nm_fnv1a_64(host) ?: 1}};
    c->slot = slot;
    c->spare = r == NM_SHUFFLE_CONNECTIONS_E_SPARE;
    c->is_lingering = false;
    c->answer = NULL;
    c->received = 0;
    c->request_deadline_usec = nm_now_usec() + s->request_usec;
    r = nm_shuffle_turns_wait(&STEAL_PTR(c)->turns, &(struct nm_shuffle_wait){POLLIN, nm_now_usec() + s->request_usec});
    if (r < 0)
        return r;
    atomic_fetch_add(&s->count.connections, 1);
    return 0;
}

/* Reads a request. Without a whole one, the connection waits on until the same deadline. */
static void receive(struct connection *c)
{
    int r = read_head(c);

    if (r > 0 || r == -EMSGSIZE)
        nm_shuffle_turns_submit(&c->turns);
    else if (r == 0)
        (void)nm_shuffle_turns_wait(&c->turns, &(struct nm_shuffle_wait){POLLIN, c->request_deadline_usec});
    else
        end(c);
}

/* Continues to linger while the other side must still read a part of the answer: the kernel would keep that part beyond
 * the limits of the job's connections. */
static void linger_on(struct connection *c)
{
    if (nm_now_usec() < c->request_deadline_usec && nm_shuffle_socket_unread(c->turns.idle.fd) > NM_SHUFFLE_TAIL_BYTES)
        wait_for_reading(c);
    else
        end(c);
}

static void discard(struct connection *c)
{
    const uint64_t deadline_usec = c->turns.idle.deadline_usec;

    if (recv(c->turns.idle.fd, c->buffer, sizeof c->buffer, MSG_DONTWAIT) <= 0)
        end(c);
    else if (nm_now_usec() >= deadline_usec)
        linger_on(c);
    else
        (void)nm_shuffle_turns_wait(&c->turns, &(struct nm_shuffle_wait){POLLIN, deadline_usec});
}

/* A reducer that has closed its side does not get the rest of an answer. */
void nm_shuffle_connection_ready(struct nm_shuffle_turns *t)
{
    struct connection *c = of_turns(t);

    if (c->is_lingering)
        discard(c);
    else if (!c->answer)
        receive(c);
    else if (t->idle.ready_events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        end(c);
    else
        nm_shuffle_turns_submit(t);
}

/* An answer checks its own deadline, and may have waited only for the time. */
void nm_shuffle_connection_expired(struct nm_shuffle_turns *t)
{
    struct connection *c = of_turns(t);

    if (c->answer)
        nm_shuffle_turns_submit(t);
    else if (c->is_lingering)
        linger_on(c);
    else
        end(c);
}
