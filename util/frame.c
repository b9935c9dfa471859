/* SPDX-License-Identifier: Apache-2.0 */

/* See frame.h. Both ends treat received frames as untrusted: nm-shim runs as root, and nmctl may be connected to any
 * process. */

#include "util/frame.h"

#include <assert.h>
#include <string.h>

#include "util/error.h"

size_t nm_frame_size(const struct nm_frame *f)
{
    return (size_t)f->data[2] << 8 | f->data[3];
}

size_t nm_frame_missing_bytes(const struct nm_frame *f)
{
    if (f->len < NM_FRAME_HEAD)
        return NM_FRAME_HEAD - f->len;
    return NM_FRAME_HEAD + nm_frame_size(f) - f->len;
}

int nm_frame_received(struct nm_frame *f, size_t n)
{
    assert(n <= nm_frame_missing_bytes(f));
    f->len += n;
    if (f->len < NM_FRAME_HEAD)
        return 0;
    if (f->data[1] != 0 || nm_frame_size(f) > NM_FRAME_MAX)
        return -EBADMSG;
    return nm_frame_missing_bytes(f) == 0 ? NM_FRAME_E_WHOLE : 0;
}

void nm_frame_make(struct nm_frame *f, enum nm_frame_type type, size_t n)
{
    assert(n <= NM_FRAME_MAX);
    f->data[0] = (uint8_t)type;
    f->data[1] = 0;
    f->data[2] = (uint8_t)(n >> 8);
    f->data[3] = (uint8_t)n;
    f->len = NM_FRAME_HEAD + n;
}

void nm_frame_make_size(struct nm_frame *f, uint16_t rows, uint16_t columns)
{
    const uint8_t body[] = {(uint8_t)(rows >> 8), (uint8_t)rows, (uint8_t)(columns >> 8), (uint8_t)columns};

    nm_frame_make(f, NM_FRAME_SIZE, sizeof body);
    memcpy(f->data + NM_FRAME_HEAD, body, sizeof body);
}

int nm_frame_parse_size(const struct nm_frame *f, uint16_t *ret_rows, uint16_t *ret_columns)
{
    const uint8_t *b = nm_frame_body(f);

    if (nm_frame_type(f) != NM_FRAME_SIZE || nm_frame_size(f) != 4)
        return -EBADMSG;
    *ret_rows = (uint16_t)(b[0] << 8 | b[1]);
    *ret_columns = (uint16_t)(b[2] << 8 | b[3]);
    return 0;
}

int nm_frame_parse_end(const struct nm_frame *f, struct nm_frame_end *ret)
{
    const uint8_t *b = nm_frame_body(f);

    if (nm_frame_type(f) != NM_FRAME_END || nm_frame_size(f) != NM_FRAME_END_SIZE)
        return -EBADMSG;
    *ret = (struct nm_frame_end){.stage = b[0], .code = b[1], .signal = b[2], .error = b[3]};
    return 0;
}
