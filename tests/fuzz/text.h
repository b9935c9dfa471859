/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For targets whose parser takes NUL-terminated text: a copy of just that size, so that a sanitizer
 * sees a read beyond the terminator.
 */

#include "util/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* An output must be as it was when the parser has failed. */
#define FUZZ_CHECK(result, before, after) \
    do { \
        if ((result) > 0 || ((result) < 0 && memcmp(&(before), &(after), sizeof(after)) != 0)) \
            abort(); \
    } while (0)
