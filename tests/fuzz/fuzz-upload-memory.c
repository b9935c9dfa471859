/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the memory of uploads, a file of the user. A memory that is read and printed is read again as the same. */

#include <stdlib.h>
#include <string.h>

#include "aggregate/worker/upload-memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool fine)
{
    if (!fine)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_upload_memory memory = {0}, again = {0};
    _cleanup_free_ char *text = NULL;
    size_t n = 0;

    if (nm_upload_memory_parse((const char *)data, size, &memory) < 0) {
        check(memory.n == 0 && !memory.remote_name && !memory.entries);
        return 0;
    }
    check(!strchr(memory.remote_name, '/'));
    for (size_t i = 0; i < memory.n; i++)
        check(nm_upload_memory_search(&memory, memory.entries[i].inode) <= i);
    check(nm_upload_memory_print(&memory, &text, &n) == 0 && nm_upload_memory_parse(text, n, &again) == 0);
    check(again.n == memory.n && again.upload_msec == memory.upload_msec);
    nm_upload_memory_done(&memory);
    nm_upload_memory_done(&again);
    return 0;
}
