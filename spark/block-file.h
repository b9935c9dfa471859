/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds blocks in the files of executors (spark/block.h, spark/block-index.h).
 *
 * Containers write these files, and may replace them at any time. Links are not followed, and a file that the user of
 * the application does not own is refused (shuffle/user-file.h).
 */

#include "spark/block-index.h"
#include "spark/data-files.h"
#include "spark/local-dirs.h"

#define NM_SPARK_SUB_DIRS_MAX 4096u

/* The directories that an executor has registered. */
struct nm_spark_executor_dirs {
    const struct nm_spark_dir *dirs;
    uint32_t n, n_sub_dirs; /* both at least 1 */
};

/* Descriptors of executors' directories, which lookups for the same application share. Close them soon: an open
 * descriptor prevents the unmounting of a disk. A struct initialized with {} has none. */
#define NM_SPARK_OPEN_DIRS_MAX 16u
struct nm_spark_open_dirs {
    unsigned n, next; /* next: the descriptor that is replaced when all are used */
    int fds[NM_SPARK_OPEN_DIRS_MAX];
    struct nm_spark_dir dirs[NM_SPARK_OPEN_DIRS_MAX];
};

void nm_spark_open_dirs_close(struct nm_spark_open_dirs *open);

/* What lookups share. */
struct nm_spark_lookup_state {
    struct nm_spark_open_dirs *open_dirs;     /* NULL: directories are opened for a lookup alone */
    struct nm_spark_data_files *data_files;   /* NULL: so are data files */
    struct nm_shuffle_index_cache *indexes;   /* as in struct nm_spark_index_lookup */
    const struct nm_spark_account *account;
};

struct nm_spark_lookup {
    const struct nm_spark_local_dirs *locals;
    const struct nm_spark_application *application;
    struct nm_spark_executor_dirs executor;
    struct nm_spark_lookup_state shared;
};

/* A part of an open file. fd may be -EBADF if the part is empty. */
struct nm_spark_part {
    int fd;
    uint64_t start, bytes;
    struct nm_spark_data_files *files; /* set with `file` */
    struct nm_spark_data_file *file;   /* that has the descriptor; NULL: the descriptor belongs to the part alone */
};

/* Finds a block, and opens its file, which nm_spark_part_close() closes. Returns -ENOENT if it does not exist, -EPERM
 * if it belongs to another user or is not a regular file, -ERANGE if the map has fewer reducers, -EBADMSG if the index
 * is invalid or the file is shorter than its index says, or another error of the system. */
int nm_spark_block_open(const struct nm_spark_lookup *l, const struct nm_spark_block *block, struct nm_spark_part *ret);
/* Gives the part a descriptor of its own, because it will be needed for some time, if the process can have one more. */
void nm_spark_part_own(struct nm_spark_part *part);
void nm_spark_part_close(struct nm_spark_part *part);
