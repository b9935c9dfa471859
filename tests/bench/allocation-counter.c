/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Counts the allocations of a process that starts with this object in LD_PRELOAD. The number is at the beginning of the
 * file that NMD_ALLOCATIONS names, so that another process can read it at any time. Programs that the process starts
 * are not counted.
 */

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

/* the C library's own names of these functions */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

static _Atomic uint64_t unread; /* counts until the file is mapped */
static _Atomic uint64_t *count = &unread;

__attribute__((constructor)) static void map_file(void)
{
    const char *path = getenv("NMD_ALLOCATIONS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *p = fd >= 0 ? mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

    if (p != MAP_FAILED)
        count = p;
    if (fd >= 0)
        (void)close(fd);
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("NMD_ALLOCATIONS");
}

EXPORTED void *malloc(size_t size)
{
    atomic_fetch_add(count, 1);
    return __libc_malloc(size);
}

EXPORTED void *calloc(size_t n, size_t size)
{
    atomic_fetch_add(count, 1);
    return __libc_calloc(n, size);
}

EXPORTED void *realloc(void *p, size_t size)
{
    atomic_fetch_add(count, 1);
    return __libc_realloc(p, size);
}
