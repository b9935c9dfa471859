/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The index beside a map's output (file.out.index, MapReduce's SpillRecord). For each reducer it has three big-endian
 * int64: the start of its part in file.out, the part's uncompressed length, and its length in file.out. The CRC-32 of
 * these records follows as another int64.
 */

#include <stdint.h>
#include <sys/stat.h>

#include "shuffle/index-cache.h"

#define NM_SHUFFLE_RECORD_BYTES 24u

/* A range of at least one reducer. */
struct nm_shuffle_range {
    uint32_t first, n;
};

/* The part of one reducer, or of several: their parts are contiguous, and their lengths are summed. */
struct nm_shuffle_part {
    uint64_t start_bytes, raw_bytes, part_bytes;
};

struct nm_shuffle_lengths {
    uint64_t raw_bytes, part_bytes;
};

/* Returns the number of bytes to read before a record of the file may be used: the whole file, or 0 if the file was
 * checked already. Returns -EBADMSG if the file is not an index, -ERANGE if the index lacks one of these reducers. */
int nm_shuffle_index_unchecked(const struct stat *st, struct nm_shuffle_range range,
                               struct nm_shuffle_index_cache *cache, uint64_t *ret_bytes);

/* Reads the parts of some reducers from a file that is open for reading. Returns -EBADMSG if the file is not an index,
 * is corrupt, or its parts are not contiguous; -ERANGE if it lacks one of these reducers; or a read error. With cache
 * NULL the file is not remembered. job: the number of the job, for the cache. ret_lengths may be NULL; else it has room
 * for the reducers of the range, and its content after an error is undefined. */
int nm_shuffle_index_read(int fd, const struct stat *st, struct nm_shuffle_range range,
                          struct nm_shuffle_index_cache *cache, uint64_t job,
                          struct nm_shuffle_lengths *ret_lengths, struct nm_shuffle_part *ret);

/* Does the same with the content of a checked file, for a range for which nm_shuffle_index_unchecked() returned 0. */
int nm_shuffle_index_parse(const struct nm_shuffle_index_content *content, struct nm_shuffle_range range,
                           struct nm_shuffle_lengths *ret_lengths, struct nm_shuffle_part *ret);
