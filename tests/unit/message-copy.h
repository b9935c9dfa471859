/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Returns a copy of an answer, or NULL for NULL. An answer is valid only until the callback that gets it returns. */

#include <stdlib.h>

#include <protobuf-c/protobuf-c.h>

#include "util/macros.h"

static inline ProtobufCMessage *message_copy(const ProtobufCMessage *m)
{
    size_t size = m ? protobuf_c_message_get_packed_size(m) : 0;
    _cleanup_free_ uint8_t *packed = malloc(size + 1);

    if (!m || !packed)
        return NULL;
    (void)protobuf_c_message_pack(m, packed);
    return protobuf_c_message_unpack(m->descriptor, NULL, size, packed);
}
