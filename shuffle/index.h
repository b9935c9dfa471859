/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The index beside a map's output (file.out.index, MapReduce's SpillRecord): for each reducer three big-endian int64,
 * where its part of file.out begins, how long it is once it is decompressed, and how long it is there. After the last
 * one comes the CRC-32 of all that, as another int64.
 */

#include <stdint.h>

struct nm_shuffle_part {
    uint64_t start_bytes, raw_bytes, part_bytes;
};

/* The part of reducer number `reduce`, from a file of `size_bytes` that is open for reading. -EBADMSG: it is no index,
 * or a byte of it is wrong; -ERANGE: there is no such reducer; or what reading came to. All of it is read each time:
 * from the page cache that is quicker than a checksum is worth remembering. */
int nm_shuffle_index_read(int fd, uint64_t size_bytes, uint32_t reduce, struct nm_shuffle_part *ret);
