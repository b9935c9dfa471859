/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Arrays that grow. The pointer is assigned with its own type: a function that took its address as void ** would store
 * through a type that the object doesn't have.
 */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "util/macros.h"

/* Makes the array `p` one of n > 0 elements. 0, or -ENOMEM, and then it stays as it was. */
#define NM_ARRAY_RESIZE(p, n) \
    ({ \
        __typeof__(p) _resized = reallocarray((p), (n), sizeof *(p)); \
        if (_resized) \
            (p) = _resized; \
        _resized ? 0 : -ENOMEM; \
    })

/* Makes room for one more element behind the n that the array `p` holds; `size`: of how many elements the array is, an
 * lvalue. 0, or -ENOMEM, and then both stay as they were. */
#define NM_ARRAY_ROOM(p, n, size) \
    ({ \
        size_t _wanted = NM_MAX(2 * (size_t)(size), (size_t)8); \
        int _room = (size_t)(n) < (size_t)(size) ? 0 : NM_ARRAY_RESIZE(p, _wanted); \
        if (_room == 0 && (size_t)(n) >= (size_t)(size)) \
            (size) = (__typeof__(size))_wanted; \
        _room; \
    })
