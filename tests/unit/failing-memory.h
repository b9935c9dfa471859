/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory that can't be had: the Nth piece that our own code asks for is refused, and the rest given. The program is
 * linked with $(failing_memory), which leads those calls here; what libraries ask for is theirs, and given.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

/* So many pieces on; 0: none is refused. Volatile: compilers know that malloc() changes nobody's variables. */
static volatile unsigned failing_in;

static bool fails(void)
{
    bool now = failing_in > 0 && --failing_in == 0;

    if (now)
        errno = ENOMEM;
    return now;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
    return fails() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t size)
{
    return fails() ? NULL : __real_strndup(text, size);
}

/* Has each piece that try() needs refused once, one at a time. Each time it must fail with -ENOMEM, having left nothing
 * behind (a build with sanitizers looks); with all of them it must succeed. Tells how many there are. */
static unsigned fail_each(int (*try)(void *userdata), void *userdata)
{
    for (unsigned n = 1;; n++) {
        bool refused;
        int r;

        failing_in = n;
        r = try(userdata);
        refused = failing_in == 0;
        failing_in = 0;
        if (refused)
            assert_int_equal(r, -ENOMEM);
        else
            assert_int_equal(r, 0);
        if (!refused)
            return n - 1;
    }
}
