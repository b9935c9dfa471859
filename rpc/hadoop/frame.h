/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Frames as they come in: four bytes of length, the highest first, and so many bytes. The reader says where the next
 * bytes are to be put, so that they are copied once, and never more than one frame is taken from the socket. What is
 * announced costs nothing: room grows with what has come.
 */

#include "util/quota.h"

/* A connection begins with these: "hrpc", the version, a service class that nobody uses, and how the client wants to
 * be known: by its word (0), or by SASL. */
#define NM_FRAME_MAGIC "hrpc"
#define NM_FRAME_VERSION 9
#define NM_FRAME_AUTH_NONE 0x00
#define NM_FRAME_AUTH_SASL 0xdf
#define NM_FRAME_PREAMBLE_SIZE 7

enum {
    NM_FRAME_E_WHOLE = 1, /* data and size are a frame; nm_frame_drop() begins the next one */
};

struct nm_frame {
    struct nm_quota_account *account; /* who pays for the room, or NULL */
    size_t max;                 /* what is announced to be longer is refused */
    uint8_t head[4];
    unsigned n_head;
    uint8_t *data;
    size_t size, n, room; /* announced; of that have come; have a place */
};

/* For a new reader, or one between frames. */
void nm_frame_init(struct nm_frame *f, size_t max, struct nm_quota_account *account);
void nm_frame_drop(struct nm_frame *f);

/* Has something of a frame come? */
bool nm_frame_begun(const struct nm_frame *f);

/* Where the next bytes go, and how many at most. -ENOBUFS: the account has no more for it. */
int nm_frame_want(struct nm_frame *f, uint8_t **ret_to, size_t *ret_size);

/* So many have been put there. 0: go on; NM_FRAME_E_WHOLE; -EMSGSIZE: longer than max; -EBADMSG: of length 0, which
 * nothing sends. */
int nm_frame_got(struct nm_frame *f, size_t n);
