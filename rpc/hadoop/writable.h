/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hadoop's older way of writing things down, Writable (WritableUtils and Text of 3.4.2): tokens and files of tokens
 * use it still.
 *
 *   vint   one byte -112 ... 127 is itself. Else the first byte says how many follow, the highest first:
 *          -113 ... -120 for 1 ... 8 of a number, -121 ... -128 for 1 ... 8 of its complement, a negative number
 *   bytes  a vint that is their number, and they
 *   Text   the same, UTF-8
 */

#include "rpc/hadoop/bytes.h"

/* Readers take from the front of from; on failure (-EBADMSG) nothing is taken. */
int nm_writable_vint(struct nm_bytes *from, int64_t *ret);
int nm_writable_bytes(struct nm_bytes *from, struct nm_bytes *ret);

/* Writers append. Zeroed at first; done with nm_writer_done(). A writer without memory goes on writing nothing, and
 * says so at the end. */
struct nm_writer {
    uint8_t *data;
    size_t size, room;
    bool failed;
};

void nm_writer_done(struct nm_writer *w); /* may hold passwords: wiped */
int nm_writer_result(const struct nm_writer *w, struct nm_bytes *ret);
void nm_writer_put(struct nm_writer *w, struct nm_bytes bytes); /* as they are */
void nm_writer_vint(struct nm_writer *w, int64_t value);
void nm_writer_bytes(struct nm_writer *w, struct nm_bytes bytes);
