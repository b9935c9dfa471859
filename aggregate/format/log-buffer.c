/* SPDX-License-Identifier: Apache-2.0 */

/* See log-buffer.h. */

#include "aggregate/format/log-buffer.h"

#include <assert.h>
#include <errno.h>

#include "util/macros.h"
#include "util/utf8.h"

void nm_log_buffer_done(struct nm_log_buffer *b)
{
    free(b->data);
    *b = (struct nm_log_buffer){};
}

void nm_log_buffer_put(struct nm_log_buffer *b, const void *data, size_t n)
{
    if (b->error < 0 || n == 0)
        return;
    if (n > b->room - b->size) {
        size_t room = NM_MAX(b->size + n, 2 * b->room);
        uint8_t *larger = realloc(b->data, room);

        if (!larger) {
            b->error = -ENOMEM;
            return;
        }
        b->data = larger;
        b->room = room;
    }
    (void)memcpy(b->data + b->size, data, n);
    b->size += n;
}

void nm_log_buffer_number(struct nm_log_buffer *b, uint64_t value, unsigned n)
{
    uint8_t bytes[8];

    assert(n <= sizeof bytes);
    for (unsigned i = 0; i < n; i++)
        bytes[i] = (uint8_t)(value >> (8 * (n - 1 - i)));
    nm_log_buffer_put(b, bytes, n);
}

/*
 * -32 ... 127 is one byte. Otherwise the range of the first byte gives the number of further bytes:
 *
 *   -72 ... -33     one, and the first byte plus 52 is the highest byte of the number
 *   -104 ... -73    two, and the first byte plus 88
 *   -120 ... -105   three, and the first byte plus 112
 *   -125 ... -121   four to eight, and the first byte plus 129 is how many
 */
void nm_log_buffer_vlong(struct nm_log_buffer *b, int64_t value)
{
    static const struct {
        int limit, bias;
    } forms[] = {{20, 52}, {16, 88}, {8, 112}};
    unsigned n = 4;

    if (value >= -32 && value <= 127) {
        nm_log_buffer_number(b, (uint64_t)value, 1);
        return;
    }
    for (unsigned i = 0; i < NM_ARRAY_SIZE(forms); i++) {
        int64_t top = value >> (8 * (i + 1)); /* gcc and clang extend the sign */

        if (top >= -forms[i].limit && top < forms[i].limit) {
            nm_log_buffer_number(b, (uint64_t)(top - forms[i].bias), 1);
            nm_log_buffer_number(b, (uint64_t)value, i + 1);
            return;
        }
    }
    while (n < 8 && value >> (8 * n - 1) != 0 && value >> (8 * n - 1) != -1)
        n++;
    nm_log_buffer_number(b, (uint64_t)((int)n - 129), 1);
    nm_log_buffer_number(b, (uint64_t)value, n);
}

void nm_log_buffer_word(struct nm_log_buffer *b, const char *ascii)
{
    nm_log_buffer_vlong(b, (int64_t)strlen(ascii));
    nm_log_buffer_put(b, ascii, strlen(ascii));
}

/*
 * Java's modified UTF-8 has characters above U+FFFF as two surrogates of three bytes each. A reader throws an exception
 * for bytes that aren't UTF-8, and shows none of the logs then. So these bytes are replaced.
 */
static size_t utf_character(const char **text, uint8_t ret[6])
{
    static const uint8_t replacement[] = {0xef, 0xbf, 0xbd};
    const uint8_t *s = (const uint8_t *)*text;
    size_t n = nm_utf8_size(*text);

    *text += n > 0 ? n : 1;
    if (n == 0)
        memcpy(ret, replacement, sizeof replacement);
    if (n > 0 && n < 4)
        memcpy(ret, s, n);
    if (n < 4)
        return n > 0 ? n : sizeof replacement;
    uint32_t above = ((s[0] & 7U) << 18 | (s[1] & 63U) << 12 | (s[2] & 63U) << 6 | (s[3] & 63U)) - 0x10000;
    uint32_t surrogates[] = {0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff)};

    for (unsigned i = 0; i < 2; i++) {
        ret[3 * i] = (uint8_t)(0xe0 | surrogates[i] >> 12);
        ret[3 * i + 1] = (uint8_t)(0x80 | ((surrogates[i] >> 6) & 63));
        ret[3 * i + 2] = (uint8_t)(0x80 | (surrogates[i] & 63));
    }
    return 6;
}

size_t nm_log_buffer_utf_size(const char *text)
{
    uint8_t character[6];
    size_t size = 0;

    while (*text)
        size += utf_character(&text, character);
    return size;
}

void nm_log_buffer_utf(struct nm_log_buffer *b, const char *text)
{
    size_t size = nm_log_buffer_utf_size(text);
    uint8_t character[6];

    if (size > NM_LOG_TEXT_MAX && b->error == 0)
        b->error = -ENAMETOOLONG;
    nm_log_buffer_number(b, size, 2);
    while (*text && b->error == 0) {
        size_t n = utf_character(&text, character);

        nm_log_buffer_put(b, character, n);
    }
}
