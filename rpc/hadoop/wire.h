/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One connection's socket in the event loop: frames that come, one at a time, and frames that go. Nothing waits. What
 * the peer doesn't fetch is kept for it, at its account's cost, and no further than that goes.
 *
 * A wire is part of its owner, who hears of everything from the loop: nothing calls back out of nm_wire_send() and the
 * like. ended() is the last that is heard; the owner may free the wire there, and anywhere that isn't in frame() or
 * preamble().
 */

#include <systemd/sd-event.h>

#include "rpc/hadoop/bytes.h"
#include "rpc/hadoop/frame.h"
#include "rpc/hadoop/packet.h"

enum {
    NM_WIRE_E_KEEP = 1, /* frame() isn't done with it: no more is read until nm_wire_go_on() */
};

struct nm_wire;

struct nm_wire_ops {
    /* The first bytes of a connection, if the owner wants them: NM_FRAME_PREAMBLE_SIZE, or at least four if they don't
     * begin with the magic. 0 or -errno, which ends the wire. */
    int (*preamble)(struct nm_wire *w, struct nm_bytes start);
    /* A whole frame's content: 0, -errno, NM_WIRE_E_KEEP. */
    int (*frame)(struct nm_wire *w, struct nm_bytes packet);
    /* 0: the peer has closed it between two frames, or nm_wire_finish() is through. */
    void (*ended)(struct nm_wire *w, int error);
};

struct nm_wire {
    const struct nm_wire_ops *ops;
    struct nm_quota_account *account;
    sd_event_source *io;
    int fd, error;
    struct nm_frame in;
    uint8_t preamble[NM_FRAME_PREAMBLE_SIZE];
    unsigned n_preamble;
    struct nm_packet_frame *out, **out_end;
    bool kept, paused, finishing, ended;
    size_t n_drained;
    /* CLOCK_BOOTTIME: of the first byte of the frame that comes, of the last byte that went. */
    uint64_t begun_usec, sent_usec;
};

/* fd is the wire's from now on, also on failure. account: NULL, or the wire's own reference. */
int nm_wire_init(struct nm_wire *w, const struct nm_wire_ops *ops, sd_event *event, int64_t priority, int fd,
                 struct nm_quota_account *account, size_t frame_max);
void nm_wire_done(struct nm_wire *w);

/* Another account pays from now on, also for what it held until now, and frames may have another size. The reference is
 * taken over unless it fails (-ENOBUFS: the account can't pay). */
int nm_wire_belongs_to(struct nm_wire *w, struct nm_quota_account *account, size_t frame_max);

/* Takes the frame over. */
void nm_wire_send(struct nm_wire *w, struct nm_packet_frame *f);
/* Is something still to be fetched? */
static inline bool nm_wire_is_sending(const struct nm_wire *w)
{
    return w->out;
}

/* No frame is asked for meanwhile. */
void nm_wire_pause(struct nm_wire *w, bool pause);
/* The frame that was kept is done with. */
void nm_wire_go_on(struct nm_wire *w);

/* Nothing more will be sent: what is under way goes out, then the peer sees the end, and what it still sends is thrown
 * away until it closes, too. To close at once would take away from it what it hasn't read. */
void nm_wire_finish(struct nm_wire *w);
/* Ends it in the loop's next turn, with this error. */
void nm_wire_abort(struct nm_wire *w, int error);
