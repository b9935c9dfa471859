/* SPDX-License-Identifier: Apache-2.0 */

/* See map-output.h. */

#include "shuffle/map-output.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "shuffle/request.h"
#include "util/error.h"

/* Opens a local directory again for each request: a disk may be mounted, repaired or replaced while the process runs,
 * and an open descriptor would prevent its unmounting. */
static int open_dir(const char *name)
{
    int fd = RET_NERRNO(open(name, O_PATH | O_DIRECTORY | O_CLOEXEC));

    return fd == -ENOTDIR ? -ENOENT : fd;
}

/* Opens a file of a map. With O_NONBLOCK a FIFO does not block the open. The path is resolved beneath the local
 * directory without following links. The job's user controls the path, and could otherwise make this process read
 * another user's file, because the process has the capability to read all files. The owner of the open file is checked,
 * because openat2() does not detect hard links. */
static int open_file(int dir, const struct nm_shuffle_job *job, struct nm_bytes map, const char *name,
                     struct stat *ret_st, int *ret_fd)
{
    const struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    char path[PATH_MAX], application[sizeof job->id + sizeof "application"];
    _cleanup_close_ int fd = -EBADF;
    struct stat st;

    nm_shuffle_application_of(nm_bytes_of(job->id), application, sizeof application);
    snprintf(path, sizeof path, "usercache/%s/appcache/%s/output/%.*s/%s", job->user, application, (int)map.size,
             (const char *)map.data, name);
    fd = RET_NERRNO(syscall(SYS_openat2, dir, path, &how, sizeof how));
    if (fd < 0)
        return fd == -ENOTDIR ? -ENOENT : fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_uid != job->uid)
        return -EPERM;
    *ret_st = st;
    *ret_fd = STEAL_FD(fd);
    return 0;
}

struct search {
    const struct nm_shuffle_dirs *dirs;
    const struct nm_shuffle_job *job;
    struct nm_bytes map;
    struct nm_shuffle_range range;
    const struct nm_shuffle_account *account;
};

/* The results of the search for the two files of a map's output in one local directory. A result is 0, with its value
 * set, or an error. */
struct found {
    int index_result, data_result;
    struct nm_shuffle_part part;
    uint64_t data_bytes;
};

/* Reads an index. Reading one record is included in the price of a lookup. */
static int read_index(const struct search *s, int fd, const struct stat *st, struct nm_shuffle_lengths *ret_lengths,
                      struct nm_shuffle_part *ret)
{
    uint64_t bytes;
    int r = nm_shuffle_index_unchecked(st, s->range, s->dirs->checked, &bytes);

    if (r < 0)
        return r;
    bytes += (uint64_t)(s->range.n - 1) * NM_SHUFFLE_RECORD_BYTES;
    if (bytes > 0 && s->account && (r = s->account->spend(bytes, s->account->userdata)) < 0)
        return r;
    return nm_shuffle_index_read(fd, st, s->range, s->dirs->checked, ret_lengths, ret);
}

/* Looks for the map's files in directory i. ret_lengths may be NULL. */
static void look_in(const struct search *s, unsigned i, struct nm_shuffle_lengths *ret_lengths, struct found *ret)
{
    _cleanup_close_ int dir = open_dir(s->dirs->names[i]), index = -EBADF, data = -EBADF;
    struct stat index_st, data_st;

    *ret = (struct found){.index_result = dir, .data_result = dir};
    if (dir < 0)
        return;
    ret->data_result = open_file(dir, s->job, s->map, "file.out", &data_st, &data);
    if (ret->data_result == 0)
        ret->data_bytes = (uint64_t)data_st.st_size;
    ret->index_result = open_file(dir, s->job, s->map, "file.out.index", &index_st, &index);
    if (ret->index_result == 0)
        ret->index_result = read_index(s, index, &index_st, ret_lengths, &ret->part);
}

/* Returns whether the files match. A map that is still writing may have an index without data. */
static bool files_match(const struct found *index, const struct found *data)
{
    return index->index_result == 0 && data->data_result == 0 &&
           index->part.start_bytes + index->part.part_bytes <= data->data_bytes;
}

/* Returns a, or b if a is success or only means that the file is missing. */
static int prefer(int a, int b)
{
    return a == 0 || a == -ENOENT ? b : a;
}

/* Pairs files of different directories. An error of one directory counts only if no other directory has the file. */
static int pair(const struct found *found, unsigned n, unsigned *ret_index_dir, struct nm_shuffle_output *ret)
{
    int index = -ENOENT, data = -ENOENT;

    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n; j++)
            if (files_match(&found[i], &found[j])) {
                *ret_index_dir = i;
                *ret = (struct nm_shuffle_output){j, found[i].part};
                return 0;
            }
        index = found[i].index_result == 0 || index == 0 ? 0 : prefer(index, found[i].index_result);
        data = found[i].data_result == 0 || data == 0 ? 0 : prefer(data, found[i].data_result);
    }
    if (index == 0)
        return data == 0 ? -EBADMSG : data;
    return data == 0 ? index : prefer(index, data);
}

/* Returns whether the error comes from spend(): the account is used up, or the client has disconnected. */
static bool is_from_spend(int result)
{
    return result == -EBUSY || result == -ECONNRESET;
}

/* Reads another index again, because there is room only for the lengths of the first valid index. */
static int read_again(const struct search *s, unsigned index_dir, struct nm_shuffle_lengths *ret_lengths,
                      const struct nm_shuffle_part *expected)
{
    struct found found;

    look_in(s, index_dir, ret_lengths, &found);
    if (found.index_result < 0)
        return found.index_result;
    return found.part.start_bytes == expected->start_bytes && found.part.part_bytes == expected->part_bytes ? 0
                                                                                                           : -EBADMSG;
}

/* Searches all directories. MapReduce allocates a local directory separately for each of the two files, in rotation. So
 * on a node with several disks, the two files are in different directories whenever a map spills more than once. A
 * directory that has both files takes precedence, because a file that was left on a full disk could match a file of
 * another directory by chance. */
int nm_shuffle_output_find(const struct nm_shuffle_dirs *dirs, const struct nm_shuffle_job *job, struct nm_bytes map,
                           struct nm_shuffle_range range, const struct nm_shuffle_account *account,
                           struct nm_shuffle_lengths *ret_lengths, struct nm_shuffle_output *ret)
{
    const struct search s = {dirs, job, map, range, account};
    struct found found[NM_SHUFFLE_DIRS_MAX];
    unsigned lengths_of = dirs->n, index_dir = dirs->n; /* dirs->n: not found yet */
    struct nm_shuffle_output output;
    int r;

    for (unsigned i = 0; i < dirs->n && index_dir == dirs->n; i++) {
        look_in(&s, i, lengths_of == dirs->n ? ret_lengths : NULL, &found[i]);
        if (is_from_spend(found[i].index_result))
            return found[i].index_result;
        if (found[i].index_result == 0 && lengths_of == dirs->n)
            lengths_of = i;
        if (files_match(&found[i], &found[i])) {
            index_dir = i;
            output = (struct nm_shuffle_output){i, found[i].part};
        }
    }
    if ((index_dir == dirs->n && (r = pair(found, dirs->n, &index_dir, &output)) < 0) ||
        (index_dir != lengths_of && (r = read_again(&s, index_dir, ret_lengths, &output.part)) < 0))
        return r;
    *ret = output;
    return 0;
}

int nm_shuffle_output_open(const struct nm_shuffle_dirs *dirs, const struct nm_shuffle_job *job, struct nm_bytes map,
                           const struct nm_shuffle_output *output, int *ret_fd)
{
    _cleanup_close_ int dir = open_dir(dirs->names[output->dir]), fd = -EBADF;
    struct stat st;
    int r = dir < 0 ? dir : open_file(dir, job, map, "file.out", &st, &fd);

    if (r < 0)
        return r;
    if (output->part.start_bytes + output->part.part_bytes > (uint64_t)st.st_size)
        return -EBADMSG; /* the file has been truncated since the lookup */
    *ret_fd = STEAL_FD(fd);
    return 0;
}
