/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The ids of Spark's blocks (org.apache.spark.storage.BlockId), the names of their files, and the places of the files
 * in an executor's directories:
 *
 *   shuffle_<shuffle>_<map>_<reduce>   a part of shuffle_<shuffle>_<map>_0.data. shuffle_<shuffle>_<map>_0.index has
 *                                      its place, and shuffle_<shuffle>_<map>_0.checksum.<algorithm> its checksum.
 *   rdd_<rdd>_<partition>              the whole file with this name
 *
 * A name is made from the numbers of a block, never copied from a client.
 */

#include "rpc/hadoop/bytes.h"

enum nm_spark_block_kind { NM_SPARK_BLOCK_SHUFFLE, NM_SPARK_BLOCK_RDD };

struct nm_spark_block {
    enum nm_spark_block_kind kind;
    int32_t set;     /* number of the shuffle or the RDD */
    int64_t part;    /* number of the map or the partition */
    int32_t first;   /* shuffle: the first reducer ... */
    int32_t end;     /* ... and the reducer after the last one */
};

/* Parses the id of a block. The id of a shuffle's block has one reducer. Returns -EBADMSG for any other text. Accepts
 * maps above INT32_MAX, unlike Spark. */
int nm_spark_block_parse(struct nm_bytes id, struct nm_spark_block *ret);

enum nm_spark_file_kind {
    NM_SPARK_FILE_DATA,
    NM_SPARK_FILE_INDEX,
    NM_SPARK_FILE_ADLER32,
    NM_SPARK_FILE_CRC32,
    NM_SPARK_FILE_CRC32C,
    NM_SPARK_FILE_RDD,
};

struct nm_spark_file {
    enum nm_spark_file_kind kind;
    int32_t set;
    int64_t part;
};

#define NM_SPARK_FILE_NAME_SIZE 64u

void nm_spark_file_name(const struct nm_spark_file *file, char ret[static NM_SPARK_FILE_NAME_SIZE]);
/* Parses the name of a file. Returns -EBADMSG if nm_spark_file_name() does not make exactly this name. */
int nm_spark_file_parse(struct nm_bytes name, struct nm_spark_file *ret);

/* The place of a file: directory number `dir` of the executor's list, and the subdirectory %02x of it. */
struct nm_spark_place {
    uint32_t dir, sub_dir;
};

/* n_dirs and n_sub_dirs are at least 1. */
struct nm_spark_place nm_spark_file_place(const char *name, uint32_t n_dirs, uint32_t n_sub_dirs);
