/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the two ends of a session say to each other: nmctl, and the shim that runs a command for it, once HTTP has made
 * room on their connection (101). Each frame has a head of four bytes, its type, a 0 and its length with the high byte
 * first, and as many bytes as that. No frame is longer than a buffer that both have; and of input only one is under way
 * at a time, the next being sent when that one is TAKEN: so a command that doesn't read never stops what else is said.
 *
 * A container's own command has neither END nor SIGNAL, which are nmd's. With a terminal its client speaks first, with
 * a SIZE, and TAKEN is the answer as soon as the command runs.
 */

#include <stddef.h>
#include <stdint.h>

#define NM_FRAME_HEAD 4
#define NM_FRAME_MAX 16384 /* bytes without the head */
#define NM_FRAME_PROTOCOL "nm-session" /* in the header Upgrade, of request and answer */

enum nm_frame_type {
    /* to the shim */
    NM_FRAME_INPUT = 'I',  /* for the command's standard input; no bytes: its end */
    NM_FRAME_SIZE = 'W',   /* of the terminal: rows and columns, two bytes each */
    NM_FRAME_SIGNAL = 'S', /* one byte: to the command and its process group */
    /* to nmctl */
    NM_FRAME_TAKEN = 'T',  /* the input that came last */
    NM_FRAME_STDOUT = 'O',
    NM_FRAME_STDERR = 'E',
    NM_FRAME_END = 'X',    /* the last: struct nm_frame_end */
};

/* How a command ended: four bytes. */
struct nm_frame_end {
    uint8_t stage;  /* where it failed before it ran (enum nm_launch_stage), 0: it ran */
    uint8_t code;   /* its exit status */
    uint8_t signal; /* that ended it, or 0 */
    uint8_t error;  /* errno of the failure */
};
#define NM_FRAME_END_SIZE 4

/* Gathers one frame. Starts zeroed, and is zeroed (len) when the frame has been dealt with. */
struct nm_frame {
    size_t len; /* bytes that are there, the head's included */
    uint8_t data[NM_FRAME_HEAD + NM_FRAME_MAX];
};

/* Positive outcome of nm_frame_took(): the frame is whole. */
enum { NM_FRAME_E_WHOLE = 1 };

/* How many bytes to read to data + len; no more, since the next frame is not this one's. */
size_t nm_frame_wants(const struct nm_frame *f);
/* So many have come. 0: more are wanted; NM_FRAME_E_WHOLE; -EBADMSG: this is no frame. */
int nm_frame_took(struct nm_frame *f, size_t n);

static inline uint8_t nm_frame_type(const struct nm_frame *f)
{
    return f->data[0];
}
static inline const uint8_t *nm_frame_body(const struct nm_frame *f)
{
    return f->data + NM_FRAME_HEAD;
}
size_t nm_frame_size(const struct nm_frame *f); /* of its body */

/* Makes a frame to be sent: its head, for n bytes that are or will be in its body. */
void nm_frame_make(struct nm_frame *f, enum nm_frame_type type, size_t n);
void nm_frame_make_size(struct nm_frame *f, uint16_t rows, uint16_t columns);
/* The same backwards. -EBADMSG. */
int nm_frame_parse_size(const struct nm_frame *f, uint16_t *ret_rows, uint16_t *ret_columns);
int nm_frame_parse_end(const struct nm_frame *f, struct nm_frame_end *ret);
