/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The other end of a connection of Hadoop's RPC, in the loop of the one that is fuzzed: it writes what it wants, also
 * what no client or server of ours would send. What is waited for and never comes is a hang, and ends the program.
 */

#include <protobuf-c/protobuf-c.h>
#include <systemd/sd-event.h>

#include "protobuf-wire.h"

struct peer {
    sd_event *event;
    int fd;
    struct wire_out in, out;
    size_t sent;
    bool ended; /* by the other side */
};

/* fd is the peer's. */
void peer_init(struct peer *p, sd_event *event, int fd);
void peer_done(struct peer *p);

/* One turn: writes, lets the loop do what is due, reads. wait_usec: so long if there was nothing to do. False: nothing
 * was done, by anybody. */
bool peer_turn(struct peer *p, uint64_t wait_usec);

/* The next frame's content, once it is there; false: the other side has closed. Aborts when neither comes. */
bool peer_frame(struct peer *p, struct wire_out *ret);
/* Is a whole one there already? */
bool peer_has_frame(const struct peer *p);
/* A packet of up to three messages, as a frame. */
void peer_send(struct peer *p, const struct nm_bytes *messages, size_t n);

/* A message, and behind it more of its fields: what comes later counts. */
struct wire_out peer_message(const ProtobufCMessage *m, struct nm_bytes more);
