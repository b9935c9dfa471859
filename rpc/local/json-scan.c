/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See json-scan.h. The bytes per value are what jansson and the C library's allocator use on 64-bit systems, slightly
 * rounded up. A test compares them with real allocations.
 */

#include "rpc/local/json-scan.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define SLOT_BYTES 24u /* bytes per element of an array that is being enlarged */
#define STRING_BYTES 96u
#define NUMBER_BYTES 32u
#define ARRAY_BYTES 128u
#define OBJECT_BYTES 288u
#define MEMBER_BYTES 136u

/* Skips from the byte after the opening quote to the byte after the closing quote. */
static size_t skip_string(const char *text, size_t i, size_t len)
{
    for (; i < len && text[i] != '"'; i++)
        if (text[i] == '\\')
            i++;
    return i < len ? i + 1 : len;
}

/* Characters that end a word. A table is used because it is evaluated for every byte of a body and is several times as
 * fast as strchr(). */
static const bool ends_word[256] = {
    ['\0'] = true, [' '] = true, ['\t'] = true, ['\r'] = true, ['\n'] = true, [','] = true,
    [':'] = true,  ['['] = true, [']'] = true,  ['{'] = true,  ['}'] = true,  ['"'] = true,
};

static size_t skip_word(const char *text, size_t i, size_t len)
{
    while (i < len && !ends_word[(unsigned char)text[i]])
        i++;
    return i;
}

static bool is_too_much(const struct nm_json_size *s)
{
    return s->n_values > NM_JSON_VALUES_MAX || s->n_containers > NM_JSON_CONTAINERS_MAX ||
           s->depth > NM_JSON_DEPTH_MAX;
}

static void count(struct nm_json_size *s, size_t bytes)
{
    s->n_values++;
    s->tree_bytes += bytes + SLOT_BYTES;
}

struct nm_json_size nm_json_scan(const char *text, size_t len)
{
    struct nm_json_size s = {};
    size_t depth = 0, longest = 0, end;

    assert(text || len == 0);
    for (size_t i = 0; i < len && !is_too_much(&s); i = end) {
        end = i + 1;
        switch (text[i]) {
        case '[':
        case '{':
            count(&s, text[i] == '[' ? ARRAY_BYTES : OBJECT_BYTES);
            s.n_containers++;
            s.depth = ++depth > s.depth ? depth : s.depth;
            break;
        case ']':
        case '}':
            depth -= depth > 0;
            break;
        case ':':
            s.tree_bytes += MEMBER_BYTES;
            break;
        case '"':
            end = skip_string(text, end, len);
            longest = end - i > longest ? end - i : longest;
            count(&s, STRING_BYTES + 2 * (end - i)); /* the parser temporarily holds two copies of a name */
            break;
        default:
            if (ends_word[(unsigned char)text[i]])
                break;
            end = skip_word(text, end, len);
            longest = end - i > longest ? end - i : longest;
            count(&s, NUMBER_BYTES);
        }
    }
    s.tree_bytes += 2 * longest; /* the parser's buffer for the current word */
    return s;
}
