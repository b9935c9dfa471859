/* SPDX-License-Identifier: Apache-2.0 */

/* See java-regex.h: functions that read the expression and write characters. */

#include <string.h>

#include "localize/pattern/java-regex.h"
#include "util/error.h"
#include "util/utf8.h"

int nm_java_refuse(const struct nm_java_regex *r, const char *why)
{
    return nm_fail(r->message, -EINVAL, "can't use the pattern '%s': %s (at character %zu)", r->text, why,
                   (size_t)(r->at - r->text));
}

void nm_java_skip_marks(struct nm_java_regex *r)
{
    for (;;) {
        if (!r->is_quoting && strncmp(r->at, "\\Q", 2) == 0)
            r->is_quoting = true;
        else if (r->is_quoting && strncmp(r->at, "\\E", 2) == 0)
            r->is_quoting = false;
        else
            return;
        r->at += 2;
    }
}

bool nm_java_is_at(const struct nm_java_regex *r, const char *text)
{
    return !r->is_quoting && strncmp(r->at, text, strlen(text)) == 0;
}

unsigned nm_java_take(struct nm_java_regex *r)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t n = nm_utf8_size(r->at);
    unsigned c;

    if (n == 0)
        n = 1; /* not valid UTF-8: take one byte */
    c = (unsigned char)*r->at & masks[n];
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)r->at[i] & 0x3fU);
    r->at += n;
    return c;
}

static bool is_letter(unsigned c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

unsigned nm_java_other_case(unsigned c)
{
    return is_letter(c) ? c ^ 0x20U : c;
}

void nm_java_put(FILE *out, unsigned c)
{
    (void)fprintf(out, is_letter(c) || (c >= '0' && c <= '9') ? "%c" : "\\x{%x}", c);
}
