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

#define NM_SHUFFLE_RECORD_BYTES 24u

/* Reducers, one at least. */
struct nm_shuffle_range {
    uint32_t first, n;
};

/* Of several reducers: their parts one behind the other, and the sums of their lengths. */
struct nm_shuffle_part {
    uint64_t start_bytes, raw_bytes, part_bytes;
};

struct nm_shuffle_lengths {
    uint64_t raw_bytes, part_bytes;
};

/* How many bytes must be read before a record of the file may be believed: all, or 0 if that was done already.
 * -EBADMSG: it is no index; -ERANGE: it lacks one of these reducers. */
int nm_shuffle_index_unchecked(const struct stat *st, struct nm_shuffle_range range, struct nm_shuffle_checked *checked,
                               uint64_t *ret_bytes);

/* The parts of some reducers, from a file that is open for reading. -EBADMSG: it is no index, or a byte of it is wrong,
 * or the parts don't lie one behind the other; -ERANGE: it lacks one of these reducers; or what reading came to.
 * checked may be NULL: nothing is remembered. ret_lengths may be NULL, and has else room for as many as the range has
 * reducers; what is in it after an error means nothing. */
int nm_shuffle_index_read(int fd, const struct stat *st, struct nm_shuffle_range range,
                          struct nm_shuffle_checked *checked, struct nm_shuffle_lengths *ret_lengths,
                          struct nm_shuffle_part *ret);
