/* SPDX-License-Identifier: Apache-2.0 */

/* See error.h. */

#include "util/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nm_fail(char **ret_message, int r, const char *format, ...)
{
    va_list ap;

    assert(r < 0 && format);
    if (!ret_message)
        return r;
    va_start(ap, format);
    *ret_message = nm_strdup_vprintf(format, ap);
    va_end(ap);
    return r;
}

char *nm_strdup_vprintf(const char *format, va_list ap)
{
    char *text;

    return vasprintf(&text, format, ap) < 0 ? NULL : text;
}

char *nm_strdup_printf(const char *format, ...)
{
    char *text;
    va_list ap;

    va_start(ap, format);
    text = nm_strdup_vprintf(format, ap);
    va_end(ap);
    return text;
}

/* ---- refusals -------------------------------------------------------------------------------- */

static bool has_line(const char *text, const char *line)
{
    const size_t n = strlen(line);

    for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (strncmp(p, line, n) == 0 && (p[n] == '\0' || p[n] == '\n'))
            return true;
    return false;
}

static int add_line(struct nm_refusals *all, const char *line)
{
    char *joined;

    if (has_line(all->text, line))
        return 0;
    if (asprintf(&joined, "%s%s%s", all->text ?: "", all->text ? "\n" : "", line) < 0)
        return -ENOMEM;
    free(all->text);
    all->text = joined;
    return 0;
}

int nm_refusals_add(struct nm_refusals *all, int r, char *message)
{
    _cleanup_free_ char *mine = message;
    char *at, *line;
    int added = 0;

    if (r >= 0 || r == -ENOMEM)
        return r < 0 ? r : 0;
    if (!mine && !(mine = strdup(strerror(-r))))
        return -ENOMEM;
    at = mine;
    while (added == 0 && (line = strsep(&at, "\n")))
        added = add_line(all, line);
    if (all->error == 0)
        all->error = r;
    return added;
}

int nm_refusals_take(struct nm_refusals *all, char **ret_message)
{
    const int r = all->error;

    if (r < 0 && ret_message)
        *ret_message = STEAL_PTR(all->text);
    nm_refusals_done(all);
    return r;
}

void nm_refusals_done(struct nm_refusals *all)
{
    free(all->text);
    *all = (struct nm_refusals){};
}

/* ---- diagnostics ----------------------------------------------------------------------------- */

/* Prints the name by which the program was called. If the program was called through a symlink, this name differs from
 * the program's own name. */
static void print_line(const char *format, va_list ap)
{
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
}

void nm_diag(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    print_line(format, ap);
    va_end(ap);
}

int nm_usage_error(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    print_line(format, ap);
    va_end(ap);
    return -EINVAL;
}
