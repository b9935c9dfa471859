/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For targets whose parser gets NUL-terminated text. The function makes a copy that ends with the NUL, so that a
 * sanitizer detects a read beyond the NUL.
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

/* Aborts if a failed parser has changed its output. */
#define FUZZ_CHECK(result, before, after) \
    do { \
        if ((result) > 0 || ((result) < 0 && memcmp(&(before), &(after), sizeof(after)) != 0)) \
            abort(); \
    } while (0)
