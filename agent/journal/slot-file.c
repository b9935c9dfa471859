/* SPDX-License-Identifier: Apache-2.0 */

/* See slot-file.h. */

#include "agent/journal/slot-file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/fileio.h"
#include "util/fnv1a.h"

static void print_sum(const char *text, size_t n, char sum[NM_SLOT_SUM_BYTES + 1])
{
    (void)snprintf(sum, NM_SLOT_SUM_BYTES + 1, "%08" PRIx32 " ", nm_fnv1a_32(text, n));
}

void nm_slot_seal(const char *text, char *slot, size_t slot_bytes)
{
    size_t n = slot_bytes - NM_SLOT_SUM_BYTES;
    char sum[NM_SLOT_SUM_BYTES + 1];

    assert(slot_bytes > NM_SLOT_SUM_BYTES && slot_bytes <= NM_SLOT_BYTES_MAX);
    print_sum(text, n, sum);
    memcpy(slot, sum, NM_SLOT_SUM_BYTES);
    memcpy(slot + NM_SLOT_SUM_BYTES, text, n);
}

bool nm_slot_open(const char *slot, size_t slot_bytes, char *text)
{
    size_t n = slot_bytes - NM_SLOT_SUM_BYTES;
    char sum[NM_SLOT_SUM_BYTES + 1];

    memcpy(text, slot + NM_SLOT_SUM_BYTES, n);
    text[n] = '\0';
    print_sum(text, n, sum);
    return memcmp(sum, slot, NM_SLOT_SUM_BYTES) == 0;
}

int nm_slot_file_open(const char *state_dir, const char *name)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s/%s", state_dir, name) >= sizeof path)
        return -ENAMETOOLONG;
    return nm_open_regular_at(AT_FDCWD, path);
}

bool nm_slot_file_get(int fd, uint64_t i, size_t slot_bytes, char *text)
{
    char slot[NM_SLOT_BYTES_MAX];

    assert(slot_bytes <= sizeof slot);
    return pread(fd, slot, slot_bytes, (off_t)(i * slot_bytes)) == (ssize_t)slot_bytes &&
           nm_slot_open(slot, slot_bytes, text);
}

int nm_slot_file_put(int fd, uint64_t i, size_t slot_bytes, const char *text)
{
    char slot[NM_SLOT_BYTES_MAX];

    assert(slot_bytes <= sizeof slot);
    nm_slot_seal(text, slot, slot_bytes);
    return nm_pwrite_all(fd, slot, slot_bytes, (off_t)(i * slot_bytes));
}
