/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Protocol of an exec session between nmctl and the shim that runs the command, used on their connection after an HTTP
 * upgrade (101). Each frame has a head of four bytes (type, 0, length in two bytes, big endian), followed by the body.
 * A frame fits into a fixed buffer on both sides. Only one input frame may be unacknowledged: the client sends the
 * next one after TAKEN. A command that doesn't read its input therefore never blocks the other frames.
 *
 * A session with a container's own command uses neither END nor SIGNAL, because nmd handles both. With a terminal, the
 * client starts with SIZE, and the shim answers TAKEN as soon as the command runs.
 */

#include <stddef.h>
#include <stdint.h>

#define NM_FRAME_HEAD 4
#define NM_FRAME_MAX 16384 /* bytes without the head */
#define NM_FRAME_PROTOCOL "nm-session" /* value of the header Upgrade in request and answer */

enum nm_frame_type {
    /* frames to the shim */
    NM_FRAME_INPUT = 'I',  /* data for the command's standard input; an empty body: end of input */
    NM_FRAME_SIZE = 'W',   /* terminal size: rows and columns, two bytes each */
    NM_FRAME_SIGNAL = 'S', /* one byte: signal for the command and its process group */
    /* frames to nmctl */
    NM_FRAME_TAKEN = 'T',  /* the latest input has been read */
    NM_FRAME_STDOUT = 'O',
    NM_FRAME_STDERR = 'E',
    NM_FRAME_END = 'X',    /* the last frame: struct nm_frame_end */
};

/* How a command ended, in four bytes. */
struct nm_frame_end {
    uint8_t stage;  /* stage at which the start failed (enum nm_launch_stage); 0: the command ran */
    uint8_t code;   /* exit status of the command */
    uint8_t signal; /* signal that killed the command; 0: no signal killed the command */
    uint8_t error;  /* errno of the failure */
};
#define NM_FRAME_END_SIZE 4

/* Buffer for one frame. A new buffer must be zeroed. The user sets len to 0 after the frame has been processed. */
struct nm_frame {
    size_t len; /* received bytes, including the head */
    uint8_t data[NM_FRAME_HEAD + NM_FRAME_MAX];
};

/* Positive outcome of nm_frame_received(): the frame is whole. */
enum { NM_FRAME_E_WHOLE = 1 };

/* Returns how many bytes to read to data + len, so that the read stops at the end of this frame. */
size_t nm_frame_missing_bytes(const struct nm_frame *f);
/* Adds n received bytes. Returns 0 if the frame needs more bytes, NM_FRAME_E_WHOLE, or -EBADMSG if the frame is
 * invalid. */
int nm_frame_received(struct nm_frame *f, size_t n);

static inline uint8_t nm_frame_type(const struct nm_frame *f)
{
    return f->data[0];
}
static inline const uint8_t *nm_frame_body(const struct nm_frame *f)
{
    return f->data + NM_FRAME_HEAD;
}
size_t nm_frame_size(const struct nm_frame *f); /* size of the body */

/* Fills the head of a frame to send, for a body of n bytes. */
void nm_frame_make(struct nm_frame *f, enum nm_frame_type type, size_t n);
void nm_frame_make_size(struct nm_frame *f, uint16_t rows, uint16_t columns);
/* Parse the bodies of SIZE and END frames. Return 0 or -EBADMSG. */
int nm_frame_parse_size(const struct nm_frame *f, uint16_t *ret_rows, uint16_t *ret_columns);
int nm_frame_parse_end(const struct nm_frame *f, struct nm_frame_end *ret);
