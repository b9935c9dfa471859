/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writable, Hadoop's older serialization (WritableUtils and Text of Hadoop 3.4.2), which tokens and token files still
 * use.
 *
 *   vint   one byte -112 ... 127 is the value itself. Otherwise the first byte gives the number of bytes that follow,
 *          big endian: -113 ... -120 for 1 ... 8 bytes of the number, -121 ... -128 for 1 ... 8 bytes of the
 *          complement of a negative number
 *   bytes  a vint with the length, and the bytes
 *   Text   a vint with the length, and the text in UTF-8
 */

#include "rpc/hadoop/bytes.h"

/* Readers remove a value from the front of `from`. On failure (-EBADMSG) `from` is unchanged. */
int nm_writable_vint(struct nm_bytes *from, int64_t *ret);
int nm_writable_bytes(struct nm_bytes *from, struct nm_bytes *ret);

/* Writers append values. A writer starts zeroed and ends with nm_writer_done(). After an allocation failure it ignores
 * further values, and nm_writer_result() returns the error. */
struct nm_writer {
    uint8_t *data;
    size_t size, room;
    bool failed;
};

void nm_writer_done(struct nm_writer *w); /* wipes the data, which may contain passwords */
int nm_writer_result(const struct nm_writer *w, struct nm_bytes *ret);
void nm_writer_put(struct nm_writer *w, struct nm_bytes bytes); /* appends the bytes without their length */
/* Returns memory for so many bytes after those of the writer, or NULL. The caller adds those that it has written there
 * to w->size. */
uint8_t *nm_writer_reserve(struct nm_writer *w, size_t size);
void nm_writer_vint(struct nm_writer *w, int64_t value);
void nm_writer_bytes(struct nm_writer *w, struct nm_bytes bytes);
