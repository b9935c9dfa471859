/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads a kernel file repeatedly through a descriptor that stays open. This is the innermost loop of all sampling, so
 * it makes one system call. util/fileio.h, which handles any file, needs two.
 */

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/*
 * Reads the file from offset `at` into buf, NUL-terminated. Returns the number of bytes (size - 1: there may be more),
 * -ENOENT if the object of the file no longer exists, or -errno.
 *
 * A seq_file fills a page-sized buffer per read and returns early only if the next record doesn't fit. For files that
 * are one record it never returns early. A read well short of a page is therefore complete, and a second read that
 * returns 0 is not needed.
 */
static inline int nm_monitor_read_at(int fd, off_t at, char *buf, size_t size)
{
    enum { SURELY_THE_END = 4096 - 256 };
    size_t len = 0;

    for (;;) {
        ssize_t n = pread(fd, buf + len, size - 1 - len, at + (off_t)len);

        if (n < 0) {
            if (errno == EINTR)
                continue;
            /* kernfs returns ENODEV for a removed cgroup, procfs ESRCH for a reaped process. */
            return errno == ENODEV || errno == ESRCH ? -ENOENT : -errno;
        }
        len += (size_t)n;
        if (n < SURELY_THE_END || len == size - 1)
            break;
    }
    buf[len] = '\0';
    return (int)len;
}

/* Reads the whole file as nm_monitor_read_at() does. Returns -E2BIG for a longer file, because a figure that was cut
 * off must not count as missing. */
static inline int nm_monitor_read(int fd, char *buf, size_t size)
{
    int r = nm_monitor_read_at(fd, 0, buf, size);

    return r >= 0 && (size_t)r == size - 1 ? -E2BIG : r;
}

#define NM_MONITOR_LINES_MAX ((off_t)2 << 20) /* 65536 groups are 704 KiB */
#define NM_MONITOR_WORD_MAX 16

/*
 * Reads the lines that begin with one of the words from a file of up to NM_MONITOR_LINES_MAX bytes. The text is
 * NUL-terminated and in the file's order. Returns its length, -E2BIG if the lines or the file are longer, -ENOENT, or
 * -errno. Use this function for files in which a part grows with the user's data, such as the groups in
 * /proc/PID/status.
 */
int nm_monitor_read_lines(int fd, const char *const *words, size_t n_words, char *buf, size_t size);
