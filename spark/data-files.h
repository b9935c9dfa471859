/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Data files of maps that are open. Each reducer fetches a small block from each map of a node, and many reducers
 * fetch at the same time, so a file is used again soon, and opening it costs as much as reading the block. A file is
 * used for NM_SPARK_DATA_FILE_USEC after its owner was checked. Then it is opened anew, because another one may have
 * replaced it.
 *
 * The number of files is limited: if there are too many, further files are opened for each block. An open file delays
 * the unmounting of its disk, so call nm_spark_data_files_expire() regularly. Several threads may use these functions.
 */

#include <sys/stat.h>

#include "spark/local-dirs.h"
#include "util/macros.h"

#define NM_SPARK_DATA_FILES_MAX 1024u
#define NM_SPARK_DATA_FILE_USEC UINT64_C(20000)

/* Identifies the file of a map. */
struct nm_spark_data_key {
    const struct nm_spark_application *application;
    const struct nm_spark_dir *dir;
    uint32_t sub_dir;
    int32_t set;
    int64_t part;
};

struct nm_spark_data_file {
    int fd;
    struct stat st; /* when it was opened */
};

struct nm_spark_data_files;

int nm_spark_data_files_new(unsigned max, struct nm_spark_data_files **ret);
/* All files must have been released. */
struct nm_spark_data_files *nm_spark_data_files_free(struct nm_spark_data_files *files);
NM_DEFINE_CLEANUP(struct nm_spark_data_files *, nm_spark_data_files_free)

/* Returns an open file, which the caller releases, or NULL. files: may be NULL, which has no files. */
struct nm_spark_data_file *nm_spark_data_files_get(struct nm_spark_data_files *files,
                                                   const struct nm_spark_data_key *key, uint64_t now_usec);
/* Adds a file that was opened at this time, and takes over its descriptor. The caller releases the file. Returns NULL
 * if there is no room; the descriptor is then still the caller's. */
struct nm_spark_data_file *nm_spark_data_files_add(struct nm_spark_data_files *files,
                                                   const struct nm_spark_data_key *key, int fd, const struct stat *st,
                                                   uint64_t now_usec);
/* Accepts NULL. Returns NULL. */
struct nm_spark_data_file *nm_spark_data_file_release(struct nm_spark_data_files *files,
                                                      struct nm_spark_data_file *file);
/* Closes the files whose time has passed, at the latest when they are released. */
void nm_spark_data_files_expire(struct nm_spark_data_files *files, uint64_t now_usec);
