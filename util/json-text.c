/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See json-text.h. json_dumps() and json_dumpf() of jansson (2.12 to 2.15.1) ignore whether the name of a member was
 * written. If the buffer can't grow for the name, or the stream fails, the text lacks the name, but the functions
 * succeed if the next piece can be written. json_dumpb() can't lose a name: it counts all bytes, and copies them to a
 * buffer that exists, as far as they fit. So a text that doesn't fit into the first buffer is written again, to a
 * buffer of its size. To write a text costs about as much as to measure it, and most texts fit.
 */

#include "util/json-text.h"

#include <stdlib.h>
#include <string.h>

#include "util/macros.h"

#define FIRST_BYTES 4096 /* a decision has less than 3 KiB, and a container less than 2 KiB */

/* Returns a copy of the text that has no unused bytes, since some texts are kept. */
static char *copy(const char *text, size_t size)
{
    char *copied = malloc(size + 1);

    if (!copied)
        return NULL;
    memcpy(copied, text, size);
    copied[size] = '\0';
    return copied;
}

char *nm_json_text(const json_t *j, size_t flags)
{
    char first[FIRST_BYTES];
    const size_t size = json_dumpb(j, first, sizeof first, flags);
    _cleanup_free_ char *text = NULL;

    if (size == 0)
        return NULL;
    if (size <= sizeof first)
        return copy(first, size);
    text = malloc(size + 1);
    if (!text || json_dumpb(j, text, size, flags) != size)
        return NULL;
    text[size] = '\0';
    return STEAL_PTR(text);
}
