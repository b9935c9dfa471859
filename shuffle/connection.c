/* SPDX-License-Identifier: Apache-2.0 */

/* See connection.h. */

#include "shuffle/connection.h"

#include <assert.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "util/clock.h"
#include "util/error.h"

/* Hadoop's timeout for the next request of a connection. */
#define IDLE_USEC (5 * NM_USEC_PER_SEC)
/* Time for which a thread waits itself while other threads are free: a reducer that has more to fetch sends its next
 * request at once, and one that reads fast has soon read a part of the answer. */
#define STAY_USEC (20 * NM_USEC_PER_MSEC)
#define LINGER_USEC NM_USEC_PER_SEC

/* All memory of a connection except its answer. The buffer fits the longest head; requests have no body. */
struct connection {
    struct nm_shuffle_idle_entry idle;
    struct nm_shuffle_task task;
    const struct nm_shuffle_loop *loop;
    int fd;
    unsigned slot;
    bool spare, is_lingering;
    struct nm_shuffle_answer *answer; /* to the request at the front of the buffer; NULL: no request is answered */
    uint64_t request_deadline_usec;   /* time until which the whole next head must have arrived */
    size_t received, head_size;
    uint8_t buffer[NM_SHUFFLE_HEAD_MAX];
};

static struct connection *of_entry(struct nm_shuffle_idle_entry *entry)
{
    return NM_CONTAINER_OF(entry, struct connection, idle);
}

/* Ends a connection, which is neither in the loop nor in the pool. */
static void end(struct connection *c)
{
    struct nm_shuffle_connections *connections = c->loop->service->connections;
    unsigned slot = c->slot;

    nm_shuffle_answer_free(c->answer);
    free(c);
    /* from here on, a thread that waits for the end of the last connection may free all other data */
    nm_shuffle_connections_leave(connections, slot);
}

/* Returns the connection to the loop. Another thread may serve or end it from then on. */
static int wait_in_loop(struct connection *c, const struct nm_shuffle_wait *wait)
{
    int r;

    static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT, "poll() and epoll have the same events");
    c->idle.events = (uint32_t)wait->events;
    c->idle.deadline_usec = wait->until_usec;
    r = nm_shuffle_idle_add(c->loop->idle, &c->idle);
    if (r < 0)
        end(c);
    return r;
}

/* Lets the other side receive the last answer: closing with unread bytes would reset the connection, and the other side
 * would discard the answer. */
static void linger(struct connection *c)
{
    c->answer = nm_shuffle_answer_free(c->answer);
    shutdown(c->fd, SHUT_WR);
    c->is_lingering = true;
    (void)wait_in_loop(c, &(struct nm_shuffle_wait){POLLIN, nm_now_usec() + LINGER_USEC});
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
        n = recv(c->fd, c->buffer + c->received, sizeof c->buffer - c->received, MSG_DONTWAIT);
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

static int begin_answer(struct connection *c)
{
    struct nm_shuffle_service *s = c->loop->service;

    if (c->spare) {
        atomic_fetch_add(&s->count.refused, 1);
        return nm_shuffle_refuse(c->fd, NM_SHUFFLE_TOO_MANY,
                                 "All connections are in use, or your host has reached its limit\n");
    }
    return nm_shuffle_answer_new(s, c->fd, c->slot, (struct nm_bytes){c->buffer, c->head_size}, &c->answer);
}

static void end_answer(struct connection *c)
{
    c->answer = nm_shuffle_answer_free(c->answer);
    c->received -= c->head_size;
    memmove(c->buffer, c->buffer + c->head_size, c->received);
    c->request_deadline_usec = nm_now_usec() + IDLE_USEC;
}

/* Answers the requests that have arrived. Returns NM_SHUFFLE_E_WAIT with *ret_wait, NM_SHUFFLE_E_TURN,
 * NM_SHUFFLE_E_CLOSE or -errno. */
static int answer_requests(struct connection *c, struct nm_shuffle_wait *ret_wait)
{
    const uint64_t end_usec = nm_now_usec() + NM_SHUFFLE_TURN_USEC;

    for (;;) {
        int r;

        if (!c->answer && nm_now_usec() > end_usec)
            return NM_SHUFFLE_E_TURN;
        if (!c->answer) {
            r = read_head(c);
            if (r == -EMSGSIZE)
                return nm_shuffle_refuse(c->fd, NM_SHUFFLE_HEAD_TOO_LARGE, "The request is too long\n");
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

/* Waits, or passes the connection to the loop. Returns whether this thread still has the connection, and the result of
 * the wait. */
static bool stays(struct connection *c, const struct nm_shuffle_wait *wait, int *ret_result)
{
    const bool is_short = wait->events != 0 || wait->until_usec <= nm_now_usec() + STAY_USEC;

    *ret_result = -EAGAIN;
    if (is_short && nm_shuffle_pool_has_room(c->loop->pool))
        *ret_result = nm_shuffle_wait_in_thread(c->fd, wait, STAY_USEC);
    if (*ret_result == -EAGAIN)
        (void)wait_in_loop(c, wait);
    return *ret_result != -EAGAIN;
}

static void submit(struct connection *c)
{
    if (nm_shuffle_pool_submit(c->loop->pool, &c->task) < 0)
        end(c);
}

void nm_shuffle_connection_serve(struct nm_shuffle_task *task)
{
    struct connection *c = NM_CONTAINER_OF(task, struct connection, task);
    struct nm_shuffle_wait wait;
    int r;

    do {
        r = answer_requests(c, &wait);
        if (r == NM_SHUFFLE_E_WAIT && !stays(c, &wait, &r))
            return;
        if (r == NM_SHUFFLE_E_TURN && !nm_shuffle_pool_has_room(c->loop->pool)) {
            submit(c);
            return;
        }
    } while (r == 0 || r == NM_SHUFFLE_E_TURN);
    if (r == NM_SHUFFLE_E_CLOSE)
        linger(c);
    else
        end(c);
}

/* ---- in the loop's thread ----------------------------------------------------------------- */

int nm_shuffle_connection_begin(const struct nm_shuffle_loop *loop, int accepted, const char *host)
{
    _cleanup_close_ int fd = accepted;
    _cleanup_free_ struct connection *c = malloc(sizeof *c);
    struct nm_shuffle_service *s = loop->service;
    unsigned slot;
    int r;

    if (!c)
        return -ENOMEM;
    r = nm_shuffle_connections_enter(s->connections, fd, host, &slot);
    if (r < 0) {
        atomic_fetch_add(&s->count.refused, 1);
        return r;
    }
    c->loop = loop;
    c->fd = STEAL_FD(fd); /* the slot owns the descriptor from here on */
    c->slot = slot;
    c->spare = r == NM_SHUFFLE_CONNECTIONS_E_SPARE;
    c->is_lingering = false;
    c->answer = NULL;
    c->received = 0;
    c->request_deadline_usec = nm_now_usec() + s->request_usec;
    c->idle = (struct nm_shuffle_idle_entry){.fd = c->fd};
    r = wait_in_loop(STEAL_PTR(c), &(struct nm_shuffle_wait){POLLIN, nm_now_usec() + s->request_usec});
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
        submit(c);
    else if (r == 0)
        (void)wait_in_loop(c, &(struct nm_shuffle_wait){POLLIN, c->request_deadline_usec});
    else
        end(c);
}

static void discard(struct connection *c)
{
    if (nm_now_usec() >= c->idle.deadline_usec || recv(c->fd, c->buffer, sizeof c->buffer, MSG_DONTWAIT) <= 0)
        end(c);
    else
        (void)wait_in_loop(c, &(struct nm_shuffle_wait){POLLIN, c->idle.deadline_usec});
}

/* A reducer that has closed its side does not get the rest of an answer. */
void nm_shuffle_connection_ready(struct nm_shuffle_idle_entry *entry)
{
    struct connection *c = of_entry(entry);

    if (c->is_lingering)
        discard(c);
    else if (!c->answer)
        receive(c);
    else if (entry->ready_events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        end(c);
    else
        submit(c);
}

/* An answer checks its own deadline, and may have waited only for the time. */
void nm_shuffle_connection_expired(struct nm_shuffle_idle_entry *entry)
{
    struct connection *c = of_entry(entry);

    if (c->answer)
        submit(c);
    else
        end(c);
}

void nm_shuffle_connection_end(struct nm_shuffle_idle_entry *entry)
{
    end(of_entry(entry));
}
