/* SPDX-License-Identifier: Apache-2.0 */

/* See block-file.h. */

#include "spark/block-file.h"

#include <endian.h>
#include <errno.h>

#include "shuffle/user-file.h"
#include "util/error.h"
#include "util/macros.h"

/* Opens the subdirectory with this file. */
static int open_place(const struct nm_spark_lookup *l, const char *name, int *ret_fd)
{
    const struct nm_spark_place place = nm_spark_file_place(name, l->executor.n, l->executor.n_sub_dirs);
    const struct nm_spark_dir *dir = &l->executor.dirs[place.dir];
    _cleanup_close_ int local = -EBADF;
    char path[NM_SPARK_PATH_SIZE], sub_path[NM_SPARK_PATH_SIZE + 16];

    if (dir->local >= l->locals->n)
        return -ENOENT;
    local = nm_shuffle_open_local(l->locals->names[dir->local]);
    if (local < 0)
        return local;
    nm_spark_dir_path(l->application, dir, path);
    (void)snprintf(sub_path, sizeof sub_path, "%s/%02x", path, place.sub_dir);
    return nm_shuffle_open_beneath(local, sub_path, ret_fd);
}

static int open_file(const struct nm_spark_lookup *l, const struct nm_spark_block *block, enum nm_spark_file_kind kind,
                     uint64_t *ret_bytes, int *ret_fd)
{
    const struct nm_spark_file file = {kind, block->set, block->part};
    _cleanup_close_ int dir = -EBADF;
    char name[NM_SPARK_FILE_NAME_SIZE];
    struct stat st = {};
    int r;

    nm_spark_file_name(&file, name);
    if ((r = open_place(l, name, &dir)) < 0 ||
        (r = nm_shuffle_open_file(dir, l->application->uid, name, &st, ret_fd)) < 0)
        return r;
    *ret_bytes = (uint64_t)st.st_size;
    return 0;
}

/* Reads the start of a reducer's part, which is the end of the former reducer's part. */
static int read_offset(int index, int32_t reduce, uint64_t *ret)
{
    uint64_t value;
    ssize_t n = pread(index, &value, sizeof value, (off_t)reduce * (off_t)sizeof value);

    if (n < 0)
        return -errno;
    if (n != sizeof value)
        return -EBADMSG; /* the file has become shorter */
    *ret = be64toh(value);
    return 0;
}

/* Reads where the block is in its map's file. */
static int read_index(const struct nm_spark_lookup *l, const struct nm_spark_block *block, struct nm_spark_part *ret)
{
    _cleanup_close_ int index = -EBADF;
    uint64_t bytes, start = 0, end = 0;
    int r;

    if ((r = open_file(l, block, NM_SPARK_FILE_INDEX, &bytes, &index)) < 0)
        return r;
    if (bytes == 0 || bytes % sizeof start != 0)
        return -EBADMSG;
    if ((uint64_t)block->end >= bytes / sizeof start)
        return -ERANGE;
    if ((r = read_offset(index, block->first, &start)) < 0 || (r = read_offset(index, block->end, &end)) < 0)
        return r;
    if (start > end || end > INT64_MAX)
        return -EBADMSG;
    *ret = (struct nm_spark_part){-EBADF, start, end - start};
    return 0;
}

static int open_rdd(const struct nm_spark_lookup *l, const struct nm_spark_block *block, struct nm_spark_part *ret)
{
    struct nm_spark_part part = {.fd = -EBADF};
    int r = open_file(l, block, NM_SPARK_FILE_RDD, &part.bytes, &part.fd);

    if (r == 0)
        *ret = part;
    return r;
}

/* Spark makes no data file for a map without output. */
static int open_shuffle(const struct nm_spark_lookup *l, const struct nm_spark_block *block, struct nm_spark_part *ret)
{
    _cleanup_close_ int data = -EBADF;
    struct nm_spark_part part = {.fd = -EBADF};
    uint64_t bytes;
    int r = read_index(l, block, &part);

    if (r == 0 && part.bytes > 0) {
        r = open_file(l, block, NM_SPARK_FILE_DATA, &bytes, &data);
        if (r == 0 && part.start + part.bytes > bytes)
            r = -EBADMSG;
        part.fd = data;
    }
    if (r < 0)
        return r;
    (void)STEAL_FD(data);
    *ret = part;
    return 0;
}

int nm_spark_block_open(const struct nm_spark_lookup *l, const struct nm_spark_block *block, struct nm_spark_part *ret)
{
    return block->kind == NM_SPARK_BLOCK_RDD ? open_rdd(l, block, ret) : open_shuffle(l, block, ret);
}
