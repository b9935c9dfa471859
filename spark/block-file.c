/* SPDX-License-Identifier: Apache-2.0 */

/* See block-file.h. */

#include "spark/block-file.h"

#include <endian.h>
#include <errno.h>

#include "shuffle/user-file.h"
#include "util/error.h"
#include "util/macros.h"

/* ---- directories -------------------------------------------------------------------------- */

void nm_spark_open_dirs_close(struct nm_spark_open_dirs *open)
{
    while (open->n > 0)
        nm_close(open->fds[--open->n]);
}

/* Keeps a descriptor, in the place of another one if there are too many. */
static void keep(struct nm_spark_open_dirs *open, const struct nm_spark_dir *dir, int fd)
{
    unsigned i = open->n;

    if (i < NM_SPARK_OPEN_DIRS_MAX) {
        open->n++;
    } else {
        i = open->next++ % NM_SPARK_OPEN_DIRS_MAX;
        nm_close(open->fds[i]);
    }
    open->fds[i] = fd;
    open->dirs[i] = *dir;
}

/* Returns a directory of the executor, which is opened at its first use. The descriptor is not the caller's. */
static int open_dir(const struct nm_spark_lookup *l, const struct nm_spark_dir *dir, int *ret_fd)
{
    _cleanup_close_ int local = -EBADF;
    char path[NM_SPARK_PATH_SIZE];
    int r, fd = -EBADF;

    for (unsigned i = 0; i < l->open->n; i++)
        if (l->open->dirs[i].local == dir->local && nm_streq(l->open->dirs[i].name, dir->name)) {
            *ret_fd = l->open->fds[i];
            return 0;
        }
    if (dir->local >= l->locals->n)
        return -ENOENT;
    local = nm_shuffle_open_local(l->locals->names[dir->local]);
    if (local < 0)
        return local;
    nm_spark_dir_path(l->application, dir, path);
    if ((r = nm_shuffle_open_beneath(local, path, &fd)) < 0)
        return r;
    keep(l->open, dir, fd);
    *ret_fd = fd;
    return 0;
}

/* ---- files -------------------------------------------------------------------------------- */

static int open_file(const struct nm_spark_lookup *l, const struct nm_spark_block *block, enum nm_spark_file_kind kind,
                     uint64_t *ret_bytes, int *ret_fd)
{
    const struct nm_spark_file file = {kind, block->set, block->part};
    char name[NM_SPARK_FILE_NAME_SIZE], path[NM_SPARK_FILE_NAME_SIZE + 16];
    struct nm_spark_place place;
    struct stat st = {};
    int r, dir = -EBADF;

    nm_spark_file_name(&file, name);
    place = nm_spark_file_place(name, l->executor.n, l->executor.n_sub_dirs);
    (void)snprintf(path, sizeof path, "%02x/%s", place.sub_dir, name);
    if ((r = open_dir(l, &l->executor.dirs[place.dir], &dir)) < 0 ||
        (r = nm_shuffle_open_file_beneath(dir, l->application->uid, path, &st, ret_fd)) < 0)
        return r;
    *ret_bytes = (uint64_t)st.st_size;
    return 0;
}

/* Reads the starts of n reducers' parts. The start of a part is the end of the one before. */
static int read_offsets(int index, int32_t reduce, unsigned n, uint64_t *ret)
{
    const ssize_t size = (ssize_t)(n * sizeof *ret);
    ssize_t got = pread(index, ret, (size_t)size, (off_t)reduce * (off_t)sizeof *ret);

    if (got < 0)
        return -errno;
    if (got != size)
        return -EBADMSG; /* the file has become shorter */
    for (unsigned i = 0; i < n; i++)
        ret[i] = be64toh(ret[i]);
    return 0;
}

/* Reads the start and the end of a block. Most blocks are of one reducer, so both are read at once. */
static int read_range(int index, const struct nm_spark_block *block, uint64_t ret[static 2])
{
    int r;

    if (block->end - block->first == 1)
        return read_offsets(index, block->first, 2, ret);
    r = read_offsets(index, block->first, 1, ret);
    return r < 0 ? r : read_offsets(index, block->end, 1, ret + 1);
}

/* Reads where the block is in its map's file. */
static int read_index(const struct nm_spark_lookup *l, const struct nm_spark_block *block, struct nm_spark_part *ret)
{
    _cleanup_close_ int index = -EBADF;
    uint64_t bytes, range[2] = {};
    int r;

    if ((r = open_file(l, block, NM_SPARK_FILE_INDEX, &bytes, &index)) < 0)
        return r;
    if (bytes == 0 || bytes % sizeof range[0] != 0)
        return -EBADMSG;
    if ((uint64_t)block->end >= bytes / sizeof range[0])
        return -ERANGE;
    if ((r = read_range(index, block, range)) < 0)
        return r;
    if (range[0] > range[1] || range[1] > INT64_MAX)
        return -EBADMSG;
    *ret = (struct nm_spark_part){-EBADF, range[0], range[1] - range[0]};
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
    _cleanup_(nm_spark_open_dirs_close) struct nm_spark_open_dirs own = {};
    struct nm_spark_lookup lookup = *l;

    if (!lookup.open)
        lookup.open = &own;
    return block->kind == NM_SPARK_BLOCK_RDD ? open_rdd(&lookup, block, ret) : open_shuffle(&lookup, block, ret);
}
