/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading a kernel file again and again through a descriptor that stays open. This is the innermost
 * loop of all sampling, so it makes one system call where util/fileio.h, which can't know what it
 * reads, makes two.
 */

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/*
 * Reads the file from its beginning into buf, NUL-terminated. Returns its length (size - 1: it may
 * have been cut off), -ENOENT when what it describes has gone, or -errno.
 *
 * A seq_file fills a page-sized buffer per read and returns early only if the next record doesn't
 * fit (or, for files that are one record, never): a read well short of a page is the end, and a
 * second read to see 0 is not needed.
 */
static inline int nm_monitor_read(int fd, char *buf, size_t size)
{
    enum { SURELY_THE_END = 4096 - 256 };
    size_t len = 0;

    for (;;) {
        ssize_t n = pread(fd, buf + len, size - 1 - len, (off_t)len);

        if (n < 0) {
            if (errno == EINTR)
                continue;
            /* kernfs says ENODEV for a removed cgroup, procfs ESRCH for a process that was
             * reaped. */
            return errno == ENODEV || errno == ESRCH ? -ENOENT : -errno;
        }
        len += (size_t)n;
        if (n < SURELY_THE_END || len == size - 1)
            break;
    }
    buf[len] = '\0';
    return (int)len;
}
