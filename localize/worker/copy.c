/* SPDX-License-Identifier: Apache-2.0 */

/* See unpack.h. */

#include "localize/worker/unpack.h"

#include <linux/fs.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"

#define PIECE_BYTES (8 * NM_MIB)

/* Copies a piece through a buffer. Used if the kernel can't copy the piece. */
static ssize_t copy_bytes(int from_fd, int to_fd)
{
    char buf[64U << 10];
    ssize_t n = read(from_fd, buf, sizeof buf);
    int r = n > 0 ? nm_write_all(to_fd, buf, (size_t)n) : 0;

    if (r < 0) {
        errno = -r;
        return -1;
    }
    return n;
}

/* Returns whether the kernel can't copy between these files. copy_file_range() fails with EXDEV for some pairs of file
 * systems. */
static bool is_lacking(int error)
{
    return error == EXDEV || nm_error_is_not_supported(error);
}

/* Copies a piece in the kernel, with copy_file_range(), which may share extents. If this isn't possible, uses
 * sendfile(), if the source's file system supports it. Both functions advance the file offsets, so the next method
 * continues where the last one stopped. */
static ssize_t copy_piece(int from_fd, int to_fd)
{
    ssize_t n = copy_file_range(from_fd, NULL, to_fd, NULL, PIECE_BYTES, 0);

    /* copy_file_range() returns 0 for files whose size the kernel doesn't know */
    if (n > 0 || (n < 0 && !is_lacking(errno)))
        return n;
    n = sendfile(to_fd, from_fd, NULL, PIECE_BYTES);
    return n >= 0 || !is_lacking(errno) ? n : copy_bytes(from_fd, to_fd);
}

/* Copies in pieces, so that progress can be reported and limits checked; a file may grow while it is copied. */
int nm_copy_file(int from_fd, int to_fd, uint64_t most_bytes, uint64_t deadline_usec,
                 void (*progress)(void *userdata, uint64_t bytes, uint64_t total_bytes), void *userdata,
                 uint64_t *ret_bytes)
{
    uint64_t bytes = 0;
    struct stat st;

    if (fstat(from_fd, &st) < 0 || lseek(from_fd, 0, SEEK_SET) < 0)
        return -errno;
    if ((uint64_t)st.st_size > most_bytes)
        return -EFBIG;
    if (ioctl(to_fd, FICLONE, from_fd) == 0) {
        *ret_bytes = (uint64_t)st.st_size;
        return 0;
    }
    for (;;) {
        ssize_t n = copy_piece(from_fd, to_fd);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        bytes += (uint64_t)n;
        if (bytes > most_bytes)
            return -EFBIG;
        if (nm_now_usec() >= deadline_usec)
            return -ETIMEDOUT;
        progress(userdata, bytes, (uint64_t)st.st_size);
    }
    *ret_bytes = bytes;
    return 0;
}
