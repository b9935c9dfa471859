/* SPDX-License-Identifier: Apache-2.0 */

/* See rpc-peer.h. */

#include "rpc-peer.h"

#include <errno.h>
#include <fcntl.h>

#include "util/clock.h"

/* This limit is longer than any wait in correct code, and longer than the delays of a busy machine. */
#define WAIT_USEC (60 * NM_USEC_PER_SEC)
#define HEAD_SIZE 4u

int peer_listen(struct sockaddr_un *ret_address, socklen_t *ret_size)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    *ret_size = sizeof *ret_address;
    must(fd >= 0 && bind(fd, (struct sockaddr *)ret_address, sizeof ret_address->sun_family) == 0 &&
         listen(fd, 4) == 0 && getsockname(fd, (struct sockaddr *)ret_address, ret_size) == 0);
    return fd;
}

void peer_init(struct peer *p, sd_event *event, int fd)
{
    *p = (struct peer){.event = event, .fd = fd};
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        abort();
}

void peer_done(struct peer *p)
{
    p->fd = nm_close(p->fd);
    wire_out_done(&p->in);
    wire_out_done(&p->out);
}

static bool send_some(struct peer *p)
{
    ssize_t n;

    if (p->sent == p->out.size)
        return false;
    n = send(p->fd, p->out.data + p->sent, p->out.size - p->sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN)
        return false;
    p->sent = n < 0 ? p->out.size : p->sent + (size_t)n; /* the other side has closed the connection: drop the rest of
                                                            the output */
    return true;
}

static bool receive_some(struct peer *p)
{
    uint8_t bytes[16384];
    ssize_t n;

    if (p->ended)
        return false;
    n = recv(p->fd, bytes, sizeof bytes, 0);
    if (n < 0 && errno == EAGAIN)
        return false;
    if (n > 0)
        wire_put(&p->in, (struct nm_bytes){bytes, (size_t)n});
    else
        p->ended = true;
    return true;
}

bool peer_turn(struct peer *p, uint64_t wait_usec)
{
    bool busy = send_some(p);
    int r = sd_event_run(p->event, busy ? 0 : wait_usec);

    if (r < 0)
        abort();
    return receive_some(p) || busy || r > 0;
}

static size_t frame_size(const struct peer *p)
{
    const uint8_t *d = p->in.data;

    return (size_t)d[0] << 24 | (size_t)d[1] << 16 | (size_t)d[2] << 8 | d[3];
}

bool peer_has_frame(const struct peer *p)
{
    return p->in.size >= HEAD_SIZE && p->in.size - HEAD_SIZE >= frame_size(p);
}

bool peer_frame(struct peer *p, struct wire_out *ret)
{
    const uint64_t deadline = nm_now_usec() + WAIT_USEC;
    size_t size;

    while (!peer_has_frame(p)) {
        if (p->ended)
            return false;
        if (nm_now_usec() > deadline)
            abort();
        (void)peer_turn(p, NM_USEC_PER_MSEC);
    }
    size = frame_size(p);
    *ret = (struct wire_out){};
    wire_put(ret, (struct nm_bytes){p->in.data + HEAD_SIZE, size});
    p->in.size -= HEAD_SIZE + size;
    (void)memmove(p->in.data, p->in.data + HEAD_SIZE + size, p->in.size);
    return true;
}

void peer_send(struct peer *p, const struct nm_bytes *messages, size_t n)
{
    _cleanup_(wire_out_done) struct wire_out packet = {};
    uint8_t head[HEAD_SIZE];

    for (size_t i = 0; i < n; i++)
        wire_put_counted(&packet, messages[i]);
    for (size_t i = 0; i < HEAD_SIZE; i++)
        head[i] = (uint8_t)(packet.size >> (8 * (HEAD_SIZE - 1 - i)));
    wire_put(&p->out, (struct nm_bytes){head, sizeof head});
    wire_put(&p->out, wire_bytes(&packet));
}

struct wire_out peer_message(const ProtobufCMessage *m, struct nm_bytes more)
{
    struct wire_out o = {.room = protobuf_c_message_get_packed_size(m) + 1};

    o.data = malloc(o.room);
    if (!o.data)
        abort();
    o.size = protobuf_c_message_pack(m, o.data);
    wire_put(&o, more);
    return o;
}
