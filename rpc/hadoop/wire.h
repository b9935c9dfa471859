/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The socket of one connection in the event loop. Receives one frame at a time and sends frames. No function blocks.
 * Frames that the peer doesn't read are queued. They are charged to the peer's account, up to the account's limit.
 *
 * A struct nm_wire is a member of the object that owns it. Callbacks are called only from the event loop, never from
 * nm_wire_send() or other functions of this header. ended() is the last callback. The owner may free the wire in
 * ended(), and at any time outside frame() and preamble().
 */

#include <systemd/sd-event.h>

#include "rpc/hadoop/bytes.h"
#include "rpc/hadoop/packet.h"

enum {
    NM_WIRE_E_FRAME_IN_USE = 1, /* frame() still needs the frame: reading stops until nm_wire_resume() */
};

struct nm_wire;

struct nm_wire_ops {
    /* Optional. Receives the first bytes of a connection: NM_HADOOP_FRAME_PREAMBLE_SIZE bytes, or at least four bytes
     * if the connection doesn't begin with the magic. Returns 0, or -errno, which ends the wire. */
    int (*preamble)(struct nm_wire *w, struct nm_bytes start);
    /* Receives the content of a frame. Returns 0, -errno or NM_WIRE_E_FRAME_IN_USE. */
    int (*frame)(struct nm_wire *w, struct nm_bytes packet);
    /* Reports the end. error 0: the peer closed the connection between two frames, or nm_wire_finish() is complete. */
    void (*ended)(struct nm_wire *w, int error);
};

struct nm_wire {
    const struct nm_wire_ops *ops;
    struct nm_quota_account *account;
    sd_event_source *io;
    int fd, error;
    struct nm_hadoop_frame in;
    uint8_t preamble[NM_HADOOP_FRAME_PREAMBLE_SIZE];
    unsigned n_preamble;
    struct nm_packet_frame *out, **out_end;
    bool kept, paused, finishing, ended;
    size_t n_drained;
    /* CLOCK_BOOTTIME of the first byte of the incomplete frame and of the last sent byte */
    uint64_t begun_usec, sent_usec;
};

/* Starts a wire on fd, and takes fd over, also on failure. account: NULL, or a reference that the wire takes over. */
int nm_wire_init(struct nm_wire *w, const struct nm_wire_ops *ops, sd_event *event, int64_t priority, int fd,
                 struct nm_quota_account *account, size_t frame_max);
void nm_wire_done(struct nm_wire *w);

/* Changes the account and the maximum frame size. The new account is also charged for the memory already in use. Takes
 * the reference over, except on failure (-ENOBUFS: the account's limit is exceeded). */
int nm_wire_belongs_to(struct nm_wire *w, struct nm_quota_account *account, size_t frame_max);

/* Sends the frame, or queues it if the socket doesn't accept it. Takes the frame over. */
void nm_wire_send(struct nm_wire *w, struct nm_packet_frame *f);
/* Returns whether frames are still queued. */
static inline bool nm_wire_is_sending(const struct nm_wire *w)
{
    return w->out;
}

/* Stops or resumes reading of frames. */
void nm_wire_pause(struct nm_wire *w, bool pause);
/* Resumes reading after NM_WIRE_E_FRAME_IN_USE. */
void nm_wire_resume(struct nm_wire *w);

/* Ends sending. Queued frames are sent, and then the sending direction is shut down. Bytes that the peer still sends
 * are discarded until the peer closes the connection too. Closing immediately would discard data that the peer hasn't
 * read. */
void nm_wire_finish(struct nm_wire *w);
/* Ends the wire with this error in the next turn of the event loop. */
void nm_wire_abort(struct nm_wire *w, int error);
