/* SPDX-License-Identifier: Apache-2.0 */

/* See block-file.h. */

#include "spark/block-file.h"

#include <errno.h>
#include <fcntl.h>

#include "shuffle/user-file.h"
#include "util/clock.h"
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
    struct nm_spark_open_dirs *open = l->shared.open_dirs;
    int r, fd = -EBADF;

    for (unsigned i = 0; i < open->n; i++)
        if (open->dirs[i].local == dir->local && nm_streq(open->dirs[i].name, dir->name)) {
            *ret_fd = open->fds[i];
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
    keep(open, dir, fd);
    *ret_fd = fd;
    return 0;
}

/* ---- files -------------------------------------------------------------------------------- */

/* Where a file of the executor is. */
struct found {
    char name[NM_SPARK_FILE_NAME_SIZE];
    const struct nm_spark_dir *dir;
    uint32_t sub_dir;
};

static void find(const struct nm_spark_lookup *l, const struct nm_spark_block *block, enum nm_spark_file_kind kind,
                 struct found *ret)
{
    const struct nm_spark_file file = {kind, block->set, block->part};
    struct nm_spark_place place;

    nm_spark_file_name(&file, ret->name);
    place = nm_spark_file_place(ret->name, l->executor.n, l->executor.n_sub_dirs);
    ret->dir = &l->executor.dirs[place.dir];
    ret->sub_dir = place.sub_dir;
}

/* Writes the path as "%02x/name". Subdirectories have numbers below NM_SPARK_SUB_DIRS_MAX. */
static void write_path(const struct found *found, char *to)
{
    static const char digits[] = "0123456789abcdef";

    if (found->sub_dir > 0xff)
        *to++ = digits[found->sub_dir >> 8 & 0xf];
    *to++ = digits[found->sub_dir >> 4 & 0xf];
    *to++ = digits[found->sub_dir & 0xf];
    *to++ = '/';
    (void)strcpy(to, found->name);
}

static int open_found(const struct nm_spark_lookup *l, const struct found *found, struct stat *ret_st, int *ret_fd)
{
    char path[sizeof found->name + sizeof "fff/"];
    int dir = -EBADF, r = open_dir(l, found->dir, &dir);

    if (r < 0)
        return r;
    write_path(found, path);
    return nm_shuffle_open_file_beneath(dir, l->application->uid, path, ret_st, ret_fd);
}

/* The data file of a map: a shared one, or one that is open for this block alone. */
struct data {
    struct nm_spark_data_files *files;
    struct nm_spark_data_file *shared, own;
};

static const struct nm_spark_data_file *file_of(const struct data *data)
{
    return data->shared ?: &data->own;
}

static void data_done(struct data *data)
{
    data->shared = nm_spark_data_file_release(data->files, data->shared);
    data->own.fd = nm_close(data->own.fd);
}

static int open_data(const struct nm_spark_lookup *l, const struct nm_spark_block *block, struct data *ret)
{
    const uint64_t now_usec = nm_now_usec();
    struct nm_spark_data_key key;
    struct found found;
    int r;

    find(l, block, NM_SPARK_FILE_DATA, &found);
    key = (struct nm_spark_data_key){l->application, found.dir, found.sub_dir, block->set, block->part};
    if ((ret->shared = nm_spark_data_files_get(ret->files, &key, now_usec)))
        return 0;
    if ((r = open_found(l, &found, &ret->own.st, &ret->own.fd)) < 0)
        return r;
    ret->shared = nm_spark_data_files_add(ret->files, &key, ret->own.fd, &ret->own.st, now_usec);
    if (ret->shared)
        ret->own.fd = -EBADF;
    return 0;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* Finds the start and the end of the block. data: may be NULL. */
static int find_range(const struct nm_spark_lookup *l, const struct nm_spark_block *block,
                      const struct nm_spark_data_file *data, uint64_t ret[static 2])
{
    const struct nm_spark_index_lookup index = {l->shared.indexes, l->shared.account,
                                                nm_spark_index_app(l->application->id), block,
                                                data ? &data->st : NULL};
    _cleanup_close_ int fd = -EBADF;
    struct found found;
    struct stat st;
    int r = nm_spark_index_find(&index, ret);

    if (r == -ENOENT) {
        find(l, block, NM_SPARK_FILE_INDEX, &found);
        r = open_found(l, &found, &st, &fd);
        if (r == 0)
            r = nm_spark_index_read(&index, fd, (uint64_t)st.st_size, ret);
    }
    if (r < 0)
        return r;
    return ret[0] > ret[1] || ret[1] > INT64_MAX ? -EBADMSG : 0;
}

/* Spark makes no data file for a map without output. */
static int open_shuffle(const struct nm_spark_lookup *l, const struct nm_spark_block *block, struct nm_spark_part *ret)
{
    _cleanup_(data_done) struct data data = {.files = l->shared.data_files, .own.fd = -EBADF};
    const int data_result = open_data(l, block, &data);
    uint64_t range[2] = {};
    int r = find_range(l, block, data_result == 0 ? file_of(&data) : NULL, range);

    if (r < 0)
        return r;
    if (range[0] == range[1]) {
        *ret = (struct nm_spark_part){.fd = -EBADF, .start = range[0]};
        return 0;
    }
    if (data_result < 0)
        return data_result;
    if (range[1] > (uint64_t)file_of(&data)->st.st_size)
        return -EBADMSG;
    *ret = (struct nm_spark_part){file_of(&data)->fd, range[0], range[1] - range[0], data.files, data.shared};
    data.shared = NULL;
    data.own.fd = -EBADF;
    return 0;
}

static int open_rdd(const struct nm_spark_lookup *l, const struct nm_spark_block *block, struct nm_spark_part *ret)
{
    struct nm_spark_part part = {.fd = -EBADF};
    struct found found;
    struct stat st;
    int r;

    find(l, block, NM_SPARK_FILE_RDD, &found);
    if ((r = open_found(l, &found, &st, &part.fd)) < 0)
        return r;
    part.bytes = (uint64_t)st.st_size;
    *ret = part;
    return 0;
}

int nm_spark_block_open(const struct nm_spark_lookup *l, const struct nm_spark_block *block, struct nm_spark_part *ret)
{
    _cleanup_(nm_spark_open_dirs_close) struct nm_spark_open_dirs own = {};
    struct nm_spark_lookup lookup = *l;

    if (!lookup.shared.open_dirs)
        lookup.shared.open_dirs = &own;
    return block->kind == NM_SPARK_BLOCK_RDD ? open_rdd(&lookup, block, ret) : open_shuffle(&lookup, block, ret);
}

void nm_spark_part_own(struct nm_spark_part *part)
{
    int fd = part->file ? fcntl(part->fd, F_DUPFD_CLOEXEC, 0) : -1;

    if (fd < 0)
        return;
    part->file = nm_spark_data_file_release(part->files, part->file);
    part->fd = fd;
}

void nm_spark_part_close(struct nm_spark_part *part)
{
    if (part->file)
        part->file = nm_spark_data_file_release(part->files, part->file);
    else
        nm_close(part->fd);
    part->fd = -EBADF;
}
