/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads space and inodes of a file system. statvfs may block on a network file system whose server does not respond:
 * pass only paths of local file systems.
 */

#include "monitor/monitor.h"

#include <assert.h>
#include <errno.h>
#include <sys/statvfs.h>

static uint64_t bytes(uint64_t blocks, uint64_t block_size)
{
    uint64_t v;

    return __builtin_mul_overflow(blocks, block_size, &v) ? UINT64_MAX : v;
}

int nm_disk_sample(const char *path, struct nm_disk_sample *ret)
{
    struct statvfs fs;

    assert(path && ret);
    while (statvfs(path, &fs) < 0)
        if (errno != EINTR)
            return -errno;
    /* f_bavail and f_favail are used, not f_bfree and f_ffree: nmd runs as root, but its containers cannot use root's
     * reserve. */
    *ret = (struct nm_disk_sample){
        .total_bytes = bytes(fs.f_blocks, fs.f_frsize),
        .available_bytes = bytes(fs.f_bavail, fs.f_frsize),
        .total_inodes = fs.f_files, /* 0: the file system has no fixed number (btrfs) */
        .available_inodes = fs.f_favail,
    };
    return 0;
}
