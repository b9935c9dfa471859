/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The peer of the code under test in a connection of Hadoop's RPC. Both use the same event loop. The peer can write any
 * bytes, also bytes that no correct client or server would send. If the code under test does not send expected data
 * within a minute, the program aborts.
 */

#include <protobuf-c/protobuf-c.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-event.h>

#include "protobuf-wire.h"

struct peer {
    sd_event *event;
    int fd;
    struct wire_out in, out;
    size_t sent;
    bool ended; /* the other side has closed the connection */
};

/* Aborts unless the condition is true. */
static inline void must(bool is)
{
    if (!is)
        abort();
}

/* Returns a socket that listens on a UNIX address that the kernel chooses. */
int peer_listen(struct sockaddr_un *ret_address, socklen_t *ret_size);

/* Takes ownership of fd. */
void peer_init(struct peer *p, sd_event *event, int fd);
void peer_done(struct peer *p);

/* Makes one turn: writes, runs the event loop once, reads. wait_usec: time to wait if the loop is idle. False: both
 * sides were idle. */
bool peer_turn(struct peer *p, uint64_t wait_usec);

/* Waits for the next frame and returns its content. False: the other side has closed the connection. Aborts if neither
 * a frame nor the end of the connection arrives. */
bool peer_frame(struct peer *p, struct wire_out *ret);
/* Returns whether a complete frame has arrived. */
bool peer_has_frame(const struct peer *p);
/* Sends a packet of up to three messages as a frame. */
void peer_send(struct peer *p, const struct nm_bytes *messages, size_t n);

/* Returns a packed message, followed by further fields of the same type of message. These fields override earlier
 * fields, because a parser uses the last field of a number. */
struct wire_out peer_message(const ProtobufCMessage *m, struct nm_bytes more);
