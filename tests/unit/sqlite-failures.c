/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/unit/sqlite-failures.h"

#include <fcntl.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/macros.h"

static sqlite3_mem_methods real_memory;

static void *sqlite_malloc(int size)
{
    return fail_here(FAIL_MEMORY) ? NULL : real_memory.xMalloc(size);
}

static void *sqlite_realloc(void *old, int size)
{
    return fail_here(FAIL_MEMORY) ? NULL : real_memory.xRealloc(old, size);
}

static void *json_memory(size_t size)
{
    return malloc(size); /* malloc() is wrapped in this test */
}

static int failing_open(const char *path, int flags, int mode)
{
    return call_fails("sqlite-open") ? -1 : open(path, flags, mode);
}

static ssize_t failing_read(int fd, void *data, size_t size, off_t at)
{
    return call_fails("sqlite-read") ? -1 : pread(fd, data, size, at);
}

static ssize_t failing_write(int fd, const void *data, size_t size, off_t at)
{
    return call_fails("sqlite-write") ? -1 : pwrite(fd, data, size, at);
}

static int failing_truncate(int fd, off_t size)
{
    return call_fails("sqlite-truncate") ? -1 : ftruncate(fd, size);
}

static int failing_stat(int fd, struct stat *st)
{
    return call_fails("sqlite-stat") ? -1 : fstat(fd, st);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    (void)fd;
    return call_fails("sqlite-sync") ? -1 : 0; /* a power failure isn't simulated */
}

int sqlite_failures_begin(void)
{
    static const struct {
        const char *name;
        sqlite3_syscall_ptr call;
    } calls[] = {
        {"open", (sqlite3_syscall_ptr)failing_open},
        {"pread", (sqlite3_syscall_ptr)failing_read},
        {"pread64", (sqlite3_syscall_ptr)failing_read},
        {"pwrite", (sqlite3_syscall_ptr)failing_write},
        {"pwrite64", (sqlite3_syscall_ptr)failing_write},
        {"fstat", (sqlite3_syscall_ptr)failing_stat},
        {"ftruncate", (sqlite3_syscall_ptr)failing_truncate},
    };
    sqlite3_mem_methods memory;
    sqlite3_vfs *vfs;

    json_set_alloc_funcs(json_memory, free);
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory) != SQLITE_OK)
        return -1;
    memory = real_memory;
    memory.xMalloc = sqlite_malloc;
    memory.xRealloc = sqlite_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &memory) != SQLITE_OK)
        return -1;
    vfs = sqlite3_vfs_find(NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(calls); i++)
        (void)vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call); /* only one of pread and pread64 exists */
    return 0;
}
