/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bytes in memory, with the numbers and texts of Java and of TFile. A buffer starts zeroed. After a failure it ignores
 * further values, and `error` has the first error, so that the caller checks once.
 */

#include <stddef.h>
#include <stdint.h>

#define NM_LOG_TEXT_MAX 65535U /* Java's UTF has a length of two bytes */

struct nm_log_buffer {
    uint8_t *data;
    size_t size, room;
    int error; /* 0, -ENOMEM, or -ENAMETOOLONG for a text that Java's UTF can't hold */
};

void nm_log_buffer_done(struct nm_log_buffer *b);
void nm_log_buffer_put(struct nm_log_buffer *b, const void *data, size_t n);
/* Appends the low n <= 8 bytes of a number, big endian. */
void nm_log_buffer_number(struct nm_log_buffer *b, uint64_t value, unsigned n);
/* Appends a vint or vlong of TFile (org.apache.hadoop.io.file.tfile.Utils), which isn't the one of Writable. */
void nm_log_buffer_vlong(struct nm_log_buffer *b, int64_t value);
/* Appends a vint with the length of the text, and the text, which is ASCII. */
void nm_log_buffer_word(struct nm_log_buffer *b, const char *ascii);

/* Returns the number of bytes of the text in Java's modified UTF-8, without the length. */
size_t nm_log_buffer_utf_size(const char *text);
/* Appends the text as DataOutput.writeUTF() does: two bytes with the length, and modified UTF-8. */
void nm_log_buffer_utf(struct nm_log_buffer *b, const char *text);
