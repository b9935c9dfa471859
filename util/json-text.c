/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See json-text.h. json_dumps() and json_dumpf() of jansson (2.12 to 2.15.1) ignore whether the name of a member was
 * written. If the buffer can't grow for the name, or the stream fails, the text lacks the name, but the functions
 * succeed if the next piece can be written. json_dumpb() can't lose a name: it counts all bytes, and copies them to a
 * buffer that exists. So the text is measured first, and written to a buffer of this size.
 */

#include "util/json-text.h"

#include <stdlib.h>

#include "util/macros.h"

char *nm_json_text(const json_t *j, size_t flags)
{
    const size_t size = json_dumpb(j, NULL, 0, flags);
    _cleanup_free_ char *text = size > 0 ? malloc(size + 1) : NULL;

    if (!text || json_dumpb(j, text, size, flags) != size)
        return NULL;
    text[size] = '\0';
    return STEAL_PTR(text);
}
