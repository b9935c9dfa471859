/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The index beside a map's output (file.out.index, MapReduce's SpillRecord). For each reducer it has three big-endian
 * int64: the start of its part in file.out, the part's uncompressed length, and its length in file.out. The CRC-32 of
 * these records follows as another int64.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "util/macros.h"

/* ---- checked files --------------------------------------------------------------------------- */

/*
 * Remembers which index files have been read completely and had the right checksum. A file is identified by its device,
 * inode, size and times, so a modified file counts as a new file. The number of files is fixed; newer files replace
 * older files. Several threads may use the table.
 */
#define NM_SHUFFLE_CHECKED_MAX 8192u

struct nm_shuffle_checked;

int nm_shuffle_checked_new(struct nm_shuffle_checked **ret);
struct nm_shuffle_checked *nm_shuffle_checked_free(struct nm_shuffle_checked *c);

/* Return whether a file has been checked, and remember a checked file. With c NULL no file is known or remembered. */
bool nm_shuffle_checked_has(struct nm_shuffle_checked *c, const struct stat *st);
void nm_shuffle_checked_add(struct nm_shuffle_checked *c, const struct stat *st);

/* ---- records --------------------------------------------------------------------------------- */

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
int nm_shuffle_index_unchecked(const struct stat *st, struct nm_shuffle_range range, struct nm_shuffle_checked *checked,
                               uint64_t *ret_bytes);

/* Reads the parts of some reducers from a file that is open for reading. Returns -EBADMSG if the file is not an index,
 * is corrupt, or its parts are not contiguous; -ERANGE if it lacks one of these reducers; or a read error. With checked
 * NULL the file is not remembered. ret_lengths may be NULL; else it has room for the reducers of the range, and its
 * content after an error is undefined. */
int nm_shuffle_index_read(int fd, const struct stat *st, struct nm_shuffle_range range,
                          struct nm_shuffle_checked *checked, struct nm_shuffle_lengths *ret_lengths,
                          struct nm_shuffle_part *ret);
