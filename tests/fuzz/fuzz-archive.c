/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes archives. The first byte chooses the kind: even is zip, odd is tar. Apart from crashes, the target detects
 * files outside the directory, files of other types than regular file, directory and link, and modes that give other
 * users access. Links may have any target.
 */

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "localize/worker/remove-tree.h"
#include "localize/worker/unpack.h"
#include "util/fileio.h"

#define MOST_BYTES (1U << 20)
#define MOST_ENTRIES 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool fine)
{
    if (!fine)
        abort();
}

static void ignore(void *userdata, uint64_t bytes)
{
    (void)userdata, (void)bytes;
}

static int check_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path, (void)type, (void)ftw;
    check(S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode));
    check(S_ISLNK(st->st_mode) || !(st->st_mode & 07022));
    return 0;
}

/* Checks the directory of a run, which has a single entry, "in". */
static void check_tree(const char *root)
{
    char path[64];
    int n = 0;
    _cleanup_closedir_ DIR *d = opendir(root);

    check(d);
    while (readdir(d))
        n++;
    check(n == 3);
    (void)snprintf(path, sizeof path, "%s/in", root);
    check(nftw(path, check_entry, 16, FTW_PHYS) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct nm_unpack_params params = {
        .kind = size > 0 && data[0] % 2 ? NM_ARCHIVE_TAR : NM_ARCHIVE_ZIP,
        .most_bytes = MOST_BYTES,
        .most_entries = MOST_ENTRIES,
        .ratio = 100,
        .deadline_usec = UINT64_MAX,
        .progress = ignore,
    };
    char root[] = "/tmp/nmd-fuzz-archive.XXXXXX";
    _cleanup_close_ int fd = memfd_create("archive", MFD_CLOEXEC), top = -EBADF, in_fd = -EBADF;
    _cleanup_free_ char *message = NULL;
    uint64_t bytes = 0;

    if (size == 0)
        return 0;
    check(fd >= 0 && nm_write_all(fd, (const char *)data + 1, size - 1) == 0 && mkdtemp(root));
    top = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(mkdirat(top, "in", 0700) == 0);
    in_fd = openat(top, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(nm_unpack(fd, in_fd, &params, &bytes, &message) < 0 ? bytes == 0 : bytes <= MOST_BYTES);
    check_tree(root);
    in_fd = nm_close(in_fd);
    check(nm_remove_tree_at(top, "in") == 0 && rmdir(root) == 0);
    return 0;
}
