/* SPDX-License-Identifier: Apache-2.0 */

/* See wire.h. */

#include "rpc/hadoop/wire.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "util/clock.h"

/* Maximum number of bytes of a long frame that are processed in one turn of the event loop. */
#define TURN_BYTES (256u << 10)
/* Maximum number of bytes that are discarded after the end of sending, while the peer continues to send. */
#define DRAIN_BYTES (1u << 20)

/* ---- events ---------------------------------------------------------------------------------- */

static void rearm(struct nm_wire *w)
{
    uint32_t events = 0;

    if (w->finishing || (!w->paused && !w->kept))
        events |= EPOLLIN;
    if (w->out)
        events |= EPOLLOUT;
    (void)sd_event_source_set_io_events(w->io, events);
}

/* Makes the event loop call the wire even if the socket has no event, to end the wire. */
void nm_wire_abort(struct nm_wire *w, int error)
{
    assert(error < 0);
    if (w->error == 0)
        w->error = error;
    (void)shutdown(w->fd, SHUT_RDWR);
}

static void end(struct nm_wire *w, int error)
{
    assert(!w->ended);
    w->ended = true;
    (void)sd_event_source_set_enabled(w->io, SD_EVENT_OFF);
    w->ops->ended(w, error);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void drop_first(struct nm_wire *w)
{
    struct nm_packet_frame *f = w->out;

    w->out = f->next;
    if (!w->out)
        w->out_end = &w->out;
    if (w->account)
        nm_quota_account_give(w->account, f->size);
    free(f);
}

/* Sends as much as the socket accepts. Returns 0 or -errno. */
static int send_some(struct nm_wire *w, struct nm_packet_frame *f)
{
    ssize_t n = send(w->fd, f->data + f->sent, f->size - f->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    f->sent += (size_t)n;
    w->sent_usec = nm_now_usec();
    return 0;
}

static int flush(struct nm_wire *w)
{
    while (w->out) {
        int r = send_some(w, w->out);

        if (r < 0)
            return r;
        if (w->out->sent < w->out->size)
            return 0;
        drop_first(w);
    }
    if (w->finishing)
        (void)shutdown(w->fd, SHUT_WR);
    rearm(w);
    return 0;
}

/* Sends a frame. Usually the socket accepts the whole frame immediately; then no account is charged. */
void nm_wire_send(struct nm_wire *w, struct nm_packet_frame *f)
{
    int r = w->error;

    assert(!w->finishing);
    if (r == 0 && !w->out)
        r = send_some(w, f);
    if (r == 0 && f->sent < f->size && w->account && !nm_quota_account_take(w->account, f->size))
        r = -ENOBUFS;
    if (r < 0 || f->sent == f->size) {
        free(f);
        if (r < 0)
            nm_wire_abort(w, r);
        return;
    }
    if (!w->out)
        w->sent_usec = nm_now_usec();
    f->next = NULL;
    *w->out_end = f;
    w->out_end = &f->next;
    rearm(w);
}

void nm_wire_finish(struct nm_wire *w)
{
    if (w->finishing)
        return;
    w->finishing = true;
    if (!w->out)
        (void)shutdown(w->fd, SHUT_WR);
    rearm(w);
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Receives data. Returns -EAGAIN if no data has arrived, or 0 if the peer has closed the connection. */
static ssize_t receive(struct nm_wire *w, uint8_t *to, size_t size)
{
    ssize_t n = recv(w->fd, to, size, MSG_DONTWAIT);

    if (n < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    return n;
}

static int drain(struct nm_wire *w, bool *ret_closed)
{
    uint8_t waste[4096];
    ssize_t n;

    while ((n = receive(w, waste, sizeof waste)) > 0) {
        w->n_drained += (size_t)n;
        if (w->n_drained > DRAIN_BYTES)
            break;
    }
    *ret_closed = n == 0 || n > 0;
    return n == -EAGAIN || n >= 0 ? 0 : (int)n;
}

static int read_preamble(struct nm_wire *w, bool *ret_closed)
{
    const unsigned magic = sizeof NM_HADOOP_FRAME_MAGIC - 1;
    ssize_t n = receive(w, w->preamble + w->n_preamble, sizeof w->preamble - w->n_preamble);

    *ret_closed = n == 0;
    if (n <= 0)
        return n == -EAGAIN ? 0 : (int)n;
    w->n_preamble += (unsigned)n;
    if (w->n_preamble == sizeof w->preamble ||
        (w->n_preamble >= magic && memcmp(w->preamble, NM_HADOOP_FRAME_MAGIC, magic) != 0)) {
        struct nm_bytes start = {w->preamble, w->n_preamble};

        w->n_preamble = sizeof w->preamble;
        return w->ops->preamble(w, start);
    }
    return 0;
}

static int whole(struct nm_wire *w)
{
    int r = w->ops->frame(w, (struct nm_bytes){w->in.data, w->in.size});

    if (r == NM_WIRE_E_FRAME_IN_USE) {
        w->kept = true;
        rearm(w);
        return 0;
    }
    nm_hadoop_frame_drop(&w->in);
    return r;
}

/* Reads at most one frame, so that other connections are processed in between. */
static int read_frame(struct nm_wire *w, bool *ret_closed)
{
    size_t sum = 0;
    int r = 0;

    while (r == 0 && sum < TURN_BYTES) {
        uint8_t *to;
        size_t size;
        ssize_t n;

        r = nm_hadoop_frame_want(&w->in, &to, &size);
        if (r < 0)
            return r;
        n = receive(w, to, size);
        *ret_closed = n == 0;
        if (n <= 0)
            return n == -EAGAIN ? 0 : n < 0 ? (int)n : nm_hadoop_frame_begun(&w->in) ? -ECONNRESET : 0;
        if (!nm_hadoop_frame_begun(&w->in))
            w->begun_usec = nm_now_usec();
        sum += (size_t)n;
        r = nm_hadoop_frame_got(&w->in, (size_t)n);
    }
    return r == NM_HADOOP_FRAME_E_WHOLE ? whole(w) : r;
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_wire *w = userdata;
    bool closed = false;
    int r = w->error;

    (void)source, (void)fd;
    if (r == 0 && w->out)
        r = flush(w);
    if (r == 0 && w->finishing)
        r = drain(w, &closed);
    else if (r == 0 && revents & EPOLLIN && !w->kept && !w->paused)
        r = w->n_preamble < sizeof w->preamble ? read_preamble(w, &closed) : read_frame(w, &closed);
    else if (r == 0 && revents & (EPOLLERR | EPOLLHUP))
        r = -ECONNRESET;
    if (r == 0)
        r = w->error;
    if (r < 0 || closed)
        end(w, NM_MIN(r, 0));
    return 0;
}

/* ---- lifetime ----------------------------------------------------------------------------- */

int nm_wire_init(struct nm_wire *w, const struct nm_wire_ops *ops, sd_event *event, int64_t priority, int fd,
                 struct nm_quota_account *account, size_t frame_max)
{
    uint64_t now = nm_now_usec();
    int r;

    *w = (struct nm_wire){.ops = ops, .fd = fd, .account = account, .begun_usec = now, .sent_usec = now};
    w->out_end = &w->out;
    if (!ops->preamble)
        w->n_preamble = sizeof w->preamble;
    nm_hadoop_frame_init(&w->in, frame_max, account);
    r = sd_event_add_io(event, &w->io, fd, EPOLLIN, on_io, w);
    if (r >= 0)
        r = sd_event_source_set_priority(w->io, priority);
    if (r >= 0)
        (void)sd_event_source_set_description(w->io, "hadoop-rpc");
    else
        nm_wire_done(w);
    return NM_MIN(r, 0);
}

void nm_wire_done(struct nm_wire *w)
{
    if (!w->ops)
        return;
    w->ended = true;
    nm_hadoop_frame_drop(&w->in);
    while (w->out)
        drop_first(w);
    w->io = sd_event_source_disable_unref(w->io);
    w->fd = nm_close(w->fd);
    w->account = nm_quota_account_unref(w->account);
    w->ops = NULL;
}

int nm_wire_belongs_to(struct nm_wire *w, struct nm_quota_account *account, size_t frame_max)
{
    size_t held = w->in.room;

    for (const struct nm_packet_frame *f = w->out; f; f = f->next)
        held += f->size;
    if (!nm_quota_account_take(account, held))
        return -ENOBUFS;
    nm_quota_account_give(w->account, held);
    nm_quota_account_unref(w->account);
    w->account = w->in.account = account;
    w->in.max = frame_max;
    return 0;
}

void nm_wire_pause(struct nm_wire *w, bool pause)
{
    w->paused = pause;
    rearm(w);
}

void nm_wire_resume(struct nm_wire *w)
{
    assert(w->kept);
    w->kept = false;
    nm_hadoop_frame_drop(&w->in);
    rearm(w);
}
