/* SPDX-License-Identifier: Apache-2.0 */

/* See map-output.h. */

#include "shuffle/map-output.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "shuffle/request.h"
#include "shuffle/user-file.h"
#include "util/error.h"

/* Opens the directory of a job's outputs, beneath the local directory. */
static int open_job_dir(const char *local, const struct nm_shuffle_job *job, int *ret_fd)
{
    char path[sizeof job->user + sizeof job->id + 64], application[sizeof job->id + sizeof "application"];
    _cleanup_close_ int dir = nm_shuffle_open_local(local);

    if (dir < 0)
        return dir;
    nm_shuffle_application_of(nm_bytes_of(job->id), application, sizeof application);
    snprintf(path, sizeof path, "usercache/%s/appcache/%s/output", job->user, application);
    return nm_shuffle_open_beneath(dir, path, ret_fd);
}

/* Directories that all threads together keep open. NM_SHUFFLE_OTHER_FILES counts so many: while a disk does not
 * respond, a thousand threads may be blocked, each with the directories of the disks that it has searched before. */
#define KEPT_DIRS_MAX 256u
static atomic_uint n_kept_dirs;

static int open_kept(const char *local, const struct nm_shuffle_job *job, int *ret_fd)
{
    int r = -EBADF;

    if (atomic_fetch_add(&n_kept_dirs, 1) < KEPT_DIRS_MAX)
        r = open_job_dir(local, job, ret_fd);
    if (r < 0)
        atomic_fetch_sub(&n_kept_dirs, 1);
    return r;
}

/* Opens the directory of a job's outputs in local directory i, and keeps it open. Returns -EBADF if it cannot be
 * kept. */
static int keep_job_dir(const struct nm_shuffle_lookup *l, unsigned i)
{
    struct nm_shuffle_job_dirs *d = l->job_dirs;
    int r;

    if (!d || i >= NM_SHUFFLE_JOB_DIRS_MAX)
        return -EBADF;
    while (d->n <= i)
        d->fds[d->n++] = -EBADF;
    if (d->fds[i] < 0 && (r = open_kept(l->dirs->names[i], l->job, &d->fds[i])) < 0)
        return r;
    return d->fds[i];
}

void nm_shuffle_job_dirs_close(struct nm_shuffle_job_dirs *d)
{
    while (d->n > 0)
        if (d->fds[--d->n] >= 0) {
            nm_close(d->fds[d->n]);
            atomic_fetch_sub(&n_kept_dirs, 1);
        }
}

/* Opens the directory of a map's output in local directory i. */
static int open_output_dir(const struct nm_shuffle_lookup *l, unsigned i, struct nm_bytes map, int *ret_fd)
{
    char name[NAME_MAX + 1];
    _cleanup_close_ int own = -EBADF;
    int r, dir = keep_job_dir(l, i);

    if (dir == -EBADF) {
        if ((r = open_job_dir(l->dirs->names[i], l->job, &own)) < 0)
            return r;
        dir = own;
    }
    if (dir < 0)
        return dir;
    snprintf(name, sizeof name, "%.*s", (int)map.size, (const char *)map.data);
    return nm_shuffle_open_beneath(dir, name, ret_fd);
}

struct search {
    const struct nm_shuffle_lookup *lookup;
    struct nm_bytes map;
    struct nm_shuffle_range range;
};

/* The results of the search for the two files of a map's output in one local directory. A result is 0, with its value
 * set, or an error. */
struct found {
    int index_result, data_result;
    struct nm_shuffle_part part;
    uint64_t data_bytes;
};

/* Charges for an index of which so many bytes must be checked. Reading one record is included in the price of a
 * lookup. */
static int spend(const struct search *s, uint64_t unchecked_bytes)
{
    const uint64_t bytes = unchecked_bytes + (uint64_t)(s->range.n - 1) * NM_SHUFFLE_RECORD_BYTES;
    const struct nm_shuffle_account *account = s->lookup->account;

    return bytes > 0 && account ? account->spend(bytes, account->userdata) : 0;
}

static int read_file(const struct search *s, int output_dir, struct nm_shuffle_lengths *ret_lengths,
                     struct nm_shuffle_part *ret)
{
    _cleanup_close_ int fd = -EBADF;
    struct stat st;
    uint64_t bytes;
    int r;

    if ((r = nm_shuffle_open_file(output_dir, s->lookup->job->uid, "file.out.index", &st, &fd)) < 0 ||
        (r = nm_shuffle_index_unchecked(&st, s->range, s->lookup->dirs->index_cache, &bytes)) < 0 ||
        (r = spend(s, bytes)) < 0)
        return r;
    return nm_shuffle_index_read(fd, &st, s->range, s->lookup->dirs->index_cache, s->lookup->job->number, ret_lengths,
                                 ret);
}

/* Reads an index. If its content is in memory, the file is not opened, but its owner is still checked. */
static int read_index(const struct search *s, int output_dir, struct nm_shuffle_lengths *ret_lengths,
                      struct nm_shuffle_part *ret)
{
    _cleanup_(nm_shuffle_index_content_releasep) struct nm_shuffle_index_content *content = NULL;
    struct stat st;
    uint64_t bytes;
    int r;

    if (fstatat(output_dir, "file.out.index", &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode))
        return -ELOOP;
    if ((r = nm_shuffle_check_file(s->lookup->job->uid, &st)) < 0)
        return r;
    content = nm_shuffle_index_cache_get(s->lookup->dirs->index_cache, &st);
    if (!content)
        return read_file(s, output_dir, ret_lengths, ret);
    if ((r = nm_shuffle_index_unchecked(&st, s->range, s->lookup->dirs->index_cache, &bytes)) < 0 ||
        (r = spend(s, 0)) < 0)
        return r;
    return nm_shuffle_index_parse(content, s->range, ret_lengths, ret);
}

/* Looks for the map's files in directory i. ret_lengths may be NULL. The caller closes *ret_data, which may be -EBADF
 * after the call. */
static void look_in(const struct search *s, unsigned i, struct nm_shuffle_lengths *ret_lengths, struct found *ret,
                    int *ret_data)
{
    _cleanup_close_ int dir = -EBADF;
    int r = open_output_dir(s->lookup, i, s->map, &dir);
    struct stat data_st;

    *ret = (struct found){.index_result = r, .data_result = r};
    if (r < 0)
        return;
    ret->data_result = nm_shuffle_open_file(dir, s->lookup->job->uid, "file.out", &data_st, ret_data);
    if (ret->data_result == 0)
        ret->data_bytes = (uint64_t)data_st.st_size;
    ret->index_result = read_index(s, dir, ret_lengths, &ret->part);
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

/* Returns whether the error comes from spend(): the account is used up, it permits the work later, or the client has
 * disconnected. */
static bool is_from_spend(int result)
{
    return result == -EBUSY || result == -EINPROGRESS || result == -ECONNRESET;
}

/* Reads another index again, because there is room only for the lengths of the first valid index. */
static int read_again(const struct search *s, unsigned index_dir, struct nm_shuffle_lengths *ret_lengths,
                      const struct nm_shuffle_part *expected)
{
    _cleanup_close_ int data = -EBADF;
    struct found found;

    look_in(s, index_dir, ret_lengths, &found, &data);
    if (found.index_result < 0)
        return found.index_result;
    return found.part.start_bytes == expected->start_bytes && found.part.part_bytes == expected->part_bytes ? 0
                                                                                                           : -EBADMSG;
}

/* The file.out that the search has found first, or that matches an index of its own directory. Only one is kept open: a
 * user can put one into each directory, and each connection would have as many descriptors. */
struct kept {
    int fd;
    unsigned dir;
};

static void kept_done(struct kept *k)
{
    k->fd = nm_close(k->fd);
}

static void keep(struct kept *k, int fd, unsigned dir)
{
    nm_close(k->fd);
    *k = (struct kept){fd, dir};
}

/* Searches all directories. MapReduce allocates a local directory separately for each of the two files, in rotation. So
 * on a node with several disks, the two files are in different directories whenever a map spills more than once. A
 * directory that has both files takes precedence, because a file that was left on a full disk could match a file of
 * another directory by chance. */
int nm_shuffle_output_find(const struct nm_shuffle_lookup *l, struct nm_bytes map, struct nm_shuffle_range range,
                           struct nm_shuffle_lengths *ret_lengths, struct nm_shuffle_output *ret, int *ret_file)
{
    const struct search s = {l, map, range};
    const unsigned n = l->dirs->n;
    struct found found[NM_SHUFFLE_DIRS_MAX];
    unsigned lengths_of = n, index_dir = n; /* n: not found yet */
    _cleanup_(kept_done) struct kept kept = {.fd = -EBADF};
    struct nm_shuffle_output output;
    int r;

    for (unsigned i = 0; i < n && index_dir == n; i++) {
        _cleanup_close_ int data = -EBADF;

        look_in(&s, i, lengths_of == n ? ret_lengths : NULL, &found[i], &data);
        if (is_from_spend(found[i].index_result))
            return found[i].index_result;
        if (found[i].index_result == 0 && lengths_of == n)
            lengths_of = i;
        if (files_match(&found[i], &found[i])) {
            index_dir = i;
            output = (struct nm_shuffle_output){i, found[i].part};
        }
        if (data >= 0 && (kept.fd < 0 || index_dir == i))
            keep(&kept, STEAL_FD(data), i);
    }
    if ((index_dir == n && (r = pair(found, n, &index_dir, &output)) < 0) ||
        (index_dir != lengths_of && (r = read_again(&s, index_dir, ret_lengths, &output.part)) < 0))
        return r;
    *ret = output;
    if (ret_file)
        *ret_file = kept.dir == output.dir ? STEAL_FD(kept.fd) : -EBADF;
    return 0;
}

int nm_shuffle_output_open(const struct nm_shuffle_lookup *l, struct nm_bytes map,
                           const struct nm_shuffle_output *output, int *ret_fd)
{
    _cleanup_close_ int dir = -EBADF, fd = -EBADF;
    struct stat st;
    int r;

    if ((r = open_output_dir(l, output->dir, map, &dir)) < 0 ||
        (r = nm_shuffle_open_file(dir, l->job->uid, "file.out", &st, &fd)) < 0)
        return r;
    if (output->part.start_bytes + output->part.part_bytes > (uint64_t)st.st_size)
        return -EBADMSG; /* the file has been truncated since the lookup */
    *ret_fd = STEAL_FD(fd);
    return 0;
}
