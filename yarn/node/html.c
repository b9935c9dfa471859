/* SPDX-License-Identifier: Apache-2.0 */

/* See html.h. */

#include "yarn/node/html.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/macros.h"
#include "util/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

void nm_yarn_put_html(FILE *f, const char *s)
{
    while (*s) {
        size_t n = nm_utf8_size(s);

        if (n == 0)
            (void)fputs(REPLACEMENT, f);
        else if (strchr("<>&\"'", *s))
            (void)fprintf(f, "&#%d;", *s);
        else
            (void)fwrite(s, 1, n, f);
        s += NM_MAX(n, (size_t)1);
    }
}

/* Any byte can be written as an escape, so every file has an address. */
void nm_yarn_put_segment(FILE *f, const char *s)
{
    for (; *s; s++)
        if ((*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || strchr("-_.~", *s))
            (void)fputc(*s, f);
        else
            (void)fprintf(f, "%%%02X", (unsigned)(unsigned char)*s);
}

char *nm_yarn_end_text(FILE *f, char **text)
{
    const bool failed = ferror(f) != 0;

    if (fclose(f) != 0 || failed) {
        free(*text);
        return NULL;
    }
    return *text;
}
