/* SPDX-License-Identifier: Apache-2.0 */

/* The node's messages about a container that runs: signals that were requested, and re-initializations. The diagnostics
 * of the container begin with them, as with Hadoop. See node-state.h. */

#include "yarn/node/node-state.h"

#include <stdarg.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/utf8.h"
#include "yarn/node/exit-code.h"

#define MESSAGES_MAX 1024u

/* Returns a line with the time and the text. Shortens it to MESSAGES_MAX. Returns NULL if out of memory. */
nm_printf(1, 0) static char *print_line(const char *format, va_list ap)
{
    static const char more[] = "...\n";
    _cleanup_free_ char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);

    if (!out)
        return NULL;
    nm_yarn_put_time(nm_realtime_usec(), out);
    vfprintf(out, format, ap);
    fputc('\n', out);
    if (fclose(out) != 0)
        return NULL;
    if (size > MESSAGES_MAX) {
        line[MESSAGES_MAX - strlen(more)] = '\0';
        strcpy(line + nm_utf8_prefix(line), more);
    }
    return STEAL_PTR(line);
}

void nm_yarn_container_add_message(struct nm_yarn_container *i, const char *format, ...)
{
    const char *old = i->messages ?: "";
    _cleanup_free_ char *line = NULL;
    char *all;
    size_t size;
    va_list ap;

    va_start(ap, format);
    line = print_line(format, ap);
    va_end(ap);
    if (!line)
        return;
    size = strlen(old) + strlen(line);
    if (size > MESSAGES_MAX)
        old = strchrnul(old + size - MESSAGES_MAX - 1, '\n') + 1;
    all = nm_strdup_printf("%s%s", old, line);
    if (!all)
        return;
    free(i->messages);
    i->messages = all;
}
