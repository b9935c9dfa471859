/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ownership: a resource is created in a local variable with a cleanup attribute and moved to its destination with
 * STEAL_PTR() on the last line, so that every early return releases it. Declare such variables in the innermost block
 * that needs them.
 */

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NM_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define NM_MIN(a, b) \
    ({ \
        __typeof__(a) _min_a = (a); \
        __typeof__(b) _min_b = (b); \
        _min_a < _min_b ? _min_a : _min_b; \
    })
#define NM_MAX(a, b) \
    ({ \
        __typeof__(a) _max_a = (a); \
        __typeof__(b) _max_b = (b); \
        _max_a > _max_b ? _max_a : _max_b; \
    })

/* Returns the number of strings of a vector that ends with NULL. The vector itself may be NULL. */
#define NM_STRV_LENGTH(v) \
    ({ \
        __typeof__(&(v)[0]) _strv = (v); \
        size_t _n_strings = 0; \
        while (_strv && _strv[_n_strings]) \
            _n_strings++; \
        _n_strings; \
    })

#define nm_printf(fmt, args) __attribute__((format(printf, fmt, args)))

#define NM_USEC_PER_MSEC UINT64_C(1000)
#define NM_USEC_PER_SEC UINT64_C(1000000)
#define NM_NSEC_PER_USEC UINT64_C(1000)
#define NM_MIB (UINT64_C(1) << 20)

/* Saturating sums and differences. */
static inline uint64_t nm_add_u64(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t nm_sub_u64(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Moves the pointer (or descriptor) out of a variable with a cleanup attribute, which then doesn't release it. */
#define STEAL_PTR(p) \
    ({ \
        __typeof__(p) _stolen = (p); \
        (p) = NULL; \
        _stolen; \
    })
#define STEAL_FD(fd) \
    ({ \
        int _stolen_fd = (fd); \
        (fd) = -EBADF; \
        _stolen_fd; \
    })

/* p points to a pointer of any type, which must not be read as a void *. */
static inline void nm_freep(void *p)
{
    void *q;

    memcpy(&q, p, sizeof q);
    free(q);
}

/* Closes fd if it isn't negative. Always returns -EBADF, the value of a closed descriptor. */
static inline int nm_close(int fd)
{
    if (fd >= 0)
        (void)close(fd);
    return -9; /* -EBADF as a number, so that this header needn't include errno.h */
}

static inline void nm_closep(int *fd)
{
    *fd = nm_close(*fd);
}

static inline void nm_fclosep(FILE **f)
{
    if (*f)
        (void)fclose(*f);
}

static inline void nm_closedirp(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _cleanup_free_ _cleanup_(nm_freep)
#define _cleanup_close_ _cleanup_(nm_closep)
#define _cleanup_fclose_ _cleanup_(nm_fclosep)
#define _cleanup_closedir_ _cleanup_(nm_closedirp)

/* Returns the struct that contains the member to which ptr points. */
#define NM_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* Defines a cleanup function from a destructor: NM_DEFINE_CLEANUP(struct nm_x *, nm_x_free). */
#define NM_DEFINE_CLEANUP(type, func) \
    static inline void func##p(type *p) \
    { \
        if (*p) \
            (void)func(*p); \
    }

static inline int nm_streq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}
