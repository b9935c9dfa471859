/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The index beside a map's output (file.out.index, MapReduce's SpillRecord): for each reducer three big-endian int64,
 * where its part of file.out begins, how long it is once it is decompressed, and how long it is there. After the last
 * one comes the CRC-32 of all that, as another int64.
 */

#include <stdint.h>
#include <sys/stat.h>

#include "shuffle/checked.h"

struct nm_shuffle_part {
    uint64_t start_bytes, raw_bytes, part_bytes;
};

/* How many bytes must be read before a record of the file may be believed: all, or 0 if that was done already.
 * -EBADMSG: it is no index; -ERANGE: it has no such reducer. */
int nm_shuffle_index_unchecked(const struct stat *st, uint32_t reduce, struct nm_shuffle_checked *checked,
                               uint64_t *ret_bytes);

/* The part of reducer number `reduce`, from a file that is open for reading. -EBADMSG: it is no index, or a byte of it
 * is wrong; -ERANGE: there is no such reducer; or what reading came to. checked may be NULL: nothing is remembered. */
int nm_shuffle_index_read(int fd, const struct stat *st, uint32_t reduce, struct nm_shuffle_checked *checked,
                          struct nm_shuffle_part *ret);
