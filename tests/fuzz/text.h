/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For targets whose parser gets text or prints a message. fuzz_text() makes a copy that ends with a NUL, so that a
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

/* Aborts unless the message of a refused file is one printable line that begins with the name FILE. */
static inline void fuzz_check_message(const char *message)
{
    if (!message || strncmp(message, "FILE:", 5) != 0)
        abort();
    for (; *message; message++)
        if (*message < ' ' || *message > '~')
            abort();
}

/* Aborts if a failed parser has changed its output. */
#define FUZZ_CHECK(result, before, after) \
    do { \
        if ((result) > 0 || ((result) < 0 && memcmp(&(before), &(after), sizeof(after)) != 0)) \
            abort(); \
    } while (0)
