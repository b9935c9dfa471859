/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The places of blocks in their map's data file. The index of a map has an int64 for each reducer, big endian, with the
 * start of the reducer's part, and another one with the end of the last part (IndexShuffleBlockResolver of Spark).
 *
 * Each reducer asks for other parts of the same maps, so indexes are kept in memory (shuffle/index-cache.h). An index
 * in memory is found by its data file, not by its own file, which is not opened again: Spark never writes to a
 * committed file, and replaces an index together with its data file. A data file that has changed, or that another one
 * has replaced, has another identity, and the index is read again.
 */

#include <sys/stat.h>

#include "shuffle/index-cache.h"
#include "spark/block.h"

/* The account that pays for an index that is read completely. spend() is called before. It returns whether so many
 * bytes may be read: otherwise, only the offsets of the block are read, which the price of an answer includes. */
struct nm_spark_account {
    bool (*spend)(uint64_t index_bytes, void *userdata);
    void *userdata;
};

/* A block whose place is wanted. */
struct nm_spark_index_lookup {
    struct nm_shuffle_index_cache *cache;   /* NULL: no index is kept in memory */
    const struct nm_spark_account *account; /* may be NULL */
    uint64_t app;                           /* nm_spark_index_app() of the application */
    const struct nm_spark_block *block;     /* of a shuffle */
    const struct stat *data;                /* of the map's data file; NULL: it is missing */
};

/* Returns the number under which the cache has the indexes of an application. */
uint64_t nm_spark_index_app(const char *id);

/* Looks for the start and the end of the block in memory. Returns -ENOENT if the index is not in memory, -ERANGE if the
 * map has fewer reducers. */
int nm_spark_index_find(const struct nm_spark_index_lookup *l, uint64_t ret[static 2]);
/* Reads them from the index, an open file of so many bytes, and may keep the index in memory. Returns -ERANGE, -EBADMSG
 * if the file is not an index, or another error of the system. */
int nm_spark_index_read(const struct nm_spark_index_lookup *l, int fd, uint64_t bytes, uint64_t ret[static 2]);
