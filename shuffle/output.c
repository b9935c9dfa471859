/* SPDX-License-Identifier: Apache-2.0 */

/* See output.h. */

#include "shuffle/output.h"

#include <linux/openat2.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "shuffle/request.h"
#include "util/error.h"

/* O_NONBLOCK: a FIFO in its place would have us wait for whoever writes. Beneath the local directory and through no
 * link at all: what is on the way belongs to the job's user, who could otherwise have us, with our rights, read
 * another's file to a reducer of his. The owner is checked of the open file, since a hard link is no link to
 * openat2(). */
static int open_file(int dir, const struct nm_shuffle_job *job, struct nm_bytes map, const char *name,
                     uint64_t *ret_size_bytes, int *ret_fd)
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
    *ret_size_bytes = (uint64_t)st.st_size;
    *ret_fd = STEAL_FD(fd);
    return 0;
}

/* Both files must be there and agree: an index without its data is what a map leaves that is just being written. */
static int find_in(int dir, const struct nm_shuffle_job *job, struct nm_bytes map, uint32_t reduce,
                   struct nm_shuffle_part *ret)
{
    _cleanup_close_ int index = -EBADF, data = -EBADF;
    uint64_t index_bytes, data_bytes;
    struct nm_shuffle_part part;
    int r;

    if ((r = open_file(dir, job, map, "file.out.index", &index_bytes, &index)) < 0 ||
        (r = open_file(dir, job, map, "file.out", &data_bytes, &data)) < 0 ||
        (r = nm_shuffle_index_read(index, index_bytes, reduce, &part)) < 0)
        return r;
    if (part.start_bytes + part.part_bytes > data_bytes)
        return -EBADMSG;
    *ret = part;
    return 0;
}

/* A map's output is in one of the disks, and which one only the map knew. */
int nm_shuffle_output_find(const struct nm_shuffle_dirs *dirs, const struct nm_shuffle_job *job, struct nm_bytes map,
                           uint32_t reduce, struct nm_shuffle_output *ret)
{
    int first = -ENOENT;

    for (unsigned i = 0; i < dirs->n; i++) {
        struct nm_shuffle_part part;
        int r = find_in(dirs->fds[i], job, map, reduce, &part);

        if (r == 0) {
            *ret = (struct nm_shuffle_output){i, part};
            return 0;
        }
        /* What is wrong in one directory matters only if none has it right. */
        if (first == -ENOENT)
            first = r;
    }
    return first;
}

int nm_shuffle_output_open(const struct nm_shuffle_dirs *dirs, const struct nm_shuffle_job *job, struct nm_bytes map,
                           const struct nm_shuffle_output *output, int *ret_fd)
{
    _cleanup_close_ int fd = -EBADF;
    uint64_t size_bytes;
    int r = open_file(dirs->fds[output->dir], job, map, "file.out", &size_bytes, &fd);

    if (r < 0)
        return r;
    if (output->part.start_bytes + output->part.part_bytes > size_bytes)
        return -EBADMSG; /* it became shorter since it was found */
    *ret_fd = STEAL_FD(fd);
    return 0;
}
